"""Ingest of each exchange against the simulated venues, over real sockets."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from typing import Any

import pytest

from services.simulator import Simulator, SimulatorSettings, select
from shared.bus.memory import MemoryBus
from shared.control import Announcement, StreamInfo, decode_control
from shared.envelope import Connected, Disconnected, FrameKind, SubscriptionRejected, SubscriptionSilent, decode_mark
from shared.errors import BrokerUnavailable, SettingsError
from shared.exchanges import EXCHANGES, adapter
from shared.exchanges.base import Endpoints, Feed
from shared.settings import Settings, Target
from shared.topology import CONTROL, announcement_key
from tests.support.eventually import eventually, eventually_async
from tests.support.ingesting import Running, fast, running
from tests.support.venue_server import Reply, VenueServer

pytestmark = pytest.mark.integration

PATIENT = {"idle_timeout_s": 30.0, "first_frame_timeout_s": 30.0}


def wanted(sim: Simulator, exchange: str, product: str, *symbols: str, feeds: frozenset[Feed] | None = None) -> Target:
    endpoints = Endpoints(sim.websocket_base(exchange, product), sim.rest_base(exchange, product))
    available = adapter(exchange).feeds(product)
    return Target(exchange, product, endpoints, symbols or ("*",), available & (feeds or available), 1)


def simulator(exchange: str, rate: float = 50.0) -> Simulator:
    instruments = [one for one in select(exchange=exchange) if one.base in {"BTC", "ETH"}]
    return Simulator(SimulatorSettings(instruments=tuple(instruments), rate=rate, exchanges=(exchange,)))


@asynccontextmanager
async def spot(
    exchange: str, *feeds: Feed, settings: Settings | None = None, symbols: tuple[str, ...] = ("BTC/USDT",)
) -> AsyncIterator[tuple[Simulator, Running]]:
    """One instrument (or some) of an exchange's spot market."""
    async with simulator(exchange) as sim:
        target = wanted(sim, exchange, "spot", *symbols, feeds=frozenset(feeds) or None)
        async with running(exchange, [target], settings or fast(**PATIENT)) as one:
            yield sim, one


def missing(one: Running, exchange: str) -> set[tuple[str, str]]:
    """Topics of which no frame is in the raw streams yet."""
    venue = adapter(exchange)
    absent: set[tuple[str, str]] = set()
    for name, holder in one.ingest.streams.items():
        frames = [each.frame for each in one.raw.of(name) if each.frame.kind <= FrameKind.BINARY]
        routes = [venue.classify(holder.plan.product, each.data, each.kind == FrameKind.BINARY) for each in frames]
        seen = {(route.feed, route.native_symbol) for route in routes}
        absent |= {
            (name, subscription.topic)
            for subscription in holder.plan.subscriptions
            if (subscription.feed, subscription.native_symbol) not in seen
        }
    return absent


@pytest.mark.parametrize("exchange", sorted(EXCHANGES))
async def test_frames_of_every_feed_of_every_product_arrive_in_order(exchange: str) -> None:
    async with simulator(exchange) as sim:
        targets = [wanted(sim, exchange, product) for product in adapter(exchange).products]
        async with running(exchange, targets, fast(**PATIENT)) as one:
            await one.connected()
            sim.burst(50, seconds=20)  # liquidations
            await eventually(lambda: not missing(one, exchange), "every topic has brought a frame", within=60)
            polls = sum(len(holder.plan.polls) for holder in one.ingest.streams.values())
            urls = {poll.request.url for holder in one.ingest.streams.values() for poll in holder.plan.polls}
            await eventually(
                lambda: urls <= {reply.url for reply in one.raw.replies()}, f"{polls} polls were answered", within=60
            )
            await eventually(lambda: one.count("subscriptions", state="requested") == 0, "everything is acknowledged")
            states = {state: one.count("subscriptions", state=state) for state in ("accepted", "rejected", "waiting")}
            assert states == {
                "accepted": sum(len(holder.plan.subscriptions) for holder in one.ingest.streams.values()),
                "rejected": 0,
                "waiting": 0,
            }
            seeds = [reply for reply in one.raw.replies() if "depth" in reply.url and reply.status == 200]
            assert bool(seeds) == (exchange != "bybit")
        one.raw.assert_complete()
        assert set(one.raw.streams) == set(one.ingest.streams)
        for name in one.raw.streams:
            kinds = [kind for kind, _ in groupby(each.frame.kind for each in one.raw.of(name))]
            assert kinds[:2] == [FrameKind.MARK, FrameKind.REST]
            assert isinstance(decode_mark(one.raw.of(name)[0].frame.data), Connected)
            assert one.raw.replies(name)[0].status == 200
            assert decode_mark(one.raw.of(name)[-1].frame.data) == Disconnected("stopped")
    # Nothing is lost between the venue's socket and the bus.
    total = sum(len(frames) for frames in one.raw.streams.values())
    assert total == one.count("frames_published_total", stage="ingest")
    assert total == one.count("frames_received_total", stage="ingest")


