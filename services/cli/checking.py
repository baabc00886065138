"""``tidegate check``: says what is wrong and where, before anything is started."""

import argparse
import asyncio
import sys
from urllib.parse import urlsplit

from services.cli.connecting import rabbit
from shared.errors import BrokerError
from shared.settings import Settings, targets
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--no-broker", action="store_true", help="look at the settings only")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0 when all is well, 1 otherwise; settings that can't be read never get here (2)."""
    del telemetry
    wanted = targets(settings)
    for target in wanted:
        feeds = ", ".join(sorted(target.feeds)) or "none"
        _say(
            "ok",
            f"{target.exchange}.{target.product}",
            f"{len(target.symbols)} symbols, {target.endpoints.websocket}, {feeds}",
        )
    failed = False
    for target in wanted:
        if not target.feeds:
            failed = True
            _say(
                "FAIL",
                f"exchanges.{target.exchange}.products.{target.product}.feeds",
                "the venue has none of these feeds",
            )
    if not wanted:
        failed = True
        _say("FAIL", "exchanges", "nothing is enabled")
    if not arguments.no_broker:
        failed |= not asyncio.run(_broker(settings))
    return 1 if failed else 0


async def _broker(settings: Settings) -> bool:
    where = _where(settings)
    try:
        async with asyncio.timeout(15), rabbit(settings, "check"):
            _say("ok", "broker", f"{where}: connected, topology declared")
    except BrokerError as error:
        _say("FAIL", "broker", f"{where}: {error}")
    except TimeoutError:
        _say("FAIL", "broker", f"{where}: no answer within 15 s")
    else:
        return True
    return False


def _where(settings: Settings) -> str:
    """The broker's address without its password."""
    parts = urlsplit(settings.broker.url.get_secret_value())
    return f"{parts.scheme}://{parts.hostname}:{parts.port or 5672}{parts.path}"


def _say(verdict: str, subject: str, text: str) -> None:
    sys.stdout.write(f"{verdict:<4}  {subject}: {text}\n")
