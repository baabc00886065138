"""``tidegate record``: raw envelopes from the bus into a capture file."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from shared.bus.base import Bus, Subscriber
from shared.capture import MAGIC, encode_record
from shared.errors import about
from shared.telemetry.events import Events
from shared.topology import RAW

__all__ = ["Recorder"]

FLUSH_S: Final = 0.25
MAX_WAITING: Final = 64 * 1024 * 1024
"""Bytes that wait for a slow disk; beyond that the subscription fills, and drops its oldest and counts."""
QUIET_S: Final = 0.1
LAST_S: Final = 2.0
"""At the end: until nothing came for so long, at most so long."""


class Recorder:
    """Writes what it sees of the raw streams; the disk is touched in a thread, never on the event loop."""

    def __init__(self, path: Path, events: Events, patterns: Sequence[str] = ("market.#",)) -> None:
        self._path = path
        self._events = events
        self.patterns = patterns
        """Of routing keys on ``raw``."""
        self._waiting: list[bytes] = [MAGIC]
        self._size = 0
        self._taken = 0
        self._room = asyncio.Event()
        self.ready = asyncio.Event()
        self.envelopes = 0
        """What is in the file."""
        self.dropped = 0
        """What came while the disk was too slow."""
        self.failure: OSError | None = None
        """Why the file ends before it should; what is in it up to there is whole."""

    @property
    def problem(self) -> str | None:
        """What the file lacks, in words; None when it lacks nothing."""
        if self.failure is not None:
            return f"{self._path}: {self.failure.strerror}; the recording ends after {self.envelopes} envelopes"
        return f"{self._path} misses {self.dropped} envelopes: the disk was too slow" if self.dropped else None

    async def run(self, bus: Bus, stop: asyncio.Event) -> None:
        """Record until ``stop``, or until the file can't be written any more (:attr:`failure`).

        Raises OSError when the file can't be opened, BrokerError when the bus is gone. What was published before
        ``stop`` is in the file then.
        """
        file = await asyncio.to_thread(_File, self._path)
        try:
            subscriber = await bus.subscribe(RAW, self.patterns, limit=100_000)
            self.ready.set()
            try:
                await self._record(file, subscriber, stop)
            finally:
                self.dropped = subscriber.dropped
                await subscriber.close()
        except _Unwritable as error:
            self.failure = error.reason
            self._events.recording_failed(str(self._path), str(error.reason.strerror))
        finally:
            await asyncio.to_thread(file.close)

    async def _record(self, file: "_File", subscriber: Subscriber, stop: asyncio.Event) -> None:
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
            self._taken += 1
            if self._size > MAX_WAITING:
                self._room.clear()
                await self._room.wait()

    async def _rest(self, file: "_File") -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + LAST_S
        seen = -1
        while seen != self._taken and loop.time() < deadline:
            seen = self._taken
            await asyncio.sleep(QUIET_S)
            await self._flush(file)

    async def _flush(self, file: "_File") -> None:
        if self._waiting:
            records, self._waiting = self._waiting, []
            self._size = 0
            self._room.set()
            try:
                await asyncio.to_thread(file.write, records)
            finally:
                self.envelopes = max(0, file.records - 1)  # the first record is the file's head


class _Unwritable(Exception):
    """The file can't be written any more."""

    def __init__(self, reason: OSError) -> None:
        self.reason = reason
        super().__init__(str(reason))


class _File:
    """A file of whole records: of one that was cut short nothing stays, where the file can be made shorter."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Unbuffered: what a failed write left in a buffer would be written, and fail, again.
        self._file = path.open("wb", buffering=0)
        self._failed = False
        self._size = 0
        self.records = 0

    def write(self, records: Sequence[bytes]) -> None:
        """Write records; raises _Unwritable the first time that it fails, and writes nothing from then on."""
        if self._failed:
            return
        left, written = memoryview(b"".join(records)), 0
        try:
            while written < len(left):
                written += self._file.write(left[written:]) or 0
        except OSError as error:
            self._failed = True
            raise _Unwritable(about(error, str(self._path))) from error
        finally:
            for record in records:
                if (written := written - len(record)) < 0:
                    self._cut()
                    break
                self._size += len(record)
                self.records += 1

    def close(self) -> None:
        """Close it."""
        self._file.close()

    def _cut(self) -> None:
        with suppress(OSError):  # a device, a pipe
            self._file.truncate(self._size)
