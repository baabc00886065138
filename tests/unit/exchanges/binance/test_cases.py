"""Failures that bit other gateways of this venue, and what must come of them here."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from msgspec import json

from shared.exchanges.base import Feed, FrameClass
from shared.exchanges.binance import ADAPTER
from shared.instruments import Instrument, InstrumentKind
from shared.messages import (
    BookDelta,
    BookSnapshot,
    Liquidation,
    Message,
    Quote,
    StreamStatus,
    Ticker,
    Trade,
    encode_messages,
    routing_key,
)
from tests.contract.driving import Driver, Replica, text
from tests.unit.exchanges.binance import frames as f

BOOK = "ethusdt@depth@100ms"


def trades(stream: Driver) -> list[str | None]:
    return [message.trade_id for message in stream.messages if isinstance(message, Trade)]


def test_005_the_same_symbol_is_another_instrument_on_another_product() -> None:
    frame = text(f.wrapped("ethusdt@ticker", f.usdm_ticker()))
    symbols = {product: f.driver(product).send(frame).messages[0].symbol for product in ("spot", "usdm")}
    assert symbols == {"spot": "ETH/USDT", "usdm": "ETH/USDT:USDT"}


def spot_updates() -> Driver:
    """Three updates that wait for their seed."""
    stream = f.driver()
    for first, last, bids, asks in (
        (201, 205, [["50.0", "1"]], []),
        (206, 210, [["50.0", "2"]], []),
        (211, 212, [], [["51.0", "0"]]),
    ):
        f.sent(stream, f.wrapped(BOOK, f.depth(first, last, b=bids, a=asks)))
    return stream


SEED: dict[str, Any] = {"bids": [["50.0", "1.5"], ["49.9", "1"]], "asks": [["51.0", "3"], ["51.1", "1"]]}


def test_011_updates_bridge_the_seed() -> None:
    stream = spot_updates()
    stream.send(f.depth_reply("spot", 207, **SEED))
    replica = Replica()
    replica.apply(stream.messages)
    assert replica.bids("ETH/USDT") == [("50.0", "2"), ("49.9", "1")]
    assert replica.asks("ETH/USDT") == [("51.1", "1")]
    assert replica.sequence == {"ETH/USDT": 212}
    f.sent(stream, f.wrapped(BOOK, f.depth(215, 218)))
    assert [message.status for message in stream.messages if isinstance(message, StreamStatus)] == ["gap", "resync"]
    assert not [message for message in stream.messages if isinstance(message, BookDelta) and message.sequence == 218]


def test_011_seed_that_is_too_old_is_no_book_and_keeps_the_updates() -> None:
    stream = spot_updates()
    output = stream.send(f.depth_reply("spot", 195, **SEED))
    assert [(message.feed, one.feed) for message, one in zip(output.messages, output.resyncs, strict=True)] == [
        ("stream_status", "book")
    ]
    stream.send(f.depth_reply("spot", 207, **SEED))
    kinds = [message.feed for message in stream.messages if message.feed != "stream_status"]
    assert kinds == ["book_snapshot", "book_delta", "book_delta"]


def test_012_usdm_updates_are_linked_by_pu() -> None:
    stream = f.driver("usdm")
    f.sent(stream, f.wrapped(BOOK, f.depth(8_605_430_718_680, 8_605_430_724_512, 8_605_430_718_256)))
    stream.send(f.depth_reply("usdm", 8_605_430_720_000))
    f.sent(stream, f.wrapped(BOOK, f.depth(8_605_430_724_618, 8_605_430_725_607, 8_605_430_724_512)))
    assert not [message for message in stream.messages if isinstance(message, StreamStatus)]
    f.sent(stream, f.wrapped(BOOK, f.depth(8_605_430_726_000, 8_605_430_726_100, 8_605_430_725_999)))
    f.sent(stream, f.wrapped(BOOK, f.depth(8_605_430_726_200, 8_605_430_726_300, 8_605_430_726_100)))
    resyncs = [one for output in stream.outputs for one in output.resyncs]
    assert [(one.feed, one.native_symbol) for one in resyncs] == [("book", "ETHUSDT")]


@pytest.mark.parametrize("zero", ["0", "0.0", "0.00000000"])
def test_022_empty_levels_are_not_in_a_snapshot(zero: str) -> None:
    stream = f.driver()
    bids, asks = [["90.0", zero], ["89.5", "2"]], [["89.6", zero], ["90.2", "1"]]
    (snapshot,) = stream.send(f.depth_reply("spot", 5, bids=bids, asks=asks)).messages
    assert isinstance(snapshot, BookSnapshot)
    assert (snapshot.bids, snapshot.asks) == ([("89.5", "2")], [("90.2", "1")])
    f.sent(stream, f.wrapped(BOOK, f.depth(6, 7, b=[], a=[["90.2", zero], ["90.3", "4"]])))
    replica = Replica()
    replica.apply(stream.messages)
    assert (replica.asks("ETH/USDT"), replica.crossed()) == ([("90.3", "4")], [])


@pytest.mark.parametrize("event", [f.trade, f.agg_trade])
def test_027_maker_flag_is_the_buyers(event: object) -> None:
    assert callable(event)
    stream = f.driver("usdm")
    f.sent(stream, f.bare(event(1, m=True)), f.bare(event(2, m=False)))
    assert [message.side for message in stream.messages if isinstance(message, Trade)] == ["sell", "buy"]


def test_029_trades_that_come_again_are_dropped_across_a_reconnect() -> None:
    stream = f.driver()
    topic = "ethusdt@trade"
    f.sent(stream, *(f.wrapped(topic, f.trade(number)) for number in (101, 102, 103, 104)))
    stream.connect()
    f.sent(stream, *(f.wrapped(topic, f.trade(number)) for number in (102, 103, 104, 105, 101)))
    assert trades(stream) == ["101", "102", "103", "104", "105"]
    assert sum(output.duplicates for output in stream.outputs) == 4


def test_032_trades_that_differ_by_id_alone_are_two() -> None:
    stream = f.driver()
    f.sent(stream, f.bare(f.trade(5_001)), f.bare(f.trade(5_002)))
    assert trades(stream) == ["5001", "5002"]


def test_041_long_numbers_stay_exact() -> None:
    price, size = "1.234567890123456789012345678901234567", "100000000.12345678901"
    (message,) = f.driver().send(text(f.bare(f.trade(p=price, q=size)))).messages
    assert isinstance(message, Trade)
    assert (message.price, message.size) == (price, size)


@pytest.mark.parametrize(("bid", "code"), [("NaN", "bad_number"), ("Infinity", "bad_number"), ("-1", "bad_number")])
def test_042_text_that_is_no_number_is_rejected(bid: str, code: str) -> None:
    stream = f.driver()
    f.sent(stream, f.bare(f.book_ticker(b=bid)))
    assert (stream.messages, stream.codes) == ([], [code])
    f.sent(stream, f.bare(f.book_ticker(b="-0", B="1")))
    (message,) = stream.messages
    assert isinstance(message, Quote)
    assert message.bid_price == "0"


def test_042_tokens_that_are_no_json_are_rejected() -> None:
    stream = f.driver()
    f.sent(stream, f.bare(f.book_ticker()).replace(b'"3120.50"', b"NaN"), f.bare(f.book_ticker()))
    assert (len(stream.messages), stream.codes) == (1, ["invalid_json"])


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ("0.0000001", "0.0000001"),
        ("1e-7", "0.0000001"),
        ("1E-7", "0.0000001"),
        ("0.10000000", "0.10000000"),
        ("100000000000000000000.5", "100000000000000000000.5"),
        ("8750.0000", "8750.0000"),
        ("8.75E+3", "8750"),
    ],
)
def test_043_numbers_leave_in_plain_form(sent: str, told: str) -> None:
    (message,) = f.driver().send(text(f.bare(f.trade(p=sent)))).messages
    assert isinstance(message, Trade)
    assert message.price == told
    assert f'"price":"{told}"'.encode() in encode_messages([message])


def test_049_symbols_need_not_be_ascii() -> None:
    (plan,) = ADAPTER.plan("spot", (f.UNICODE,), frozenset({Feed.TRADE, Feed.BOOK}), ADAPTER.products["spot"], 1)
    (send,) = ADAPTER.subscribe(plan, [item.topic for item in plan.subscriptions])
    assert "币安人生usdt@trade" in send.payload
    assert "%E5%B8%81%E5%AE%89%E4%BA%BA%E7%94%9FUSDT" in str(ADAPTER.resync(plan, plan.subscriptions[1]))
    frame = f.wrapped("币安人生usdt@trade", f.trade(1, s="币安人生USDT"))
    assert ADAPTER.classify("spot", frame, binary=False).native_symbol == "币安人生USDT"
    (message,) = f.driver().send(text(frame)).messages
    assert (message.native_symbol, message.symbol) == ("币安人生USDT", "币安人生/USDT")
    assert routing_key(message.feed, message.exchange, message.symbol) == "trade.binance.币安人生/USDT"


def test_053_unlisted_instrument_is_parked_and_asked_for_once_a_minute() -> None:
    stream = f.driver("usdm")
    frame = text(f.bare(f.usdm_ticker(e="24hrMiniTicker", s="NEWCOIN")))
    for _ in range(5):
        stream.send(frame)
    assert stream.codes == ["unknown_instrument"] * 5
    assert len([one for output in stream.outputs for one in output.resyncs]) == 1
    stream.wait(60)
    assert len(stream.send(frame).resyncs) == 1
    kind = InstrumentKind.PERPETUAL
    stream.table.update([Instrument("binance", "usdm", "NEW/COIN:COIN", "NEWCOIN", "NEW", "COIN", "COIN", kind)])
    assert [message.symbol for message in stream.send(frame).messages] == ["NEW/COIN:COIN"]


@pytest.mark.parametrize("combined", [True, False])
def test_055_arrays_hold_one_message_per_element(combined: bool) -> None:  # noqa: FBT001 - a parameter of the case
    pax: dict[str, object] = {"e": "24hrTicker", "E": f.E, "s": "ADAPAX", "c": "0.4131", "b": "0.4130", "a": "0.4132"}
    elements = [pax, {"e": "24hrTicker", "s": "ADABTC"}, pax | {"s": "ADAUSDC", "c": "0.4210"}]
    data = f.wrapped("!ticker@arr", elements) if combined else f.bare(elements)
    output = f.driver().send(text(data))
    told = [(one.symbol, one.last_price, one.bid_price) for one in output.messages if isinstance(one, Ticker)]
    assert told == [("ADA/PAX", "0.4131", "0.4130"), ("ADA/USDC", "0.4210", "0.4130")]
    assert [rejection.code for rejection in output.rejections] == ["missing_field"]


def test_066_every_topic_is_asked_for_where_it_is_served() -> None:
    made = ADAPTER.plan("usdm", (f.PERPETUAL,), ADAPTER.feeds("usdm"), ADAPTER.products["usdm"], 1)
    homes = {item.topic.split("@", 1)[1]: urlsplit(plan.url).path for plan in made for item in plan.subscriptions}
    assert homes == {
        "bookTicker": "/public/stream",
        "depth@100ms": "/public/stream",
        "aggTrade": "/market/stream",
        "ticker": "/market/stream",
        "markPrice@1s": "/market/stream",
        "forceOrder": "/market/stream",
        "kline_1m": "/market/stream",
    }
    quiet = [item.topic for plan in made for item in plan.subscriptions if item.quiet]
    assert quiet == ["ethusdt@forceOrder"]


def test_069_the_ack_of_a_topic_that_does_not_exist_accepts_it() -> None:
    """So that only the list of instruments and the first frame tell; both are known here."""
    route = ADAPTER.classify("spot", b'{"result":null,"id":9}', binary=False)
    assert route.ack is not None
    assert (route.ack.accepted, route.ack.rejected, route.ack.refused) == (None, (), None)
    entry = {"symbol": "ETHUSDT", "status": "TRADING", "baseAsset": "ETH", "quoteAsset": "USDT"}
    listed = {one.native_symbol for one in ADAPTER.instruments("spot", json.encode({"symbols": [entry]}))}
    assert "ETHETH" not in listed


def test_070_notice_of_a_shutdown_is_a_reason_to_reconnect() -> None:
    data = b'{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1790000000123}}'
    assert ADAPTER.classify("spot", data, binary=False).frame_class is FrameClass.CLOSING
    stream = f.driver()
    stream.send(f.depth_reply("spot", 5))
    output = stream.connect()
    assert [message.status for message in output.messages if isinstance(message, StreamStatus)] == ["connected"]
    f.sent(stream, f.wrapped(BOOK, f.depth(6, 7)))
    kinds: list[type[Message]] = [type(message) for message in stream.messages]
    assert kinds == [BookSnapshot, StreamStatus]


def test_101_liquidation_side_is_the_orders() -> None:
    (message,) = f.driver("usdm").send(text(f.bare(f.force_order(S="SELL", q="0.115", ap="3061.07")))).messages
    assert isinstance(message, Liquidation)
    assert (message.side, message.size, message.price, message.average_price) == (
        "sell", "0.115", "3055.20", "3061.07",
    )  # fmt: skip