async def test_the_raw_queue_holds_what_was_published_and_streams_are_announced() -> None:
    async with spot("bybit", Feed.TRADE) as (_, one):
        control = await one.bus.subscribe(CONTROL, [announcement_key()])
        info = StreamInfo("bybit", "spot", "market", "bybit.spot.0")
        async with asyncio.timeout(60):
            announcement = decode_control((await control.receive()).body)
            assert isinstance(announcement, Announcement)
            assert announcement.streams == [info]
            assert announcement.ingest == one.ingest.name
            consumer = await one.bus.consume_raw()
            await consumer.add(info)
            (delivery, *_) = await consumer.receive(10)
        assert delivery.key == "bybit.spot.0"
        await consumer.close()
        await control.close()


@pytest.mark.parametrize(("exchange", "product"), [("bybit", "linear"), ("mexc", "spot"), ("mexc", "futures")])
async def test_a_topic_that_the_venue_refuses_is_named_and_the_others_flow(exchange: str, product: str) -> None:
    async with simulator(exchange) as sim:
        feeds = frozenset({Feed.TRADE, Feed.QUOTE, Feed.TICKER})
        sim.inject({"kind": "reject_topic", "exchange": exchange, "product": product, "feed": "trade"})
        async with running(exchange, [wanted(sim, exchange, product, feeds=feeds)], fast(**PATIENT)) as one:
            await one.connected()
            await eventually(lambda: one.raw.marks(SubscriptionRejected), "it is named")
            (mark,) = one.raw.marks(SubscriptionRejected)
            await eventually(lambda: len(missing(one, exchange)) == 1, "the others flow")
            assert {topic for _, topic in missing(one, exchange)} == {mark.topic}
            assert mark.feed == "trade"
            assert mark.reason
            assert one.count("subscription_rejections_total", feed="trade") == 1
            assert one.count("reconnects_total") == 0


async def test_a_topic_that_the_venue_accepts_and_never_serves_is_named() -> None:
    """Binance refuses nothing."""
    async with simulator("binance") as sim:
        sim.inject({"kind": "no_first_frame", "exchange": "binance", "feed": "mark_price"})
        target = wanted(sim, "binance", "usdm", "BTC/USDT:USDT", "ETH/USDT:USDT")
        settings = fast(idle_timeout_s=30.0, first_frame_timeout_s=4.0)
        async with running("binance", [target], settings) as one:
            await one.connected()
            await eventually(lambda: one.raw.marks(SubscriptionSilent), "it is named")
            marks = one.raw.marks(SubscriptionSilent)
            assert [mark.feed for mark in marks] == ["mark_price"]
            assert one.count("subscriptions_silent_total", feed="mark_price") == 1
            assert one.count("reconnects_total") == 0


async def test_symbols_that_are_not_listed_are_named_and_the_rest_starts() -> None:
    symbols = ("BTC/USDT", "NOSUCH/USDT", "ETHUSDT", "XRPXRP")
    async with spot("binance", Feed.TRADE, settings=fast(**PATIENT), symbols=symbols) as (_, one):
        await one.connected()
        (holder,) = one.ingest.streams.values()
        assert {topic.native_symbol for topic in holder.plan.subscriptions} == {"BTCUSDT", "ETHUSDT"}
        assert one.count("subscription_rejections_total", feed="all", exchange="binance") == 2


async def test_nothing_but_unlisted_symbols_is_a_mistake_in_the_settings_that_names_each() -> None:
    async with simulator("bybit") as sim:
        targets = [
            wanted(sim, "bybit", "spot", "NOSUCH/USDT", "XRPXRP"),
            wanted(sim, "bybit", "linear", "BTC/USDT:USDT"),
            wanted(sim, "bybit", "inverse", "DOGE/USD:DOGE"),
        ]
        async with running("bybit", targets) as one:
            with pytest.raises(SettingsError) as caught:
                await one.stop_when_done()
    assert caught.value.mistakes == [
        ("exchanges.bybit.products.spot.symbols", "NOSUCH/USDT is not listed"),
        ("exchanges.bybit.products.spot.symbols", "XRPXRP is not listed"),
        ("exchanges.bybit.products.inverse.symbols", "DOGE/USD:DOGE is not listed"),
    ]
    assert one.count("task_crashes_total") == 0


