"""Failures that bit others, with frames of our own."""

from msgspec import json

from shared.exchanges.base import FrameClass
from shared.exchanges.mexc import ADAPTER
from shared.messages import BookDelta, BookSnapshot, Candle, Quote, Trade
from tests.contract.driving import Replica, text
from tests.unit.exchanges.mexc.driving import futures_stream, spot_stream
from tests.unit.exchanges.mexc.frames import contract_depth, contract_seed, deal, deals, depth, futures, seed

# Written out by hand from the field numbers: nothing here went through the generated module.
CHANNEL = b"\x0a\x2fspot@public.aggre.deals.v3.api.pb@100ms@SOLUSDC"
SYMBOL = b"\x1a\x07SOLUSDC"
SEND_TIME = b"\x30\xfb\xfe\xc2\xa2\x8c\x34"  # field 6, 1790000021371
FIRST = b"\x0a\x06171.25\x12\x040.30\x18\x02\x20\xf0\xfe\xc2\xa2\x8c\x34"  # price, quantity, 2, 1790000021360
SECOND = b"\x0a\x06171.26\x12\x031.5\x18\x01\x20\xf1\xfe\xc2\xa2\x8c\x34"


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    tag = number << 3 | 2
    head = bytes([tag]) if tag < 128 else bytes([tag & 127 | 128, tag >> 7])
    return head + bytes([len(data)]) + data


def test_protobuf_with_and_without_the_fields_that_came_later() -> None:
    with_ids = field(1, FIRST + field(5, b"t-1")) + field(1, SECOND + field(5, b"t-2") + field(77, b"later"))
    without = field(1, FIRST) + field(1, SECOND)
    for body, ids in ((with_ids, ["t-1", "t-2"]), (without, [None, None])):
        output = spot_stream().push(CHANNEL + SYMBOL + SEND_TIME + field(314, body))
        trades = [message for message in output.messages if isinstance(message, Trade)]
        assert [(one.price, one.size, one.side, one.trade_id) for one in trades] == [
            ("171.25", "0.30", "sell", ids[0]),
            ("171.26", "1.5", "buy", ids[1]),
        ]
        assert [one.ts_exchange for one in trades] == [1_790_000_021_360_000_000, 1_790_000_021_361_000_000]


def test_book_ticker_with_the_fields_that_came_later() -> None:
    channel = b"\x0a\x34spot@public.aggre.bookTicker.v3.api.pb@100ms@SOLUSDC"
    sides = field(1, b"171.20") + field(2, b"4") + field(3, b"171.30") + field(4, b"5.5")
    later = field(5, b"41000000007") + SEND_TIME
    for body, version in ((sides + later, 41_000_000_007), (sides, None)):
        (message,) = spot_stream().push(field(315, body) + SYMBOL + SEND_TIME + channel).messages
        assert isinstance(message, Quote)
        assert (message.bid_price, message.bid_size, message.ask_price, message.ask_size) == (
            "171.20",
            "4",
            "171.30",
            "5.5",
        )
        assert (message.sequence, message.ts_exchange) == (version, 1_790_000_021_371_000_000)


def test_garbage_is_one_rejection_and_the_stream_goes_on() -> None:
    stream = spot_stream()
    stream.push(b"\xde\xad\xbe\xef")
    stream.push((CHANNEL + SYMBOL + field(314, field(1, FIRST)))[:-4])
    stream.send(text(b'{"id":0,"code":0,"msg":"PONG"}'))
    assert stream.codes == ["invalid_protobuf", "invalid_protobuf"]
    assert len(stream.push(CHANNEL + SYMBOL + field(314, field(1, FIRST))).messages) == 1


def test_rejection_that_looks_like_success() -> None:
    topic = "spot@public.miniTicker.v3.api@SOLUSDC"
    said = f'{{"id":0,"code":0,"msg":"Not Subscribed successfully! [{topic}].  Reason\uff1a Blocked! "}}'
    route = ADAPTER.classify("spot", said.encode(), binary=False)
    assert route.frame_class is FrameClass.ACK
    assert route.ack is not None
    assert (route.ack.accepted, route.ack.rejected) == ((), ((topic, "Blocked!"),))


def test_contracts_are_not_coins() -> None:
    data = (
        '{"symbol":"BTC_USDT","interval":"Min1","t":1790000040,"o":84100.5,"c":84200,"h":84211.1,"l":84100.5,'
        '"a":4210000.55,"q":500125,"ro":84100,"rc":84200,"rh":84211,"rl":84099}'
    )
    (candle,) = futures_stream().push(futures("push.kline", data)).messages
    assert isinstance(candle, Candle)
    assert (candle.volume, candle.volume_native, candle.turnover) == ("50.0125", "500125", "4210000.55")
    assert (candle.ts_open, candle.ts_exchange) == (1_790_000_040_000_000_000, 1_790_000_000_123_000_000)


