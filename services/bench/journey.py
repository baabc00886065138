"""``tidegate bench journey``: four designs against the same burst, with the broker behind a long round trip."""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import json

from services.bench.burst import build
from services.bench.children import ROOT, Child, ChildFailed
from services.bench.feeder import FeedReport
from services.bench.journey_report import picture, table, targets
from services.bench.journey_result import DesignReport, DesignResult, Row
from services.bench.journey_tidegate import run_tidegate
from services.bench.machine import Load, Queue
from services.cli.errors import UsageError, positive
from services.cli.local_rabbit import LocalRabbitError, RabbitNode
from shared.errors import TidegateError, about
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["HELP", "add_arguments", "run"]

HELP: Final = "four designs against the same burst behind a slow broker: what each loses, and why"
DESIGNS: Final = {
    "1 sequential": "tests.bench.designs.sequential",
    "2 unbounded": "tests.bench.designs.unbounded",
    "3 metered": "tests.bench.designs.metered",
    "4 tidegate": None,
}
"""The bad ones are no part of the product: they are where the tests are."""
START_S: Final = 30.0
GRACE_S: Final = 3.0
"""After the burst a design has so long to get the rest out."""
END_S: Final = 60.0
LATE_MS: Final = 5.0


class _Course(NamedTuple):
    """Where a design runs: the burst and its rate, the broker behind its round trip, a directory for files."""

    burst: Path
    rate: float
    seconds: float
    memory_mib: float
    amqp: str
    directory: Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``bench journey``."""
    add = parser.add_argument
    add("--rate", type=float, default=20_000.0, metavar="N", help="frames per second (default: 20000)")
    add("--seconds", type=float, default=30.0, metavar="N", help="length of the burst (default: 30)")
    add("--rtt-ms", type=float, default=100.0, metavar="N", help="round trip to the broker (default: 100)")
    add("--memory-mib", type=float, default=1024.0, metavar="N", help="designs 1 to 3 end beyond that (default: 1024)")
    add("--design", action="append", choices=[name[0] for name in DESIGNS], help="only these (default: all)")
    add("--out", type=Path, default=ROOT / "bench" / "results", metavar="DIR", help="for journey.json and journey.png")
    add("--json", action="store_true", help="standard output ends with one JSON object")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Run the designs one after the other, print the table, write the files."""
    del settings, telemetry
    for name in ("rate", "seconds", "rtt_ms", "memory_mib"):
        positive(f"--{name.replace('_', '-')}", getattr(arguments, name))
    if arguments.rate * arguments.seconds < 100:
        raise UsageError("--seconds", "must make a burst of 100 frames at least")
    if not (ROOT / "tests" / "bench" / "designs").is_dir():
        raise UsageError("journey", "the designs it compares are beside the sources, in tests/bench: run it there")
    try:
        results = asyncio.run(_measure(arguments))
    except (ChildFailed, LocalRabbitError) as error:
        raise TidegateError(str(error)) from error
    _show(arguments, results)
    return 0


def _show(arguments: argparse.Namespace, results: Sequence[DesignResult]) -> None:
    rows = [Row.of(result) for result in results]
    _print(table(results), targets(results[-1], arguments.rate))
    arguments.out.mkdir(parents=True, exist_ok=True)
    conditions = {name: getattr(arguments, name) for name in ("rate", "seconds", "rtt_ms", "memory_mib")}
    file = arguments.out / "journey.json"
    try:
        file.write_bytes(json.format(json.encode({**conditions, "designs": rows, "results": results})) + b"\n")
    except OSError as error:
        raise about(error, str(file)) from error
    _print(f"written: {file}", picture(results, arguments.out / "journey.png", arguments.rate, arguments.seconds))
    if arguments.json:
        _print(json.encode({"designs": rows}).decode())


