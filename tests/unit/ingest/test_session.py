"""What a session does with a topic's first data, and not with the rest."""

from collections.abc import AsyncIterator

import pytest
from aiolimiter import AsyncLimiter

from services.ingest.listing import Listing
from services.ingest.session import Session
from services.ingest.telemetry import IngestTelemetry
from services.ingest.venue import Venue
from shared.bus.memory import MemoryBus
from shared.clock import SystemClock
from shared.control import StreamInfo
from shared.exchanges.base import Endpoints, Feed
from shared.exchanges.bybit import ADAPTER
from shared.subscriptions import SubscriptionState, SubscriptionTracker
from shared.telemetry.bundle import Telemetry
from shared.transport.http import RestClient
from tests.support.ingesting import fast, outlet

TRADE = b'{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1,"data":[]}'
QUOTE = b'{"topic":"orderbook.1.BTCUSDT","type":"snapshot","ts":1,"data":{}}'
GARBAGE = b'{"topic":"nothing.known"}'
PONG = b'{"success":true,"ret_msg":"pong","conn_id":"1","op":"ping"}'


class Fed:
    """A session without a socket."""

    def __init__(
        self, session: Session, tracker: SubscriptionTracker, telemetry: Telemetry, found_healthy: list[bool]
    ) -> None:
        self.session = session
        self.tracker = tracker
        self.telemetry = telemetry
        self._found_healthy = found_healthy

    @property
    def healthy(self) -> int:
        return len(self._found_healthy)

    def flowing(self) -> int:
        return self.tracker.states()[SubscriptionState.ACCEPTED]

    def feed(self, *frames: bytes) -> None:
        for data in frames:
            self.session.sink(data, False)


@pytest.fixture
async def fed() -> AsyncIterator[Fed]:
    instrument = ADAPTER.named("linear", "BTCUSDT")
    assert instrument is not None
    feeds = frozenset({Feed.TRADE, Feed.QUOTE})
    endpoints, clock, settings, telemetry = Endpoints("ws://x", "http://x"), SystemClock(), fast(), Telemetry()
    plan = ADAPTER.plan("linear", [instrument], feeds, endpoints, 1)[0]
    bound, tracker = IngestTelemetry(telemetry, "bybit", 20), SubscriptionTracker(plan)
    async with MemoryBus() as bus, RestClient(ADAPTER.limits("linear"), timeout_s=1.0) as client:
        info = StreamInfo("bybit", "linear", "market", plan.name)
        way_out = outlet(info, await bus.publisher(), bound, settings)
        venue = Venue(
            ADAPTER,
            Listing(ADAPTER, "linear", endpoints, client, clock, bound.request_failed),
            client,
            AsyncLimiter(1000, 1),
        )
        stream = bound.stream(plan.name)
        found_healthy: list[bool] = []

        def healthy() -> None:
            found_healthy.append(True)

        session = Session(venue, plan, tracker, way_out, settings.ingest, clock, stream, healthy)
        yield Fed(session, tracker, telemetry, found_healthy)


async def test_first_data_of_each_topic_show_that_it_flows(fed: Fed) -> None:
    fed.session.subscribe()
    fed.feed(PONG, GARBAGE)
    assert (fed.flowing(), fed.healthy) == (0, 0)
    fed.feed(TRADE, TRADE)
    assert (fed.flowing(), fed.healthy) == (1, 1)
    fed.feed(GARBAGE, QUOTE, TRADE)
    assert (fed.flowing(), fed.healthy) == (2, 1)


async def test_first_data_are_looked_for_again_when_topics_are_asked_for_again(fed: Fed) -> None:
    """An adapter gives the same route object for every frame of a topic, in whatever epoch."""
    for _ in range(3):
        fed.session.subscribe()
        assert fed.flowing() == 0
        fed.feed(TRADE, QUOTE, TRADE)
        assert fed.flowing() == 2
    assert fed.healthy == 1


async def test_control_frames_are_looked_at_each_time(fed: Fed) -> None:
    fed.session.subscribe()
    fed.feed(TRADE, PONG, TRADE, PONG, PONG)
    assert fed.telemetry.total("tidegate_control_frames_total", {}) == 3
