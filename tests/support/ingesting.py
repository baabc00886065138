"""Ingest under test: real sockets, the in-process bus, and a reader of what it puts into the raw queues."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aiolimiter import AsyncLimiter

from services.ingest.listing import Listing
from services.ingest.main import Ingest
from services.ingest.outlet import Outlet, OutletSettings, Permits
from services.ingest.stream import StreamHolder
from services.ingest.telemetry import IngestTelemetry
from services.ingest.venue import Venue
from shared.batching import BatchPolicy
from shared.bus.base import Publisher, Subscriber
from shared.bus.memory import MemoryBus
from shared.circuit import Circuit
from shared.clock import Clock, SystemClock
from shared.control import ResyncRequest, StreamInfo, encode_control
from shared.envelope import Frame, FrameKind, Mark, RestReply, decode_envelope, decode_mark, decode_reply
from shared.errors import BrokerUnavailable
from shared.exchanges.base import Adapter, Endpoints, StreamPlan
from shared.exchanges.bybit import ADAPTER
from shared.settings import IngestSettings, Settings, Target
from shared.telemetry.bundle import Telemetry
from shared.topology import CONTROL, RAW, resync_key
from shared.transport.http import RestClient
from tests.support.eventually import eventually

__all__ = [
    "Holding",
    "Numbered",
    "RawReader",
    "Running",
    "ShiftedClock",
    "assert_conserved",
    "fast",
    "flow",
    "held",
    "outlet",
    "running",
]

MarkT = TypeVar("MarkT")


def fast(**changes: Any) -> Settings:
    """Settings with short times; ``changes`` to those of ingest."""
    short = {
        "idle_timeout_s": 1.0,
        "first_frame_timeout_s": 0.5,
        "ping_interval_s": 5.0,
        "open_timeout_s": 2.0,
        "reconnect_initial_s": 0.05,
        "reconnect_cap_s": 0.2,
    }
    return Settings(ingest=IngestSettings(**(short | changes)))


class ShiftedClock:
    """The machine's clocks, ``shift`` ns later."""

    def __init__(self) -> None:
        self.shift = 0

    def wall(self) -> int:
        return SystemClock.wall() + self.shift

    def monotonic(self) -> int:
        return SystemClock.monotonic() + self.shift


@dataclass(frozen=True, slots=True)
class Numbered:
    """A frame and where it stands."""

    epoch: int
    number: int
    frame: Frame


@dataclass
class RawReader:
    """Everything that came through the raw AMQP exchange, per stream."""

    streams: dict[str, list[Numbered]] = field(default_factory=dict)
    largest: int = 0

    async def follow(self, subscriber: Subscriber) -> None:
        while True:
            try:
                delivery = await subscriber.receive()
            except BrokerUnavailable:
                return
            envelope = decode_envelope(delivery.body)
            self.largest = max(self.largest, len(envelope.frames))
            frames = self.streams.setdefault(envelope.stream, [])
            for offset, frame in enumerate(envelope.frames):
                frames.append(Numbered(envelope.epoch, envelope.first + offset, frame))

    def of(self, stream: str) -> list[Numbered]:
        return self.streams.get(stream, [])

    def only(self) -> list[Numbered]:
        """The frames of the only stream, or none yet."""
        return [numbered for frames in self.streams.values() for numbered in frames]

    def marks(self, kind: type[MarkT], stream: str | None = None) -> list[MarkT]:
        frames = self.only() if stream is None else self.of(stream)
        decoded: list[Mark] = [decode_mark(one.frame.data) for one in frames if one.frame.kind == FrameKind.MARK]
        return [mark for mark in decoded if isinstance(mark, kind)]

    def replies(self, stream: str | None = None) -> list[RestReply]:
        frames = self.only() if stream is None else self.of(stream)
        return [decode_reply(one.frame.data) for one in frames if one.frame.kind == FrameKind.REST]

    def data(self, stream: str | None = None) -> list[bytes]:
        frames = self.only() if stream is None else self.of(stream)
        return [one.frame.data for one in frames if one.frame.kind in {FrameKind.TEXT, FrameKind.BINARY}]

    def epochs(self, stream: str | None = None) -> list[int]:
        """In the order in which they came."""
        return list(dict.fromkeys(one.epoch for one in (self.only() if stream is None else self.of(stream))))

    def assert_in_order(self) -> None:
        """Within each stream epochs increase and numbers do."""
        for stream, frames in self.streams.items():
            places = [(one.epoch, one.number) for one in frames]
            assert places == sorted(set(places)), stream

    def assert_complete(self) -> None:
        """Numbers are contiguous from 0 in each epoch, and each begins by saying so."""
        self.assert_in_order()
        for stream, frames in self.streams.items():
            for epoch in self.epochs(stream):
                numbers = [one.number for one in frames if one.epoch == epoch]
                assert numbers == list(range(len(numbers))), (stream, epoch)
            first = {one.epoch: one.frame for one in reversed(frames)}
            kinds = {type(decode_mark(frame.data)).__name__ for frame in first.values()}
            assert kinds == {"Connected"}, stream


def flow(telemetry: Telemetry) -> dict[str, int]:
    """The terms of ingest's conservation law."""
    stage = {"stage": "ingest"}
    return {
        "received": int(telemetry.total("tidegate_frames_received_total", stage)),
        "published": int(telemetry.total("tidegate_frames_published_total", stage)),
        "conflated": int(telemetry.total("tidegate_frames_conflated_total", {})),
        "shed": int(telemetry.total("tidegate_frames_shed_total", stage)),
        "in_flight": int(telemetry.total("tidegate_frames_in_flight", stage)),
    }


