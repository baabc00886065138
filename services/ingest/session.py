"""One epoch of a stream: from the open socket to its end."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from services.ingest.actions import Actions
from services.ingest.outlet import Outlet
from services.ingest.requests import StreamRequests
from services.ingest.spacing import Spacing
from services.ingest.telemetry import StreamTelemetry
from services.ingest.venue import Venue
from shared.clock import Clock
from shared.envelope import Disconnected, SubscriptionRejected, SubscriptionSilent
from shared.errors import StreamClosed
from shared.exchanges.base import FrameClass, Route, StreamPlan, Subscription
from shared.settings import IngestSettings
from shared.subscriptions import SubscriptionTracker
from shared.telemetry.tasks import TaskSet
from shared.transport.websocket import WebSocketStream

__all__ = ["TOO_LARGE", "Session"]

TICK_S: Final = 0.25
RESYNC_SPACING_NS: Final = 1_000_000_000
SEED_AFTER_NS: Final = 2_000_000_000
"""How long a topic may be quiet before its snapshot is fetched all the same."""
AGE_SHARE: Final = 0.95
"""A connection is replaced when so much of what the venue gives it is over."""
MOST_ROUTES: Final = 16_384
"""Some venues' routes are made anew for frames of an odd form."""
TOO_LARGE: Final = "too_large"
MESSAGE_TOO_BIG: Final = 1009
"""RFC 6455 section 7.4.1."""


