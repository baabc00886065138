"""``tidegate run``: simulator or live venues, ingest, normalizer and a consumer in one process, without a broker."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import json, structs

from services.cli.bursts import EVERY_S, FOR_S, add_burst, check_burst
from services.cli.choosing import chosen
from services.cli.connecting import limits_of
from services.cli.errors import MAX_PORT, ReaderGone, UsageError, positive
from services.cli.process import observed, stop_on_signals
from services.cli.record import Recorder
from services.cli.screen import Screen
from services.cli.silence import Failures
from services.cli.summary import settled, summary
from services.cli.watch import MarketWatch
from services.ingest.main import Ingest
from services.ingest.telemetry import IngestTelemetry
from services.normalizer.main import Normalizer
from services.normalizer.telemetry import NormalizerTelemetry
from services.simulator import Simulator, SimulatorSettings
from shared.bus.memory import MemoryBus
from shared.clock import SystemClock
from shared.exchanges import EXCHANGES
from shared.exchanges.base import Endpoints
from shared.settings import Settings, Target, TelemetrySettings, targets
from shared.telemetry.bundle import Telemetry
from shared.telemetry.tasks import TaskSet

__all__ = ["add_arguments", "run"]

BURST_FIRST_S = 0.5
SETTLE_S = 10.0
SETTLE_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line asks for."""

    seconds: float | None
    as_json: bool
    live: bool
    exchanges: Sequence[str]
    symbols: Sequence[str]
    burst: float
    metrics_port: int | None
    record: Path | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("--seconds", type=float, help="end after so many seconds (default: go on until Ctrl-C)")
    add(
        "--json",
        action="store_true",
        help="print one JSON object at the end, nothing else on stdout (default: a table)",
    )
    add("--live", action="store_true", help="connect to the real venues (default: the simulator)")
    add("--exchange", action="append", default=[], help="only this one; may be given several times (default: all)")
    add(
        "--symbols",
        default="",
        help="comma-separated, unified or the venue's (default: the settings', else the majors)",
    )
    add_burst(parser)
    add("--metrics-port", type=int, help="serve /metrics, /livez and /readyz on this port (default: on none)")
    add("--record", type=Path, metavar="FILE", help="write the raw streams to a capture file (default: don't)")
    parser.epilog = (
        "Status 1: nothing was received from any exchange (why stands on standard error), or the recording misses "
        "something."
    )


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0 after an orderly end, 1 when nothing came from any exchange or the recording misses something.

    Raises UsageError, SettingsError, TidegateError.
    """
    options = _options(arguments)
    embedded = Embedded(options, settings, telemetry)
    result = asyncio.run(embedded.run())
    sys.stderr.writelines(f"tidegate: {problem}\n" for problem in embedded.problems)
    status = 1 if embedded.failed else 0
    if embedded.unread is not None:
        raise ReaderGone(status)
    if options.as_json:
        sys.stdout.write(json.encode(result).decode() + "\n")
    return status


def _options(arguments: argparse.Namespace) -> Options:
    if arguments.seconds is not None:
        positive("--seconds", arguments.seconds)
    check_burst(arguments.burst, live=arguments.live)
    port = arguments.metrics_port
    if port is not None and not 0 <= port <= MAX_PORT:
        raise UsageError("--metrics-port", f"must be 0 (any) to {MAX_PORT}, {port} was given")
    for name in arguments.exchange:
        if name not in EXCHANGES:
            raise UsageError("--exchange", f"{name!r} is no exchange; there are {', '.join(sorted(EXCHANGES))}")
    symbols = [symbol.strip() for symbol in arguments.symbols.split(",") if symbol.strip()]
    return Options(
        arguments.seconds,
        arguments.json,
        arguments.live,
        sorted(set(arguments.exchange)),
        symbols,
        arguments.burst,
        port,
        arguments.record,
    )


class Embedded:
    """The market plane in one process."""

    def __init__(
        self, options: Options, settings: Settings, telemetry: Telemetry, bus: MemoryBus | None = None
    ) -> None:
        self._options = options
        self._bus = bus or MemoryBus(limits_of(settings))
        self._settings = settings
        self._clock = SystemClock()
        self._telemetry = telemetry
        self._watch = MarketWatch()
        source = "live venues" if options.live else "simulator"
        self._screen = Screen(self._watch, source, options.seconds, quiet=options.as_json)
        self._recorder: Recorder | None = None
        self._silences: list[str] = []
        self.unread: BrokenPipeError | None = None
        """Set when nobody reads standard output any more."""

    @property
    def problems(self) -> list[str]:
        """What the recording misses, and why exchanges were silent."""
        missed = None if self._recorder is None else self._recorder.problem
        return [*([] if missed is None else [missed]), *self._silences]

    @property
    def failed(self) -> bool:
        """Whether the recording misses something, or nothing came from any exchange."""
        return not self._watch.heard or (self._recorder is not None and self._recorder.problem is not None)

    async def run(self) -> dict[str, Any]:
        """Until the time is over or a signal comes; what it amounted to."""
        options, telemetry = self._options, self._telemetry
        port = options.metrics_port
        endpoint = None if port is None else TelemetrySettings(host=self._settings.telemetry.host, port=port)
        async with AsyncExitStack() as stack:
            stop = await stack.enter_async_context(stop_on_signals())
            tasks = await stack.enter_async_context(observed(telemetry, endpoint))
            wanted = await self._targets(stack, tasks)
            exchanges = sorted({target.exchange for target in wanted})
            failures = Failures(wanted)
            stack.enter_context(failures.listening())
            bus = await stack.enter_async_context(self._bus)
            watching = tasks.spawn(self._watch.run(bus), "watch")
            recording = await self._record(bus, tasks)
            normalizer = Normalizer(self._settings, bus, self._clock, NormalizerTelemetry(telemetry))
            ending = asyncio.Event()
            normalizing = tasks.spawn(normalizer.run(ending), "normalizer")
            ingests = self._ingests(wanted, bus)
            ingesting = [tasks.spawn(ingest.run(stop), "ingest") for ingest in ingests]
            self._report_health(normalizer, ingests)
            try:
                await tasks.first(self._screen.show(stop))
            except BrokenPipeError as error:
                self.unread = error
            stop.set()
            await asyncio.gather(*ingesting)
            await self._settle()
            ending.set()
            await normalizing
            await recording()
            watching.cancel()
            self._silences = failures.told(name for name in exchanges if name not in self._watch.heard)
            return summary(telemetry, self._watch, exchanges)

    async def _targets(self, stack: AsyncExitStack, tasks: TaskSet) -> list[Target]:
        options = self._options
        names = options.exchanges or sorted(EXCHANGES)
        wanted = [target for name in names for target in targets(self._settings, name)]
        if not wanted:
            raise UsageError("--exchange", f"{', '.join(names)}: nothing of this is enabled in the settings")
        if not options.live:
            wanted = await self._simulated(wanted, stack, tasks)
        return await chosen(wanted, options.symbols, self._clock) if options.symbols else wanted

    async def _simulated(self, wanted: Sequence[Target], stack: AsyncExitStack, tasks: TaskSet) -> list[Target]:
        section = self._settings.simulator
        exchanges = tuple(sorted({target.exchange for target in wanted}))
        venues = SimulatorSettings(rate=section.rate, seed=section.seed, exchanges=exchanges)
        simulator = await stack.enter_async_context(Simulator(venues))
        if self._options.burst != 1:
            tasks.spawn(_bursts(simulator, self._options.burst), "bursts")
        return [
            structs.replace(
                target,
                endpoints=Endpoints(
                    simulator.websocket_base(target.exchange, target.product),
                    simulator.rest_base(target.exchange, target.product),
                ),
            )
            for target in wanted
        ]

    def _ingests(self, wanted: Sequence[Target], bus: MemoryBus) -> list[Ingest]:
        ingests = []
        for name in sorted({target.exchange for target in wanted}):
            telemetry = IngestTelemetry(self._telemetry, name, self._settings.ingest.permits)
            mine = [target for target in wanted if target.exchange == name]
            ingests.append(Ingest(name, mine, self._settings, bus, self._clock, telemetry))
        return ingests

    async def _record(self, bus: MemoryBus, tasks: TaskSet) -> Callable[[], Awaitable[None]]:
        if self._options.record is None:
            return _nothing
        self._recorder = recorder = Recorder(self._options.record, self._telemetry.events)
        ended = asyncio.Event()
        recording = tasks.spawn(recorder.run(bus, ended), "recorder")
        await tasks.first(recorder.ready.wait())

        async def finish() -> None:
            ended.set()
            await recording

        return finish

    async def _settle(self) -> None:
        """Until everything that ingest published was normalized, and the consumer saw it."""
        deadline = self._clock.monotonic() + int(SETTLE_S * 1e9)
        while self._clock.monotonic() < deadline:
            if settled(self._telemetry, self._watch):
                return
            await asyncio.sleep(SETTLE_EVERY_S)

    def _report_health(self, normalizer: Normalizer, ingests: Sequence[Ingest]) -> None:
        health = self._telemetry.health
        health.add("streams", normalizer.problem)
        for ingest in ingests:
            health.add(f"ingest {ingest.exchange}", ingest.problem)


async def _nothing() -> None:
    return None


async def _bursts(simulator: Simulator, factor: float) -> None:
    await asyncio.sleep(BURST_FIRST_S)
    while True:
        simulator.burst(factor, FOR_S)
        await asyncio.sleep(EVERY_S)
