"""``tidegate ingest``, ``normalizer`` and ``simulator``: one stage in a process of its own, on the broker."""

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING

from services.cli.accounts import run_account
from services.cli.application import run_application
from services.cli.bursts import EVERY_S, FOR_S, add_burst, check_burst
from services.cli.errors import MAX_PORT, UsageError, positive
from services.cli.process import stop_on_signals
from services.ingest.main import Ingest
from services.ingest.telemetry import IngestTelemetry
from services.normalizer.account.main import AccountNormalizer
from services.normalizer.account.telemetry import AccountTelemetry
from services.normalizer.main import Normalizer
from services.normalizer.telemetry import NormalizerTelemetry
from services.simulator import DEFAULT_BALANCES, AccountSpec, Refused, SimulatorSettings
from services.simulator import run as simulate
from shared.accounts.messages import AnyAccountMessage
from shared.clock import SystemClock
from shared.control import Announcement, Holdings, Instruments, InstrumentsRequest, ResyncRequest
from shared.exchanges import EXCHANGES
from shared.messages import AnyMessage
from shared.settings import Settings, SimulatorSection, targets
from shared.telemetry.bundle import Telemetry
from shared.topology import (
    ACCOUNT,
    CONTROL,
    FIREHOSE,
    MARKET,
    QUARANTINE,
    RAW,
    announcement_key,
    holdings_key,
    instruments_key,
    resync_key,
)

if TYPE_CHECKING:
    from shared.bus.rabbit import RabbitBus

__all__ = [
    "add_ingest",
    "add_normalizer",
    "add_simulator",
    "run_ingest",
    "run_normalizer",
    "run_simulator",
    "simulated_accounts",
]


