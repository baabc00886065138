"""``tidegate top``: what every process says of itself, live, in a terminal."""

import argparse
import asyncio
import signal
import sys
import time
from collections.abc import Sequence

from msgspec import json
from rich.console import Console
from rich.live import Live

from services.cli.errors import UsageError, positive
from services.cli.process import stop_on_signals
from services.cli.top_report import Look, Report, report
from services.cli.top_table import lines, view
from services.cli.top_targets import Targets
from shared.errors import TidegateError
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.transport.http import PageReader

__all__ = ["add_arguments", "run"]

DEADLINE_S = 2.0
MAX_INTERVAL_S = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add(
        "--target",
        action="append",
        default=[],
        metavar="URL",
        help="http://host:port/metrics of a process, or of all replicas behind a name; may be given several times "
        "(default: what answers on this machine where `make up`, or a stage by the settings, serves its metrics)",
    )
    add("--interval", type=float, default=1.0, metavar="S", help="seconds between two looks (default: %(default)s)")
    add("--once", action="store_true", help="print what one interval shows and end (default: go on until Ctrl-C)")
    add("--json", action="store_true", help="a JSON object for each interval, one a line (default: for people)")
    parser.epilog = (
        "Rates and durations are of the last interval, durations the 99th percentile; shed, lost and the frames of the "
        "last line count from the start of the processes. An exchange's q_wait is that of its slower stage; write and "
        "lag are those of its ingest. Red is what needs a look."
    )


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Until Ctrl-C (0). With ``--once`` 1 when no process answered; raises UsageError."""
    del telemetry
    positive("--interval", arguments.interval)
    if arguments.interval > MAX_INTERVAL_S:
        raise UsageError("--interval", f"must be at most {MAX_INTERVAL_S:g}, {arguments.interval:g} was given")
    targets = Targets(arguments.target, settings.telemetry.port)
    return asyncio.run(_top(targets, arguments.interval, once=arguments.once, as_json=arguments.json))


async def _top(targets: Targets, interval_s: float, *, once: bool, as_json: bool) -> int:
    async with stop_on_signals() as stop, PageReader(DEADLINE_S) as reader:
        first = await targets.look(reader)
        if not first:
            raise TidegateError(
                "no process of Tidegate serves its metrics where they are expected on this machine: start `make up`, "
                "or `make run` with --metrics-port, or say where with --target"
            )
        if sys.stdout.isatty() and not (once or as_json):
            await _show(targets, reader, stop, interval_s, _report(first))
            return 0
        return await _write(targets, reader, stop, interval_s, once=once, as_json=as_json)


async def _write(
    targets: Targets, reader: PageReader, stop: asyncio.Event, interval_s: float, *, once: bool, as_json: bool
) -> int:
    while True:
        await _wait(interval_s, stop)
        if stop.is_set():
            return 0
        found = _report(await targets.look(reader))
        if as_json:
            sys.stdout.write(json.encode(found).decode() + "\n")
        elif once:
            console = Console()
            console.print(view(found, console.width, None, targets.left_out))
        else:
            sys.stdout.write("\n".join(lines(found)) + "\n")
        sys.stdout.flush()
        if once:
            return 0 if any(process.up for process in found.processes) else 1


async def _show(targets: Targets, reader: PageReader, stop: asyncio.Event, interval_s: float, found: Report) -> None:
    """On the terminal's other page, so that what stood there before is there again afterwards."""
    loop, resized = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGWINCH, resized.set)
    console = Console()
    due = loop.time() + interval_s
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while not stop.is_set():
                resized.clear()
                live.update(view(found, console.width, console.height, targets.left_out), refresh=True)
                await _wait(due - loop.time(), stop, resized)
                if loop.time() >= due:
                    found = _report(await targets.look(reader))
                    due = max(due + interval_s, loop.time())
    finally:
        loop.remove_signal_handler(signal.SIGWINCH)


def _report(looks: Sequence[Look]) -> Report:
    return report(looks, time.time_ns())


async def _wait(seconds: float, *events: asyncio.Event) -> None:
    """So long, or until one of the events is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=max(0.0, seconds), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waiting:
            one.cancel()
