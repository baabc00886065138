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
from rich.console import Console
from rich.live import Live

from services.cli.errors import UsageError
from services.cli.process import observed, stop_on_signals
from services.cli.record import Recorder
from services.cli.screen import Rates, counts, lines, table
from services.cli.summary import summary
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

BURST_FIRST_S = 2.0
BURST_EVERY_S = 10.0
BURST_FOR_S = 5.0
SETTLE_S = 5.0


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
    parser.add_argument("--seconds", type=float, help="end after so many seconds (default: Ctrl-C)")
    parser.add_argument("--json", action="store_true", help="print one JSON object at the end, nothing else on stdout")
    parser.add_argument("--live", action="store_true", help="connect to the real venues instead of the simulator")
    parser.add_argument("--exchange", action="append", default=[], help="only this one; may be given several times")
    parser.add_argument("--symbols", default="", help="comma-separated unified symbols, instead of the settings'")
    parser.add_argument(
        "--burst", type=float, default=1.0, metavar="N", help="volatility bursts of N times the base rate"
    )
    parser.add_argument("--metrics-port", type=int, help="serve /metrics, /livez and /readyz on this port")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the raw streams to a capture file")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0 after an orderly end; raises UsageError, SettingsError."""
    if arguments.seconds is not None and arguments.seconds <= 0:
        raise UsageError("--seconds", f"must be positive, {arguments.seconds} was given")
    if arguments.burst <= 0:
        raise UsageError("--burst", f"must be positive, {arguments.burst} was given")
    for name in arguments.exchange:
        if name not in EXCHANGES:
            raise UsageError("--exchange", f"{name!r} is no exchange; there are {', '.join(sorted(EXCHANGES))}")
    symbols = [symbol.strip() for symbol in arguments.symbols.split(",") if symbol.strip()]
    options = Options(
        arguments.seconds,
        arguments.json,
        arguments.live,
        arguments.exchange,
        symbols,
        arguments.burst,
        arguments.metrics_port,
        arguments.record,
    )
    result = asyncio.run(Embedded(options, settings, telemetry).run())
    if options.as_json:
        sys.stdout.write(json.encode(result).decode() + "\n")
    return 0


class Embedded:
    """The market plane in one process."""

    def __init__(self, options: Options, settings: Settings, telemetry: Telemetry) -> None:
        self._options = options
        self._settings = settings
        self._clock = SystemClock()
        self._telemetry = telemetry
        self._watch = MarketWatch()

    async def run(self) -> dict[str, Any]:
        """Until the time is over or a signal comes; what it amounted to."""
        options, telemetry = self._options, self._telemetry
        port = options.metrics_port
        endpoint = None if port is None else TelemetrySettings(host=self._settings.telemetry.host, port=port)
        async with AsyncExitStack() as stack:
            stop = await stack.enter_async_context(stop_on_signals())
            tasks = await stack.enter_async_context(observed(telemetry, endpoint))
            wanted = await self._targets(stack, tasks)
            bus = await stack.enter_async_context(MemoryBus())
            watching = tasks.spawn(self._watch.run(bus), "watch")
            recording = await self._record(bus, tasks)
            normalizer = Normalizer(self._settings, bus, self._clock, NormalizerTelemetry(telemetry))
            ending = asyncio.Event()
            normalizing = tasks.spawn(normalizer.run(ending), "normalizer")
            ingesting = [tasks.spawn(ingest.run(stop), "ingest") for ingest in self._ingests(wanted, bus)]
            await tasks.first(self._show(stop))
            stop.set()
            await asyncio.gather(*ingesting)
            await self._settle(sorted({target.exchange for target in wanted}))
            ending.set()
            await normalizing
            await recording()
            watching.cancel()
            return summary(telemetry, self._watch, sorted({target.exchange for target in wanted}))

    async def _targets(self, stack: AsyncExitStack, tasks: TaskSet) -> list[Target]:
        options = self._options
        names = options.exchanges or sorted(EXCHANGES)
        wanted = [target for name in names for target in targets(self._settings, name)]
        if options.symbols:
            wanted = [structs.replace(target, symbols=_of_product(target, options.symbols)) for target in wanted]
            wanted = [target for target in wanted if target.symbols]
        if not wanted:
            raise UsageError("--exchange/--symbols", "leave nothing to do")
        if options.live:
            return wanted
        section = self._settings.simulator
        simulator = await stack.enter_async_context(Simulator(SimulatorSettings(rate=section.rate, seed=section.seed)))
        if options.burst != 1:
            tasks.spawn(_bursts(simulator, options.burst), "bursts")
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
        recorder, ended = Recorder(self._options.record), asyncio.Event()
        recording = tasks.spawn(recorder.run(bus, ended), "recorder")
        await tasks.first(recorder.ready.wait())

        async def finish() -> None:
            ended.set()
            await recording

        return finish

    async def _settle(self, exchanges: list[str]) -> None:
        """Until everything that ingest published was normalized, and the consumer saw it."""
        deadline = self._clock.monotonic() + int(SETTLE_S * 1e9)
        while self._clock.monotonic() < deadline:
            now = summary(self._telemetry, self._watch, exchanges)
            if not now["in_flight"] and self._watch.messages >= now["messages_published"] - self._watch.dropped:
                return
            await asyncio.sleep(0.02)

    async def _show(self, stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        end = None if self._options.seconds is None else loop.time() + self._options.seconds
        terminal = sys.stdout.isatty() and not self._options.as_json
        console = Console()
        with Live(console=console, auto_refresh=False, transient=False) if terminal else _Quiet() as live:
            before, looked = counts(self._watch), loop.time()
            while not stop.is_set() and (end is None or loop.time() < end):
                left = 1.0 if end is None else min(1.0, end - loop.time())
                try:
                    async with asyncio.timeout(max(left, 0)):
                        await stop.wait()
                except TimeoutError:
                    pass
                rates = Rates(before, loop.time() - looked)
                before, looked = counts(self._watch), loop.time()
                if isinstance(live, Live):
                    live.update(table(self._watch, rates, self._title()), refresh=True)
                elif not self._options.as_json:
                    sys.stdout.write("\n".join(lines(self._watch, rates)) + "\n")
                    sys.stdout.flush()

    def _title(self) -> str:
        source = "live venues" if self._options.live else "simulator"
        return f"Tidegate, {source}: {self._watch.messages:,} messages"


class _Quiet:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


async def _nothing() -> None:
    return None


async def _bursts(simulator: Simulator, factor: float) -> None:
    await asyncio.sleep(BURST_FIRST_S)
    while True:
        simulator.burst(factor, BURST_FOR_S)
        await asyncio.sleep(BURST_EVERY_S)


def _of_product(target: Target, symbols: Sequence[str]) -> tuple[str, ...]:
    """The symbols whose form fits a product: spot has no settlement currency."""
    spot = target.product == "spot"
    inverse = target.product == "inverse"
    return tuple(
        symbol for symbol in symbols if (":" not in symbol) == spot and (spot or ("/USD:" in symbol) == inverse)
    )
