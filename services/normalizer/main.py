"""The normalizer: learns which streams there are, consumes them, starts over when the broker was away."""

import asyncio
import logging
import random
import re
from typing import Final

from services.normalizer.session import Session
from services.normalizer.telemetry import NormalizerTelemetry
from shared.backoff import Backoff
from shared.bus.base import Bus, RawConsumer, StreamBusy
from shared.clock import Clock
from shared.control import Announcement, StreamInfo, decode_control
from shared.errors import BrokerError, ParseError, TopologyMismatch
from shared.exchanges import EXCHANGES
from shared.settings import Settings
from shared.telemetry.tasks import TaskSet
from shared.topology import CONTROL, announcement_key

__all__ = ["Normalizer"]

log = logging.getLogger(__name__)

DRAIN_S: Final = 5.0
STREAM_NAME: Final = re.compile(r"(?=.{1,100}$)[a-z0-9_]+(\.[a-z0-9_-]+){1,4}", re.ASCII)
"""As ``bybit.linear.0``; what is announced becomes the name of a queue."""


class Normalizer:
    """Consumes every market stream that is announced."""

    def __init__(self, settings: Settings, bus: Bus, clock: Clock, telemetry: NormalizerTelemetry) -> None:
        self._settings = settings
        self._bus = bus
        self._clock = clock
        self._telemetry = telemetry
        self.consuming: dict[str, StreamInfo] = {}
        self._known: dict[str, StreamInfo] = {}
        self.refused: dict[str, str] = {}
        """Streams that were announced and can't be consumed, and why; tried again with every announcement."""

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop``: the batch in hand is finished, then nothing is left unacknowledged that was published."""
        backoff = Backoff(0.2, 5.0)
        while not stop.is_set():
            try:
                await self._session(stop, backoff)
            except BrokerError as error:
                self._telemetry.session_lost(error)
                await _sleep(backoff.next(random.random()), stop)
            except Exception as error:
                log.exception("a defect ended the session; the next one begins")
                self._telemetry.session_crashed(error)
                await _sleep(backoff.next(random.random()), stop)

    def problem(self) -> str | None:
        """What keeps this normalizer from being ready; None when every stream that was announced is consumed."""
        if self.refused:
            return "; ".join(self.refused.values())
        return None if self.consuming else "no stream was announced yet"

    async def _session(self, stop: asyncio.Event, backoff: Backoff) -> None:
        consumer = await self._bus.consume_raw()
        tasks = TaskSet()
        try:
            session = Session(consumer, await self._bus.publisher(), self._settings, self._clock, self._telemetry)
            running = asyncio.create_task(session.run(), name="normalizer session")
            learning = tasks.spawn(self._learn(consumer, backoff), "announcements")
            stopping = tasks.spawn(_until(stop), "stop")
            try:
                await asyncio.wait({running, learning, stopping}, return_when=asyncio.FIRST_COMPLETED)
                session.stop()
                async with asyncio.timeout(DRAIN_S):
                    await running
                if learning.done():
                    learning.result()
            except TimeoutError:
                log.warning("the batch in hand was not finished within %s s", DRAIN_S)
            finally:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
        finally:
            for stream in self.consuming.values():
                self._telemetry.released(stream)
            self.consuming.clear()
            self.refused.clear()
            await tasks.close()
            await consumer.close()

    async def _learn(self, consumer: RawConsumer, backoff: Backoff) -> None:
        """Consume what is announced, and before that what was consumed when the last session ended."""
        subscriber = await self._bus.subscribe(CONTROL, [announcement_key()])
        try:
            for stream in tuple(self._known.values()):
                await self._take(consumer, stream)
            while True:
                delivery = await subscriber.receive()
                try:
                    message = decode_control(delivery.body)
                except ParseError as error:
                    log.warning("a control message was not understood: %s", error)
                    continue
                if not isinstance(message, Announcement):
                    continue
                for stream in message.streams:
                    if stream.plane == "market" and stream.stream not in self.consuming:
                        await self._take(consumer, stream)
                backoff.healthy()
        finally:
            await subscriber.close()

    async def _take(self, consumer: RawConsumer, stream: StreamInfo) -> None:
        """Consume a stream; one that can't be must not cost the others their session."""
        if stream.exchange not in EXCHANGES or STREAM_NAME.fullmatch(stream.stream) is None:
            log.warning("%r of %r was announced: no stream of a known venue", stream.stream[:80], stream.exchange[:40])
            return
        try:
            await consumer.add(stream)
        except (StreamBusy, TopologyMismatch) as error:
            self._refuse(stream, str(error))
            return
        self.refused.pop(stream.stream, None)
        self._known[stream.stream] = stream
        self.consuming[stream.stream] = stream
        self._telemetry.consuming(stream)

    def _refuse(self, stream: StreamInfo, problem: str) -> None:
        if self.refused.get(stream.stream) != problem:
            self.refused[stream.stream] = problem
            log.warning("a stream is not consumed: %s", problem)


async def _until(stop: asyncio.Event) -> None:
    await stop.wait()


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
