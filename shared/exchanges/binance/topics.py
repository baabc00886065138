"""Names of streams: what a topic brings and of which instrument.

``<symbol>@<what>`` with the symbol in lower case, ``!<what>`` for all instruments at once. Only ASCII letters change
their case: a symbol like ``币安人生USDT`` has the topic ``币安人生usdt@trade``.
"""

from collections.abc import Mapping
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import DecodeError, json

from shared.exchanges.base import Feed, Overflow

__all__ = [
    "EVENTS",
    "EVENT_HEAD",
    "FEEDS",
    "OVERFLOWS",
    "SHUTDOWN",
    "STREAM_HEAD",
    "Kind",
    "Topic",
    "event_name",
    "lowered",
    "topic_name",
    "topic_of",
]


class Kind(IntEnum):
    """The events that become messages."""

    TRADE = 0
    AGGREGATE_TRADE = 1
    DEPTH = 2
    PARTIAL_DEPTH = 3
    BOOK_TICKER = 4
    TICKER = 5
    MINI_TICKER = 6
    MARK_PRICE = 7
    FORCE_ORDER = 8
    KLINE = 9


class Topic(NamedTuple):
    """A topic taken apart; ``native_symbol`` is None for all instruments at once."""

    kind: Kind
    native_symbol: str | None


EVENTS: Final[Mapping[bytes, Kind]] = MappingProxyType(
    {
        b"trade": Kind.TRADE,
        b"aggTrade": Kind.AGGREGATE_TRADE,
        b"depthUpdate": Kind.DEPTH,
        b"bookTicker": Kind.BOOK_TICKER,
        b"24hrTicker": Kind.TICKER,
        b"24hrMiniTicker": Kind.MINI_TICKER,
        b"markPriceUpdate": Kind.MARK_PRICE,
        b"forceOrder": Kind.FORCE_ORDER,
        b"kline": Kind.KLINE,
    }
)
"""By the ``e`` of an event. (Spot book tickers and partial depth have none.)"""

STREAM_HEAD: Final = b'{"stream":"'
"""How a frame of a ``/stream`` socket begins."""

EVENT_HEAD: Final = b'{"e":"'
"""How a frame of a ``/ws`` socket begins."""

NAME_END: Final = 160
"""Where the name of a topic or event has ended for certain: garbage is not to be remembered by its name."""

SHUTDOWN: Final = b"serverShutdown"
"""``e`` of the notice that the venue is about to close the connection."""

FEEDS: Final[Mapping[Kind, Feed]] = MappingProxyType(
    {
        Kind.TRADE: Feed.TRADE,
        Kind.AGGREGATE_TRADE: Feed.TRADE,
        Kind.DEPTH: Feed.BOOK,
        Kind.PARTIAL_DEPTH: Feed.BOOK,
        Kind.BOOK_TICKER: Feed.QUOTE,
        Kind.TICKER: Feed.TICKER,
        Kind.MINI_TICKER: Feed.TICKER,
        Kind.MARK_PRICE: Feed.MARK_PRICE,
        Kind.FORCE_ORDER: Feed.LIQUIDATION,
        Kind.KLINE: Feed.CANDLE,
    }
)

OVERFLOWS: Final[Mapping[Kind, Overflow]] = MappingProxyType(
    {
        Kind.DEPTH: Overflow.RESYNC,
        # Each of these says all there is to say of its instrument; a newer one makes up for it.
        Kind.BOOK_TICKER: Overflow.CONFLATE,
        Kind.TICKER: Overflow.CONFLATE,
        Kind.MINI_TICKER: Overflow.CONFLATE,
        Kind.MARK_PRICE: Overflow.CONFLATE,
    }
)
"""Of the kinds that may not simply be shed."""

_SPEEDS: Final = ("", "@0ms", "@100ms", "@250ms", "@500ms", "@1000ms")

_SUFFIXES: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "trade": Kind.TRADE,
        "aggTrade": Kind.AGGREGATE_TRADE,
        "bookTicker": Kind.BOOK_TICKER,
        "ticker": Kind.TICKER,
        "miniTicker": Kind.MINI_TICKER,
        "markPrice": Kind.MARK_PRICE,
        "markPrice@1s": Kind.MARK_PRICE,
        "forceOrder": Kind.FORCE_ORDER,
    }
    | {f"depth{speed}": Kind.DEPTH for speed in _SPEEDS}
    | {f"depth{levels}{speed}": Kind.PARTIAL_DEPTH for levels in (5, 10, 20) for speed in _SPEEDS}
)


def event_name(data: bytes) -> bytes:
    """The event of a frame that begins with ``{"e":"``; empty where none ends within reason."""
    end = data.find(b'"', len(EVENT_HEAD), NAME_END)
    return data[len(EVENT_HEAD) : end] if end > 0 else b""


def lowered(native_symbol: str) -> str:
    """A symbol as topics write it."""
    return native_symbol.encode().lower().decode()  # bytes.lower() knows ASCII letters only


def topic_name(data: bytes) -> bytes:
    """The topic of a frame that begins with ``{"stream":"``; empty where none ends within reason."""
    end = data.find(b'"', len(STREAM_HEAD), NAME_END)
    return data[len(STREAM_HEAD) : end] if end > 0 else b""


@lru_cache(maxsize=16_384)
def topic_of(name: bytes) -> Topic | None:
    """The topic whose name stands between the quotes of a JSON string; None where it is none of ours."""
    text = _unquoted(name)
    symbol, at, suffix = text.partition("@")
    if symbol.startswith("!"):
        kind = _SUFFIXES.get(symbol[1:])
        symbol = ""
    elif at and symbol:
        kind = Kind.KLINE if suffix.startswith("kline_") else _SUFFIXES.get(suffix)
    else:
        kind = None
    return None if kind is None else Topic(kind, symbol.encode().upper().decode() or None)


def _unquoted(name: bytes) -> str:
    """The text of a JSON string, which the venue may have written with escapes; empty where it is none."""
    try:
        return json.decode(b'"' + name + b'"', type=str) if b"\\" in name else name.decode()
    except (DecodeError, UnicodeError):
        return ""
