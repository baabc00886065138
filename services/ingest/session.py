"""One epoch of a stream: from the open socket to its end."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from aiolimiter import AsyncLimiter

from services.ingest.outlet import Outlet
from services.ingest.requests import StreamRequests
from services.ingest.telemetry import StreamTelemetry
from shared.clock import Clock
from shared.envelope import SubscriptionRejected, SubscriptionSilent
from shared.errors import StreamClosed, StreamStale
from shared.exchanges.base import Action, Adapter, FrameClass, Route, Send, StreamPlan, Subscription
from shared.settings import IngestSettings
from shared.subscriptions import SubscriptionTracker
from shared.transport.websocket import WebSocketStream

__all__ = ["Session"]

TICK_S: Final = 0.25
RESYNC_SPACING_NS: Final = 1_000_000_000


class Session:
    """Subscribes, classifies what comes, answers heartbeats, watches for silence; one object per connection."""

    def __init__(
        self,
        adapter: Adapter,
        plan: StreamPlan,
        tracker: SubscriptionTracker,
        outlet: Outlet,
        settings: IngestSettings,
        clock: Clock,
        telemetry: StreamTelemetry,
        healthy: Callable[[], None],
    ) -> None:
        self._adapter = adapter
        self._plan = plan
        self._tracker = tracker
        self._outlet = outlet
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._healthy = healthy
        self._product = plan.product
        self._limits = adapter.limits(plan.product)
        self._pace = AsyncLimiter(1, 1 / self._limits.requests_per_second)
        self._actions: asyncio.Queue[Action] = asyncio.Queue()
        self._last_data = self._started = clock.monotonic()
        self._had_data = False
        self._closing: str | None = None
        self._resynced: dict[str, int] = {}
        self.requests: StreamRequests | None = None

    def sink(self, data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
        """Every message off the socket, synchronously."""
        route = self._adapter.classify(self._product, data, binary)
        if route.frame_class is not FrameClass.DATA:
            self._control(route)
            return
        self._last_data = self._clock.monotonic()
        first = self._tracker.frame(route.feed, route.native_symbol)
        if first is not None:
            self._first_frame(first)
        self._outlet.put(data, route, binary=binary)

    def subscribe(self) -> None:
        """Ask for everything that is wanted in this epoch."""
        self._request(self._tracker.begin(self._clock.monotonic()))

    def resync(self, feed: str, native_symbol: str | None) -> None:
        """Make the venue send what restores a feed of an instrument, at most once a second per topic."""
        now = self._clock.monotonic()
        self._telemetry.resync_started(feed, native_symbol, "requested")
        for subscription in self._tracker.find(feed, native_symbol):
            if now - self._resynced.get(subscription.topic, -RESYNC_SPACING_NS) < RESYNC_SPACING_NS:
                continue
            self._resynced[subscription.topic] = now
            self._act(self._adapter.resync(self._plan, subscription))

    async def run(self, socket: WebSocketStream, requests: StreamRequests) -> StreamClosed | StreamStale:
        """Serve the connection until it ends; returns why it did."""
        self.requests = requests
        for poll in self._plan.polls:
            requests.poll(poll)
        helpers = [
            asyncio.create_task(self._send_actions(socket, requests), name=f"{self._plan.name} actions"),
            asyncio.create_task(self._beat(socket), name=f"{self._plan.name} heartbeat"),
        ]
        ended = asyncio.create_task(socket.wait_closed(), name=f"{self._plan.name} closed")
        try:
            while not ended.done():
                await asyncio.wait({ended, *helpers}, timeout=TICK_S, return_when=asyncio.FIRST_COMPLETED)
                for helper in helpers:
                    if helper.done() and not ended.done():
                        return self._failed(helper)
                if (verdict := self._look()) is not None and not ended.done():
                    socket.abort()
                    return verdict
            return ended.result()
        finally:
            for task in (*helpers, ended):
                task.cancel()
            await asyncio.gather(*helpers, ended, return_exceptions=True)

    def _failed(self, helper: asyncio.Task[None]) -> StreamClosed:
        error = helper.exception()
        if isinstance(error, StreamClosed):
            return error
        if error is not None:
            raise error
        return StreamClosed(1006, f"{helper.get_name()} ended")

    def _look(self) -> StreamClosed | StreamStale | None:
        """What the clock says: silent topics, a silent stream, an old connection."""
        now = self._clock.monotonic()
        for subscription in self._tracker.silent(now, int(self._settings.first_frame_timeout_s * 1e9)):
            self._say_silent(subscription)
        self._telemetry.subscriptions(self._tracker.states())
        if self._closing is not None:
            return StreamClosed(1012, self._closing)
        idle_s = (now - self._last_data) / 1e9
        if idle_s > self._settings.idle_timeout_s:
            return StreamStale(f"no data for {idle_s:.0f} s")
        age = self._limits.connection_age_s
        if age is not None and (now - self._started) / 1e9 > age * 0.95:
            return StreamClosed(1000, "planned: the venue's connection age limit is near")
        return None

    def _first_frame(self, subscription: Subscription) -> None:
        if not self._had_data:
            self._had_data = True
            self._healthy()
        self._act(self._adapter.seed(self._plan, subscription))

    def _control(self, route: Route) -> None:
        self._telemetry.control(route.frame_class)
        if route.frame_class is FrameClass.ACK and route.ack is not None:
            result = self._tracker.acked(route.ack, self._clock.monotonic())
            for subscription, reason in result.rejected:
                self._say_rejected(subscription, reason)
            for topics in result.retry:
                self._request(topics)
        elif route.frame_class is FrameClass.CLOSING:
            self._closing = f"announced by the venue: {route.detail}"
        elif route.frame_class is FrameClass.ERROR:
            self._telemetry.venue_error(route.detail or "")

    def _request(self, topics: Sequence[str]) -> None:
        if topics:
            self._act(self._adapter.subscribe(self._plan, topics))

    def _act(self, actions: Sequence[Action]) -> None:
        for action in actions:
            self._actions.put_nowait(action)

    async def _send_actions(self, socket: WebSocketStream, requests: StreamRequests) -> None:
        while True:
            action = await self._actions.get()
            if isinstance(action, Send):
                await self._pace.acquire()
                self._tracker.sent(action, self._clock.monotonic())
                await socket.send(action.payload)
            else:
                requests.fetch(action.request)

    async def _beat(self, socket: WebSocketStream) -> None:
        heartbeat = self._adapter.heartbeat(self._product)
        if heartbeat is None:
            await asyncio.Event().wait()
            return
        while True:
            await asyncio.sleep(heartbeat.interval_s)
            await socket.send(heartbeat.payload)

    def _say_silent(self, subscription: Subscription) -> None:
        topic, feed, symbol = subscription.topic, subscription.feed, subscription.native_symbol
        self._outlet.put_mark(SubscriptionSilent(topic, feed, symbol, self._settings.first_frame_timeout_s))
        self._telemetry.subscription_silent(subscription, self._settings.first_frame_timeout_s)

    def _say_rejected(self, subscription: Subscription, reason: str) -> None:
        topic, feed, symbol = subscription.topic, subscription.feed, subscription.native_symbol
        self._outlet.put_mark(SubscriptionRejected(topic, feed, symbol, reason))
        self._telemetry.subscription_rejected(subscription, reason)
