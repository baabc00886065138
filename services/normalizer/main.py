"""The normalizer: one member of many. Learns which streams there are, owns its share, starts over when it lost it."""

import asyncio
import logging
import random
from collections.abc import Mapping
from typing import Final, Protocol

from services.normalizer.holding import Held, Owned, member_name
from services.normalizer.knowledge import Knowledge
from services.normalizer.known import Known, Peers
from services.normalizer.listening import Listener
from services.normalizer.owning import Owner
from services.normalizer.session import Session
from services.normalizer.tables import Tables
from services.normalizer.telemetry import NormalizerTelemetry
from shared.backoff import Backoff
from shared.bus.base import Bus, Publisher, RawConsumer
from shared.clock import Clock
from shared.control import StreamInfo
from shared.envelope import Plane
from shared.errors import BrokerError
from shared.settings import Settings
from shared.telemetry.tasks import TaskSet

__all__ = ["Normalizer"]

log = logging.getLogger(__name__)

DRAIN_S: Final = 5.0
INTERVALS: Final = 10
"""A stream that has not been announced for so many intervals is none any more."""


class Serving(Protocol):
    """What deals with the deliveries of one connection; see :class:`services.normalizer.session.Session`."""

    async def run(self) -> None:
        """Until :meth:`stop`; raises BrokerError."""
        ...

    def stop(self) -> None:
        """End after what is in hand."""
        ...

    def forget(self, stream: StreamInfo) -> None:
        """A stream is owned no longer."""
        ...


class Normalizer:
    """Owns its share of the streams of its plane that are announced."""

    plane: Plane = "market"

    def __init__(
        self, settings: Settings, bus: Bus, clock: Clock, telemetry: NormalizerTelemetry, tables: Tables | None = None
    ) -> None:
        self._settings = settings
        self._bus = bus
        self._clock = clock
        self._telemetry = telemetry
        self.member = member_name()
        patience_ns = int(INTERVALS * settings.ingest.announce_interval_s * 1e9)
        self._knowledge = Knowledge(Known(patience_ns), Peers(self.member), Owned(self.member), tables or Tables())
        self._owner: Owner | None = None

    @property
    def consuming(self) -> Mapping[str, Held]:
        """The streams that it owns, by name."""
        return self._knowledge.owned.streams

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop``: then everything is handed over, and nothing is left unacknowledged that was published."""
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
        """What keeps this normalizer from being ready. To own nothing is none: there may be others for all streams."""
        if self._owner is None:
            return "there is no session with the broker"
        if self._owner.mismatched:
            return "; ".join(self._owner.mismatched.values())
        return None if self._knowledge.known.streams else "no stream was announced yet"

    def make_session(self, consumer: RawConsumer, publisher: Publisher) -> Serving:
        """What deals with the deliveries of one connection."""
        settings, knowledge = self._settings, self._knowledge
        return Session(
            consumer, publisher, settings, self._clock, self._telemetry, knowledge.owned, knowledge.tables.seed
        )

    async def _session(self, stop: asyncio.Event, backoff: Backoff) -> None:
        consumer = await self._bus.consume_raw(self.member, self.plane)
        tasks = TaskSet()
        try:
            clock, telemetry, knowledge = self._clock, self._telemetry, self._knowledge
            publisher, control = await self._bus.publisher(consumer), await self._bus.publisher()
            session = self.make_session(consumer, publisher)
            owner = self._owner = Owner(consumer, control, knowledge, clock, telemetry, session.forget)
            listener = Listener(self._bus, knowledge, backoff.healthy, owner.changed, self.plane)
            listening = tasks.spawn(listener.run(), "announcements")
            await self._serve(stop, tasks, session, owner, listening)
        finally:
            if self._owner is not None:
                self._owner.lost()
                self._owner = None
            await asyncio.gather(tasks.close(), consumer.close())

    async def _serve(
        self, stop: asyncio.Event, tasks: TaskSet, session: Serving, owner: Owner, listening: asyncio.Task[object]
    ) -> None:
        """Until ``stop``, or something ends; raises what ended it."""
        running = asyncio.create_task(session.run(), name="normalizer session")
        owning = tasks.spawn(owner.run(), "ownership")
        stopping = tasks.spawn(stop.wait(), "stop")
        try:
            await asyncio.wait({running, owning, listening, stopping}, return_when=asyncio.FIRST_COMPLETED)
            async with asyncio.timeout(DRAIN_S):
                if not (running.done() or owning.done() or listening.done()):
                    leaving = tasks.spawn(owner.leave(), "leave")
                    await asyncio.wait({running, owning, leaving}, return_when=asyncio.FIRST_COMPLETED)
                session.stop()
                await running
            for task in (owning, listening):
                if task.done():
                    task.result()
        except TimeoutError:
            log.warning("what was in hand was not finished within %s s", DRAIN_S)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _sleep(seconds: float, stop: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass
