"""``tidegate record``: raw envelopes from the bus into a capture file."""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

from shared.bus.base import Bus, Subscriber
from shared.capture import MAGIC, encode_record
from shared.topology import RAW

__all__ = ["Recorder"]

log = logging.getLogger(__name__)

FLUSH_S: Final = 0.25
MAX_WAITING: Final = 64 * 1024 * 1024
"""Bytes that wait for a slow disk; beyond that the subscription fills, and drops its oldest and counts."""
QUIET_S: Final = 0.1
LAST_S: Final = 2.0
"""At the end: until nothing came for so long, at most so long."""


class Recorder:
    """Writes what it sees of the raw streams; the disk is touched in a thread, never on the event loop."""

    def __init__(self, path: Path, patterns: Sequence[str] = ("market.#",)) -> None:
        self._path = path
        self._patterns = patterns
        self._waiting: list[bytes] = [MAGIC]
        self._size = 0
        self._room = asyncio.Event()
        self.ready = asyncio.Event()
        self.envelopes = 0
        self.dropped = 0

    async def run(self, bus: Bus, stop: asyncio.Event) -> None:
        """Record until ``stop``; raises OSError when the file can't be written, BrokerError when the bus is gone.

        What was published before ``stop`` is in the file then.
        """
        file = await asyncio.to_thread(self._path.open, "wb")
        try:
            subscriber = await bus.subscribe(RAW, self._patterns, limit=100_000)
            self.ready.set()
            try:
                await self._record(file, subscriber, stop)
            finally:
                self.dropped = subscriber.dropped
                await subscriber.close()
        finally:
            await asyncio.to_thread(file.close)
            if self.dropped:
                log.error("the recording misses %d envelopes: the disk was too slow", self.dropped)

    async def _record(self, file: BinaryIO, subscriber: Subscriber, stop: asyncio.Event) -> None:
        receiving = asyncio.create_task(self._receive(subscriber), name="recorder")
        stopping = asyncio.create_task(stop.wait(), name="recorder stop")
        try:
            while not (stopping.done() or receiving.done()):
                await asyncio.wait({receiving, stopping}, timeout=FLUSH_S, return_when=asyncio.FIRST_COMPLETED)
                await self._flush(file)
            if receiving.done():
                receiving.result()
            await self._rest(file)
        finally:
            for task in (receiving, stopping):
                task.cancel()
            await asyncio.gather(receiving, stopping, return_exceptions=True)
            await self._flush(file)

    async def _receive(self, subscriber: Subscriber) -> None:
        while True:
            delivery = await subscriber.receive()
            record = encode_record(delivery.body)
            self._waiting.append(record)
            self._size += len(record)
            self.envelopes += 1
            if self._size > MAX_WAITING:
                self._room.clear()
                await self._room.wait()

    async def _rest(self, file: BinaryIO) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LAST_S
        seen = -1
        while seen != self.envelopes and loop.time() < deadline:
            seen = self.envelopes
            await asyncio.sleep(QUIET_S)
            await self._flush(file)

    async def _flush(self, file: BinaryIO) -> None:
        if self._waiting:
            data, self._waiting = b"".join(self._waiting), []
            self._size = 0
            self._room.set()
            await asyncio.to_thread(_write, file, data)


def _write(file: BinaryIO, data: bytes) -> None:
    file.write(data)
    file.flush()
