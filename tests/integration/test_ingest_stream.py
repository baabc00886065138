"""One stream against a venue that does what the test says."""

import asyncio

import pytest

from shared.envelope import Connected, Disconnected, SubscriptionRejected, SubscriptionSilent
from shared.exchanges.base import Poll, Request
from shared.subscriptions import SubscriptionState
from tests.support.eventually import eventually
from tests.support.ingesting import ShiftedClock, fast, held
from tests.support.plans import BOOK, LIQUIDATIONS, TRADES, QuickBybit, bybit, trades_of
from tests.support.venue_server import Conversation, Reply, VenueServer, acknowledge, trade

pytestmark = pytest.mark.integration

PONG = {"success": True, "ret_msg": "pong", "conn_id": "c", "op": "ping"}
INTERVAL_S = 0.02
DROPPED = (Reply(drop=True), Reply(drop=True))
"""One failure: aiohttp by itself repeats a request that was dropped on a connection in use before."""


async def keep_trading(one: Conversation, symbol: str = "BTCUSDT") -> None:
    """A trade every few milliseconds until the client is gone."""
    number = 0
    while True:
        number += 1
        await one.send(trade(symbol, number))
        await asyncio.sleep(INTERVAL_S)


async def flowing(one: Conversation) -> None:
    await acknowledge(one)
    await keep_trading(one)


async def test_an_epoch_begins_with_its_mark_and_data_may_precede_the_ack() -> None:
    async def script(one: Conversation) -> None:
        await one.send(trade(number=1))
        await acknowledge(one)
        await one.send(trade(number=2))
        await one.until_gone()

    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES)) as stream:
        await eventually(lambda: len(stream.raw.data()) == 2, "both trades are in the stream")
        assert stream.raw.data() == [trade(number=1).encode(), trade(number=2).encode()]
        assert stream.holder.tracker.states()[SubscriptionState.ACCEPTED] == 1
        assert stream.holder.connected
    stream.raw.assert_complete()
    assert [mark.reason for mark in stream.raw.marks(Disconnected)] == ["stopped"]
    assert stream.raw.only()[-1].number == 3


async def test_a_rejected_topic_is_named_once_and_stays_out_of_the_next_epochs_request() -> None:
    good, bad = trades_of(2)
    asked: list[list[str]] = []

    async def script(one: Conversation) -> None:
        asked.append(await acknowledge(one, reject=bad.topic))
        if bad.topic in asked[-1]:  # Bybit refuses the request as a whole: the rest is asked for again
            asked.append(await acknowledge(one))
        await one.send(trade(good.native_symbol))
        if one.number == 1:
            await one.close(1001)
        await one.until_gone()

    async with VenueServer(script) as venue, held(bybit(venue.websocket, good, bad)) as stream:
        await eventually(lambda: len(stream.raw.data()) == 2, "the other topic flows in both epochs")
        (mark,) = stream.raw.marks(SubscriptionRejected)
        assert (mark.topic, mark.feed, mark.native_symbol) == (bad.topic, "trade", bad.native_symbol)
        assert "handler not found" in mark.reason
        assert stream.count("subscription_rejections_total", feed="trade") == 1
        await eventually(lambda: stream.count("subscriptions", state="rejected") == 1, "the gauge tells of it")
    assert asked == [[good.topic, bad.topic], [good.topic], [good.topic]]
    stream.raw.assert_complete()


async def test_requests_are_within_the_venues_bound_in_every_epoch() -> None:
    topics = trades_of(30)
    asked: dict[int, list[int]] = {}

    async def script(one: Conversation) -> None:
        requests = asked.setdefault(one.number, [])
        while sum(requests) < len(topics):
            names = await acknowledge(one)
            requests.append(len(names))
            for name in names:
                await one.send(trade(name.removeprefix("publicTrade.")))
        if one.number == 1:
            await one.close(1001)
        await one.until_gone()

    async with VenueServer(script) as venue, held(bybit(venue.websocket, *topics, product="spot")) as stream:
        await eventually(lambda: len(stream.raw.data()) == 60, "all topics flow, and flow again")
    assert asked == {1: [10, 10, 10], 2: [10, 10, 10]}
    stream.raw.assert_complete()


