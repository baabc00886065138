"""From a stream's buffer to the bus: batched, in order, bounded in flight, behind a circuit breaker."""

import asyncio
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from services.ingest.telemetry import StreamTelemetry
from shared.batching import BatchPolicy, Trigger
from shared.bus.base import Publisher
from shared.circuit import Circuit
from shared.clock import Clock
from shared.control import StreamInfo
from shared.envelope import (
    SCHEMA_VERSION,
    Connected,
    Envelope,
    Frame,
    FrameKind,
    Mark,
    RestReply,
    decode_mark,
    encode_envelope,
    encode_mark,
    encode_reply,
)
from shared.errors import BrokerError
from shared.exchanges.base import DATA, Route
from shared.overflow import Entry, FrameBuffer
from shared.topology import RAW, raw_key

__all__ = ["Outlet", "OutletSettings", "Permits"]

OPEN_CIRCUIT_PAUSE_S: Final = 0.02


class OutletSettings(Struct, frozen=True):
    """Bounds of one stream's way out."""

    policy: BatchPolicy
    buffer_frames: int
    buffer_bytes: int
    buffer_max_age_ns: int
    deadline_s: float


class Permits:
    """What all streams of an ingest process share: envelopes in flight, and the circuit."""

    def __init__(self, count: int, circuit: Circuit) -> None:
        self.semaphore = asyncio.Semaphore(count)
        self.circuit = circuit


