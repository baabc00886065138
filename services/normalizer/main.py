"""The normalizer: learns which streams there are, consumes them, starts over when the broker was away."""

import asyncio
import logging
import random

from services.normalizer.session import Session
from services.normalizer.telemetry import NormalizerTelemetry
from shared.backoff import Backoff
from shared.bus.base import Bus, RawConsumer
from shared.clock import Clock
from shared.control import Announcement, StreamInfo, decode_control
from shared.errors import BrokerError, ParseError
from shared.settings import Settings
from shared.telemetry.tasks import TaskSet
from shared.topology import CONTROL, announcement_key

__all__ = ["Normalizer"]

log = logging.getLogger(__name__)

DRAIN_S = 5.0


class Normalizer:
    """Consumes every market stream that is announced."""

    def __init__(self, settings: Settings, bus: Bus, clock: Clock, telemetry: NormalizerTelemetry) -> None:
        self._settings = settings
        self._bus = bus
        self._clock = clock
        self._telemetry = telemetry
        self.consuming: dict[str, StreamInfo] = {}

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop``: the batch in hand is finished, then nothing is left unacknowledged that was published."""
        backoff = Backoff(0.2, 5.0)
        while not stop.is_set():
            try:
                await self._session(stop, backoff)
            except BrokerError as error:
                self._telemetry.session_lost(error)
                await _sleep(backoff.next(random.random()), stop)

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
            await tasks.close()
            await consumer.close()

    async def _learn(self, consumer: RawConsumer, backoff: Backoff) -> None:
        """Consume what is announced."""
        subscriber = await self._bus.subscribe(CONTROL, [announcement_key()])
        try:
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
                        await consumer.add(stream)
                        self.consuming[stream.stream] = stream
                        self._telemetry.consuming(stream)
                backoff.healthy()
        finally:
            await subscriber.close()


async def _until(stop: asyncio.Event) -> None:
    await stop.wait()


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