class Session:
    """Subscribes, classifies what comes, answers heartbeats, watches for silence; one object per connection."""

    def __init__(
        self,
        venue: Venue,
        plan: StreamPlan,
        tracker: SubscriptionTracker,
        outlet: Outlet,
        settings: IngestSettings,
        clock: Clock,
        telemetry: StreamTelemetry,
        healthy: Callable[[], None],
    ) -> None:
        self._adapter = venue.adapter
        self._client = venue.client
        self._plan = plan
        self._tracker = tracker
        self._outlet = outlet
        self._put = outlet.put
        self._classify = venue.adapter.classify
        self._monotonic = clock.monotonic
        self._known: dict[int, Route] = {}
        """By identity, the routes whose first data were dealt with since topics were last asked for."""
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._healthy = healthy
        self._product = plan.product
        self._limits = venue.adapter.limits(plan.product)
        self._actions = Actions(self._limits, tracker, clock)
        self._resyncs = Spacing(RESYNC_SPACING_NS)
        self._seeded: set[str] = set()
        self._topics = {subscription.topic: subscription for subscription in plan.subscriptions}
        self._last_data = self._started = clock.monotonic()
        self._had_data = False
        self._awaits_data = False
        self._closing: str | None = None
        self._ended = Disconnected("closed")

    def sink(self, data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
        """Every message off the socket, synchronously."""
        route = self._classify(self._product, data, binary)
        if id(route) not in self._known and not self._first(route):
            return
        self._last_data = self._monotonic()
        self._put(data, route, binary=binary)

    def subscribe(self) -> None:
        """Ask for everything that is wanted in this epoch."""
        self._request(self._tracker.begin(self._clock.monotonic()))
        self._look_for_noise()

    def resync(self, feed: str, native_symbol: str | None) -> None:
        """Make the venue send what restores a feed of an instrument, at most once a second per topic."""
        now = self._clock.monotonic()
        for subscription in self._tracker.find(feed, native_symbol):
            if self._resyncs.ask(subscription.topic, now):
                self._resync(subscription)

    def leave(self, why: str) -> None:
        """End this connection soon: another one follows at once."""
        self._closing = why

    async def run(self, socket: WebSocketStream) -> Disconnected:
        """Serve the connection until it ends; returns why it did."""
        async with TaskSet(self._telemetry.crashed) as tasks:
            requests = StreamRequests(self._client, tasks, self._outlet.put_reply, self._telemetry.request_failed)
            for poll in self._plan.polls:
                requests.poll(poll)
            tasks.spawn(self._actions.run(socket, requests), "stream_actions")
            tasks.spawn(self._beat(socket), "heartbeat")
            await tasks.first(self._watch(socket))
        return self._ended

    async def _watch(self, socket: WebSocketStream) -> None:
        ended = asyncio.ensure_future(socket.wait_closed())
        try:
            while not ended.done():
                await asyncio.wait((ended,), timeout=TICK_S)
                verdict = None if ended.done() else self._look()
                if verdict is not None:
                    self._ended = verdict
                    if verdict.reason == "stale":
                        socket.abort()
                    return
            self._ended = _closed(ended.result())
        finally:
            ended.cancel()

    def _look(self) -> Disconnected | None:
        """What the clock says: silent topics, deferred resyncs, a silent stream, an old connection."""
        now = self._clock.monotonic()
        self._say_silent(now, self._settings.first_frame_timeout_s)
        for subscription in self._tracker.late(now, SEED_AFTER_NS):
            self._seed(subscription)
        for topic in self._resyncs.due(now):
            self._resync(self._topics[topic])
        self._telemetry.subscriptions(self._tracker.states())
        if self._closing is not None:
            return Disconnected("announced", None, self._closing)
        idle_s = (now - self._last_data) / 1e9
        if self._awaits_data and idle_s > self._settings.idle_timeout_s:
            self._say_silent(now, 0.0)
            return Disconnected("stale", None, f"no data for {idle_s:.0f} s")
        age = self._limits.connection_age_s
        if age is not None and (now - self._started) / 1e9 > age * AGE_SHARE:
            return Disconnected("planned", None, "the venue's connection age limit is near")
        return None

    def _look_for_noise(self) -> None:
        """Silence is a fault where a topic was asked for that is never quiet for long."""
        rejected = set(self._tracker.rejected_topics())
        self._awaits_data = any(not one.quiet and one.topic not in rejected for one in self._plan.subscriptions)

    def _seed(self, subscription: Subscription) -> None:
        """At a topic's first frame, so that the snapshot is not older than the updates; later where it is quiet."""
        if subscription.topic not in self._seeded:
            self._seeded.add(subscription.topic)
            self._actions.put(self._adapter.seed(self._plan, subscription))

    def _resync(self, subscription: Subscription) -> None:
        actions = self._adapter.resync(self._plan, subscription)
        if actions:
            self._telemetry.resync_started(subscription.feed, subscription.native_symbol, "requested")
            self._actions.resync(subscription.topic, actions)

    def _first(self, route: Route) -> bool:
        """A frame that may be the first of its topic; whether it is data."""
        if route.frame_class is not FrameClass.DATA:
            self._control(route)
            return False
        if not self._had_data and route.feed is not None:  # garbage is no sign that the next connection will do
            self._had_data = True
            self._healthy()
        first = self._tracker.frame(route.feed, route.native_symbol)
        if first is not None:
            self._seed(first)
        if len(self._known) < MOST_ROUTES:
            self._known[id(route)] = route
        return True

    def _control(self, route: Route) -> None:
        self._telemetry.control(route.frame_class)
        if route.frame_class is FrameClass.ACK and route.ack is not None:
            result = self._tracker.acked(route.ack, self._clock.monotonic())
            for subscription, reason in result.rejected:
                self._say_rejected(subscription, reason)
            for topics in result.retry:
                self._request(topics)
        elif route.frame_class is FrameClass.CLOSING:
            self.leave(f"announced by the venue: {route.detail}")
        elif route.frame_class is FrameClass.ERROR:
            self._telemetry.venue_error(route.detail or "")

    def _request(self, topics: Sequence[str]) -> None:
        self._known.clear()
        if topics:
            self._actions.put(self._adapter.subscribe(self._plan, topics))

    async def _beat(self, socket: WebSocketStream) -> None:
        heartbeat = self._adapter.heartbeat(self._product)
        if heartbeat is None:
            return
        try:
            while True:
                await asyncio.sleep(heartbeat.interval_s)
                await socket.send(heartbeat.payload)
        except StreamClosed:
            return  # as in Actions.run

    def _say_silent(self, now: int, seconds: float) -> None:
        for one in self._tracker.silent(now, int(seconds * 1e9)):
            waited_s = seconds or self._settings.idle_timeout_s
            self._outlet.put_mark(SubscriptionSilent(one.topic, one.feed, one.native_symbol, waited_s))
            self._telemetry.subscription_silent(one, waited_s)

    def _say_rejected(self, subscription: Subscription, reason: str) -> None:
        topic, feed, symbol = subscription.topic, subscription.feed, subscription.native_symbol
        self._outlet.put_mark(SubscriptionRejected(topic, feed, symbol, reason))
        self._telemetry.subscription_rejected(subscription, reason)
        self._look_for_noise()


def _closed(why: StreamClosed) -> Disconnected:
    return Disconnected(TOO_LARGE if why.code == MESSAGE_TOO_BIG else "closed", why.code, why.reason or None)
