"""What ``bench account`` measures first: frames of one account stream into its quorum queue, each confirmed."""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple, Protocol

from services.bench.measuring.processes import ROOT, Process
from services.cli.local_rabbit import RabbitNode
from services.ingest.account.numbering import Begin, Push, Release, Row
from services.ingest.account.outlet import AccountOutlet
from services.ingest.account.telemetry import AccountTelemetry
from services.ingest.account.writer import JournalWriter
from shared.bus.base import Publisher
from shared.clock import SystemClock
from shared.control import StreamInfo
from shared.envelope import SCHEMA_VERSION, Envelope, Frame, FrameKind, encode_envelope
from shared.telemetry.bundle import Telemetry
from shared.topology import raw_key

__all__ = ["KINDS", "Speed", "publishing", "speeds"]

STREAM: Final = StreamInfo("bybit", "linear", "account", "bybit.main")
KINDS: Final = ("bare", "off", "on")
"""aio-pika's own loop; Tidegate without and with the journal."""

BASELINE: Final = "tests.bench.baselines.confirmed"
DEADLINE_S: Final = 60.0
LIFETIME_S: Final = 3_600.0
AHEAD: Final = 32
"""Frames that are in the journal and were not confirmed yet."""


class Speed(NamedTuple):
    """Medians over rounds; ``ratio`` is to the bare loop of the same round."""

    kind: str
    per_s: float
    frame_us: float
    ratio: float


class _Feed(Protocol):
    """A source of frames that tells when all that it was asked for was confirmed."""

    done: asyncio.Event

    async def next(self) -> Row: ...

    def confirmed(self, row: Row) -> None: ...


class _Memory:
    """Frames that are on no disk."""

    def __init__(self, frame: Frame, count: int) -> None:
        self.done = asyncio.Event()
        self._frame = frame
        self._count = count
        self._next = 0

    async def next(self) -> Row:
        """Another one."""
        if self._next == self._count:
            await asyncio.Event().wait()
        self._next += 1
        return Row(self._next, 1, self._next, self._frame)

    def confirmed(self, row: Row) -> None:
        """It is in the broker."""
        if row.position == self._count:
            self.done.set()


class _Disk:
    """Frames through the journal, AHEAD of them at a time: a commit runs beside the publishing, as it does in use."""

    def __init__(self, journal: JournalWriter, frame: Frame, count: int) -> None:
        self.done = asyncio.Event()
        self._journal = journal
        self._frame = frame
        self._left = count
        self._waiting = count
        journal.put(Begin(0, "ws://venue", frame.ts_received), Release())
        for _ in range(AHEAD):
            self._put()

    async def next(self) -> Row:
        """The oldest one; that of the beginning is published, too."""
        return await self._journal.next()

    def confirmed(self, row: Row) -> None:
        """It is in the broker, and room for another one."""
        self._journal.confirmed(row)
        if row.number == 0:
            return
        self._waiting -= 1
        if not self._waiting:
            self.done.set()
        self._put()

    def _put(self) -> None:
        if self._left:
            self._left -= 1
            self._journal.put(Push(self._frame))


def publishing(node: RabbitNode, rounds: int, count: int, size: int) -> dict[str, list[float]]:
    """Seconds for ``count`` frames with ``size`` bytes of data: for each kind those of the rounds.

    All kinds in every round, in turns; one more round before only warms up. Raises BenchError, BrokerError.
    """
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as directory:
        return asyncio.run(_publishing(node, rounds, count, size, Path(directory)))


def speeds(found: dict[str, list[float]], count: int) -> list[Speed]:
    """What the rounds come to."""
    return [
        Speed(
            kind,
            round(median(count / seconds for seconds in found[kind]), 1),
            round(median(seconds / count for seconds in found[kind]) * 1e6, 1),
            round(median(bare / own for bare, own in zip(found["bare"], found[kind], strict=True)), 3),
        )
        for kind in KINDS
    ]


async def _publishing(node: RabbitNode, rounds: int, count: int, size: int, directory: Path) -> dict[str, list[float]]:
    from shared.bus.rabbit import RabbitBus

    frame = Frame(FrameKind.TEXT, time.time_ns(), bytes(size))
    about = STREAM.exchange, STREAM.product, STREAM.plane, STREAM.stream
    body = len(encode_envelope(Envelope(SCHEMA_VERSION, *about, 1, 1, [frame])))
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    environment = {**os.environ, "AMQP_URL": node.url, "PYTHONPATH": str(ROOT), "TMPDIR": str(directory)}
    async with RabbitBus(node.url, "bench account") as bus:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        with Process("bare", (BASELINE, raw_key(STREAM), str(body)), environment, LIFETIME_S) as bare:
            await asyncio.to_thread(bare.line)
            for number in range(rounds + 1):
                for kind in _turn(number):
                    if kind == "bare":
                        seconds = float(await asyncio.to_thread(bare.ask, count, DEADLINE_S))
                    else:
                        path = directory / f"{number}.journal" if kind == "on" else None
                        seconds = await _own(publisher, frame, count, path)
                    if number:
                        found[kind].append(seconds)
                await asyncio.to_thread(node.ctl, "purge_queue", f"raw.account.{STREAM.stream}")
    return found


def _turn(number: int) -> Sequence[str]:
    """Each kind comes first, second and last equally often."""
    at = number % len(KINDS)
    return (*KINDS[at:], *KINDS[:at])


async def _own(publisher: Publisher, frame: Frame, count: int, path: Path | None) -> float:
    """Seconds for so many frames; ``path`` is where the journal is, None: there is none."""
    telemetry = AccountTelemetry(Telemetry(), STREAM.exchange, "main").stream(STREAM.stream)
    clock = SystemClock()
    tasks: list[asyncio.Task[None]] = []
    journal = None if path is None else JournalWriter(path, STREAM.stream, 1 << 40, clock, telemetry)
    if journal is not None:
        tasks.append(asyncio.create_task(journal.run(), name="journal"))
        await journal.usable.wait()
    begun = time.perf_counter()
    feed: _Feed = _Memory(frame, count) if journal is None else _Disk(journal, frame, count)
    outlet = AccountOutlet(STREAM, publisher, feed, DEADLINE_S, clock, telemetry)
    tasks.append(asyncio.create_task(outlet.run(), name="outlet"))
    await feed.done.wait()
    seconds = time.perf_counter() - begun
    tasks.pop().cancel()
    if journal is not None:
        journal.close()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)
    return seconds
