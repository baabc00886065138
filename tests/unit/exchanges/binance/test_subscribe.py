from urllib.parse import urlsplit

import pytest
from msgspec import json

from shared.exchanges.base import Endpoints, Feed, Fetch, StreamPlan
from shared.exchanges.binance import ADAPTER
from shared.exchanges.binance.limits import REQUEST_BYTES
from shared.instruments import Instrument, InstrumentKind
from tests.unit.exchanges.binance import frames as f

SIMULATOR = Endpoints("ws://127.0.0.1:8100/binance/usdm", "http://127.0.0.1:8100/binance/usdm")


def plans(
    product: str, instruments: tuple[Instrument, ...], feeds: frozenset[Feed] | None = None, streams: int = 1
) -> list[StreamPlan]:
    wanted = ADAPTER.feeds(product) if feeds is None else feeds
    return [*ADAPTER.plan(product, instruments, wanted, ADAPTER.products[product], streams)]


def many(product: str, count: int) -> tuple[Instrument, ...]:
    kind = InstrumentKind.SPOT if product == "spot" else InstrumentKind.PERPETUAL
    return tuple(
        Instrument("binance", product, f"C{index}/USDT", f"C{index}USDT", f"C{index}", "USDT", None, kind)
        for index in range(count)
    )


def test_feeds() -> None:
    assert ADAPTER.feeds("spot") == {Feed.TRADE, Feed.QUOTE, Feed.TICKER, Feed.BOOK, Feed.CANDLE}
    assert ADAPTER.feeds("usdm") == frozenset(Feed)


def test_spot_topics() -> None:
    (plan,) = plans("spot", (f.UNICODE,))
    assert plan.url == "wss://stream.binance.com:9443/stream"
    assert {item.feed: item.topic for item in plan.subscriptions} == {
        Feed.TRADE: "币安人生usdt@trade",
        Feed.QUOTE: "币安人生usdt@bookTicker",
        Feed.BOOK: "币安人生usdt@depth@100ms",
        Feed.TICKER: "币安人生usdt@ticker",
        Feed.CANDLE: "币安人生usdt@kline_1m",
    }
    assert plan.polls == ()


def test_usdm_needs_two_sockets() -> None:
    public, market = plans("usdm", (f.PERPETUAL,))
    assert (public.name, public.url) == ("binance.usdm.0", "wss://fstream.binance.com/public/stream")
    assert (market.name, market.url) == ("binance.usdm.1", "wss://fstream.binance.com/market/stream")
    assert [item.topic for item in public.subscriptions] == ["ethusdt@bookTicker", "ethusdt@depth@100ms"]
    assert [item.topic for item in market.subscriptions] == [
        "ethusdt@aggTrade", "ethusdt@ticker", "ethusdt@markPrice@1s", "ethusdt@forceOrder", "ethusdt@kline_1m",
    ]  # fmt: skip
    assert [item.feed for item in market.subscriptions if item.quiet] == [Feed.LIQUIDATION]


def test_sockets_of_a_share_stand_next_to_each_other() -> None:
    made = plans("usdm", many("usdm", 12), streams=4)
    assert [(plan.name, urlsplit(plan.url).path) for plan in made] == [
        ("binance.usdm.0", "/public/stream"),
        ("binance.usdm.1", "/market/stream"),
        ("binance.usdm.2", "/public/stream"),
        ("binance.usdm.3", "/market/stream"),
    ]
    natives = [{item.native_symbol for item in plan.subscriptions} for plan in made]
    assert natives[0] == natives[1]
    assert natives[2] == natives[3]
    assert natives[0].isdisjoint(natives[2])


def test_one_socket_is_enough_for_feeds_of_one() -> None:
    made = plans("usdm", many("usdm", 12), frozenset({Feed.BOOK, Feed.QUOTE}), streams=3)
    assert [plan.name for plan in made] == ["binance.usdm.0", "binance.usdm.1", "binance.usdm.2"]
    assert {urlsplit(plan.url).path for plan in made} == {"/public/stream"}


def test_mark_price_and_funding_share_a_topic() -> None:
    for feeds, told in (
        ({Feed.MARK_PRICE, Feed.FUNDING}, [(Feed.MARK_PRICE, (Feed.FUNDING,))]),
        ({Feed.MARK_PRICE}, [(Feed.MARK_PRICE, ())]),
        # The frames are mark prices by name: that is how the first of them is recognized.
        ({Feed.FUNDING}, [(Feed.MARK_PRICE, (Feed.FUNDING,))]),
    ):
        (plan,) = plans("usdm", (f.PERPETUAL,), frozenset(feeds))
        assert [(item.feed, item.also) for item in plan.subscriptions] == told