async def test_no_feed_that_the_product_has_is_a_mistake_in_the_settings() -> None:
    async with simulator("bybit") as sim:
        target = wanted(sim, "bybit", "spot", feeds=frozenset({Feed.LIQUIDATION}))
        async with running("bybit", [target]) as one:
            with pytest.raises(SettingsError, match=r"bybit\.products\.spot\.feeds"):
                await one.stop_when_done()


async def test_an_announced_shutdown_is_answered_with_a_reconnect_at_once() -> None:
    async with spot("binance", Feed.TRADE, Feed.QUOTE) as (sim, one):
        await eventually(lambda: len(one.raw.data()) > 5, "it flows")
        assert sim.inject({"kind": "server_shutdown", "exchange": "binance", "seconds": 30}) == 1
        await eventually(lambda: len(one.raw.epochs()) == 2, "there is another epoch")
        (mark,) = one.raw.marks(Disconnected)
        assert mark.reason == "announced"
        assert "announced by the venue" in str(mark.detail)
        assert one.count("reconnects_total", reason="announced") == 1
        assert one.count("control_frames_total", kind="closing") == 1
    one.raw.assert_complete()


async def test_silence_with_answered_heartbeats_ends_in_a_stale_reconnect() -> None:
    async with spot("bybit", Feed.QUOTE, Feed.TRADE, settings=fast(idle_timeout_s=1.0)) as (sim, one):
        await eventually(lambda: len(one.raw.data()) > 5, "it flows")
        sim.inject({"kind": "silence", "exchange": "bybit", "seconds": 60})
        await eventually(lambda: len(one.raw.epochs()) == 2, "there is another epoch")
        assert one.raw.marks(Disconnected)[0].reason == "stale"


async def test_a_resync_request_makes_bybit_send_a_snapshot() -> None:
    async with spot("bybit", Feed.BOOK) as (_, one):
        await eventually(lambda: len(one.raw.data()) > 5, "it flows")

        def snapshots() -> int:
            return sum(b'"type":"snapshot"' in data for data in one.raw.data())

        assert snapshots() == 1
        for _ in range(5):
            await one.ask("bybit.spot.0", "book", "BTCUSDT")
        await eventually(lambda: snapshots() >= 2, "there is a new snapshot")
        await eventually(lambda: snapshots() == 3, "what was asked within the spacing was done once afterwards")
        assert one.count("resyncs_total", feed="book") == 2
        await one.ask("bybit.spot.7", "book", "BTCUSDT")
        await one.ask("bybit.spot.0", "book", "NOSUCH")
        assert one.count("resyncs_total", feed="book") == 2


@pytest.mark.parametrize(("exchange", "stream"), [("binance", "binance.spot.0"), ("mexc", "mexc.spot.0")])
async def test_a_resync_request_fetches_a_snapshot_where_snapshots_are_rest(exchange: str, stream: str) -> None:
    async with spot(exchange, Feed.BOOK) as (sim, one):

        def snapshots() -> int:
            return sum("depth" in reply.url for reply in one.raw.replies())

        await eventually(lambda: snapshots() == 1, "the book is seeded after its first frame")
        sim.inject({"kind": "rest_error", "exchange": exchange, "status": 503, "count": 2})
        await one.ask(stream, "book", "BTCUSDT")
        await eventually(lambda: snapshots() == 2, "there is a new snapshot, in spite of two failures")
        assert one.count("rest_requests_total", outcome="status_503") == 2
        assert one.count("reconnects_total") == 0


async def test_an_instrument_list_is_fetched_at_most_once_a_minute_and_answered_from_memory() -> None:
    async with spot("bybit", Feed.TRADE) as (_, one):
        await one.connected()
        lists = len(one.raw.replies())
        fetched = one.count("rest_requests_total", outcome="ok")
        for _ in range(10):
            await one.ask("bybit.spot.0", "instruments", None)
        await eventually(lambda: len(one.raw.replies()) > lists, "the list is in the stream again")
        assert one.count("rest_requests_total", outcome="ok") == fetched
        await eventually(lambda: one.count("resyncs_total", feed="instruments") == 2, "ten requests are two lists")


async def test_instrument_lists_are_refreshed_by_themselves() -> None:
    settings = fast(instrument_refresh_s=0.3, **PATIENT)
    async with spot("bybit", Feed.TRADE, settings=settings) as (_, one):
        await eventually(lambda: len(one.raw.replies()) >= 3, "newer lists come into the stream")
        assert one.count("rest_requests_total", outcome="ok") >= 3
    one.raw.assert_complete()


