"""``tidegate bench executor``: parsing on the loop in slices beside parsing in a thread, on the normalizer's own code.

Batches of 20 envelopes of 200 frames go through both, in turn. Meanwhile a coroutine on the same loop measures how late
it wakes: what a socket, a confirm or a heartbeat would have waited.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import Final, NamedTuple

from msgspec import json

from services.bench.measuring.frames import build, instrument_list
from services.cli.process import spare_the_collector
from services.normalizer.batch import Batch, Streams, unlisted
from services.normalizer.executing import Executor, Inline, Threaded
from services.normalizer.telemetry import NormalizerTelemetry
from shared.bus.base import Delivery
from shared.clock import SystemClock
from shared.envelope import SCHEMA_VERSION, Envelope, Frame, FrameKind, RestReply, encode_envelope, encode_reply
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["HELP", "add_arguments", "run"]

HELP: Final = "parsing on the event loop in slices beside parsing in a thread: frames/s, CPU, how late the loop wakes"

FRAMES: Final = 200
ENVELOPES: Final = 20
STREAM: Final = "bybit.linear.0"


class Reading(NamedTuple):
    """What one pass over all batches took."""

    wall_ns: int
    cpu_ns: int
    late_ns: list[int]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--rounds", type=int, default=7, help="how often everything is measured (default: 7)")
    parser.add_argument("--count", type=int, default=80_000, help="frames in a round (default: 80000)")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Print the figures; 0."""
    del settings
    batches = _batches(max(FRAMES * ENVELOPES, arguments.count))
    spare_the_collector()
    frames = sum(len(batch) for batch in batches) * FRAMES
    readings = asyncio.run(_rounds(batches, max(1, arguments.rounds), NormalizerTelemetry(telemetry)))
    results = [_result(name, taken, frames) for name, taken in readings.items()]
    for result in results:
        sys.stdout.write("  ".join(f"{name}={value}" for name, value in result.items()) + "\n")
    if arguments.json:
        sys.stdout.write(json.encode({"executors": results}).decode() + "\n")
    return 0


async def _rounds(
    batches: list[list[Delivery]], rounds: int, telemetry: NormalizerTelemetry
) -> dict[str, list[Reading]]:
    clock = SystemClock()
    executors: dict[str, Executor] = {
        "inline": Inline(clock, telemetry.parsing),
        "thread": Threaded(clock, telemetry.parsing),
    }
    readings: dict[str, list[Reading]] = {name: [] for name in executors}
    for _ in range(rounds):
        for name, executor in executors.items():
            readings[name].append(await _pass(batches, executor))
    for executor in executors.values():
        executor.close()
    return readings


async def _pass(batches: list[list[Delivery]], executor: Executor) -> Reading:
    streams = Streams(SystemClock(), unlisted)
    late: list[int] = []
    watching = asyncio.create_task(_watch(late))
    wall, cpu = perf_counter_ns(), process_time_ns()
    for deliveries in batches:
        batch = Batch()
        await executor.run(partial(_work, streams, deliveries, batch))
    reading = Reading(perf_counter_ns() - wall, process_time_ns() - cpu, late)
    watching.cancel()
    return reading


def _work(streams: Streams, deliveries: list[Delivery], batch: Batch, due: Callable[[], bool]) -> Iterator[None]:
    for delivery in deliveries:
        yield from streams.handle(delivery, batch, due)
    batch.gather()
    yield from batch.encode(due, firehose=False)


async def _watch(late: list[int]) -> None:
    """How long a callback that is due at once waits for its turn."""
    while True:
        asked = perf_counter_ns()
        await asyncio.sleep(0)
        late.append(perf_counter_ns() - asked)


def _batches(count: int) -> list[list[Delivery]]:
    listed = encode_reply(RestReply("https://api.bybit.com/v5/market/instruments-info", 200, instrument_list()))
    frames = [Frame(FrameKind.REST, 1, listed), *(Frame(FrameKind.TEXT, 1, data) for data in build(count))]
    bodies = [
        encode_envelope(Envelope(SCHEMA_VERSION, "bybit", "linear", "market", STREAM, 1, at, frames[at : at + FRAMES]))
        for at in range(0, len(frames), FRAMES)
    ]
    deliveries = [Delivery(STREAM, body, tag, redelivered=False, ts_delivered=0) for tag, body in enumerate(bodies)]
    return [deliveries[at : at + ENVELOPES] for at in range(0, len(deliveries), ENVELOPES)]


def _result(name: str, taken: list[Reading], frames: int) -> dict[str, object]:
    late = sorted(value for reading in taken for value in reading.late_ns)
    return {
        "executor": name,
        "frames_per_s": round(frames / median(reading.wall_ns for reading in taken) * 1e9),
        "cpu_us_per_frame": round(median(reading.cpu_ns for reading in taken) / frames / 1_000, 2),
        "late_p50_us": round(_of_time(late, 0.5) / 1_000, 1),
        "late_p99_us": round(_of_time(late, 0.99) / 1_000, 1),
        "late_max_us": round(late[-1] / 1_000, 1),
    }


def _of_time(late: list[int], share: float) -> int:
    """The wait that an event meets at most with this probability, if it comes at any moment: long waits take long."""
    left = sum(late) * share
    for value in late:
        left -= value
        if left <= 0:
            return value
    return late[-1]
