"""Generated documents: ``python -m tools.docs`` writes them, ``--check`` says which are stale (status 1)."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec import json
from pydantic import SecretStr

from shared.accounts.messages import ACCOUNT_FEEDS, ACCOUNT_MESSAGE_TYPES, AnyAccountMessage, Balance
from shared.messages import MESSAGE_TYPES, AnyMessage
from shared.settings import Settings
from shared.telemetry.metrics import catalogue
from shared.topology import ACCOUNT, MARKET
from tools.dashboards.catalogue import documents

ROOT: Final = Path(__file__).resolve().parents[1]


def message_schema() -> str:
    """JSON Schema of a body on ``market``: an array of canonical messages (JSON Schema 2020-12)."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Canonical messages of one routing key, in order",
        **json.schema(list[AnyMessage]),
    }
    return _pretty(schema)


def account_schema() -> str:
    """JSON Schema of a body on ``account``."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Canonical messages of an account of one routing key, in order",
        **json.schema(list[AnyAccountMessage]),
    }
    return _pretty(schema)


def asyncapi() -> str:
    """AsyncAPI 3.0 of what a consumer can bind to."""
    kinds = [AnyMessage, AnyAccountMessage]
    _, components = json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    by_feed = {kind.feed: kind.__name__ for kind in (*MESSAGE_TYPES, *ACCOUNT_MESSAGE_TYPES)}
    feeds = sorted(by_feed)
    document = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Tidegate",
            "version": "1",
            "description": "Canonical market data and account events on RabbitMQ.",
        },
        "defaultContentType": "application/json",
        "channels": {feed: _channel(feed, ACCOUNT if feed in ACCOUNT_FEEDS else MARKET) for feed in feeds},
        "operations": {
            f"receive_{feed}": {"action": "receive", "channel": {"$ref": f"#/channels/{feed}"}} for feed in feeds
        },
        "components": {
            "messages": {
                feed: {"payload": {"type": "array", "items": {"$ref": f"#/components/schemas/{by_feed[feed]}"}}}
                for feed in feeds
            },
            "schemas": components,
        },
    }
    return _pretty(document)


def _channel(feed: str, exchange: str) -> dict[str, Any]:
    about = "unified symbol, `%` as `%25` and `.` as `%2E`; `_` for a whole stream"
    parameters = {"exchange": {"description": "bybit, mexc, binance"}, "symbol": {"description": about}}
    words = "{exchange}.{symbol}"
    if exchange == ACCOUNT:
        parameters["account"] = {"description": "the account's name in the settings"}
        if feed == Balance.feed:
            parameters["symbol"] = {"description": "asset, written as a symbol"}
        words = "{exchange}.{account}.{symbol}"
    return {
        "address": f"{feed}.{words}",
        "description": f"Routing keys of `{feed}` on the topic AMQP exchange `{exchange}`.",
        "parameters": parameters,
        "messages": {"array": {"$ref": f"#/components/messages/{feed}"}},
        "bindings": {"amqp": {"is": "routingKey", "exchange": {"name": exchange, "type": "topic", "durable": True}}},
    }


def metrics() -> str:
    """A table of every metric."""
    rows = [
        "# Metrics",
        "",
        "Generated from `shared/telemetry/metrics.py` by `make docs`. The prefix is `tidegate_`, units are base units.",
        "",
        "| metric | type | labels | unit | meaning | shown |",
        "|---|---|---|---|---|---|",
    ]
    for one in catalogue():
        labels = ", ".join(f"`{label}`" for label in one.labels) or "-"
        rows.append(f"| `{one.name}` | {one.kind} | {labels} | {one.unit or '-'} | {one.meaning} | {one.shown} |")
    return "\n".join(rows) + "\n"


def settings() -> str:
    """Every setting with its default, as comments."""
    rows = [
        "# Every setting with its default. Uncomment what you change; TIDEGATE_SECTION__NAME in the environment wins.",
        "",
    ]
    for section, field in Settings.model_fields.items():
        if section in {"exchanges", "accounts"}:
            continue
        rows.append(f"[{section}]")
        rows += [f"# {name} = {_toml(name, value)}" for name, value in field.default]
        rows.append("")
    return "\n".join(rows) + EXCHANGES


def _toml(name: str, value: object) -> str:
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None:
        return EXAMPLES[name]
    if isinstance(value, bool):
        return str(value).lower()
    return (
        f"{value:_}"
        if isinstance(value, int) and value > 65_535
        else f'"{value}"'
        if isinstance(value, str | Path)
        else str(value)
    )


EXAMPLES: Final = {"connect": '"127.0.0.1:9400"'}
"""What a setting without a default may look like."""

EXCHANGES: Final = """\
# Without any [exchanges] every venue runs with the majors. A venue without products runs all of them; a product without
# symbols the majors ("*": everything that trades), without feeds all that the venue has.
# [exchanges.bybit.products.linear]
# symbols = ["BTC/USDT:USDT", "ETH/USDT:USDT"]
# feeds = ["trade", "quote", "book"]
# streams = 2
# websocket = "wss://stream.bybit.com"
# rest = "https://api.bybit.com"

# [exchanges.mexc]
# enabled = false

# Private streams, one process per account: tidegate ingest bybit --account main. Without products all that the venue
# has. Key and secret are looked for in TIDEGATE_ACCOUNT_BYBIT_MAIN_KEY and ..._SECRET, in the files named here, in
# /run/secrets/bybit-main-key and ...-secret; never in this file.
# [accounts.bybit.main]
# products = ["linear"]
# symbols = ["BTC/USDT:USDT"]
# key_file = "/etc/tidegate/bybit-main-key"
# secret_file = "/etc/tidegate/bybit-main-secret"
# [accounts.bybit.main.endpoints.linear]
# websocket = "wss://stream.bybit.com"
# rest = "https://api.bybit.com"

# An account of the simulated venues: its key is "sim-main" unless one is given, its balances plenty of everything.
# [simulator.accounts.bybit.main]
# secret = "nothing real"
# balances = {USDT = "1000000", BTC = "2"}
"""

DOCUMENTS: Final[dict[str, Callable[[], str]]] = {
    "docs/messages.schema.json": message_schema,
    "docs/account.schema.json": account_schema,
    "docs/asyncapi.json": asyncapi,
    "docs/metrics.md": metrics,
    "tidegate.toml": settings,
    **documents(),
}


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when a document is stale")
    check = parser.parse_args().check
    stale = []
    for name, render in DOCUMENTS.items():
        path, text = ROOT / name, render()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for name in stale:
        print(f"{name}: {'is stale; run make docs' if check else 'written'}")
    return 1 if check and stale else 0


def _pretty(document: dict[str, Any]) -> str:
    return json.format(json.encode(document, order="sorted"), indent=2).decode() + "\n"


if __name__ == "__main__":
    sys.exit(main())
