"""Bybit linear: the least that could be done with a frame of each feed."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, field, json

from services.bench.case import EPOCH, NORMALIZED, STREAM, encode
from shared.envelope import Frame
from shared.messages import BookDelta, Level, MarkPrice, Message, OpenInterest, Quote, Ticker, Trade

__all__ = ["WHOLE", "book", "quote", "ticker", "trade"]

WHOLE: Final = {
    "tickDirection": "PlusTick",
    "price24hPcnt": "0.012043",
    "lastPrice": "64231.0",
    "prevPrice24h": "63466.7",
    "highPrice24h": "64820.4",
    "lowPrice24h": "63011.9",
    "prevPrice1h": "64101.2",
    "markPrice": "64230.5",
    "indexPrice": "64262.1",
    "openInterest": "51870.223",
    "openInterestValue": "3331670459.42",
    "turnover24h": "5312480175.4413",
    "volume24h": "82844.157",
    "nextFundingTime": "1760025600000",
    "fundingIntervalHour": "8",
    "fundingRate": "0.0001",
    "bid1Price": "64231.0",
    "bid1Size": "2.184",
    "ask1Price": "64231.1",
    "ask1Size": "9.310",
}
"""A ticker in full."""


class _TradeItem(Struct, gc=False):
    T: int
    s: str
    S: str
    v: str
    p: str
    i: str


class _Trades(Struct, gc=False):
    data: list[_TradeItem]


class _QuoteData(Struct, gc=False):
    s: str
    b: list[tuple[str, str]]
    a: list[tuple[str, str]]
    u: int


class _QuoteFrame(Struct, gc=False):
    data: _QuoteData
    cts: int


class _BookData(Struct, gc=False):
    s: str
    b: list[Level]
    a: list[Level]
    u: int


class _BookFrame(Struct, gc=False):
    data: _BookData
    cts: int


class _TickerData(Struct, gc=False):
    """What a delta leaves out is as the snapshot had it, for every instrument."""

    symbol: str
    last: str = field(name="lastPrice", default=WHOLE["lastPrice"])
    open: str = field(name="prevPrice24h", default=WHOLE["prevPrice24h"])
    high: str = field(name="highPrice24h", default=WHOLE["highPrice24h"])
    low: str = field(name="lowPrice24h", default=WHOLE["lowPrice24h"])
    volume: str = field(name="volume24h", default=WHOLE["volume24h"])
    turnover: str = field(name="turnover24h", default=WHOLE["turnover24h"])
    bid: str = field(name="bid1Price", default=WHOLE["bid1Price"])
    bid_size: str = field(name="bid1Size", default=WHOLE["bid1Size"])
    ask: str = field(name="ask1Price", default=WHOLE["ask1Price"])
    ask_size: str = field(name="ask1Size", default=WHOLE["ask1Size"])
    mark: str | None = field(name="markPrice", default=None)
    index: str = field(name="indexPrice", default=WHOLE["indexPrice"])
    interest: str | None = field(name="openInterest", default=None)
    value: str = field(name="openInterestValue", default=WHOLE["openInterestValue"])
    rate: str = field(name="fundingRate", default=WHOLE["fundingRate"])


class _TickerFrame(Struct, gc=False):
    data: _TickerData
    ts: int


_decode_trades: Final = json.Decoder(_Trades).decode
_decode_quote: Final = json.Decoder(_QuoteFrame).decode
_decode_book: Final = json.Decoder(_BookFrame).decode
_decode_ticker: Final = json.Decoder(_TickerFrame).decode

_MARK: Final = WHOLE["markPrice"]
_INTEREST: Final = WHOLE["openInterest"]
_NEXT_FUNDING: Final = int(WHOLE["nextFundingTime"]) * 1_000_000


def trade(frames: Sequence[Frame], first: int) -> bytes:
    """``publicTrade``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        at = frame[1]
        for part, o in enumerate(_decode_trades(frame[2]).data):
            ts = o.T * 1_000_000
            out.append(Trade("bybit", o.s, o.s, ts, at, NORMALIZED, STREAM, EPOCH, n, part, o.i, o.p, o.v, o.S))  # type: ignore[arg-type]
    return encode(out)


def quote(frames: Sequence[Frame], first: int) -> bytes:
    """``orderbook.1``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        top = _decode_quote(frame[2])
        o, ts = top.data, top.cts * 1_000_000
        bid, bid_size = o.b[0]
        ask, ask_size = o.a[0]
        head = Quote(
            "bybit", o.s, o.s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0, bid, bid_size, ask, ask_size, o.u
        )
        out.append(head)
    return encode(out)


def book(frames: Sequence[Frame], first: int) -> bytes:
    """``orderbook.50``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        update = _decode_book(frame[2])
        o, ts = update.data, update.cts * 1_000_000
        u = o.u
        out.append(BookDelta("bybit", o.s, o.s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0, o.b, o.a, u, u - 1))
    return encode(out)


def ticker(frames: Sequence[Frame], first: int) -> bytes:
    """``tickers``: the ticker in full, and a mark price or open interest where the frame has one."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        update = _decode_ticker(frame[2])
        o, ts, at = update.data, update.ts * 1_000_000, frame[1]
        s, mark, interest = o.symbol, o.mark, o.interest
        out.append(
            Ticker(
                "bybit",
                s,
                s,
                ts,
                at,
                NORMALIZED,
                STREAM,
                EPOCH,
                n,
                0,
                o.last,
                o.bid,
                o.bid_size,
                o.ask,
                o.ask_size,
                o.open,
                o.high,
                o.low,
                o.volume,
                o.turnover,
                _MARK if mark is None else mark,
                o.index,
                o.rate,
                _NEXT_FUNDING,
                _INTEREST if interest is None else interest,
            )
        )
        if mark is not None:
            out.append(MarkPrice("bybit", s, s, ts, at, NORMALIZED, STREAM, EPOCH, n, 1, mark, o.index))
        if interest is not None:
            out.append(OpenInterest("bybit", s, s, ts, at, NORMALIZED, STREAM, EPOCH, n, 2, interest, o.value))
    return encode(out)
