"""From a stream's buffer to the bus: batched, in order, bounded in flight, behind a circuit breaker."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import Struct

from services.ingest.packing import Packer
from services.ingest.telemetry import StreamTelemetry
from shared.batching import BatchPolicy, Trigger
from shared.bus.base import Publisher
from shared.bus.deadline import Deadline
from shared.circuit import Circuit
from shared.clock import Clock
from shared.control import StreamInfo
from shared.envelope import (
    Connected,
    Frame,
    FrameKind,
    Mark,
    RestReply,
    Shed,
    ShedItem,
    encode_mark,
    encode_reply,
)
from shared.errors import BrokerError, PublishFailed
from shared.exchanges.base import DATA, Route
from shared.overflow import Entry, FrameBuffer
from shared.standing import StandingQueue
from shared.topology import RAW, raw_key

__all__ = ["Outlet", "OutletSettings", "Permits"]

_TEXT, _BINARY = int(FrameKind.TEXT), int(FrameKind.BINARY)
_frame: Final[Callable[[tuple[int, int, bytes]], Frame]] = partial(tuple.__new__, Frame)
"""Once per message off a socket: three times as fast as ``Frame`` itself, which is Python."""
OPEN_CIRCUIT_PAUSE_NS: Final = 20_000_000
IDLE_NS: Final = 1_000_000_000
GRACE_S: Final = 1.0
"""A publisher keeps its deadline itself; one that does not is cut off so much later."""
GRACE_TURNS: Final = 1_000
"""Of the loop, besides: where that was held up both deadlines are over at once; the publisher's is to come first."""


class OutletSettings(Struct, frozen=True):
    """Bounds of one stream's way out."""

    policy: BatchPolicy
    buffer_frames: int
    buffer_bytes: int
    buffer_max_age_ns: int
    overload_wait_ns: int
    overload_after_ns: int
    deadline_s: float


class Permits:
    """What all streams of an ingest process share: envelopes in flight, and the circuit."""

    def __init__(self, count: int, circuit: Circuit) -> None:
        self.semaphore = asyncio.Semaphore(count)
        self.circuit = circuit
        self.in_use = 0


