"""Trades, quotes, liquidations and candles as messages. Source: docs/v5/websocket/public/*.mdx."""

from msgspec import DecodeError

from shared.errors import ParseError
from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.bybit.wire import (
    ARRAY_CANDLE,
    ARRAY_LIQUIDATION,
    ARRAY_TRADE,
    FRAME_PLAIN_QUOTE,
    FRAME_QUOTE,
    MAX_MILLISECONDS,
    CandleItem,
    LiquidationItem,
    TradeItem,
    decode,
    nanoseconds,
)
from shared.exchanges.levels import base_size, number
from shared.instruments import Instrument
from shared.messages import Candle, Liquidation, Quote, Side, Trade
from shared.numbers import PROVED, is_zero, proves
from shared.sequencing import DuplicateWindow

__all__ = ["Quotes", "Trades", "candles", "liquidations"]

_decode_trades = ARRAY_TRADE.decoder.decode
_decode_plain_quote = FRAME_PLAIN_QUOTE.decode

_Pair = tuple[str, str]

_NOTHING = ""
"""The size of no quote."""

_TAKER: dict[str, Side] = {"Buy": "buy", "Sell": "sell"}

_LIQUIDATION_ORDER: dict[str, Side] = {"Buy": "sell", "Sell": "buy"}
"""The venue names the position: a long (Buy) is liquidated by a sell order."""


class Trades:
    """The trades of one instrument, each once: an id that was seen before is a duplicate, also on a new connection."""

    __slots__ = ("_group", "_instrument", "_inverse", "_native", "_symbol", "_window")

    def __init__(self, exchange: str, instrument: Instrument, window: DuplicateWindow) -> None:
        self._instrument = instrument
        self._symbol = instrument.symbol
        self._native = instrument.native_symbol
        self._inverse = instrument.inverse
        self._group = Group("trade", exchange, instrument.symbol)
        self._window = window

    def frame(self, origin: Origin, data: bytes, output: Output) -> None:
        """``publicTrade``: up to 1024 trades, oldest first. Raises ParseError where the frame is no array."""
        try:
            items = _decode_trades(data).data
        except DecodeError:
            items = ARRAY_TRADE.items(data, output)
        group, window, inverse = self._group, self._window, self._inverse
        if group.segment is not output.segment:
            group.open(output)
        for item in items:
            trade_id, price, size, ts = item.trade_id, item.price, item.size, item.traded_at
            if (
                not (price in PROVED or proves(price))
                or not (size in PROVED or proves(size))
                or not 0 < ts <= MAX_MILLISECONDS
                or inverse
            ):
                self._unusual(origin, item, output)
                continue
            if trade_id:
                if trade_id in window.new or trade_id in window.old:
                    output.duplicates += 1
                    continue
                window.new.add(trade_id)
            group.messages.append(
                Trade(
                    origin.exchange,
                    self._symbol,
                    self._native,
                    ts * 1_000_000,
                    origin.ts_received,
                    origin.ts_normalized,
                    origin.stream,
                    origin.epoch,
                    origin.frame,
                    output.parts,
                    trade_id or None,
                    price,
                    size,
                    _TAKER.get(item.side, "unknown"),
                )
            )
            output.parts += 1
        window.turn()

    def _unusual(self, origin: Origin, item: TradeItem, output: Output) -> None:
        """A trade with a number that is not plain or not above zero, without a time, or of an inverse contract."""
        try:
            price, size = number(item.price, "p"), number(item.size, "v")
            ts_exchange = nanoseconds(item.traded_at, "T")
            base, native = (base_size(self._instrument, size, price), size) if self._inverse else (size, None)
        except ParseError as error:
            output.reject(error)
            return
        if item.trade_id and self._window.seen(item.trade_id):
            output.duplicates += 1
            return
        head = origin.head(self._instrument, ts_exchange)
        side = _TAKER.get(item.side, "unknown")
        self._group.messages.append(Trade(*head, output.parts, item.trade_id or None, price, base, side, native))
        output.parts += 1


