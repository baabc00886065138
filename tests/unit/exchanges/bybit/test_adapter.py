import pytest

from shared.exchanges.base import DATA, Feed, FrameClass
from shared.exchanges.bybit import ADAPTER
from tests.unit.exchanges.bybit.frames import trade, trades


def test_what_there_is() -> None:
    assert ADAPTER.name == "bybit"
    assert set(ADAPTER.products) == {"spot", "linear", "inverse"}
    assert ADAPTER.feeds("spot") == {Feed.TRADE, Feed.QUOTE, Feed.TICKER, Feed.BOOK, Feed.CANDLE}
    assert ADAPTER.feeds("linear") == ADAPTER.feeds("inverse") == frozenset(Feed)


def test_ping() -> None:
    beat = ADAPTER.heartbeat("linear")
    assert beat is not None
    assert (beat.interval_s, beat.payload) == (20.0, '{"req_id":"ping","op":"ping"}')


def test_spot_takes_ten_topics_a_request() -> None:
    assert ADAPTER.limits("spot").topics_per_request == 10
    assert ADAPTER.limits("linear").topics_per_request > 10


@pytest.mark.parametrize(
    "data",
    [
        b'{"topic":"orderbook.rpi.BTCUSDT","type":"delta"}',
        b'{"topic":"unfinished',
        b'{"topic":"publicTrade.\xff"}',
        b'{"topic":"order","id":"1"}',
        b'{"retCode":0,"op":"order.create"}',
        b"not json",
    ],
)
def test_what_is_not_understood_is_left_to_the_parser(data: bytes) -> None:
    assert ADAPTER.classify("linear", data, binary=False) == DATA


def test_topic_at_the_end_is_found() -> None:
    route = ADAPTER.classify("linear", b'{"type":"snapshot","data":[],"topic":"publicTrade.BTCUSDT"}', binary=False)
    assert (route.feed, route.native_symbol) == (Feed.TRADE, "BTCUSDT")


def test_long_frame_is_classified_by_its_beginning() -> None:
    data = trades(*(trade(f"t{index}") for index in range(100)))[:-40]
    assert ADAPTER.classify("linear", data, binary=False).feed is Feed.TRADE


def test_complaint_names_its_reason() -> None:
    data = b'{"success":false,"ret_msg":"error:invalid op","conn_id":"x","request":{"op":"","args":null}}'
    route = ADAPTER.classify("spot", data, binary=False)
    assert (route.frame_class, route.detail) == (FrameClass.ERROR, "error:invalid op")
    silent = ADAPTER.classify("spot", b'{"success":false,"op":"auth"}', binary=False)
    assert (silent.frame_class, silent.detail) == (FrameClass.ERROR, "refused")
