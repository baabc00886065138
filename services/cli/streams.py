"""``tidegate streams``: which normalizer owns which stream, how fast it goes, and what waits."""

import argparse
import asyncio
import sys
import time
from typing import Final

from msgspec import json
from rich.console import Console
from rich.live import Live

from services.cli.connecting import rabbit
from services.cli.process import stop_on_signals
from services.cli.streams_board import Board, Report
from services.cli.streams_table import lines, view
from shared.bus.base import Bus, Subscriber
from shared.control import Announcement, Holdings, decode_control
from shared.errors import BrokerError, ParseError, TidegateError
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.telemetry.tasks import TaskSet
from shared.topology import CONTROL, announcement_key, holdings_key

__all__ = ["add_arguments", "run"]

HOLDINGS_S: Final = 2.0
"""How often normalizers say what they own."""
LISTEN_FACTOR: Final = 2.2
"""Everybody is heard twice, whenever it spoke last."""
REFRESH_S: Final = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("--json", action="store_true", help="one JSON object, with --watch one a line (default: for people)")
    add("--watch", action="store_true", help="again every second until Ctrl-C (default: once)")
    parser.epilog = (
        "Listens on the broker for about five seconds. `for` is the time since the last hand-over, `lag` how old the "
        "newest frame was when it was dealt with, `waiting` counts envelopes. Status 1: a stream has no owner."
    )


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0 when every stream has an owner, 1 otherwise; with ``--watch`` 0. Raises TidegateError where nobody speaks."""
    del telemetry
    return asyncio.run(_streams(settings, watch=arguments.watch, as_json=arguments.json))


async def _streams(settings: Settings, *, watch: bool, as_json: bool) -> int:
    board = Board()
    listen_s = LISTEN_FACTOR * max(HOLDINGS_S, settings.ingest.announce_interval_s)
    async with stop_on_signals() as stop, rabbit(settings, "streams") as bus, TaskSet() as tasks:
        subscriber = await bus.subscribe(CONTROL, [announcement_key(), holdings_key()])
        listening = tasks.spawn(_listen(subscriber, board), "control")
        stopping = tasks.spawn(stop.wait(), "stop")
        await asyncio.wait({listening, stopping}, timeout=listen_s, return_when=asyncio.FIRST_COMPLETED)
        if listening.done():
            listening.result()
        report = await _report(board, bus)
        if stop.is_set():
            return 0
        if not report.streams:
            raise TidegateError(f"no stream was announced within {listen_s:.1f} s: no ingest runs on this broker")
        if not report.members:
            sys.stderr.write(f"tidegate: no normalizer was heard within {listen_s:.1f} s: none runs on this broker\n")
        if watch:
            await _watch(board, bus, stop, as_json=as_json)
            return 0
        _print(report, as_json=as_json)
    return 1 if report.unowned else 0


async def _listen(subscriber: Subscriber, board: Board) -> None:
    while True:
        delivery = await subscriber.receive()
        try:
            message = decode_control(delivery.body)
        except ParseError as error:
            sys.stderr.write(f"tidegate: a message of {delivery.key} was not understood: {error}\n")
            continue
        now = time.monotonic_ns()
        if isinstance(message, Announcement):
            board.announced(message, now)
        elif isinstance(message, Holdings):
            board.held(message, now)


async def _report(board: Board, bus: Bus) -> Report:
    now = time.monotonic_ns()
    waiting: dict[str, int] = {}
    for stream in board.streams(now):
        try:
            waiting[stream.stream] = await bus.waiting(stream)
        except BrokerError:
            break  # it stands as unknown
    return board.report(now, waiting)


async def _watch(board: Board, bus: Bus, stop: asyncio.Event, *, as_json: bool) -> None:
    if as_json or not sys.stdout.isatty():
        while not stop.is_set():
            _print(await _report(board, bus), as_json=as_json)
            await _wait(stop)
        return
    with Live(console=Console(), screen=True, auto_refresh=False) as live:
        while not stop.is_set():
            live.update(view(await _report(board, bus), time.time_ns()), refresh=True)
            await _wait(stop)


async def _wait(stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(REFRESH_S):
            await stop.wait()
    except TimeoutError:
        pass


def _print(report: Report, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.encode(report).decode() + "\n")
    elif sys.stdout.isatty():
        Console().print(view(report, time.time_ns()))
    else:
        sys.stdout.write("\n".join(lines(report, time.time_ns())) + "\n")
    sys.stdout.flush()