class Outlet:
    """One stream's way out. ``put`` is synchronous and never waits; :meth:`run` does the rest."""

    def __init__(
        self,
        stream: StreamInfo,
        publisher: Publisher,
        permits: Permits,
        settings: OutletSettings,
        clock: Clock,
        telemetry: StreamTelemetry,
    ) -> None:
        self._stream = stream
        self._key = raw_key(stream)
        self._publisher = publisher
        self._permits = permits
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._buffer = FrameBuffer(settings.buffer_frames, settings.buffer_bytes, settings.buffer_max_age_ns)
        telemetry.limits(settings.buffer_frames, settings.buffer_bytes)
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False
        self._epoch = 0
        self._number = 0
        self._received = 0
        self._received_bytes = 0

    # What the socket's side calls

    def begin(self, epoch: int, url: str) -> None:
        """A new epoch: its first frame says so."""
        data = encode_mark(Connected(url))
        self._append(Frame(FrameKind.MARK, self._clock.wall(), data), DATA, epoch)

    def put(self, data: bytes, route: Route, *, binary: bool) -> None:
        """A message off the socket."""
        self._append(Frame(FrameKind.BINARY if binary else FrameKind.TEXT, self._clock.wall(), data), route)

    def put_reply(self, reply: RestReply) -> None:
        """A REST reply."""
        self._append(Frame(FrameKind.REST, self._clock.wall(), encode_reply(reply)), DATA)

    def put_mark(self, mark: Mark) -> None:
        """Something that happened to the stream."""
        self._append(Frame(FrameKind.MARK, self._clock.wall(), encode_mark(mark)), DATA)

    def _append(self, frame: Frame, route: Route, epoch: int | None = None) -> None:
        self._buffer.append(frame, route, self._clock.monotonic(), epoch)
        self._received += 1
        self._received_bytes += len(frame.data)
        self._wake.set()

    # The publishing side

    async def run(self) -> None:
        """Publish until :meth:`drain`; returns when everything is out or given up."""
        while not (self._draining and not self._buffer.frames and not self._tasks):
            wait_ns = await self._step()
            self._report()
            if wait_ns:
                await self._wait(wait_ns)
        self._report()

    async def drain(self, deadline_s: float) -> None:
        """Let the rest out; what is still here at the deadline is shed, counted as ``shutdown``."""
        self._draining = True
        self._wake.set()
        deadline = self._clock.monotonic() + int(deadline_s * 1e9)
        while self._buffer.frames or self._tasks:
            if self._clock.monotonic() > deadline:
                self._buffer.clear("shutdown")
                for task in self._tasks:
                    task.cancel()
                self._wake.set()
                return
            await asyncio.sleep(0.005)

    async def _step(self) -> int:
        """One decision; returns how long to wait for more (ns), 0 to go on at once."""
        oldest = self._buffer.oldest()
        if oldest is None:
            self._wake.clear()
            return 1_000_000_000
        now = self._clock.monotonic()
        self._wake.clear()
        verdict = self._settings.policy.due(self._buffer.frames, self._buffer.bytes, oldest, len(self._tasks), now)
        if not isinstance(verdict, Trigger):
            if not self._draining:
                return verdict
            verdict = Trigger.DRAIN
        if not self._permits.circuit.admit(now):
            self._buffer.shed_all("circuit_open")
            return int(OPEN_CIRCUIT_PAUSE_S * 1e9)
        await self._permit()
        announced = self._buffer.announced
        entries = self._buffer.take(self._settings.policy.frames, self._settings.policy.bytes, self._clock.monotonic())
        self._telemetry.announced(self._buffer.announced - announced)
        if entries:
            self._launch(entries, verdict)
        else:
            self._permits.circuit.abandoned()
            self._permits.semaphore.release()
        return 0

    async def _permit(self) -> None:
        started = self._clock.monotonic()
        try:
            await self._permits.semaphore.acquire()
        except asyncio.CancelledError:
            self._permits.circuit.abandoned()
            raise
        self._telemetry.pool_wait(self._clock.monotonic() - started)

    def _launch(self, entries: list[Entry], trigger: Trigger) -> None:
        taken = self._clock.monotonic()
        frames = [entry.frame for entry in entries]
        if entries[0].epoch is not None:
            frames[0] = self._first_frame(entries[0])
        info = self._stream
        envelope = Envelope(
            SCHEMA_VERSION, info.exchange, info.product, info.plane, info.stream, self._epoch, self._number, frames
        )
        self._number += len(frames)
        body = encode_envelope(envelope)
        self._telemetry.batch(entries, trigger, len(body), taken)
        task = asyncio.get_running_loop().create_task(self._publish(body, entries))
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _first_frame(self, entry: Entry) -> Frame:
        """The mark that opens an epoch, told how many frames the one before had."""
        previous, frames = self._epoch, self._number
        self._epoch, self._number = entry.epoch or 0, 0
        if not previous:
            return entry.frame
        opened = decode_mark(entry.frame.data)
        if not isinstance(opened, Connected):
            raise TypeError(f"an epoch was opened by {opened!r}")
        return Frame(FrameKind.MARK, entry.frame.ts_received, encode_mark(Connected(opened.url, previous, frames)))

    async def _publish(self, body: bytes, entries: Sequence[Entry]) -> None:
        circuit = self._permits.circuit
        started = self._clock.monotonic()
        before = (circuit.state, circuit.failures)
        try:
            await self._publisher.publish(RAW, self._key, body, deadline_s=self._settings.deadline_s)
        except BrokerError as error:
            circuit.failure(self._clock.monotonic())
            self._buffer.note_lost(list(entries), "publish_failed")
            self._telemetry.publish_failed(error, len(entries))
        except BaseException:
            circuit.abandoned()
            self._buffer.note_lost(list(entries), "shutdown")
            raise
        else:
            circuit.success()
            self._telemetry.published(len(entries), self._clock.monotonic() - started)
        if (circuit.state, circuit.failures) != before:
            self._telemetry.circuit_changed(circuit)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._permits.semaphore.release()
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._telemetry.crashed(error)

    async def _wait(self, nanoseconds: int) -> None:
        try:
            async with asyncio.timeout(nanoseconds / 1e9):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _report(self) -> None:
        self._telemetry.received(self._received, self._received_bytes)
        self._received = self._received_bytes = 0
        self._telemetry.buffer(self._buffer)