def add_ingest(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``ingest``."""
    parser.add_argument("exchange", help=f"one of {', '.join(sorted(EXCHANGES))}")
    parser.add_argument(
        "--account", metavar="NAME", help="hold this account's private streams (default: the public streams)"
    )


def run_ingest(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Until SIGTERM; then the buffers are let out, or what an account's journal holds."""
    if arguments.exchange not in EXCHANGES:
        raise UsageError("exchange", f"{arguments.exchange!r} is none; there are {', '.join(sorted(EXCHANGES))}")
    if arguments.account is not None:
        return run_account(arguments.exchange, arguments.account, settings, telemetry)
    asyncio.run(_ingest(arguments.exchange, settings, telemetry))
    return 0


async def _ingest(exchange: str, settings: Settings, telemetry: Telemetry) -> None:
    from shared.bus.rabbit.application import Traffic

    wanted = targets(settings, exchange)
    if not wanted:
        raise UsageError("exchange", f"{exchange} is not enabled in the settings")

    async def main(bus: "RabbitBus", stop: asyncio.Event) -> None:
        bound = IngestTelemetry(telemetry, exchange, settings.ingest.permits)
        ingest = Ingest(exchange, wanted, settings, bus, SystemClock(), bound)
        telemetry.health.add("streams", ingest.problem)
        await ingest.run(stop)

    published = [
        Traffic(RAW, f"market.{exchange}.#", "Envelopes of raw frames (msgpack)"),
        Traffic(CONTROL, announcement_key(), "The streams of this process", Announcement),
        Traffic(CONTROL, instruments_key(), "Instrument lists", Instruments),
    ]
    wishes = "What a normalizer has no state for"
    consumed = [Traffic(CONTROL, resync_key(exchange), wishes, ResyncRequest | InstrumentsRequest)]
    text = f"Holds the streams of {exchange} open and publishes raw frames."
    await run_application(settings, telemetry, f"ingest {exchange}", text, (published, consumed), main)


def add_normalizer(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``normalizer``."""
    parser.add_argument(
        "--plane", choices=["market", "account"], default="market", help="public or private streams (default: market)"
    )


def run_normalizer(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Until SIGTERM; then everything that it owns is handed over."""
    asyncio.run(_accounts(settings, telemetry) if arguments.plane == "account" else _normalizer(settings, telemetry))
    return 0


async def _normalizer(settings: Settings, telemetry: Telemetry) -> None:
    from shared.bus.rabbit.application import Traffic

    async def main(bus: "RabbitBus", stop: asyncio.Event) -> None:
        normalizer = Normalizer(settings, bus, SystemClock(), NormalizerTelemetry(telemetry))
        telemetry.health.add("streams", normalizer.problem)
        await normalizer.run(stop)

    published = [
        Traffic(MARKET, "*.*.*", "Canonical messages of one routing key", list[AnyMessage]),
        Traffic(QUARANTINE, "market", "Frames that could not be normalized (msgpack)"),
        Traffic(CONTROL, "resync.*", "What there is no state for", ResyncRequest | InstrumentsRequest),
        Traffic(CONTROL, holdings_key(), "The streams that this process owns", Holdings),
    ]
    if settings.broker.firehose:
        published.append(Traffic(FIREHOSE, "*.#", "Canonical messages of one stream", list[AnyMessage]))
    consumed = [
        Traffic(RAW, "market.#", "Envelopes of raw frames (msgpack)"),
        Traffic(CONTROL, announcement_key(), "The streams that there are", Announcement),
        Traffic(CONTROL, holdings_key(), "The streams that others own", Holdings),
        Traffic(CONTROL, instruments_key(), "Instrument lists", Instruments),
    ]
    text = "Consumes raw frames and publishes canonical messages."
    await run_application(settings, telemetry, "normalizer", text, (published, consumed), main)


async def _accounts(settings: Settings, telemetry: Telemetry) -> None:
    from shared.bus.rabbit.application import Traffic

    async def main(bus: "RabbitBus", stop: asyncio.Event) -> None:
        normalizer = AccountNormalizer(settings, bus, SystemClock(), AccountTelemetry(telemetry))
        telemetry.health.add("streams", normalizer.problem)
        await normalizer.run(stop)

    published = [
        Traffic(ACCOUNT, "*.*.*.*", "Canonical messages of one routing key", list[AnyAccountMessage]),
        Traffic(QUARANTINE, "account", "Frames that could not be normalized (msgpack)"),
        Traffic(CONTROL, "resync.*", "What there is no certainty of", ResyncRequest),
    ]
    consumed = [
        Traffic(RAW, "account.#", "Envelopes of private frames (msgpack)"),
        Traffic(CONTROL, announcement_key(), "The streams that there are", Announcement),
    ]
    text = "Consumes private frames and publishes canonical messages of accounts, each once and in order."
    await run_application(settings, telemetry, "normalizer account", text, (published, consumed), main)


def add_simulator(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``simulator``."""
    add = parser.add_argument
    add("--port", type=int, help="listen here, 0 is any free one (default: the settings' simulator.port)")
    add("--host", help="listen on this address (default: the settings' simulator.host)")
    add("--rate", type=float, help="orders and cancels per second and instrument (default: the settings')")
    add_burst(parser)


def run_simulator(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Until SIGTERM."""
    del telemetry
    if arguments.rate is not None:
        positive("--rate", arguments.rate)
    check_burst(arguments.burst)
    if arguments.port is not None and not 0 <= arguments.port <= MAX_PORT:
        raise UsageError("--port", f"must be 0 (any) to {MAX_PORT}, {arguments.port} was given")
    asyncio.run(_simulator(arguments, settings))
    return 0


def simulated_accounts(section: SimulatorSection) -> tuple[AccountSpec, ...]:
    """The accounts that the settings give to the simulated venues; UsageError where they can't be."""
    try:
        return tuple(
            AccountSpec(
                exchange,
                name,
                one.key or f"sim-{name}",
                one.secret.get_secret_value(),
                one.balances or DEFAULT_BALANCES,
            )
            for exchange, accounts in section.accounts.items()
            for name, one in accounts.items()
        )
    except Refused as error:
        raise UsageError("simulator.accounts", str(error)) from None


async def _simulator(arguments: argparse.Namespace, settings: Settings) -> None:
    section = settings.simulator
    chosen = SimulatorSettings(
        host=arguments.host or section.host,
        port=section.port if arguments.port is None else arguments.port,
        rate=arguments.rate or section.rate,
        seed=section.seed,
        burst=arguments.burst,
        burst_every=EVERY_S if arguments.burst != 1 else 0.0,
        burst_for=FOR_S,
        accounts=simulated_accounts(section),
    )
    sys.stderr.write(f"tidegate: the simulated venues are at http://{chosen.host}:{chosen.port}/control/state\n")
    async with stop_on_signals() as stop:
        await simulate(chosen, stop)
