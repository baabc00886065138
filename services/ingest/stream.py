"""One stream, held for as long as the process lives: connect, serve, wait, again."""

import asyncio
import random

from services.ingest.outlet import Outlet
from services.ingest.requests import StreamRequests
from services.ingest.session import Session
from services.ingest.telemetry import StreamTelemetry
from services.ingest.venue import Venue
from shared.backoff import Backoff
from shared.clock import Clock
from shared.envelope import Disconnected
from shared.errors import StreamClosed, StreamStale
from shared.exchanges.base import StreamPlan
from shared.settings import IngestSettings
from shared.subscriptions import SubscriptionTracker
from shared.telemetry.tasks import TaskSet
from shared.transport.websocket import WebSocketStream

__all__ = ["StreamHolder"]


class StreamHolder:
    """Owns a stream's epochs. An epoch's number is the wall clock in ms, but never less than the last plus 1."""

    def __init__(
        self,
        venue: Venue,
        plan: StreamPlan,
        outlet: Outlet,
        settings: IngestSettings,
        clock: Clock,
        telemetry: StreamTelemetry,
    ) -> None:
        self.plan = plan
        self.tracker = SubscriptionTracker(plan)
        self._venue = venue
        self._outlet = outlet
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._backoff = Backoff(settings.reconnect_initial_s, settings.reconnect_cap_s)
        self._session: Session | None = None
        self._tasks = TaskSet()
        self._epoch = 0

    @property
    def connected(self) -> bool:
        """Whether the stream has a connection right now."""
        return self._session is not None

    async def hold(self) -> None:
        """Until cancelled. Whatever ends a connection, another one follows."""
        try:
            while True:
                await self._venue.connects.acquire()
                await self._live()
                await asyncio.sleep(self._backoff.next(random.random()))
        finally:
            await self._tasks.close()

    def resync(self, feed: str, native_symbol: str | None) -> None:
        """A normalizer asks; without a connection there is nothing to do: the next epoch starts with snapshots."""
        session = self._session
        if session is None:
            return
        if feed == "instruments":
            self._tasks.spawn(self._refresh_instruments(), "instruments")
        else:
            session.resync(feed, native_symbol)

    def inject_instruments(self) -> None:
        """Put the instrument list into the stream."""
        if self._session is not None:
            for reply in self._venue.listing.replies:
                self._outlet.put_reply(reply)

    async def _refresh_instruments(self) -> None:
        await self._venue.listing.refresh(max_age_s=60.0)
        self.inject_instruments()

    async def _live(self) -> None:
        session = Session(
            self._venue.adapter,
            self.plan,
            self.tracker,
            self._outlet,
            self._settings,
            self._clock,
            self._telemetry,
            self._backoff.healthy,
        )
        socket = WebSocketStream(
            self.plan.url,
            session.sink,
            max_size=self._settings.max_frame_bytes,
            open_timeout_s=self._settings.open_timeout_s,
            ping_interval_s=self._settings.ping_interval_s,
        )
        try:
            async with socket:
                self._begin(session)
                requests = StreamRequests(self._venue.client, self._outlet.put_reply, self._telemetry.request_failed)
                try:
                    ended = await session.run(socket, requests)
                except asyncio.CancelledError:
                    self._end("stopped", None, None)
                    raise
                finally:
                    self._session = None
                    await requests.close()
        except StreamClosed as error:
            self._telemetry.connect_failed(error)
            return
        self._ended(ended)

    def _begin(self, session: Session) -> None:
        self._epoch = max(self._epoch + 1, self._clock.wall() // 1_000_000)
        self._outlet.begin(self._epoch, self.plan.url)
        self._session = session
        self.inject_instruments()
        session.subscribe()
        self._telemetry.connected(self._epoch, self.plan.url)

    def _ended(self, why: StreamClosed | StreamStale) -> None:
        if isinstance(why, StreamStale):
            self._end("stale", None, str(why))
        elif why.reason.startswith("planned"):
            self._end("planned", why.code, why.reason)
        else:
            self._end("closed", why.code, why.reason)

    def _end(self, reason: str, code: int | None, detail: str | None) -> None:
        self._outlet.put_mark(Disconnected(reason, code, detail))
        self._telemetry.disconnected(reason, code, detail)