def assert_conserved(telemetry: Telemetry) -> dict[str, int]:
    terms = flow(telemetry)
    assert terms["received"] == sum(terms.values()) - terms["received"], terms
    assert terms["in_flight"] == 0, terms
    return terms


@dataclass
class Running:
    """An ingest that runs as a task."""

    ingest: Ingest
    telemetry: Telemetry
    bus: MemoryBus
    raw: RawReader
    stopping: asyncio.Event
    task: "asyncio.Task[None]"

    async def stop(self) -> None:
        self.stopping.set()
        async with asyncio.timeout(60):
            await self.task

    async def stop_when_done(self) -> None:
        """For a run that ends by itself, with an exception."""
        async with asyncio.timeout(60):
            await self.task

    async def connected(self) -> None:
        def up() -> bool:
            if self.task.done():
                self.task.result()
            return self.ingest.problem() is None

        await eventually(up, "every stream has its connection")

    async def ask(self, stream: str, feed: str, native_symbol: str | None) -> None:
        """What a normalizer does that wants a resync."""
        publisher = await self.bus.publisher()
        request = ResyncRequest(self.ingest.exchange, stream, feed, native_symbol, "gap")
        await publisher.publish(CONTROL, resync_key(self.ingest.exchange), encode_control(request), deadline_s=1.0)

    def count(self, name: str, **labels: str) -> int:
        return int(self.telemetry.total(f"tidegate_{name}", labels))


@asynccontextmanager
async def running(
    exchange: str,
    targets: Sequence[Target],
    settings: Settings | None = None,
    clock: Clock | None = None,
    own_bus: MemoryBus | None = None,
) -> AsyncIterator[Running]:
    """Ingest over an in-process bus; stopped at the end, when it must have kept the conservation law."""
    settings = settings or fast()
    telemetry, raw, stopping = Telemetry(), RawReader(), asyncio.Event()
    async with own_bus or MemoryBus() as bus:
        reading = asyncio.create_task(raw.follow(await bus.subscribe(RAW, ["#"], limit=1_000_000)))
        bound = IngestTelemetry(telemetry, exchange, settings.ingest.permits)
        ingest = Ingest(exchange, targets, settings, bus, clock or SystemClock(), bound)
        task = asyncio.create_task(ingest.run(stopping))
        one = Running(ingest, telemetry, bus, raw, stopping, task)
        try:
            yield one
            if not task.done():
                await one.stop()
                assert_conserved(telemetry)
        finally:
            stopping.set()
            await asyncio.gather(task, return_exceptions=True)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


def outlet(
    info: StreamInfo,
    publisher: Publisher,
    telemetry: IngestTelemetry,
    settings: Settings,
    permits: Permits | None = None,
) -> Outlet:
    """An outlet as ingest makes it."""
    ingest = settings.ingest
    permits = permits or Permits(
        ingest.permits, Circuit(ingest.circuit_failures, int(ingest.circuit_reset_s * 1_000_000_000))
    )
    bounds = OutletSettings(
        BatchPolicy(ingest.batch_frames, ingest.batch_bytes, ingest.batch_window_us * 1_000),
        ingest.buffer_frames,
        ingest.buffer_bytes,
        int(ingest.buffer_max_age_s * 1_000_000_000),
        int(ingest.overload_wait_ms * 1_000_000),
        int(ingest.overload_after_ms * 1_000_000),
        settings.broker.publish_deadline_s,
    )
    return Outlet(info, publisher, permits, bounds, SystemClock(), telemetry.stream(info.stream))


@dataclass
class Holding:
    """One stream that is held."""

    holder: StreamHolder
    telemetry: Telemetry
    raw: RawReader
    task: "asyncio.Task[None]"

    def count(self, name: str, **labels: str) -> int:
        return int(self.telemetry.total(f"tidegate_{name}", labels))


@asynccontextmanager
async def held(
    plan: StreamPlan,
    settings: Settings | None = None,
    adapter: Adapter = ADAPTER,
    clock: Clock | None = None,
) -> AsyncIterator[Holding]:
    """A stream as ingest holds it, without the rest of ingest. Its instrument list is empty until it is asked for."""
    settings, clock = settings or fast(), clock or SystemClock()
    telemetry, raw = Telemetry(), RawReader()
    bound = IngestTelemetry(telemetry, plan.exchange, settings.ingest.permits)
    info = StreamInfo(plan.exchange, plan.product, "market", plan.name)
    async with MemoryBus() as bus, RestClient(adapter.limits(plan.product), timeout_s=1.0) as client:
        await bus.declare(info)
        reading = asyncio.create_task(raw.follow(await bus.subscribe(RAW, ["#"], limit=1_000_000)))
        way_out = outlet(info, await bus.publisher(), bound, settings)
        endpoints = Endpoints(plan.url, plan.rest)
        listing = Listing(adapter, plan.product, endpoints, client, clock, bound.request_failed)
        venue = Venue(adapter, listing, client, AsyncLimiter(1000, 1))
        holder = StreamHolder(venue, plan, way_out, settings.ingest, clock, bound.stream(plan.name))
        publishing = asyncio.create_task(way_out.run())
        task = asyncio.create_task(holder.hold())
        try:
            yield Holding(holder, telemetry, raw, task)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await way_out.drain(3.0)
            publishing.cancel()
            await asyncio.gather(publishing, return_exceptions=True)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