async def test_a_topic_without_a_first_frame_is_told_once_per_epoch_and_is_no_reason_to_reconnect() -> None:
    settings = fast(first_frame_timeout_s=0.3, idle_timeout_s=5.0)
    leave = asyncio.Event()

    async def script(one: Conversation) -> None:
        await acknowledge(one)
        trading = asyncio.create_task(keep_trading(one))
        await leave.wait()
        leave.clear()
        trading.cancel()
        await one.close(1001)

    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES, BOOK, LIQUIDATIONS), settings) as one:
        await eventually(lambda: one.raw.marks(SubscriptionSilent), "the silent topic is named")
        seen = len(one.raw.data())
        await eventually(lambda: len(one.raw.data()) > seen + 25, "time has gone by")
        (mark,) = one.raw.marks(SubscriptionSilent)
        assert (mark.topic, mark.feed, mark.native_symbol, mark.seconds) == (BOOK.topic, "book", "BTCUSDT", 0.3)
        assert one.count("subscriptions_silent_total", feed="book") == 1
        assert venue.attempts == 1
        leave.set()
        await eventually(lambda: len(one.raw.marks(SubscriptionSilent)) == 2, "and again in the next epoch")
        assert len(one.raw.epochs()) == 2


async def answer_pings(one: Conversation) -> None:
    while True:
        await one.receive()
        await one.send(PONG)


async def test_silence_is_a_reason_to_reconnect_though_heartbeats_are_answered() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade())
        await answer_pings(one)

    plan_settings = fast(idle_timeout_s=0.6, first_frame_timeout_s=0.6)
    async with (
        VenueServer(script) as venue,
        held(bybit(venue.websocket, TRADES, BOOK), plan_settings, QuickBybit()) as stream,
    ):
        await eventually(lambda: len(stream.raw.epochs()) == 2, "there is another epoch")
        assert {"op": "ping", "req_id": "ping"} in venue.conversations[0].received
        mark = stream.raw.marks(Disconnected)[0]
        assert mark.reason == "stale"
        assert "no data" in str(mark.detail)
        assert stream.count("reconnects_total", reason="stale") == 1
        assert stream.count("control_frames_total", kind="heartbeat") > 1
        # What never had a frame is named even though the stream ends before its own deadline.
        assert stream.raw.marks(SubscriptionSilent)[0].topic == BOOK.topic


async def heard(venue: VenueServer, pings: int) -> None:
    """Until the client has sent so many heartbeats on its first connection."""
    await eventually(
        lambda: sum(message["op"] == "ping" for message in venue.conversations[0].received) >= pings,
        f"{pings} heartbeats were sent",
    )


async def test_heartbeats_go_out_at_the_interval_and_quiet_topics_may_be_silent() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await answer_pings(one)

    settings = fast(idle_timeout_s=0.3, first_frame_timeout_s=0.2)
    async with (
        VenueServer(script) as venue,
        held(bybit(venue.websocket, LIQUIDATIONS), settings, QuickBybit()) as stream,
    ):
        await eventually(lambda: venue.conversations, "it is connected")
        await heard(venue, 10)
        assert venue.attempts == 1
        assert stream.raw.marks(SubscriptionSilent) == []
        assert stream.raw.marks(Disconnected) == []


async def test_a_stream_of_rejected_topics_does_not_reconnect_for_its_silence() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one, reject=TRADES.topic)
        await answer_pings(one)

    async with (
        VenueServer(script) as venue,
        held(bybit(venue.websocket, TRADES), fast(idle_timeout_s=0.3), QuickBybit()) as stream,
    ):
        await eventually(lambda: stream.raw.marks(SubscriptionRejected), "it is named")
        await heard(venue, 10)
        assert venue.attempts == 1


async def test_a_stream_of_polls_only_is_held_and_failing_polls_are_counted() -> None:
    poll = {"/oi": [Reply(b"1"), Reply(status=429), Reply(status=503), *DROPPED, Reply(b"2")]}

    async def script(one: Conversation) -> None:
        await answer_pings(one)

    async with VenueServer(script, poll) as venue:
        plan = bybit(venue.websocket, polls=(Poll(Request(f"{venue.rest}/oi"), 0.05),))
        async with held(plan, fast(idle_timeout_s=0.3), QuickBybit()) as stream:
            await eventually(lambda: b"2" in [reply.body for reply in stream.raw.replies()], "polls go on")
            await heard(venue, 6)
            assert venue.attempts == 1
            assert [reply.body for reply in stream.raw.replies()][:2] == [b"1", b"2"]
            for outcome in ("status_429", "status_503", "failed"):
                assert stream.count("rest_requests_total", outcome=outcome) == 1


