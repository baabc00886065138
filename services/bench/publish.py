"""``bench publish``: what a message costs the process that publishes it, with each of the two publishers."""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from statistics import median
from time import perf_counter_ns, process_time_ns
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import json

from services.bench.measuring.broker import broker
from services.cli.errors import positive
from shared.bus.base import Publisher
from shared.control import StreamInfo
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.topology import RAW, raw_key

if TYPE_CHECKING:
    from shared.bus.rabbit import PublisherKind

__all__ = ["HELP", "SHAPES", "Result", "Shape", "add_arguments", "run", "table"]

HELP: Final = "CPU per published and confirmed message: the lean publisher beside the plain one (aio-pika)"
STREAM: Final = StreamInfo("bybit", "linear", "market", "bybit.linear.0")
"""Its queue takes everything and drops its oldest; what no queue gets, RabbitMQ confirms one by one."""

DEADLINE_S: Final = 60.0


class Shape(NamedTuple):
    """How messages are published: ``at_once`` calls under way, each with a batch."""

    name: str
    at_once: int
    batch: int


SHAPES: Final = (
    Shape("one by one", 1, 1),
    Shape("20 under way", 20, 1),
    Shape("batches of 20", 1, 20),
    Shape("batches of 200", 1, 200),
)


class Spent(NamedTuple):
    """CPU time of this process and wall time for a message (µs)."""

    cpu_us: float
    wall_us: float


class Result(NamedTuple):
    """Medians over rounds; ``ratio`` is the median of the rounds' ratios of CPU time."""

    shape: str
    lean_us: float
    plain_us: float
    ratio: float
    lean_per_s: float
    plain_per_s: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds, medians are told (%(default)s)")
    parser.add_argument("--count", type=int, default=2_000, help="messages of each in a round (%(default)s)")
    parser.add_argument("--bytes", type=int, default=300, help="the size of a body (%(default)s)")
    parser.add_argument("--json", action="store_true", help="end standard output with one JSON object")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0; raises UsageError, BenchError, BrokerError."""
    del settings, telemetry
    for name in ("rounds", "count", "bytes"):
        positive(f"--{name}", getattr(arguments, name))
    with broker() as node:
        found = asyncio.run(_measure(node.url, arguments.rounds, arguments.count, bytes(arguments.bytes)))
    results = [_result(shape, found[shape]) for shape in SHAPES]
    sys.stdout.write(table(results))
    if arguments.json:
        sys.stdout.write(json.encode({"results": [one._asdict() for one in results]}).decode() + "\n")
    return 0


def table(results: Sequence[Result]) -> str:
    """One line for each way to publish."""
    lines = [f"{'':<16}{'lean µs':>9}{'plain µs':>10}{'ratio':>7}{'lean/s':>10}{'plain/s':>10}"]
    for one in results:
        costs = f"{one.lean_us:>9.1f}{one.plain_us:>10.1f}{one.ratio:>7.1f}"
        lines.append(f"{one.shape:<16}{costs}{one.lean_per_s:>10,.0f}{one.plain_per_s:>10,.0f}")
    return "\n".join(lines) + "\n"


async def _measure(url: str, rounds: int, count: int, body: bytes) -> dict[Shape, list[tuple[Spent, Spent]]]:
    """Lean and plain, one after the other and the other way round in turn; the first round only warms up."""
    found: dict[Shape, list[tuple[Spent, Spent]]] = {shape: [] for shape in SHAPES}
    for number in range(rounds + 1):
        kinds: tuple[PublisherKind, ...] = ("lean", "plain") if number % 2 else ("plain", "lean")
        for shape in SHAPES:
            spent = {kind: await _spent(url, kind, shape, count, body) for kind in kinds}
            if number:
                found[shape].append((spent["lean"], spent["plain"]))
    return found


async def _spent(url: str, kind: "PublisherKind", shape: Shape, count: int, body: bytes) -> Spent:
    from shared.bus.rabbit import RabbitBus

    calls = -(-count // (shape.at_once * shape.batch))
    batch = [(raw_key(STREAM), body)] * shape.batch
    async with RabbitBus(url, "bench publish", publisher=kind) as bus:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        await publisher.publish_batch(RAW, batch, deadline_s=DEADLINE_S)  # opens the channel
        cpu, wall = process_time_ns(), perf_counter_ns()
        async with asyncio.TaskGroup() as group:
            for _ in range(shape.at_once):
                group.create_task(_publish(publisher, batch, calls))
        messages = calls * shape.at_once * shape.batch
        return Spent((process_time_ns() - cpu) / messages / 1e3, (perf_counter_ns() - wall) / messages / 1e3)


async def _publish(publisher: Publisher, batch: Sequence[tuple[str, bytes]], calls: int) -> None:
    for _ in range(calls):
        await publisher.publish_batch(RAW, batch, deadline_s=DEADLINE_S)


def _result(shape: Shape, rounds: Sequence[tuple[Spent, Spent]]) -> Result:
    return Result(
        shape.name,
        median(lean.cpu_us for lean, _ in rounds),
        median(plain.cpu_us for _, plain in rounds),
        median(plain.cpu_us / lean.cpu_us for lean, plain in rounds),
        1e6 / median(lean.wall_us for lean, _ in rounds),
        1e6 / median(plain.wall_us for _, plain in rounds),
    )
