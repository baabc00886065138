"""``tidegate check``: says what is wrong and where, before anything is started."""

import argparse
import asyncio
import sys
from typing import Final
from urllib.parse import urlsplit

from services.cli.bundled import bundled
from services.cli.connecting import rabbit
from shared.bus.base import Bus
from shared.control import StreamInfo
from shared.errors import BrokerError, TopologyMismatch
from shared.exchanges import adapter
from shared.settings import Settings, targets
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]

CONNECT_S: Final = 15.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "--no-broker", action="store_true", help="look at the settings only (default: connect and declare)"
    )


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
        async with asyncio.timeout(CONNECT_S), rabbit(settings, "check") as bus:
            _say("ok", "broker", f"{where}: connected, topology declared")
            return await _queues(bus, settings)
    except BrokerError as error:
        _say("FAIL", "broker", f"{where}: {error}")
    except TimeoutError:
        _say("FAIL", "broker", f"{where}: no answer within {CONNECT_S:g} s")
    return False


async def _queues(bus: Bus, settings: Settings) -> bool:
    """Declare the raw queues as ingest would; those of the majors stand for all, their arguments are the same."""
    fine = True
    for target in targets(settings):
        known = bundled(target.exchange, target.product)
        for plan in adapter(target.exchange).plan(
            target.product, known, target.feeds, target.endpoints, target.streams
        ):
            try:
                await bus.declare(StreamInfo(plan.exchange, plan.product, "market", plan.name))
            except TopologyMismatch as error:
                fine = False
                _say("FAIL", "queue", str(error))
    return fine


def _where(settings: Settings) -> str:
    """The broker's address without its password."""
    parts = urlsplit(settings.broker.url.get_secret_value())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _say(verdict: str, subject: str, text: str) -> None:
    sys.stdout.write(f"{verdict:<4}  {subject}: {text}\n")