async def _measure(arguments: argparse.Namespace) -> list[DesignResult]:
    wanted = [name for name in DESIGNS if arguments.design is None or name[0] in arguments.design]
    with tempfile.TemporaryDirectory(prefix="tidegate-journey-") as directory:
        at = Path(directory)
        _say(f"building {arguments.rate * arguments.seconds:.0f} frames")
        await asyncio.to_thread(build, at / "burst", int(arguments.rate * arguments.seconds))
        node = RabbitNode()
        try:
            await asyncio.to_thread(node.start)
            async with Child(
                "services.bench.proxy",
                ["--target", str(node.port), "--rtt-ms", str(arguments.rtt_ms)],
                at / "proxy.log",
            ) as proxy:
                port = int(await proxy.line(START_S))
                amqp = f"amqp://guest:guest@127.0.0.1:{port}/"
                course = _Course(at / "burst", arguments.rate, arguments.seconds, arguments.memory_mib, amqp, at)
                return [await _design(name, course) for name in wanted]
        finally:
            await asyncio.to_thread(node.close)


async def _design(name: str, course: _Course) -> DesignResult:
    _say(f"{name}: {course.rate:.0f} frames/s for {course.seconds:g} s")
    module = DESIGNS[name]
    arguments = ["--burst", str(course.burst), "--rate", str(course.rate)]
    async with Child("services.bench.feeder", arguments, course.directory / "feeder.log") as feeder:
        port = int(await feeder.line(START_S))
        fed: list[FeedReport] = []
        load = Load()

        async def feed() -> FeedReport:
            load.begin()
            await feeder.tell("go")
            fed.append(json.decode(await feeder.line(course.seconds + END_S), type=FeedReport))
            return fed[0]

        if module is None:
            report = await run_tidegate(course.directory, port, course.amqp, feed)
        else:
            report = await _bad(module, port, course, feed)
        report.notes += load.notes(report.cpu_s)
    if fed:
        report.notes += _feeding(fed[0])
    offered = int(course.rate * course.seconds)
    return DesignResult(name, offered, max(0, offered - report.published), report)


async def _bad(
    module: str, venue: int, course: _Course, feed: Callable[[], Coroutine[Any, Any, FeedReport]]
) -> DesignReport:
    """One of the designs in ``tests/bench``; it ends with its burst, or when it has used up its memory."""
    arguments = ["--websocket", f"ws://127.0.0.1:{venue}/v5/public/linear", "--amqp", course.amqp]
    log = course.directory / f"{module}.performance.log"
    arguments += ["--log", str(log), "--memory-mib", str(course.memory_mib)]
    async with AsyncExitStack() as stack:
        child = await stack.enter_async_context(Child(module, arguments, course.directory / f"{module}.log"))
        await child.line(START_S)
        queue, waiting = Queue("it", child.pid), list[str]()
        burst = asyncio.ensure_future(feed())
        told = asyncio.ensure_future(child.line(course.seconds + GRACE_S + END_S))
        try:
            await asyncio.wait({burst, told}, return_when=asyncio.FIRST_COMPLETED)
            if not told.done():
                await asyncio.wait({told}, timeout=GRACE_S)
                waiting = queue.notes()
                await child.tell("end")
            report = json.decode(await told, type=DesignReport)
            report.notes += waiting
            return report
        finally:
            burst.cancel()
            told.cancel()
            for file in log.parent.glob(f"{log.name}*"):
                file.unlink()


def _feeding(report: FeedReport) -> list[str]:
    notes = [f"generator: late p99 {report.late_p99_ms:.1f} ms, at most {report.late_max_ms:.1f} ms"]
    if report.skipped:
        notes.append(f"{report.skipped} frames were not sent: the design read too slowly or was not connected")
    if report.late_p99_ms > LATE_MS:
        notes.append("the generator (or the machine) was a limit here: frames left late")
    return notes


def _print(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def _say(text: str) -> None:
    sys.stderr.write(f"journey: {text}\n")