@pytest.mark.parametrize("status", [403, 429, 503])
async def test_an_instrument_list_that_is_refused_is_asked_for_again(status: int) -> None:
    async with simulator("bybit") as sim:
        sim.inject({"kind": "rest_error", "exchange": "bybit", "status": status, "count": 2})
        target = wanted(sim, "bybit", "spot", "BTC/USDT", feeds=frozenset({Feed.TRADE}))
        async with running("bybit", [target], fast(**PATIENT)) as one:
            assert one.ingest.problem() == "instrument lists are being loaded"
            await one.connected()
            assert one.count("rest_requests_total", outcome=f"status_{status}") == 2


async def test_a_product_whose_list_cannot_be_had_holds_up_neither_the_others_nor_the_stop() -> None:
    garbage = [Reply(b"<html>"), Reply(b"[]"), Reply(status=404)]
    paths = {"/v5/market/instruments-info": garbage}
    async with simulator("bybit") as sim, VenueServer(replies=paths) as broken:
        targets = [
            Target("bybit", "linear", Endpoints(broken.websocket, broken.rest), ("*",), frozenset(Feed), 1),
            wanted(sim, "bybit", "spot", "BTC/USDT", feeds=frozenset({Feed.TRADE})),
        ]
        async with running("bybit", targets, fast(**PATIENT)) as one:
            await eventually(lambda: one.raw.data("bybit.spot.0"), "the other product flows")
            await eventually(lambda: one.count("rest_requests_total", outcome="failed") >= 2, "failures are counted")
            assert one.ingest.problem() == "instrument lists are being loaded"
            await one.stop()
    one.raw.assert_complete()
    assert 2 <= len(broken.requests) <= 4  # with backoff: garbage is no success


async def test_a_stop_leaves_no_task_behind() -> None:
    async with simulator("bybit") as sim:
        before = asyncio.all_tasks()
        async with running("bybit", [wanted(sim, "bybit", "spot")], fast(**PATIENT)) as one:
            await eventually(lambda: len(one.raw.data()) > 50, "it flows")
            await one.stop()
        await eventually(lambda: asyncio.all_tasks() <= before | {asyncio.current_task()}, "all tasks ended")
        for name in one.raw.streams:
            assert decode_mark(one.raw.of(name)[-1].frame.data) == Disconnected("stopped")


class ReluctantBus(MemoryBus):
    """Refuses the first subscriptions to control traffic."""

    refusals = 2

    async def subscribe(self, exchange: str, patterns: Sequence[str], *, limit: int = 10_000) -> Any:
        if exchange == CONTROL and self.refusals:
            self.refusals -= 1
            raise BrokerUnavailable("the test says so")
        return await super().subscribe(exchange, patterns, limit=limit)


async def test_a_broker_that_is_away_for_control_traffic_ends_nothing() -> None:
    async with simulator("bybit") as sim:
        target = wanted(sim, "bybit", "spot", "BTC/USDT", feeds=frozenset({Feed.BOOK}))
        async with running("bybit", [target], fast(**PATIENT), own_bus=ReluctantBus()) as one:
            await one.connected()

            async def heard() -> bool:
                await one.ask("bybit.spot.0", "book", "BTCUSDT")
                return one.count("resyncs_total", feed="book") > 0

            await eventually_async(heard, "requests are heard in the end")
            assert not one.task.done()


@pytest.mark.parametrize("exchange", ["binance", "mexc"])
async def test_a_book_that_does_not_move_is_seeded_all_the_same(exchange: str) -> None:
    """Without an update there is no first frame to fetch the snapshot at."""
    async with simulator(exchange) as sim:
        await sim.pause()
        target = wanted(sim, exchange, "spot", "BTC/USDT", feeds=frozenset({Feed.BOOK}))
        async with running(exchange, [target], fast(**PATIENT)) as one:
            await eventually(lambda: [reply for reply in one.raw.replies() if "depth" in reply.url], "a snapshot comes")
            assert one.raw.data() == []


async def test_a_stream_begins_anew_above_the_epoch_that_a_normalizer_knows() -> None:
    """Its own clock may have been set back, or another process was ahead."""
    async with spot("bybit", Feed.TRADE) as (_, one):
        await one.connected()
        (name,) = one.ingest.streams
        known = one.raw.epochs(name)[-1] + 3_600_000
        await one.ask(name, "epoch", str(known))
        await eventually(lambda: one.raw.epochs(name)[-1] > known, "a higher epoch begins")
