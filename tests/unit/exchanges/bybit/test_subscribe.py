from collections.abc import Iterable

import pytest
from msgspec import json

from shared.exchanges.base import Action, Feed, Overflow, Send, StreamPlan, Subscription
from shared.exchanges.bybit import ADAPTER
from shared.exchanges.bybit.limits import CONNECTION_CHARACTERS, SEPARATOR
from tests.unit.exchanges.bybit.frames import instrument

ALL = frozenset(Feed)


def plans(product: str, symbols: Iterable[str], feeds: frozenset[Feed] = ALL, streams: int = 1) -> list[StreamPlan]:
    instruments = [instrument(product, symbol) for symbol in symbols]
    return [*ADAPTER.plan(product, instruments, feeds, ADAPTER.products[product], streams)]


def sent(actions: Iterable[Action]) -> list[dict[str, object]]:
    return [json.decode(action.payload) for action in actions if isinstance(action, Send)]


def test_spot_topics() -> None:
    (plan,) = plans("spot", ["BTCUSDT"])
    assert plan.url == "wss://stream.bybit.com/v5/public/spot"
    assert plan.rest == "https://api.bybit.com"
    assert [(item.topic, item.feed, item.also) for item in plan.subscriptions] == [
        ("publicTrade.BTCUSDT", Feed.TRADE, ()),
        ("orderbook.1.BTCUSDT", Feed.QUOTE, ()),
        ("tickers.BTCUSDT", Feed.TICKER, ()),
        ("orderbook.50.BTCUSDT", Feed.BOOK, ()),
        ("kline.1.BTCUSDT", Feed.CANDLE, ()),
    ]


def test_derivative_topics() -> None:
    (plan,) = plans("inverse", ["BTCUSD"])
    topics = {item.topic: item for item in plan.subscriptions}
    assert topics["tickers.BTCUSD"].also == (Feed.FUNDING, Feed.MARK_PRICE, Feed.OPEN_INTEREST)
    assert topics["allLiquidation.BTCUSD"].quiet
    assert [item.topic for item in plan.subscriptions if item.quiet] == ["allLiquidation.BTCUSD"]


def test_dated_contract_has_no_funding() -> None:
    (plan,) = plans("linear", ["BTCUSDT-25DEC26"])
    (tickers,) = [item for item in plan.subscriptions if item.feed is Feed.TICKER]
    assert tickers.also == (Feed.MARK_PRICE, Feed.OPEN_INTEREST)
    assert plans("linear", ["BTCUSDT-25DEC26"], frozenset({Feed.FUNDING})) == []


@pytest.mark.parametrize("feed", [Feed.TICKER, Feed.FUNDING, Feed.MARK_PRICE, Feed.OPEN_INTEREST])
def test_whatever_comes_with_tickers_subscribes_the_one_topic(feed: Feed) -> None:
    (plan,) = plans("linear", ["BTCUSDT"], frozenset({feed}))
    assert [(item.topic, item.feed) for item in plan.subscriptions] == [("tickers.BTCUSDT", Feed.TICKER)]


def test_feeds_that_a_product_lacks_are_left_out() -> None:
    assert plans("spot", ["BTCUSDT"], frozenset({Feed.LIQUIDATION, Feed.FUNDING})) == []
    assert plans("linear", []) == []


def test_long_names_take_more_connections() -> None:
    symbols = [f"{'VERYLONGNAME' * 3}{index}USDT" for index in range(150)]
    found = plans("linear", symbols)
    assert len(found) >= 2
    for plan in found:
        characters = sum(len(item.topic) + SEPARATOR for item in plan.subscriptions)
        assert characters <= CONNECTION_CHARACTERS


def test_more_streams_than_instruments_hold_one_each() -> None:
    found = plans("linear", ["BTCUSDT", "ETHUSDT"], streams=4)
    assert [plan.name for plan in found] == ["bybit.linear.0", "bybit.linear.1"]


