"""``tidegate record``: raw envelopes from the bus into a capture file."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from shared.bus.base import Bus, Subscriber
from shared.capture import MAGIC, encode_record
from shared.topology import RAW

__all__ = ["Recorder"]

log = logging.getLogger(__name__)

FLUSH_S = 0.25


class Recorder:
    """Writes what it sees of the raw streams; the disk is touched in a thread, never on the event loop."""

    def __init__(self, path: Path, patterns: Sequence[str] = ("market.#",)) -> None:
        self._path = path
        self._patterns = patterns
        self.ready = asyncio.Event()
        self.envelopes = 0
        self.dropped = 0

    async def run(self, bus: Bus, stop: asyncio.Event) -> None:
        """Record until ``stop``; raises OSError when the file can't be written, BrokerError when the bus is gone."""
        subscriber = await bus.subscribe(RAW, self._patterns, limit=100_000)
        file = await asyncio.to_thread(self._path.open, "wb")
        waiting: list[bytes] = [MAGIC]
        receiving = asyncio.create_task(self._receive(subscriber, waiting), name="recorder")
        stopping = asyncio.create_task(stop.wait(), name="recorder stop")
        self.ready.set()
        try:
            while not (stopping.done() or receiving.done()):
                await asyncio.wait({receiving, stopping}, timeout=FLUSH_S, return_when=asyncio.FIRST_COMPLETED)
                await self._flush(file, waiting)
            if receiving.done():
                receiving.result()
        finally:
            for task in (receiving, stopping):
                task.cancel()
            await asyncio.gather(receiving, stopping, return_exceptions=True)
            await self._flush(file, waiting)
            await asyncio.to_thread(file.close)
            self.dropped = subscriber.dropped
            await subscriber.close()
            if self.dropped:
                log.error("the recording misses %d envelopes: the disk was too slow", self.dropped)

    async def _receive(self, subscriber: Subscriber, waiting: list[bytes]) -> None:
        while True:
            delivery = await subscriber.receive()
            waiting.append(encode_record(delivery.body))
            self.envelopes += 1

    @staticmethod
    async def _flush(file: BinaryIO, waiting: list[bytes]) -> None:
        if waiting:
            data = b"".join(waiting)
            waiting.clear()
            await asyncio.to_thread(_write, file, data)


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()
