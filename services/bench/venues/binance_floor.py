"""Binance: the least that could be done with a frame of each feed, in the wrapper of a ``/stream`` socket."""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct, field, json

from services.bench.case import EPOCH, NORMALIZED, STREAM, encode
from shared.envelope import Frame
from shared.messages import BookDelta, Level, MarkPrice, Message, Quote, Ticker, Trade

__all__ = ["book", "mark_price", "quote", "ticker", "trade"]

DataT = TypeVar("DataT")


class _Combined(Struct, Generic[DataT], gc=False):
    data: DataT


class _Trade(Struct, gc=False):
    s: str
    p: str
    q: str
    T: int
    m: bool
    t: int = 0
    a: int = 0


class _Quote(Struct, gc=False):
    s: str
    u: int
    b: str
    B: str
    a: str
    A: str
    T: int = 0


class _Depth(Struct, gc=False):
    s: str
    E: int
    U: int
    u: int
    b: list[Level]
    a: list[Level]
    T: int = 0
    pu: int | None = None


class _Ticker(Struct, gc=False):
    s: str
    E: int
    c: str
    o: str
    h: str
    low: str = field(name="l")
    v: str
    q: str
    b: str | None = None
    B: str | None = None
    a: str | None = None
    A: str | None = None


class _Mark(Struct, gc=False):
    s: str
    E: int
    p: str
    i: str


_decode_trade: Final = json.Decoder(_Combined[_Trade]).decode
_decode_quote: Final = json.Decoder(_Combined[_Quote]).decode
_decode_depth: Final = json.Decoder(_Combined[_Depth]).decode
_decode_ticker: Final = json.Decoder(_Combined[_Ticker]).decode
_decode_mark: Final = json.Decoder(_Combined[_Mark]).decode


def trade(frames: Sequence[Frame], first: int) -> bytes:
    """``@trade`` and ``@aggTrade``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        o = _decode_trade(frame[2]).data
        s, ts, trade_id, side = o.s, o.T * 1_000_000, str(o.t or o.a), "sell" if o.m else "buy"
        out.append(Trade("binance", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0, trade_id, o.p, o.q, side))  # type: ignore[arg-type]
    return encode(out)


def quote(frames: Sequence[Frame], first: int) -> bytes:
    """``@bookTicker``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        o = _decode_quote(frame[2]).data
        s, ts = o.s, o.T * 1_000_000 or None
        out.append(Quote("binance", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0, o.b, o.B, o.a, o.A, o.u))
    return encode(out)


def book(frames: Sequence[Frame], first: int) -> bytes:
    """``@depth``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        o = _decode_depth(frame[2]).data
        s, ts, previous = o.s, (o.T or o.E) * 1_000_000, o.U - 1 if o.pu is None else o.pu
        out.append(BookDelta("binance", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0, o.b, o.a, o.u, previous))
    return encode(out)


def ticker(frames: Sequence[Frame], first: int) -> bytes:
    """``@ticker``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        o = _decode_ticker(frame[2]).data
        s, ts = o.s, o.E * 1_000_000
        head = ("binance", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0)
        out.append(Ticker(*head, o.c, o.b, o.B, o.a, o.A, o.o, o.h, o.low, o.v, o.q))
    return encode(out)


def mark_price(frames: Sequence[Frame], first: int) -> bytes:
    """``@markPrice``, whose funding rate seldom changes."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        o = _decode_mark(frame[2]).data
        ts = o.E * 1_000_000
        out.append(MarkPrice("binance", o.s, o.s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0, o.p, o.i))
    return encode(out)
