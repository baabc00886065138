import pytest

from shared.exchanges.base import DATA, Feed, FrameClass, Overflow, Route
from shared.exchanges.binance import ADAPTER
from shared.exchanges.binance.topics import Kind, Topic, lowered, topic_of
from tests.unit.exchanges.binance import frames as f


def classify(data: bytes) -> Route:
    return ADAPTER.classify("usdm", data, binary=False)


def test_shutdown_notice_means_reconnect() -> None:
    for data in (
        b'{"e":"serverShutdown","E":1790000000123}',
        b'{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1790000000123}}',
    ):
        assert classify(data).frame_class is FrameClass.CLOSING


@pytest.mark.parametrize(
    ("event", "feed", "overflow"),
    [
        (f.trade(), Feed.TRADE, Overflow.SHED),
        (f.agg_trade(), Feed.TRADE, Overflow.SHED),
        (f.depth(1, 2, 0), Feed.BOOK, Overflow.RESYNC),
        (f.book_ticker(e="bookTicker"), Feed.QUOTE, Overflow.CONFLATE),
        (f.book_ticker(), Feed.QUOTE, Overflow.CONFLATE),
        (f.spot_ticker(), Feed.TICKER, Overflow.CONFLATE),
        (f.mark_price(), Feed.MARK_PRICE, Overflow.CONFLATE),
        (f.force_order(), Feed.LIQUIDATION, Overflow.SHED),
        (f.kline(), Feed.CANDLE, Overflow.SHED),
    ],
)
def test_bare_events_tell_their_feed_and_symbol(event: dict[str, object], feed: Feed, overflow: Overflow) -> None:
    route = classify(f.bare(event))
    assert (route.feed, route.native_symbol, route.overflow) == (feed, "ETHUSDT", overflow)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'{"stream":"',
        b'{"stream":"ethusdt@avgPrice","data":{}}',
        b'{"stream":"!ticker@arr","data":[]}',
        b'{"stream":"\xff@trade","data":{}}',
        b'{"stream":"\\ud800@trade","data":{}}',
        b'{"stream":"' + b"x" * 500 + b'@trade","data":{}}',
        b'{"e":"trade"}',
        b'{"e":"trade","s":"ETH',
        b'{"e":"trade","s":"\xff"}',
        b'{"e":"executionReport","s":"ETHUSDT"}',
        b'{"result":',
        b'{"result":null}',
        b'{"id":1}',
        b'{"id":[]}',
        b'{"id":"x","status":200,"result":null}',
        b'{"id":' + b"[" * 100_000,
    ],
)
def test_what_the_beginning_does_not_tell_is_data(data: bytes) -> None:
    assert classify(data) == DATA


def test_inline_snapshot_belongs_to_a_book() -> None:
    route = classify(b'{"lastUpdateId":5,"bids":[],"asks":[]}')
    assert (route.frame_class, route.feed, route.native_symbol) == (FrameClass.DATA, Feed.BOOK, None)


def test_answer_to_something_else_is_no_life_of_a_stream() -> None:
    assert classify(b'{"result":["ethusdt@trade"],"id":3}').frame_class is FrameClass.HEARTBEAT


def test_venues_reason_is_bounded() -> None:
    ack = classify(b'{"code":2,"msg":"' + b"x" * 5_000 + b'","id":1}').ack
    assert ack is not None
    assert ack.refused is not None
    assert len(ack.refused) < 300


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("ethusdt@depth", Topic(Kind.DEPTH, "ETHUSDT")),
        ("ethusdt@depth@0ms", Topic(Kind.DEPTH, "ETHUSDT")),
        ("ethusdt@depth@500ms", Topic(Kind.DEPTH, "ETHUSDT")),
        ("ethusdt@depth5", Topic(Kind.PARTIAL_DEPTH, "ETHUSDT")),
        ("ethusdt@depth20@100ms", Topic(Kind.PARTIAL_DEPTH, "ETHUSDT")),
        ("ethusdt_270326@kline_1M", Topic(Kind.KLINE, "ETHUSDT_270326")),
        ("ethusdt@kline_1d@+08:00", Topic(Kind.KLINE, "ETHUSDT")),
        ("ethusdt@markPrice", Topic(Kind.MARK_PRICE, "ETHUSDT")),
        ("币安人生usdt@trade", Topic(Kind.TRADE, "币安人生USDT")),
        ("éßusdt@trade", Topic(Kind.TRADE, "éßUSDT")),
        ("!bookTicker", Topic(Kind.BOOK_TICKER, None)),
        ("!markPrice@arr@1s", Topic(Kind.MARK_PRICE, None)),
        ("ethusdt@rpiDepth@500ms", None),
        ("ethusdt@depth7", None),
        ("ethusdt@ticker_1h", None),
        ("!contractInfo", None),
        ("@trade", None),
        ("ethusdt", None),
        ("", None),
    ],
)
def test_topic_names(name: str, topic: Topic | None) -> None:
    assert topic_of(name.encode()) == topic


def test_only_ascii_letters_are_lowered() -> None:
    assert lowered("币安人生USDT") == "币安人生usdt"
    assert lowered("ÉÄUSDT_270326") == "ÉÄusdt_270326"
