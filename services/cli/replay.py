"""``tidegate replay``: a capture file through the normalizer's own code, to standard output or to the broker."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from msgspec import Raw, json

from services.normalizer.batch import Seed
from services.normalizer.holding import Owned
from services.normalizer.session import Session
from services.normalizer.telemetry import NormalizerTelemetry
from shared.bus.base import Bus, Delivery, Publisher
from shared.capture import read
from shared.clock import Clock
from shared.envelope import decode_envelope
from shared.errors import BrokerUnavailable, CaptureError, ParseError
from shared.quarantine import decode_record
from shared.settings import Settings
from shared.topology import CONTROL, MARKET, QUARANTINE

__all__ = ["replay"]


async def replay(
    path: Path,
    speed: float,
    settings: Settings,
    clock: Clock,
    telemetry: NormalizerTelemetry,
    bus: Bus | None,
    seed: Seed,
) -> None:
    """Play a file. ``speed`` 0 is as fast as it goes, 1 the recorded pace; ``seed`` gives the lists of new streams.

    With a bus (entered already) messages go to it; without, they go to standard output (JSON, one a line) and
    rejections to standard error. Raises CaptureError where the file is damaged, after all before that place was played.
    """
    with path.open("rb") as file:
        source = _FileConsumer(read(file), speed, clock)
        publisher: Publisher = _Printer(sys.stdout.buffer, sys.stderr.buffer)
        if bus is not None:
            publisher = _Playback(await bus.publisher())
        session = Session(source, publisher, settings, clock, telemetry, Owned(""), seed)
        try:
            await session.run()
        except BrokerUnavailable:
            if source.error is not None:
                raise CaptureError(f"{path} {source.error}") from source.error
            if not source.ended:
                raise


class _FileConsumer:
    """A capture file as a source of envelopes. Its end is reported as the end of the connection."""

    def __init__(self, bodies: Iterator[bytes], speed: float, clock: Clock) -> None:
        self._bodies = bodies
        self._speed = speed
        self._clock = clock
        self._began: tuple[int, int] | None = None
        self.ended = False
        self.error: CaptureError | None = None

    async def receive(self, limit: int) -> list[Delivery]:
        """The next envelopes, in the file's order; paced, one at a time."""
        deliveries: list[Delivery] = []
        try:
            for body in self._bodies:
                if self._speed:
                    await self._pace(body)
                deliveries.append(Delivery("replay", body, 0, False, self._clock.monotonic()))
                if self._speed:
                    break
                if len(deliveries) >= limit:
                    break
        except CaptureError as error:
            self.error = error
        if deliveries:
            await asyncio.sleep(0)
            return deliveries
        self.ended = True
        raise BrokerUnavailable("the capture file is at its end")

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """Nothing comes again."""

    async def close(self) -> None:
        """The file is closed by whoever opened it."""

    async def _pace(self, body: bytes) -> None:
        try:
            frames = decode_envelope(body).frames
        except ParseError:
            return  # the normalizer says what is wrong with it
        if not frames:
            return
        received = frames[0].ts_received
        now = self._clock.monotonic()
        if self._began is None:
            self._began = (received, now)
        due = self._began[1] + int((received - self._began[0]) / self._speed)
        await asyncio.sleep(max(0, due - now) / 1e9)


class _Playback:
    """A publisher on a bus that asks no ingest for anything: what is played is over."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    @property
    def blocked(self) -> str | None:
        """As the bus has it."""
        return self._publisher.blocked

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        """All but control messages."""
        if exchange != CONTROL:
            await self._publisher.publish(exchange, key, body, deadline_s=deadline_s)

    async def publish_batch(self, exchange: str, messages: Sequence[tuple[str, bytes]], *, deadline_s: float) -> None:
        """As the bus does it: control messages don't come in batches."""
        await self._publisher.publish_batch(exchange, messages, deadline_s=deadline_s)


class _Printer:
    """A publisher that prints: canonical messages one a line, rejections as JSON on standard error."""

    def __init__(self, out: BinaryIO, errors: BinaryIO) -> None:
        self._out = out
        self._errors = errors

    @property
    def blocked(self) -> str | None:
        """Never."""
        return None

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        """Print one body."""
        await self.publish_batch(exchange, [(key, body)], deadline_s=deadline_s)

    async def publish_batch(self, exchange: str, messages: Sequence[tuple[str, bytes]], *, deadline_s: float) -> None:
        """Print bodies; what is for another AMQP exchange than ``market`` and ``quarantine`` goes nowhere."""
        del deadline_s
        for _, body in messages:
            if exchange == MARKET:
                self._out.writelines(bytes(item) + b"\n" for item in json.decode(body, type=list[Raw]))
            elif exchange == QUARANTINE:
                record = decode_record(body)
                fields = {
                    "stream": record.stream,
                    "epoch": record.epoch,
                    "frame": record.frame,
                    "code": record.code,
                    "detail": record.detail,
                }
                self._errors.write(json.encode(fields) + b"\n")
        self._out.flush()
