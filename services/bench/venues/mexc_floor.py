"""MEXC: the least that could be done with a frame of each feed (protobuf for spot, JSON for futures)."""

from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from msgspec import Raw, Struct, json

from services.bench.case import EPOCH, NORMALIZED, STREAM, encode
from shared.envelope import Frame
from shared.exchanges.mexc.push_pb2 import PushDataV3ApiWrapper
from shared.messages import BookDelta, Message, OpenInterest, Quote, Ticker, Trade

__all__ = [
    "futures_book",
    "futures_quote",
    "futures_ticker",
    "futures_trade",
    "spot_book",
    "spot_quote",
    "spot_ticker",
    "spot_trade",
]

DataT = TypeVar("DataT")

_parse: Final = PushDataV3ApiWrapper.FromString


def spot_trade(frames: Sequence[Frame], first: int) -> bytes:
    """``aggre.deals``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        push = _parse(frame[2])
        s, at = push.symbol, frame[1]
        for part, o in enumerate(push.publicAggreDeals.deals):
            ts, price, size, side = o.time * 1_000_000, o.price, o.quantity, "buy" if o.tradeType == 1 else "sell"
            trade_id = o.tradeId
            out.append(Trade("mexc", s, s, ts, at, NORMALIZED, STREAM, EPOCH, n, part, trade_id, price, size, side))  # type: ignore[arg-type]
    return encode(out)


def spot_quote(frames: Sequence[Frame], first: int) -> bytes:
    """``aggre.bookTicker``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        push = _parse(frame[2])
        o, s, ts = push.publicAggreBookTicker, push.symbol, push.sendTime * 1_000_000
        head = ("mexc", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0)
        out.append(Quote(*head, o.bidPrice, o.bidQuantity, o.askPrice, o.askQuantity, int(o.version)))
    return encode(out)


def spot_book(frames: Sequence[Frame], first: int) -> bytes:
    """``aggre.depth``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        push = _parse(frame[2])
        o, s, ts = push.publicAggreDepths, push.symbol, push.sendTime * 1_000_000
        bids, asks = [(one.price, one.quantity) for one in o.bids], [(one.price, one.quantity) for one in o.asks]
        last, previous = int(o.toVersion), int(o.fromVersion) - 1
        out.append(BookDelta("mexc", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0, bids, asks, last, previous))
    return encode(out)


def spot_ticker(frames: Sequence[Frame], first: int) -> bytes:
    """``miniTicker``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        push = _parse(frame[2])
        o, s, ts = push.publicMiniTicker, push.symbol, push.sendTime * 1_000_000
        head = ("mexc", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0, o.price, None, None, None, None, None)
        out.append(Ticker(*head, o.high, o.low, o.quantity, o.volume))
    return encode(out)


class _Push(Struct, Generic[DataT], gc=False):
    symbol: str
    data: DataT
    channel: str
    ts: int


class _Deal(Struct, gc=False):
    p: Raw
    v: Raw
    T: int
    t: int
    i: str


class _Level(Struct, gc=False, array_like=True):
    price: Raw
    size: Raw


class _Depth(Struct, gc=False):
    asks: list[_Level]
    bids: list[_Level]
    version: int
    begin: int = 0


class _Ticker(Struct, gc=False, rename="camel"):
    last_price: Raw
    bid1: Raw
    ask1: Raw
    high24_price: Raw
    lower24_price: Raw
    volume24: Raw
    amount24: Raw
    hold_vol: Raw
    fair_price: Raw
    index_price: Raw
    funding_rate: Raw
    timestamp: int


_decode_deals: Final = json.Decoder(_Push[list[_Deal]]).decode
_decode_depth: Final = json.Decoder(_Push[_Depth]).decode
_decode_ticker: Final = json.Decoder(_Push[_Ticker]).decode


def futures_trade(frames: Sequence[Frame], first: int) -> bytes:
    """``push.deal``."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        push = _decode_deals(frame[2])
        s, at = push.symbol, frame[1]
        for part, o in enumerate(push.data):
            price, size, ts = str(o.p, "ascii"), str(o.v, "ascii"), o.t * 1_000_000
            side = "buy" if o.T == 1 else "sell"
            out.append(Trade("mexc", s, s, ts, at, NORMALIZED, STREAM, EPOCH, n, part, o.i, price, size, side, size))  # type: ignore[arg-type]
    return encode(out)


def futures_quote(frames: Sequence[Frame], first: int) -> bytes:
    """``push.depth.full``: its first levels."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        push = _decode_depth(frame[2])
        s, o, ts = push.symbol, push.data, push.ts * 1_000_000
        bid, ask = o.bids[0], o.asks[0]
        bid_size, ask_size = str(bid.size, "ascii"), str(ask.size, "ascii")
        prices = str(bid.price, "ascii"), bid_size, str(ask.price, "ascii"), ask_size
        head = ("mexc", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0)
        out.append(Quote(*head, *prices, o.version, bid_size, ask_size))
    return encode(out)


def futures_book(frames: Sequence[Frame], first: int) -> bytes:
    """``push.depth``: sizes, and as many native sizes."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        push = _decode_depth(frame[2])
        s, o, ts = push.symbol, push.data, push.ts * 1_000_000
        bids = [(str(one.price, "ascii"), str(one.size, "ascii")) for one in o.bids]
        asks = [(str(one.price, "ascii"), str(one.size, "ascii")) for one in o.asks]
        sizes = [size for _, size in bids], [size for _, size in asks]
        head = ("mexc", s, s, ts, frame[1], NORMALIZED, STREAM, EPOCH, n, 0)
        out.append(BookDelta(*head, bids, asks, o.version, o.begin - 1, *sizes))
    return encode(out)


def futures_ticker(frames: Sequence[Frame], first: int) -> bytes:
    """``push.ticker``: a ticker and its open interest, which is told when it changes: here with each frame."""
    out: list[Message] = []
    for n, frame in enumerate(frames, first):
        push = _decode_ticker(frame[2])
        s, o = push.symbol, push.data
        head = ("mexc", s, s, o.timestamp * 1_000_000, frame[1], NORMALIZED, STREAM, EPOCH, n)
        held = str(o.hold_vol, "ascii")
        bid, ask = str(o.bid1, "ascii"), str(o.ask1, "ascii")
        range_ = str(o.high24_price, "ascii"), str(o.lower24_price, "ascii")
        volumes = str(o.volume24, "ascii"), str(o.amount24, "ascii")
        marks = str(o.fair_price, "ascii"), str(o.index_price, "ascii"), str(o.funding_rate, "ascii")
        last = str(o.last_price, "ascii")
        out.append(Ticker(*head, 0, last, bid, None, ask, None, None, *range_, *volumes, *marks, None, held))
        out.append(OpenInterest(*head, 1, held, None, held))
    return encode(out)
