"""Canonical messages on the wire."""

import pytest
from msgspec import DecodeError, json

from shared.messages import FEEDS, MESSAGE_TYPES, Message, decode_messages, encode_messages, routing_key
from tests.unit.core.making import every_message


def test_every_type_has_a_sample_and_a_feed_of_its_own() -> None:
    """Nothing below is forgotten when a type is added."""
    assert [type(message) for message in every_message()] == list(MESSAGE_TYPES)
    assert len(FEEDS) == len(MESSAGE_TYPES)


@pytest.mark.parametrize("message", every_message(), ids=lambda message: str(message.feed))
def test_round_trip(message: Message) -> None:
    """What is encoded is decoded, tagged by its feed."""
    body = encode_messages([message, message])
    assert decode_messages(body) == [message, message]
    assert [row["feed"] for row in json.decode(body)] == [message.feed] * 2


@pytest.mark.parametrize("message", every_message(), ids=lambda message: str(message.feed))
def test_no_float_gets_out(message: Message) -> None:
    """Numbers are text or integers, whoever decodes them."""

    def walk(value: object) -> None:
        assert not isinstance(value, float)
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(item)

    walk(json.decode(encode_messages([message])))


@pytest.mark.parametrize("message", every_message(), ids=lambda message: str(message.feed))
def test_common_fields_come_first(message: Message) -> None:
    """Whoever looks at a message finds who, when and where at its beginning."""
    assert list(json.decode(encode_messages([message]))[0])[:11] == [
        "feed",
        "exchange",
        "symbol",
        "native_symbol",
        "ts_exchange",
        "ts_received",
        "ts_normalized",
        "stream",
        "epoch",
        "frame",
        "part",
    ]


def test_fields_of_later_versions_are_ignored() -> None:
    """A consumer survives a producer that says more."""
    rows = json.decode(encode_messages(every_message()))
    for row in rows:
        row["added_later"] = {"deep": [1.5]}
    assert decode_messages(json.encode(rows)) == every_message()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[{}]",
        b'[{"feed":"weather"}]',
        b"[1]",
        b'[{"feed":"trade","exchange":"\xff"}]',
        b'[{"x":' * 100_000,
    ],
)
def test_garbage_is_one_kind_of_error(body: bytes) -> None:
    """Nothing but DecodeError comes of a body that is no array of messages."""
    with pytest.raises(DecodeError):
        decode_messages(body)


@pytest.mark.parametrize(
    ("symbol", "key"),
    [
        ("BTC/USDT", "trade.bybit.BTC/USDT"),
        ("BTC/USD:BTC-261225", "trade.bybit.BTC/USD:BTC-261225"),
        ("币安人生/USDT", "trade.bybit.币安人生/USDT"),
        ("A.B/USDT", "trade.bybit.A%2EB/USDT"),
        ("100%/USDT", "trade.bybit.100%25/USDT"),
        ("A%2EB/USDT", "trade.bybit.A%252EB/USDT"),
        (None, "trade.bybit._"),
        ("_", "trade.bybit.%5F"),
    ],
)
def test_routing_key(symbol: str | None, key: str) -> None:
    """Three words, whatever is in the symbol; no two symbols share a key."""
    assert routing_key("trade", "bybit", symbol) == key
    assert key.count(".") == 2


def test_long_symbols_keep_keys_of_their_own() -> None:
    """Symbols that differ only where a key of 255 bytes has ended are told apart."""
    one, other = ("X" * 300 + end for end in ("A", "B"))
    assert routing_key("trade", "bybit", one) != routing_key("trade", "bybit", other)
    assert routing_key("trade", "bybit", one) == routing_key("trade", "bybit", one)


@pytest.mark.parametrize("symbol", [" " * 200 + "." * 200, "X" * 205 + "." * 100, "币" * 200, "X" + "币" * 99 + "..."])
@pytest.mark.parametrize("feed", ["trade", "quote", "ticker"])
def test_long_keys_are_cut_between_characters(symbol: str, feed: str) -> None:
    """Neither a character nor an escape is cut in two, and the limit is in bytes."""
    key = routing_key(feed, "bybit", symbol)
    assert len(key.encode()) <= 255
    assert key.count(".") == 2
    escapes = key.rpartition("%~")[0].split("%")[1:]
    assert all(escape.startswith("2E") for escape in escapes)