@pytest.mark.parametrize(("product", "sizes"), [("spot", [10, 10, 5]), ("linear", [25]), ("inverse", [25])])
def test_requests_are_cut_to_what_the_venue_takes(product: str, sizes: list[int]) -> None:
    (plan,) = plans(product, ["BTCUSD" if product == "inverse" else "BTCUSDT"])
    topics = [f"publicTrade.COIN{index}USDT" for index in range(25)]
    sends = ADAPTER.subscribe(plan, topics)
    assert [len(send.topics) for send in sends] == sizes
    for send, request in zip(sends, sent(sends), strict=True):
        assert request == {"req_id": send.request_id, "op": "subscribe", "args": [*send.topics]}


def test_request_ids_differ_by_content() -> None:
    (plan,) = plans("spot", ["BTCUSDT"])
    whole = ADAPTER.subscribe(plan, ["kline.1.BTCUSDT", "tickers.BTCUSDT"])[0]
    part = ADAPTER.subscribe(plan, ["kline.1.BTCUSDT"])[0]
    again = ADAPTER.subscribe(plan, ["kline.1.BTCUSDT"])[0]
    assert whole.request_id != part.request_id == again.request_id


@pytest.mark.parametrize("topic", ["orderbook.50.BTCUSDT", "tickers.BTCUSDT"])
def test_resync_unsubscribes_first(topic: str) -> None:
    (plan,) = plans("linear", ["BTCUSDT"])
    (item,) = [item for item in plan.subscriptions if item.topic == topic]
    actions = ADAPTER.resync(plan, item)
    requests = [(request["op"], request["args"]) for request in sent(actions)]
    assert requests == [("unsubscribe", [topic]), ("subscribe", [topic])]
    first, second = actions
    assert isinstance(first, Send)
    assert isinstance(second, Send)
    assert (first.topics, second.topics) == ((), (topic,))
    assert first.request_id != second.request_id


def test_what_has_no_state_needs_no_resync() -> None:
    (plan,) = plans("linear", ["BTCUSDT"])
    for item in plan.subscriptions:
        assert bool(ADAPTER.resync(plan, item)) is (item.feed in {Feed.BOOK, Feed.TICKER})
        assert ADAPTER.seed(plan, item) == []


def test_overflow_follows_what_a_frame_means() -> None:
    def overflow(product: str, topic: str) -> Overflow:
        return ADAPTER.classify(product, f'{{"topic":"{topic}","ts":1}}'.encode(), binary=False).overflow

    assert overflow("spot", "tickers.BTCUSDT") is Overflow.CONFLATE
    assert overflow("linear", "tickers.BTCUSDT") is Overflow.RESYNC
    assert overflow("linear", "orderbook.1.BTCUSDT") is Overflow.CONFLATE
    assert overflow("linear", "orderbook.50.BTCUSDT") is Overflow.RESYNC
    assert overflow("linear", "publicTrade.BTCUSDT") is Overflow.SHED
    assert overflow("linear", "kline.1.BTCUSDT") is Overflow.SHED


def test_plan_of_a_simulated_venue_keeps_the_paths() -> None:
    simulated = type(ADAPTER.products["spot"])("ws://127.0.0.1:8080/bybit/spot", "http://127.0.0.1:8080/bybit/spot")
    (plan,) = ADAPTER.plan("spot", [instrument("spot", "BTCUSDT")], ALL, simulated, 1)
    assert plan.url == "ws://127.0.0.1:8080/bybit/spot/v5/public/spot"
    (request,) = ADAPTER.instrument_requests("spot", simulated)
    assert request.url == "http://127.0.0.1:8080/bybit/spot/v5/market/instruments-info?category=spot"


def test_subscription_is_the_unit_of_a_resync() -> None:
    (plan,) = plans("spot", ["BTCUSDT"])
    other = Subscription("orderbook.50.ETHUSDT", Feed.BOOK, "ETHUSDT")
    assert sent(ADAPTER.resync(plan, other))[1]["args"] == ["orderbook.50.ETHUSDT"]
