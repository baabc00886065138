"""``tidegate tap``, ``record`` and ``replay``: what goes over the broker, to look at and to keep."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Raw, json

from services.cli.asking import ask_for_state
from services.cli.connecting import rabbit
from services.cli.errors import UsageError, binding, positive
from services.cli.lists import Lists
from services.cli.process import stop_on_signals
from services.cli.record import Recorder
from services.cli.replay import replay
from services.cli.tap_line import tap_line
from services.normalizer.telemetry import NormalizerTelemetry
from shared.accounts.messages import decode_account_messages
from shared.bus.base import Bus, Subscriber
from shared.clock import SystemClock
from shared.messages import Message, decode_messages
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.telemetry.tasks import TaskSet
from shared.topology import ACCOUNT, MARKET

__all__ = ["add_record", "add_replay", "add_tap", "run_record", "run_replay", "run_tap"]

REJECTED: Final = 3
REPLAYED: Final = ("frames_received", "messages_published", "frames_rejected")
LISTEN_FACTOR: Final = 2.2
"""Every ingest is heard twice, whenever it spoke last."""


def add_tap(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``tap``."""
    parser.add_argument(
        "pattern", nargs="*", default=["#"], help="routing key patterns, e.g. 'trade.bybit.*' (default: all)"
    )
    parser.add_argument(
        "--account", action="store_true", help="messages of accounts, e.g. 'fill.#' (default: market data)"
    )
    parser.add_argument(
        "--json", action="store_true", help="the messages as they are, one a line (default: for people)"
    )
    parser.add_argument("--count", type=int, metavar="N", help="end after N messages (default: go on until Ctrl-C)")


def run_tap(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Print messages until stopped."""
    del telemetry
    if arguments.count is not None and arguments.count < 1:
        raise UsageError("--count", f"must be at least 1, {arguments.count} was given")
    patterns = [binding("pattern", pattern) for pattern in arguments.pattern]
    exchange = ACCOUNT if arguments.account else MARKET
    return asyncio.run(_tap(settings, exchange, patterns, arguments.count, as_json=arguments.json))


async def _tap(settings: Settings, exchange: str, patterns: list[str], count: int | None, *, as_json: bool) -> int:
    async with stop_on_signals() as stop, rabbit(settings, "tap") as bus, TaskSet() as tasks:
        subscriber = await bus.subscribe(exchange, patterns)
        decode = decode_account_messages if exchange == ACCOUNT else decode_messages
        printing = tasks.spawn(_print(subscriber, decode, count, as_json=as_json), "tap")
        stopping = tasks.spawn(stop.wait(), "stop")
        await asyncio.wait({printing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if printing.done():
            printing.result()
        if subscriber.dropped:
            sys.stderr.write(
                f"tidegate: {subscriber.dropped} AMQP messages were dropped: standard output was too slow\n"
            )
    return 0


async def _print(
    subscriber: Subscriber, decode: Callable[[bytes], Sequence[Message]], count: int | None, *, as_json: bool
) -> None:
    left = count
    while left is None or left > 0:
        delivery = await subscriber.receive()
        try:
            if as_json:
                texts = [bytes(item) for item in json.decode(delivery.body, type=list[Raw])]
            else:
                texts = [tap_line(delivery.key, message).encode() for message in decode(delivery.body)]
        except DecodeError as error:
            sys.stderr.write(f"tidegate: a message of {delivery.key} was not understood: {error}\n")
            continue
        texts = texts if left is None else texts[:left]
        sys.stdout.buffer.writelines(text + b"\n" for text in texts)
        sys.stdout.buffer.flush()
        left = None if left is None else left - len(texts)


def add_record(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``record``."""
    parser.add_argument("file", type=Path, help="the capture file to write")
    parser.add_argument(
        "--stream", action="append", default=[], help="stream name or pattern (default: all market streams)"
    )
    parser.add_argument("--seconds", type=float, help="end after so many seconds (default: go on until Ctrl-C)")


def run_record(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Record until stopped; 1 when the recording misses something."""
    if arguments.seconds is not None:
        positive("--seconds", arguments.seconds)
    patterns = [binding("--stream", f"market.{stream}") for stream in arguments.stream] or ["market.#"]
    recorder = Recorder(arguments.file, telemetry.events, patterns)
    asyncio.run(_record(settings, recorder, arguments.seconds))
    sys.stderr.write(f"tidegate: {recorder.problem or f'{recorder.envelopes} envelopes in {arguments.file}'}\n")
    return 0 if recorder.problem is None else 1


async def _record(settings: Settings, recorder: Recorder, seconds: float | None) -> None:
    async with stop_on_signals() as stop, rabbit(settings, "record") as bus, TaskSet() as tasks:
        if seconds is not None:
            asyncio.get_running_loop().call_later(seconds, stop.set)
        recording = tasks.spawn(recorder.run(bus, stop), "recorder")
        await tasks.first(recorder.ready.wait())
        listen_s = LISTEN_FACTOR * settings.ingest.announce_interval_s
        tasks.spawn(ask_for_state(bus, recorder.patterns, listen_s), "asking")
        await recording


def add_replay(parser: argparse.ArgumentParser) -> None:
    """Arguments of ``replay``."""
    parser.add_argument("file", type=Path, help="a capture file")
    parser.add_argument(
        "--speed", type=float, default=0.0, metavar="X", help="1: as recorded; 0 (default): as fast as possible"
    )
    parser.add_argument("--broker", action="store_true", help="publish on the broker (default: print)")
    parser.add_argument(
        "--instruments",
        action="append",
        default=[],
        metavar="FILE",
        help="the venue's instrument list, as `normalize` takes it, for streams that brought none; where there are "
        "several products, of one as bybit.linear=FILE; may be given several times (default: what was recorded)",
    )
    parser.epilog = "Ends with what it came to on standard error. Status 3: frames were rejected."


def run_replay(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Play a file; 3 when frames were rejected. Raises UsageError, CaptureError, BrokerError, OSError."""
    if arguments.speed:
        positive("--speed", arguments.speed)
    lists = Lists(arguments.instruments)
    asyncio.run(_replay(settings, telemetry, arguments.file, arguments.speed, lists, broker=arguments.broker))
    frames, messages, rejected = (int(telemetry.total(f"tidegate_{name}_total", {})) for name in REPLAYED)
    sys.stderr.write(f"tidegate: {frames} frames, {messages} messages, {rejected} rejected\n")
    return REJECTED if rejected else 0


async def _replay(
    settings: Settings, telemetry: Telemetry, path: Path, speed: float, lists: Lists, *, broker: bool
) -> None:
    async with AsyncExitStack() as stack:
        bus: Bus | None = await stack.enter_async_context(rabbit(settings, "replay")) if broker else None
        await replay(path, speed, settings, SystemClock(), NormalizerTelemetry(telemetry), bus, lists.seed)