def test_zero_sizes_delete_even_in_a_snapshot() -> None:
    stream = spot_stream()
    stream.send(seed(10, [("50.0", "0.00"), ("49.5", "2")], [("49.6", "0"), ("50.2", "1")]))
    stream.push(depth(11, 12, [], [("50.2", "0.00000000"), ("50.3", "4")]))
    snapshot, _ = stream.messages
    assert isinstance(snapshot, BookSnapshot)
    assert (snapshot.bids, snapshot.asks) == ([("49.5", "2")], [("50.2", "1")])
    replica = Replica()
    replica.apply(stream.messages)
    assert (replica.bids("BTC/USDT"), replica.asks("BTC/USDT")) == ([("49.5", "2")], [("50.3", "4")])
    assert replica.crossed() == []


def test_zero_contracts_delete_in_any_spelling() -> None:
    stream = futures_stream()
    stream.send(contract_seed(10, [("50.5", "0.0"), ("49.5", "2")], [("50", "3"), ("51", "0")]))
    stream.push(contract_depth(11, 11, [("49.5", "0.000"), ("49", "1")], [("50", "0E-8")]))
    replica = Replica()
    replica.apply(stream.messages)
    assert (replica.bids("BTC/USDT:USDT"), replica.asks("BTC/USDT:USDT")) == ([("49", "0.0001")], [])


def test_trades_that_are_sent_again_after_a_reconnect_come_once() -> None:
    stream = spot_stream()
    stream.push(deals(deal("a"), deal("b")), deals(deal("c")), deals(deal("d")))
    stream.connect()
    stream.push(deals(deal("b"), deal("c"), deal("d"), deal("e")), deals(deal("a")))
    assert [message.trade_id for message in stream.messages if isinstance(message, Trade)] == ["a", "b", "c", "d", "e"]
    assert sum(output.duplicates for output in stream.outputs) == 4


def test_trades_that_differ_in_nothing_but_their_id_are_two() -> None:
    output = spot_stream().push(deals(deal("100X0_1X0"), deal("100X0_2X0")))
    assert output.parts == 2


def test_every_digit_of_a_json_number_gets_out() -> None:
    price, size = "1.234567890123456789012345678901234567890", "100000000.12345678901"
    data = f'[{{"p":{price},"v":{size},"T":1,"t":1790000000000}},{{"p":1e-7,"v":1,"T":1,"t":1790000000000}}]'
    first, second = futures_stream().push(futures("push.deal", data, "XRP_USDT")).messages
    assert isinstance(first, Trade)
    assert isinstance(second, Trade)
    assert (first.price, first.size, second.price) == (price, size, "0.0000001")


def test_what_is_no_number_stays_inside() -> None:
    stream = futures_stream()
    for token in ("NaN", "Infinity", '"NaN"', '"Infinity"', "-1", '""'):
        stream.push(futures("push.deal", f'[{{"p":{token},"v":1,"T":1,"t":1790000000000}}]'))
    assert stream.messages == []
    assert stream.codes == ["invalid_json", "invalid_json", *["bad_number"] * 4]
    stream.push(futures("push.ticker", '{"lastPrice":"1.5"}'))
    assert (stream.messages, stream.codes[-1]) == ([], "bad_number")
    (message,) = stream.push(futures("push.ticker", '{"lastPrice":1.5,"bid1":-0}')).messages
    assert json.decode(json.encode(message))["bid_price"] is None


def test_no_exponent_gets_out() -> None:
    stream = futures_stream()
    stream.send(contract_seed(10, [("7.548E+4", "2.5E+3")], [("1E+5", "1e-7")]))
    stream.push(contract_depth(11, 11, [("7.5E+4", "8750.0000")]))
    snapshot, delta = stream.messages
    assert isinstance(snapshot, BookSnapshot)
    assert isinstance(delta, BookDelta)
    assert (snapshot.bids, snapshot.asks) == ([("75480", "0.25")], [("100000", "0.00000000001")])
    assert (snapshot.bid_sizes_native, snapshot.ask_sizes_native) == (["2500"], ["0.0000001"])
    assert (delta.bids, delta.bid_sizes_native) == ([("75000", "0.875")], ["8750.0000"])


def test_listed_after_startup() -> None:
    stream = spot_stream()
    frame = deals(deal("1X0_2X0"), symbol="NEWUSDT")
    outputs = [stream.push(frame) for _ in range(50)]
    assert stream.codes == ["unknown_instrument"] * 50
    assert sum(len(output.resyncs) for output in outputs) == 1
    stream.wait(61)
    assert len(stream.push(frame).resyncs) == 1