class Outlet:
    """One stream's way out. ``put`` is synchronous and never waits; :meth:`run` does the rest.

    REST replies are never given up for newer frames, so their part of the buffer has a bound of its own: what does not
    fit is refused, counted and told by a mark.
    """

    def __init__(
        self,
        stream: StreamInfo,
        publisher: Publisher,
        permits: Permits,
        settings: OutletSettings,
        clock: Clock,
        telemetry: StreamTelemetry,
    ) -> None:
        self._packer = Packer(stream)
        self._key = raw_key(stream)
        self._publisher = publisher
        self._permits = permits
        self._settings = settings
        self._policy = settings.policy
        self._clock = clock
        self._wall = clock.wall
        self._monotonic = clock.monotonic
        self._telemetry = telemetry
        standing = StandingQueue(settings.overload_wait_ns, settings.overload_after_ns)
        self._buffer = FrameBuffer(settings.buffer_frames, settings.buffer_bytes, settings.buffer_max_age_ns, standing)
        telemetry.limits(settings.buffer_frames, settings.buffer_bytes)
        self._wake = asyncio.Event()
        self._woken = False
        """Whether a frame has set it since the last decision."""
        self._finished = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._draining = False
        self._due = 0
        """When the oldest waiting frame has waited for the window; 0 while none waits."""
        self._reply_bytes = 0
        self._refused = 0
        self._received = 0
        self._received_bytes = 0

    # What the socket's side calls

    def begin(self, epoch: int, url: str) -> None:
        """A new epoch: its first frame says so."""
        data = encode_mark(Connected(url))
        self._append(Frame(FrameKind.MARK, self._clock.wall(), data), DATA, epoch)

    def put(self, data: bytes, route: Route, *, binary: bool) -> None:
        """A message off the socket."""
        self._append(_frame((_BINARY if binary else _TEXT, self._wall(), data)), route)

    def put_reply(self, reply: RestReply) -> None:
        """A REST reply."""
        self.put_encoded_reply(encode_reply(reply))

    def put_encoded_reply(self, data: bytes) -> None:
        """A REST reply, encoded already."""
        frame = Frame(FrameKind.REST, self._clock.wall(), data)
        if self._reply_bytes and self._reply_bytes + len(data) > self._settings.buffer_bytes:
            self._refused += 1
            self._received += 1
            self._received_bytes += len(data)
            self._buffer.note_lost([Entry(frame, DATA, self._clock.monotonic())], "overflow")
            return
        self._reply_bytes += len(data)
        self._append(frame, DATA)

    def put_mark(self, mark: Mark) -> None:
        """Something that happened to the stream."""
        self._append(Frame(FrameKind.MARK, self._clock.wall(), encode_mark(mark)), DATA)

    def _append(self, frame: Frame, route: Route, epoch: int | None = None) -> None:
        buffer, now = self._buffer, self._monotonic()
        buffer.append(frame, route, now, epoch)
        self._received += 1
        self._received_bytes += len(frame[2])
        # A batch becomes due by age here, too: the loop's timers are coarser than the window and serve the last frames.
        if not self._woken:
            policy = self._policy
            if now >= self._due or buffer.frames >= policy.frames or buffer.bytes >= policy.bytes:
                self._woken = True
                self._wake.set()

    # The publishing side

    async def run(self) -> None:
        """Publish until :meth:`drain`; returns when everything is out or given up."""
        try:
            while not (self._draining and not self._buffer.frames and not self._tasks):
                wait_ns = await self._step()
                self.report()
                if wait_ns:
                    await self._wait(wait_ns)
        finally:
            self._finished.set()

    async def drain(self, deadline_s: float) -> None:
        """Let the rest out; what is still here at the deadline is shed, counted as ``shutdown``."""
        self._draining = True
        self._wake.set()
        try:
            async with asyncio.timeout(deadline_s):
                await self._finished.wait()
        except TimeoutError:
            pass
        self._buffer.clear("shutdown")
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.report()

    def report(self) -> None:
        """Bring the metrics up to date; done after every batch, and needed where one waits long."""
        self._telemetry.received(self._received, self._received_bytes)
        self._received = self._received_bytes = 0
        self._telemetry.buffer(self._buffer)

    async def _step(self) -> int:
        """One decision; returns how long to wait for more (ns), 0 to go on at once."""
        self._wake.clear()
        self._woken = False
        oldest = self._buffer.oldest()
        if oldest is None:
            self._due = 0
            return IDLE_NS
        self._due = oldest + self._policy.window_ns
        now = self._clock.monotonic()
        verdict = self._policy.due(self._buffer.frames, self._buffer.bytes, oldest, len(self._tasks), now)
        if not isinstance(verdict, Trigger):
            if not self._draining:
                return verdict
            verdict = Trigger.DRAIN
        if not self._admit(now):
            self._buffer.shed_all("circuit_open")
            return OPEN_CIRCUIT_PAUSE_NS
        await self._permit()
        announced = self._buffer.announced
        entries = self._buffer.take(self._policy.frames, self._policy.bytes, self._clock.monotonic())
        self._telemetry.announced(self._buffer.announced - announced)
        if entries:
            self._launch(entries, verdict)
            await asyncio.sleep(0)  # a full buffer is many batches, and there are sockets to be read
        else:
            self._permits.circuit.abandoned()
            self._permits.semaphore.release()
        return 0

    def _admit(self, now: int) -> bool:
        circuit = self._permits.circuit
        before = circuit.state
        admitted = circuit.admit(now)
        if circuit.state is not before:
            self._telemetry.circuit_changed(circuit)
        return admitted

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
        body = self._packer.pack(entries)
        self._telemetry.batch(entries, trigger, len(body), taken)
        task = asyncio.get_running_loop().create_task(self._publish(body, entries), name="publish")
        self._tasks.add(task)
        task.add_done_callback(self._done)
        self._permits.in_use += 1
        self._telemetry.permits_in_use(self._permits.in_use)
        if self._reply_bytes:
            self._replies_left([entry.frame for entry in entries])

    def _replies_left(self, frames: list[Frame]) -> None:
        self._reply_bytes -= sum(len(frame.data) for frame in frames if frame.kind is FrameKind.REST)
        if self._refused and self._reply_bytes <= self._settings.buffer_bytes // 2:
            refused, self._refused = self._refused, 0
            self.put_mark(Shed([ShedItem(None, None, "overflow", refused)]))

    async def _publish(self, body: bytes, entries: list[Entry]) -> None:
        circuit, deadline_s = self._permits.circuit, self._settings.deadline_s
        started = self._clock.monotonic()
        before = (circuit.state, circuit.failures)
        try:
            async with Deadline(deadline_s + GRACE_S, turns=GRACE_TURNS):
                await self._publisher.publish(RAW, self._key, body, deadline_s=deadline_s)
        except asyncio.CancelledError:
            circuit.abandoned()
            self._buffer.note_lost(entries, "shutdown")
            self._telemetry.abandoned(len(entries))
            raise
        except Exception as error:
            self._failed(error, entries, started)
            if not isinstance(error, BrokerError | TimeoutError):
                raise
        else:
            circuit.success()
            self._telemetry.published(len(entries), self._clock.monotonic() - started)
        finally:
            if (circuit.state, circuit.failures) != before:
                self._telemetry.circuit_changed(circuit)

    def _failed(self, error: Exception, entries: list[Entry], started: int) -> None:
        now = self._clock.monotonic()
        if isinstance(error, TimeoutError):
            error = PublishFailed("timeout", "the publisher did not keep its deadline")
        if isinstance(error, PublishFailed) and error.reason == "refused":
            self._permits.circuit.abandoned()  # that body is no good; it tells nothing of the broker
        else:
            self._permits.circuit.failure(now)
        self._buffer.note_lost(entries, "publish_failed")
        self._telemetry.publish_failed(error, len(entries), now - started)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._permits.semaphore.release()
        self._permits.in_use -= 1
        self._telemetry.permits_in_use(self._permits.in_use)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._telemetry.crashed("publish", error)

    async def _wait(self, nanoseconds: int) -> None:
        try:
            async with asyncio.timeout(nanoseconds / 1e9):
                await self._wake.wait()
        except TimeoutError:
            pass
