"""One stream, held for as long as the process lives: connect, serve, wait, again."""

import asyncio
import random
from typing import Final

from services.ingest.outlet import Outlet
from services.ingest.session import TOO_LARGE, Session
from services.ingest.telemetry import StreamTelemetry
from services.ingest.venue import Venue
from shared.backoff import Backoff
from shared.clock import Clock
from shared.envelope import Disconnected
from shared.errors import StreamClosed
from shared.exchanges.base import StreamPlan
from shared.settings import IngestSettings
from shared.subscriptions import SubscriptionTracker
from shared.telemetry.tasks import TaskSet
from shared.transport.websocket import WebSocketStream

__all__ = ["StreamHolder"]

INSTRUMENTS_MAX_AGE_S: Final = 60.0
INSTRUMENTS_SPACING_S: Final = 1.0


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
        self._tasks = TaskSet(telemetry.crashed)
        self._epoch = 0
        self._instruments_wanted = False
        self._refreshing = False

    @property
    def connected(self) -> bool:
        """Whether the stream has a connection right now."""
        return self._session is not None

    async def hold(self) -> None:
        """Until cancelled. Whatever ends a connection, another one follows."""
        async with self._tasks:
            await self._tasks.first(self._hold())

    def resync(self, feed: str, native_symbol: str | None) -> None:
        """A normalizer asks; without a connection there is nothing to do: the next epoch starts with snapshots."""
        if self._session is None:
            return
        if feed == "epoch":
            # A normalizer knows a higher one, from before this process or from before its clock was set back.
            self._epoch = max(self._epoch, int(native_symbol or 0))
            self._session.leave("a normalizer knows a higher epoch")
            return
        if feed != "instruments":
            self._session.resync(feed, native_symbol)
            return
        self._instruments_wanted = True
        if not self._refreshing:
            self._refreshing = True
            self._tasks.spawn(self._refresh_instruments(), "instruments")

    def inject_instruments(self) -> None:
        """Put the instrument list into the stream."""
        if self._session is not None:
            for reply in self._venue.listing.replies:
                self._outlet.put_encoded_reply(reply)

    async def _refresh_instruments(self) -> None:
        """Answer what was asked so far with one list; what is asked meanwhile gets the next."""
        while self._instruments_wanted:
            self._instruments_wanted = False
            await self._venue.listing.refresh(INSTRUMENTS_MAX_AGE_S)
            self._telemetry.resync_started("instruments", None, "requested")
            self.inject_instruments()
            await asyncio.sleep(INSTRUMENTS_SPACING_S)
        self._refreshing = False

    async def _hold(self) -> None:
        while True:
            await self._venue.connects.acquire()
            attempts = self._backoff.attempts
            ended = await self._live()
            if ended is not None and ended.reason == TOO_LARGE:
                self._backoff.attempts = attempts  # data came, but what is too large will come again as well
            await asyncio.sleep(self._backoff.next(random.random()))

    async def _live(self) -> Disconnected | None:
        """One connection; why it ended, None where there was none."""
        session = Session(
            self._venue,
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
            max_size=self._settings.max_frame_bytes,
            open_timeout_s=self._settings.open_timeout_s,
            ping_interval_s=self._settings.ping_interval_s,
        )
        try:
            async with socket:
                return await self._serve(session, socket)
        except StreamClosed as error:
            self._telemetry.connect_failed(error)
            return None

    async def _serve(self, session: Session, socket: WebSocketStream) -> Disconnected:
        self._begin(session)
        socket.listen(session.sink)
        ended = Disconnected("crashed")
        try:
            ended = await session.run(socket)
        except asyncio.CancelledError:
            ended = Disconnected("stopped")
            raise
        finally:
            socket.leave()
            self._session = None
            self._outlet.put_mark(ended)
            self._telemetry.disconnected(ended)
        return ended

    def _begin(self, session: Session) -> None:
        self._epoch = max(self._epoch + 1, self._clock.wall() // 1_000_000)
        self._outlet.begin(self._epoch, self.plan.url)
        self._session = session
        self.inject_instruments()
        session.subscribe()
        self._telemetry.connected(self._epoch, self.plan.url)
