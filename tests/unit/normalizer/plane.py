"""A normalizer on a bus, fed by hand."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec import json

from services.normalizer.main import Normalizer
from services.normalizer.telemetry import NormalizerTelemetry
from shared.bus.base import Bus, Publisher, Subscriber
from shared.clock import SystemClock
from shared.control import Announcement, Instruments, StreamInfo, encode_control
from shared.envelope import Connected, Envelope, Frame, FrameKind, encode_envelope, encode_mark
from shared.errors import BrokerError
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.topology import CONTROL, RAW, announcement_key, instruments_key, raw_key
from tests.support.eventually import eventually
from tests.unit.exchanges.bybit.frames import book, trade, trades

__all__ = [
    "LINEAR",
    "SPOT",
    "Plane",
    "announce",
    "connected",
    "envelope",
    "messages",
    "running",
    "settings",
    "snapshot",
    "text",
    "trades_of",
]

LINEAR = StreamInfo("bybit", "linear", "market", "bybit.linear.0")
SPOT = StreamInfo("bybit", "spot", "market", "bybit.spot.0")
AT = 1_790_000_000_000_000_000
DEADLINE = 30.0
PATIENCE = 60.0
ANNOUNCE_S = 0.1
FATES = ("published", "rejected", "repeated", "returned")


def text(data: bytes) -> Frame:
    return Frame(FrameKind.TEXT, AT, data)


def connected() -> Frame:
    return Frame(FrameKind.MARK, AT, encode_mark(Connected("ws://venue.test")))


def snapshot(update: int = 10) -> Frame:
    return text(book("snapshot", [("84000", "1")], [("84001", "2")], update))


def trades_of(*identities: object) -> list[Frame]:
    return [text(trades(trade(str(each)))) for each in identities]


def envelope(first: int, frames: Sequence[Frame], stream: StreamInfo = LINEAR, epoch: int = 1) -> bytes:
    return encode_envelope(
        Envelope(1, stream.exchange, stream.product, stream.plane, stream.stream, epoch, first, frames)
    )


def settings(**normalizer: int | str) -> Settings:
    return Settings.model_validate({"normalizer": normalizer})


async def announce(bus: Bus, *streams: StreamInfo) -> None:
    """The streams, and a list of each product's instruments without any in it."""
    publisher = await bus.publisher()
    for exchange, product in {(stream.exchange, stream.product) for stream in streams}:
        listed = encode_control(Instruments(exchange, product, []))
        await publisher.publish(CONTROL, instruments_key(), listed, deadline_s=DEADLINE)
    body = encode_control(Announcement("test", list(streams)))
    await publisher.publish(CONTROL, announcement_key(), body, deadline_s=DEADLINE)


class Plane:
    """What a test sends and what it gets."""

    def __init__(self, bus: Bus, normalizer: Normalizer, telemetry: Telemetry, publisher: Publisher) -> None:
        self.bus = bus
        self.normalizer = normalizer
        self.telemetry = telemetry
        self.stop = asyncio.Event()
        self.announced: set[StreamInfo] = set()
        self._publisher = publisher

    async def consume(self, *streams: StreamInfo) -> None:
        """Until the normalizer consumes these."""
        for stream in streams:
            await self.bus.declare(stream)
        self.announced |= set(streams)
        wanted = {stream.stream for stream in streams}
        await eventually(lambda: wanted <= set(self.normalizer.consuming), "streams are consumed", within=PATIENCE)

    async def announce(self) -> None:
        """Again and again, as ingest does."""
        while True:
            with suppress(BrokerError):
                await announce(self.bus, *self.announced)
            await asyncio.sleep(ANNOUNCE_S)

    async def send(self, *bodies: bytes, stream: StreamInfo = LINEAR) -> None:
        await self._publisher.publish_batch(RAW, [(raw_key(stream), body) for body in bodies], deadline_s=DEADLINE)

    def frames(self, fate: str, **labels: str) -> int:
        stage = {"stage": "normalizer"} if fate in {"received", "published", "in_flight"} else {}
        name = f"tidegate_frames_{fate}" + ("" if fate == "in_flight" else "_total")
        return int(self.telemetry.total(name, {**stage, **labels}))

    def conserved(self) -> bool:
        return self.frames("received") == sum(self.frames(fate) for fate in (*FATES, "in_flight"))

    async def done_with(self, frames: int) -> None:
        """Until so many frames were received and all of them dealt with."""
        await eventually(
            lambda: self.frames("received") >= frames and not self.frames("in_flight") and self.conserved(),
            f"{frames} frames were dealt with",
            within=PATIENCE,
        )


@asynccontextmanager
async def running(bus: Bus, chosen: Settings | None = None, telemetry: Telemetry | None = None) -> AsyncIterator[Plane]:
    """A normalizer on an open bus; at the end it is stopped, and has to end in order."""
    telemetry = telemetry or Telemetry()
    normalizer = Normalizer(chosen or Settings(), bus, SystemClock(), NormalizerTelemetry(telemetry))
    plane = Plane(bus, normalizer, telemetry, await bus.publisher())
    task = asyncio.create_task(normalizer.run(plane.stop))
    announcing = asyncio.create_task(plane.announce())
    try:
        yield plane
    finally:
        announcing.cancel()
        plane.stop.set()
        async with asyncio.timeout(PATIENCE):
            await task


async def messages(subscriber: Subscriber, count: int) -> list[dict[str, Any]]:
    """So many canonical messages."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            found += json.decode((await subscriber.receive()).body)
    return found
