import pytest
from msgspec import json

from shared.exchanges.base import Endpoints, Feed, Fetch, StreamPlan, Subscription
from shared.exchanges.mexc import ADAPTER
from shared.instruments import Instrument
from tests.unit.exchanges.mexc.frames import CONTRACTS, SPOTS, spot

LOCAL = Endpoints("ws://127.0.0.1:9/mexc/x", "http://127.0.0.1:9/mexc/x")


def plan(product: str, feeds: set[Feed] | None = None, instruments: tuple[Instrument, ...] | None = None) -> StreamPlan:
    listed = SPOTS[:1] if product == "spot" else CONTRACTS[:1]
    wanted = ADAPTER.feeds(product) if feeds is None else frozenset(feeds)
    return ADAPTER.plan(product, instruments or listed, wanted, LOCAL, 1)[0]


def test_spot_topics() -> None:
    stream = plan("spot")
    assert (stream.name, stream.url, stream.rest) == ("mexc.spot.0", "ws://127.0.0.1:9/mexc/x/ws", LOCAL.rest)
    assert [(item.feed, item.topic) for item in stream.subscriptions] == [
        (Feed.TRADE, "spot@public.aggre.deals.v3.api.pb@10ms@BTCUSDT"),
        (Feed.QUOTE, "spot@public.aggre.bookTicker.v3.api.pb@100ms@BTCUSDT"),
        (Feed.BOOK, "spot@public.aggre.depth.v3.api.pb@100ms@BTCUSDT"),
        (Feed.CANDLE, "spot@public.kline.v3.api.pb@BTCUSDT@Min1"),
    ]


def test_futures_topics() -> None:
    stream = plan("futures")
    assert stream.url == "ws://127.0.0.1:9/mexc/x/edge"
    assert [(item.feed, item.topic) for item in stream.subscriptions] == [
        (Feed.TRADE, "sub.deal@BTC_USDT"),
        (Feed.QUOTE, "sub.depth.full@BTC_USDT@5"),
        (Feed.TICKER, "sub.ticker@BTC_USDT"),
        (Feed.BOOK, "sub.depth@BTC_USDT"),
        (Feed.FUNDING, "sub.funding.rate@BTC_USDT"),
        (Feed.MARK_PRICE, "sub.fair.price@BTC_USDT"),
        (Feed.CANDLE, "sub.kline@BTC_USDT@Min1"),
    ]
    assert [item.feed for item in stream.subscriptions if item.quiet] == [Feed.FUNDING]


def test_open_interest_comes_with_the_ticker() -> None:
    for feeds, also in (({Feed.OPEN_INTEREST}, (Feed.OPEN_INTEREST,)), ({Feed.TICKER}, ())):
        (item,) = plan("futures", feeds).subscriptions
        assert (item.topic, item.feed, item.also) == ("sub.ticker@BTC_USDT", Feed.TICKER, also)


def test_nothing_to_plan() -> None:
    assert ADAPTER.plan("spot", SPOTS, frozenset({Feed.LIQUIDATION, Feed.TICKER}), LOCAL, 4) == []
    assert ADAPTER.plan("spot", (), ADAPTER.feeds("spot"), LOCAL, 4) == []


def test_one_feed_leaves_room_for_more_instruments() -> None:
    instruments = [spot(f"COIN{index}USDT") for index in range(27)]
    assert len(ADAPTER.plan("spot", instruments, frozenset({Feed.TRADE}), LOCAL, 1)) == 1


def test_spot_request() -> None:
    stream = plan("spot")
    topics = [item.topic for item in stream.subscriptions]
    (send,) = ADAPTER.subscribe(stream, topics)
    payload = json.decode(send.payload)
    assert payload == {"method": "SUBSCRIPTION", "params": topics, "id": int(send.request_id or 0)}
    assert 0 < payload["id"] < 2**31
    assert list(send.topics) == topics


def test_spot_requests_are_cut_at_a_kilobyte() -> None:
    stream = plan("spot", {Feed.BOOK}, tuple(spot(f"月光月光月光{index}USDT") for index in range(25)))
    topics = [item.topic for item in stream.subscriptions]
    sends = ADAPTER.subscribe(stream, topics)
    assert [topic for send in sends for topic in send.topics] == topics
    assert len(sends) > 1
    assert all(len(send.payload.encode()) <= 1_024 for send in sends)
    assert len({send.request_id for send in sends}) == len(sends)


def test_topic_that_is_longer_than_a_request_may_be_goes_alone() -> None:
    long = "spot@public.aggre.depth.v3.api.pb@100ms@" + "X" * 2_000
    sends = ADAPTER.subscribe(plan("spot"), ["spot@a", long, "spot@b"])
    assert [send.topics for send in sends] == [("spot@a",), (long,), ("spot@b",)]


@pytest.mark.parametrize(
    ("topic", "payload"),
    [
        ("sub.deal@BTC_USDT", '{"method":"sub.deal","param":{"symbol":"BTC_USDT"}}'),
        ("sub.depth.full@BTC_USDT@5", '{"method":"sub.depth.full","param":{"symbol":"BTC_USDT","limit":5}}'),
        ("sub.kline@BTC_USDT@Min1", '{"method":"sub.kline","param":{"symbol":"BTC_USDT","interval":"Min1"}}'),
    ],
)
def test_futures_requests_name_one_contract(topic: str, payload: str) -> None:
    (send,) = ADAPTER.subscribe(plan("futures"), [topic])
    assert (send.payload, send.request_id, send.topics) == (payload, topic, (topic,))


def test_books_are_seeded_over_rest_and_nothing_else_is() -> None:
    for product, url in (
        ("spot", "http://127.0.0.1:9/mexc/x/api/v3/depth?symbol=BTCUSDT&limit=1000"),
        ("futures", "http://127.0.0.1:9/mexc/x/api/v1/contract/depth/BTC_USDT?limit=1000"),
    ):
        stream = plan(product)
        asked: list[tuple[Subscription, str]] = []
        for item in stream.subscriptions:
            actions = ADAPTER.seed(stream, item)
            assert actions == ADAPTER.resync(stream, item)
            asked += [(item, action.request.url) for action in actions if isinstance(action, Fetch)]
        assert [(item.feed, asked_url) for item, asked_url in asked] == [(Feed.BOOK, url)]


def test_heartbeats() -> None:
    beats = {product: ADAPTER.heartbeat(product) for product in ADAPTER.products}
    assert {product: (beat.interval_s, beat.payload) for product, beat in beats.items() if beat} == {
        "spot": (20.0, '{"method":"PING"}'),
        "futures": (15.0, '{"method":"ping"}'),
    }