class Quotes:
    """Best bid and offer of one instrument. The venue repeats an unchanged one every 3 s: that is a duplicate."""

    __slots__ = (
        "_ask",
        "_ask_size",
        "_bid",
        "_bid_size",
        "_group",
        "_instrument",
        "_inverse",
        "_native",
        "_symbol",
    )

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        self._instrument = instrument
        self._symbol = instrument.symbol
        self._native = instrument.native_symbol
        self._inverse = instrument.inverse
        self._group = Group("quote", exchange, instrument.symbol)
        self._bid: str | None = None
        self._bid_size: str | None = _NOTHING
        self._ask: str | None = None
        self._ask_size: str | None = None

    def frame(self, origin: Origin, data: bytes, output: Output) -> None:
        """``orderbook.1``, which is documented to come as snapshots only. Raises ParseError."""
        try:
            frame = _decode_plain_quote(data)
        except DecodeError:
            self._unusual(origin, data, output)
            return
        levels = frame.data
        ((bid, bid_size),) = levels.b
        ((ask, ask_size),) = levels.a
        if (
            not (bid in PROVED or proves(bid))
            or not (bid_size in PROVED or proves(bid_size))
            or not (ask in PROVED or proves(ask))
            or not (ask_size in PROVED or proves(ask_size))
            or self._inverse
        ):
            self._unusual(origin, data, output)
            return
        if bid_size == self._bid_size and ask_size == self._ask_size and bid == self._bid and ask == self._ask:
            output.duplicates += 1
            return
        self._bid, self._bid_size, self._ask, self._ask_size = bid, bid_size, ask, ask_size
        group, part = self._group, output.parts
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(
            Quote(
                origin.exchange,
                self._symbol,
                self._native,
                frame.cts * 1_000_000,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                part,
                bid,
                bid_size,
                ask,
                ask_size,
                levels.u,
            )
        )
        output.parts = part + 1

    def _unusual(self, origin: Origin, data: bytes, output: Output) -> None:
        """A quote with a number that is not plain, an empty side, or of an inverse contract."""
        frame = decode(FRAME_QUOTE, data)
        levels, ts = frame.data, frame.cts or frame.ts
        if frame.type != "snapshot":
            raise ParseError("unknown_event", f"orderbook.1 of type {frame.type[:40]!r}")
        ts_exchange = nanoseconds(ts, "cts")
        bid, bid_size, bid_native = _side(self._instrument, levels.b, "bids")
        ask, ask_size, ask_native = _side(self._instrument, levels.a, "asks")
        # Of an inverse contract the base size depends on the price: what the venue wrote is what is the same or not.
        told = bid, bid_native or bid_size, ask, ask_native or ask_size
        if told == (self._bid, self._bid_size, self._ask, self._ask_size):
            output.duplicates += 1
            return
        self._bid, self._bid_size, self._ask, self._ask_size = told
        group = self._group
        if group.segment is not output.segment:
            group.open(output)
        head = origin.head(self._instrument, ts_exchange)
        native = (bid_native, ask_native) if self._inverse else (None, None)
        message = Quote(*head, output.parts, bid, bid_size, ask, ask_size, levels.u, *native)
        group.messages.append(message)
        output.parts += 1

    def forget(self) -> None:
        """A new connection: its first quote is news, whatever it is."""
        self._bid_size = _NOTHING


def _side(instrument: Instrument, levels: list[_Pair], side: str) -> tuple[str | None, str | None, str | None]:
    if not levels:
        return None, None, None
    price, size = levels[0]
    if price not in PROVED:
        price = number(price, f"{side} price")
    if size not in PROVED:
        size = number(size, f"{side} size")
    if size[0] == "0" and is_zero(size):
        return None, None, None
    return (price, base_size(instrument, size, price), size) if instrument.inverse else (price, size, None)


def liquidations(origin: Origin, instrument: Instrument, data: bytes, output: Output) -> None:
    """``allLiquidation``: what was liquidated since the last frame. Raises ParseError where the frame is no array."""
    for item in ARRAY_LIQUIDATION.items(data, output):
        try:
            output.add(_liquidation(origin, instrument, item, output.parts))
        except ParseError as error:
            output.reject(error)


def _liquidation(origin: Origin, instrument: Instrument, item: LiquidationItem, part: int) -> Liquidation:
    price, size = number(item.price, "p"), number(item.size, "v")
    return Liquidation(
        *origin.head(instrument, nanoseconds(item.updated_at, "T")),
        part,
        _LIQUIDATION_ORDER.get(item.position, "unknown"),
        price,
        base_size(instrument, size, price),
        None,
        size if instrument.inverse else None,
    )


def candles(origin: Origin, instrument: Instrument, interval: str, data: bytes, output: Output) -> None:
    """``kline``; ``interval`` is the canonical name. Raises ParseError where the frame is no array."""
    for item in ARRAY_CANDLE.items(data, output):
        try:
            output.add(_candle(origin, instrument, interval, item, output.parts))
        except ParseError as error:
            output.reject(error)


def _candle(origin: Origin, instrument: Instrument, interval: str, item: CandleItem, part: int) -> Candle:
    opened = nanoseconds(item.start, "start")
    if opened is None:
        raise ParseError("bad_time", "start was 0")
    volume, turnover = number(item.volume, "volume"), number(item.turnover, "turnover")
    inverse = instrument.inverse
    return Candle(
        *origin.head(instrument, nanoseconds(item.timestamp, "timestamp")),
        part,
        interval,
        opened,
        nanoseconds(item.end, "end"),
        number(item.open, "open"),
        number(item.high, "high"),
        number(item.low, "low"),
        number(item.close, "close"),
        # An inverse contract is a unit of quote coin: its base volume is the turnover.
        turnover if inverse else volume,
        volume if inverse else turnover,
        None,
        item.confirm,
        volume if inverse else None,
    )
