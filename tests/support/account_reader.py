"""What arrives in an account's raw queue on a real broker, over all its ends and returns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

from shared.bus.base import Bus
from shared.control import StreamInfo
from shared.envelope import FrameKind, decode_envelope
from shared.errors import BrokerError
from tests.support.ingesting import Numbered

__all__ = ["AccountReader", "reading"]


class AccountReader:
    """Deliveries in order, repetitions included in ``deliveries`` and left out of ``frames``."""

    def __init__(self) -> None:
        self.deliveries = 0
        self.frames: list[Numbered] = []
        self.inversions: list[str] = []
        self._seen: set[tuple[int, int]] = set()

    def take(self, body: bytes) -> None:
        """One AMQP message: one frame."""
        envelope = decode_envelope(body)
        assert len(envelope.frames) == 1
        self.deliveries += 1
        place = envelope.epoch, envelope.first
        if place in self._seen:
            return
        if self.frames and place < (last := (self.frames[-1].epoch, self.frames[-1].number)):
            self.inversions.append(f"{place} after {last}")
        self._seen.add(place)
        self.frames.append(Numbered(*place, envelope.frames[0]))

    def texts(self) -> list[str]:
        """What the venue pushed."""
        return [one.frame.data.decode() for one in self.frames if one.frame.kind == FrameKind.TEXT]

    def assert_whole(self) -> None:
        """In order, without a hole."""
        assert self.inversions == []
        for one, following in pairwise(self.frames):
            assert following.number == (one.number + 1 if following.epoch == one.epoch else 0)

    async def follow(self, bus: Bus, stream: StreamInfo) -> None:
        """Until cancelled; a broker that goes is waited for."""
        while True:
            with suppress(BrokerError):
                consumer = await bus.consume_raw("reader", "account")
                try:
                    await consumer.add(stream)
                    while True:
                        for delivery in await consumer.receive(100):
                            self.take(delivery.body)
                            await consumer.ack([delivery])
                finally:
                    with suppress(BrokerError):
                        await consumer.close()
            await asyncio.sleep(0.2)


@asynccontextmanager
async def reading(bus: Bus, stream: StreamInfo) -> AsyncIterator[AccountReader]:
    """A reader that runs within the block."""
    reader = AccountReader()
    task = asyncio.create_task(reader.follow(bus, stream))
    try:
        yield reader
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
