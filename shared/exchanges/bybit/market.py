"""Trades, quotes, liquidations and candles as messages. Source: docs/v5/websocket/public/*.mdx."""

from msgspec import DecodeError

from shared.errors import ParseError
from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.bybit.wire import (
    ARRAY_CANDLE,
    ARRAY_LIQUIDATION,
    ARRAY_TRADE,
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
from shared.numbers import PROVED, is_zero
from shared.sequencing import DuplicateWindow

__all__ = ["Quotes", "Trades", "candles", "liquidations"]

_decode_trades = ARRAY_TRADE.decoder.decode
_decode_quote = FRAME_QUOTE.decode

_Pair = tuple[str, str]

_TAKER: dict[str, Side] = {"Buy": "buy", "Sell": "sell"}

_LIQUIDATION_ORDER: dict[str, Side] = {"Buy": "sell", "Sell": "buy"}
"""The venue names the position: a long (Buy) is liquidated by a sell order."""


class Trades:
    """The trades of one instrument, each once: an id that was seen before is a duplicate, also on a later connection."""

    __slots__ = ("_group", "_instrument", "_seen")

    def __init__(self, exchange: str, instrument: Instrument, window: DuplicateWindow) -> None:
        self._instrument = instrument
        self._group = Group("trade", exchange, instrument.symbol)
        self._seen = window.seen

    def frame(self, origin: Origin, data: bytes, output: Output) -> None:
        """``publicTrade``: up to 1024 trades, oldest first. Raises ParseError where the frame is no array."""
        try:
            items = _decode_trades(data).data
        except DecodeError:
            items = ARRAY_TRADE.items(data, output)
        for item in items:
            try:
                self._trade(origin, item, output)
            except ParseError as error:
                output.reject(error)

    def _trade(self, origin: Origin, item: TradeItem, output: Output) -> None:
        instrument, price, size, ts = self._instrument, item.price, item.size, item.traded_at
        if price not in PROVED:
            price = number(price, "p")
        if size not in PROVED:
            size = number(size, "v")
        ts_exchange = ts * 1_000_000 if 0 < ts <= MAX_MILLISECONDS else nanoseconds(ts, "T")
        base, native = (base_size(instrument, size, price), size) if instrument.inverse else (size, None)
        if item.trade_id and self._seen(item.trade_id):
            output.duplicates += 1
            return
        group = self._group
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(
            Trade(
                origin.exchange,
                instrument.symbol,
                instrument.native_symbol,
                ts_exchange,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                output.parts,
                item.trade_id or None,
                price,
                base,
                _TAKER.get(item.side, "unknown"),
                native,
            )
        )
        output.parts += 1


class Quotes:
    """Best bid and offer of one instrument. The venue repeats an unchanged one every 3 s: that is a duplicate."""

    __slots__ = ("_group", "_instrument", "_last")

    def __init__(self, exchange: str, instrument: Instrument) -> None:
        self._instrument = instrument
        self._group = Group("quote", exchange, instrument.symbol)
        self._last: tuple[list[_Pair], list[_Pair]] | None = None

    def frame(self, origin: Origin, data: bytes, output: Output) -> None:
        """``orderbook.1``, which is documented to come as snapshots only. Raises ParseError."""
        try:
            frame = _decode_quote(data)
        except DecodeError:
            frame = decode(FRAME_QUOTE, data)
        if frame.type != "snapshot":
            raise ParseError("unknown_event", f"orderbook.1 of type {frame.type[:40]!r}")
        levels = frame.data
        instrument, ts = self._instrument, frame.cts or frame.ts
        ts_exchange = ts * 1_000_000 if 0 < ts <= MAX_MILLISECONDS else nanoseconds(ts, "cts")
        bid_price, bid_size, bid_native = _side(instrument, levels.b, "bids")
        ask_price, ask_size, ask_native = _side(instrument, levels.a, "asks")
        if self._last == (levels.b, levels.a):
            output.duplicates += 1
            return
        self._last = levels.b, levels.a
        group = self._group
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(
            Quote(
                origin.exchange,
                instrument.symbol,
                instrument.native_symbol,
                ts_exchange,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                output.parts,
                bid_price,
                bid_size,
                ask_price,
                ask_size,
                levels.u,
                bid_native,
                ask_native,
            )
        )
        output.parts += 1

    def forget(self) -> None:
        """A new connection: its first quote is news, whatever it is."""
        self._last = None


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