def test_dated_future_has_no_funding() -> None:
    (plan,) = plans("usdm", (f.DATED,), frozenset({Feed.MARK_PRICE, Feed.FUNDING}))
    assert [(item.topic, item.also) for item in plan.subscriptions] == [("ethusdt_270326@markPrice@1s", ())]
    assert plans("usdm", (f.DATED,), frozenset({Feed.FUNDING})) == []


def test_open_interest_is_polled() -> None:
    endpoints = SIMULATOR
    feeds = frozenset({Feed.TICKER, Feed.OPEN_INTEREST})
    (plan,) = ADAPTER.plan("usdm", (f.PERPETUAL, f.DATED), feeds, endpoints, 1)
    assert [(poll.request.url, poll.request.weight, poll.interval_s) for poll in plan.polls] == [
        (f"{endpoints.rest}/fapi/v1/openInterest?symbol=ETHUSDT", 1, 10.0),
        (f"{endpoints.rest}/fapi/v1/openInterest?symbol=ETHUSDT_270326", 1, 10.0),
    ]


@pytest.mark.parametrize("count", [1, 40, 41, 399])
def test_polls_spend_a_tenth_of_the_weight_at_most(count: int) -> None:
    made = plans("usdm", many("usdm", count), streams=4)
    limits = ADAPTER.limits("usdm")
    spent = sum(poll.request.weight / poll.interval_s for plan in made for poll in plan.polls)
    assert sum(len(plan.polls) for plan in made) == count
    assert spent * limits.rest_interval_s <= limits.rest_weight / 10 + 1e-9


def test_nothing_to_hold_needs_no_connection() -> None:
    assert plans("spot", ()) == []
    assert plans("spot", (f.SPOT,), frozenset({Feed.FUNDING})) == []


def test_more_topics_than_a_connection_takes_need_more_connections() -> None:
    made = plans("spot", many("spot", 500))
    assert len(made) >= 3
    assert max(len(plan.subscriptions) for plan in made) <= 1_024
    assert sum(len(plan.subscriptions) for plan in made) == 2_500


def test_request() -> None:
    (plan,) = plans("spot", (f.UNICODE,))
    (send,) = ADAPTER.subscribe(plan, ["币安人生usdt@trade", "币安人生usdt@ticker"])
    assert "币安人生usdt@trade" in send.payload
    body = json.decode(send.payload)
    assert body == {"method": "SUBSCRIBE", "params": [*send.topics], "id": int(str(send.request_id))}
    assert 0 <= body["id"] < 2**48


def test_requests_for_other_topics_have_other_ids() -> None:
    (plan,) = plans("spot", (f.SPOT,))
    topics = [item.topic for item in plan.subscriptions]
    ids = {ADAPTER.subscribe(plan, [topic])[0].request_id for topic in topics}
    ids.add(ADAPTER.subscribe(plan, topics)[0].request_id)
    assert len(ids) == len(topics) + 1


def test_long_topics_make_short_requests() -> None:
    (plan,) = plans("spot", (f.SPOT,))
    topics = [f"{'币' * 40}{index}usdt@trade" for index in range(90)]
    sends = ADAPTER.subscribe(plan, topics)
    assert len(sends) > 1
    assert max(len(send.payload.encode()) for send in sends) <= REQUEST_BYTES
    assert [topic for send in sends for topic in send.topics] == topics


@pytest.mark.parametrize(
    ("product", "instrument", "url", "weight"),
    [
        ("spot", f.SPOT, "https://api.binance.com/api/v3/depth?symbol=ETHUSDT&limit=1000", 50),
        (
            "spot",
            f.UNICODE,
            "https://api.binance.com/api/v3/depth?symbol=%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9FUSDT&limit=1000",
            50,
        ),
        ("usdm", f.DATED, "https://fapi.binance.com/fapi/v1/depth?symbol=ETHUSDT_270326&limit=1000", 20),
    ],
)
def test_books_are_seeded_and_resynced_over_rest(product: str, instrument: Instrument, url: str, weight: int) -> None:
    plan = plans(product, (instrument,))[0]
    for item in plan.subscriptions:
        for actions in (ADAPTER.seed(plan, item), ADAPTER.resync(plan, item)):
            fetched = [(one.request.url, one.request.weight) for one in actions if isinstance(one, Fetch)]
            assert fetched == ([(url, weight)] if item.feed is Feed.BOOK else [])


def test_seed_goes_to_the_base_of_the_plan() -> None:
    (plan,) = ADAPTER.plan("usdm", (f.PERPETUAL,), frozenset({Feed.BOOK}), SIMULATOR, 1)
    (action,) = ADAPTER.seed(plan, plan.subscriptions[0])
    assert isinstance(action, Fetch)
    assert action.request.url.startswith("http://127.0.0.1:8100/binance/usdm/fapi/v1/depth?")


def test_websocket_pings_do() -> None:
    assert ADAPTER.heartbeat("spot") is None
    assert ADAPTER.heartbeat("usdm") is None