async def test_a_connection_is_replaced_before_the_venue_would_cut_it() -> None:
    clock = ShiftedClock()
    async with VenueServer(flowing) as venue:
        plan = bybit(venue.websocket, TRADES)
        settings = fast(idle_timeout_s=1e6, buffer_max_age_s=1e6)
        async with held(plan, settings, QuickBybit(age=86_400.0), clock) as stream:
            await eventually(lambda: len(stream.raw.data()) > 3, "it flows")
            clock.shift = int(80_000 * 1e9)
            seen = len(stream.raw.data())
            await eventually(lambda: len(stream.raw.data()) > seen + 20, "it is not yet time")
            assert venue.attempts == 1
            clock.shift = int(82_200 * 1e9)
            await eventually(lambda: len(stream.raw.epochs()) == 2, "there is another epoch")
            assert [mark.reason for mark in stream.raw.marks(Disconnected)] == ["planned"]
            assert stream.count("reconnects_total", reason="planned") == 1
    stream.raw.assert_complete()


async def test_epochs_increase_also_across_restarts_and_tell_how_long_the_last_one_was() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade())
        await one.close(1000)

    epochs: list[int] = []
    for _ in range(2):
        async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES)) as stream:
            await eventually(lambda one=stream: len(one.raw.epochs()) >= 3, "there are three epochs")  # type: ignore[misc]
        stream.raw.assert_complete()
        epochs += stream.raw.epochs()
        first, second = stream.raw.marks(Connected)[:2]
        assert (first.previous_epoch, first.previous_frames) == (None, None)
        assert (second.previous_epoch, second.previous_frames) == (stream.raw.epochs()[0], 3)
    assert epochs == sorted(set(epochs))


async def test_resyncs_are_spaced_and_none_is_forgotten() -> None:
    requests: list[str] = []

    async def script(one: Conversation) -> None:
        trading = asyncio.create_task(keep_trading(one))
        while True:
            try:
                topics = await acknowledge(one)
            except ConnectionError:
                trading.cancel()
                raise
            assert set(topics) <= {TRADES.topic, BOOK.topic}
            requests.append(one.received[-1]["op"])

    async with VenueServer(script) as venue, held(bybit(venue.websocket, TRADES, BOOK)) as stream:
        await eventually(lambda: len(requests) == 1, "the topics were asked for")
        for _ in range(20):
            stream.holder.resync("book", "BTCUSDT")
        await eventually(lambda: len(requests) == 5, "two resyncs were made of it")
        seen = len(stream.raw.data())
        await eventually(lambda: len(stream.raw.data()) > seen + 60, "more than a second went by")
        assert requests == ["subscribe", *["unsubscribe", "subscribe"] * 2]
        assert stream.count("resyncs_total", feed="book", reason="requested") == 2
        stream.holder.resync("trade", None)
        stream.holder.resync("book", "NOSUCH")
        stream.holder.resync("candle", None)
        stream.holder.resync("book", None)
        await eventually(lambda: len(requests) == 7, "all instruments are one here")
        assert stream.count("resyncs_total") == 3


async def test_a_late_reply_of_an_old_epoch_does_not_get_into_the_next() -> None:
    close = asyncio.Event()

    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade())
        if one.number == 1:
            await close.wait()
            await one.close(1001)
        await keep_trading(one)

    replies = {"/oi": [Reply(b"late", delay=0.6), Reply(b"new")]}
    async with VenueServer(script, replies) as venue:
        plan = bybit(venue.websocket, TRADES, polls=(Poll(Request(f"{venue.rest}/oi"), 0.1),))
        async with held(plan) as stream:
            await eventually(lambda: venue.requests, "the first poll is under way")
            close.set()
            await eventually(lambda: len(stream.raw.replies()) > 5, "polls of the second epoch arrive")
            assert {reply.body for reply in stream.raw.replies()} == {b"new"}


async def test_a_stream_goes_on_while_its_rest_requests_fail() -> None:
    failures = [Reply(status=500), *DROPPED, Reply(b"{}", delay=3.0), Reply(b"[]")]
    async with VenueServer(flowing, {"/oi": failures}) as venue:
        plan = bybit(venue.websocket, TRADES, polls=(Poll(Request(f"{venue.rest}/oi"), 0.05),))
        async with held(plan) as stream:
            await eventually(lambda: [one.body for one in stream.raw.replies()][:1] == [b"[]"], "it was answered once")
            assert stream.count("rest_requests_total", outcome="timeout") == 1
            assert stream.count("rest_requests_total", outcome="status_500") == 1
            assert stream.count("rest_requests_total", outcome="failed") == 1
            assert venue.attempts == 1
            assert len(stream.raw.data()) > 20
