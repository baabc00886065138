"""Generated documents: ``python -m tools.docs`` writes them, ``--check`` says which are stale (status 1)."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from msgspec import json
from pydantic import SecretStr

from shared.messages import FEEDS, MESSAGE_TYPES, AnyMessage
from shared.settings import Settings
from shared.telemetry.metrics import catalogue
from shared.topology import MARKET

ROOT: Final = Path(__file__).resolve().parents[1]


def message_schema() -> str:
    """JSON Schema of a body on ``market``: an array of canonical messages (JSON Schema 2020-12)."""
    schema: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Canonical messages of one routing key, in order",
        **json.schema(list[AnyMessage]),
    }
    return _pretty(schema)


def asyncapi() -> str:
    """AsyncAPI 3.0 of what a consumer can bind to."""
    _, components = json.schema_components([AnyMessage], ref_template="#/components/schemas/{name}")
    by_feed = {kind.feed: kind.__name__ for kind in MESSAGE_TYPES}
    document = {
        "asyncapi": "3.0.0",
        "info": {"title": "Tidegate", "version": "1", "description": "Canonical market data on RabbitMQ."},
        "defaultContentType": "application/json",
        "channels": {
            feed: {
                "address": f"{feed}.{{exchange}}.{{symbol}}",
                "description": f"Routing keys of `{feed}` on the topic AMQP exchange `{MARKET}`.",
                "parameters": {
                    "exchange": {"description": "bybit, mexc, binance"},
                    "symbol": {"description": "unified symbol, `%` as `%25` and `.` as `%2E`; `_` for a whole stream"},
                },
                "messages": {"array": {"$ref": f"#/components/messages/{feed}"}},
                "bindings": {
                    "amqp": {"is": "routingKey", "exchange": {"name": MARKET, "type": "topic", "durable": True}}
                },
            }
            for feed in sorted(FEEDS)
        },
        "operations": {
            f"receive_{feed}": {"action": "receive", "channel": {"$ref": f"#/channels/{feed}"}}
            for feed in sorted(FEEDS)
        },
        "components": {
            "messages": {
                feed: {"payload": {"type": "array", "items": {"$ref": f"#/components/schemas/{by_feed[feed]}"}}}
                for feed in sorted(FEEDS)
            },
            "schemas": components,
        },
    }
    return _pretty(document)


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
        if section == "exchanges":
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
        if isinstance(value, str)
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
"""

DOCUMENTS: Final[dict[str, Callable[[], str]]] = {
    "docs/messages.schema.json": message_schema,
    "docs/asyncapi.json": asyncapi,
    "docs/metrics.md": metrics,
    "tidegate.toml": settings,
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
