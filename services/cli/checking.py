"""``tidegate check``: says what is wrong and where, before anything is started."""

import argparse
import asyncio
import sys
from typing import Final
from urllib.parse import urlsplit

from services.cli.bundled import bundled
from services.cli.connecting import limits_of, rabbit
from shared.control import StreamInfo
from shared.errors import BrokerError, TopologyMismatch
from shared.exchanges import adapter
from shared.settings import Settings, targets
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]

CONNECT_S: Final = 15.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("--no-broker", action="store_true", help="look at the settings only (default: at the broker, too)")
    add("--declare", action="store_true", help="declare on the broker what is missing (default: only look)")
    parser.epilog = "Status 1: something is wrong (FAIL). What is missing is not: who needs it declares it."


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
        failed |= not asyncio.run(_broker(settings, declare=arguments.declare))
    return 1 if failed else 0


async def _broker(settings: Settings, *, declare: bool) -> bool:
    """Whether it can be used."""
    where = _where(settings)
    try:
        async with asyncio.timeout(CONNECT_S):
            return await (_declare if declare else _look)(settings, where)
    except BrokerError as error:
        _say("FAIL", "broker", f"{where}: {error}")
    except TimeoutError:
        _say("FAIL", "broker", f"{where}: no answer within {CONNECT_S:g} s")
    return False


async def _look(settings: Settings, where: str) -> bool:
    from shared.bus.rabbit.survey import survey

    url = settings.broker.url.get_secret_value()
    fine, missing, different = await survey(url, "check", limits_of(settings), _streams(settings))
    _say("ok", "broker", f"{where}: connected")
    for problem in different:
        _say("FAIL", "topology", problem)
    if fine:
        _say("ok", "topology", f"{len(fine)} AMQP exchanges and queues are as they should be")
    for name in missing if fine or different else ():
        _say("none", "topology", f"{name} is missing: who needs it declares it, or --declare")
    if not (fine or different):
        _say("none", "topology", "nothing is there yet: who starts declares what it needs, or --declare")
    return not different


async def _declare(settings: Settings, where: str) -> bool:
    async with rabbit(settings, "check") as bus:
        fine = True
        for stream in _streams(settings):
            try:
                await bus.declare(stream)
            except TopologyMismatch as error:
                fine = False
                _say("FAIL", "topology", str(error))
        _say("ok", "broker", f"{where}: connected, topology declared")
    return fine


def _streams(settings: Settings) -> list[StreamInfo]:
    """Those of the majors stand for all that ingest may have: their queues' arguments are the same."""
    return [
        StreamInfo(plan.exchange, plan.product, "market", plan.name)
        for target in targets(settings)
        for plan in adapter(target.exchange).plan(
            target.product, bundled(target.exchange, target.product), target.feeds, target.endpoints, target.streams
        )
    ]


def _where(settings: Settings) -> str:
    """The broker's address without its password."""
    parts = urlsplit(settings.broker.url.get_secret_value())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _say(verdict: str, subject: str, text: str) -> None:
    sys.stdout.write(f"{verdict:<4}  {subject}: {text}\n")
