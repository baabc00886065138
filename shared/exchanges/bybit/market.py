"""Trades, quotes, liquidations and candles as messages. Source: docs/v5/websocket/public/*.mdx."""

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.bybit.wire import (
    ARRAY_CANDLE,
    ARRAY_LIQUIDATION,
    ARRAY_TRADE,
    FRAME_BOOK,
    CandleItem,
    LiquidationItem,
    TradeItem,
    decode,
    nanoseconds,
)
from shared.exchanges.levels import base_size, number, validated
from shared.instruments import Instrument
from shared.messages import Candle, Level, Liquidation, Quote, Side, Trade
from shared.numbers import is_zero
from shared.sequencing import DuplicateWindow

__all__ = ["Quotes", "Trades", "candles", "liquidations"]

_TAKER: dict[str, Side] = {"Buy": "buy", "Sell": "sell"}

_LIQUIDATION_ORDER: dict[str, Side] = {"Buy": "sell", "Sell": "buy"}
"""The venue names the position: a long (Buy) is liquidated by a sell order."""


class Trades:
    """Trades, each once: a venue id that was seen before is a duplicate, also on a later connection."""

    def __init__(self) -> None:
        self._windows: dict[str, DuplicateWindow] = {}

    def frame(self, origin: Origin, instrument: Instrument, data: bytes, output: Output) -> None:
        """``publicTrade``: up to 1024 trades, oldest first. Raises ParseError where the frame is no array."""
        window = self._windows.get(instrument.native_symbol)
        if window is None:
            window = self._windows[instrument.native_symbol] = DuplicateWindow()
        for item in ARRAY_TRADE.items(data, output):
            try:
                trade = _trade(origin, instrument, item, len(output.messages))
            except ParseError as error:
                output.reject(error)
                continue
            if trade.trade_id is not None and window.seen(trade.trade_id):
                output.duplicates += 1
            else:
                output.messages.append(trade)


def _trade(origin: Origin, instrument: Instrument, item: TradeItem, part: int) -> Trade:
    price, size = number(item.price, "p"), number(item.size, "v")
    return Trade(
        *origin.head(instrument, nanoseconds(item.traded_at, "T")),
        part,
        item.trade_id or None,
        price,
        base_size(instrument, size, price),
        _TAKER.get(item.side, "unknown"),
        size if instrument.inverse else None,
    )


class Quotes:
    """Best bid and offer. The venue repeats an unchanged quote every 3 s: a repetition is a duplicate."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[list[list[str]], list[list[str]]]] = {}

    def frame(self, origin: Origin, instrument: Instrument, data: bytes, output: Output) -> None:
        """``orderbook.1``, which is documented to come as snapshots only. Raises ParseError."""
        frame = decode(FRAME_BOOK, data)
        if frame.type != "snapshot":
            raise ParseError("unknown_event", f"orderbook.1 of type {frame.type[:40]!r}")
        levels = frame.data
        quote = Quote(
            *origin.head(instrument, nanoseconds(frame.ts if frame.cts is None else frame.cts, "cts")),
            len(output.messages),
            *_best(instrument, levels.b, levels.a, levels.u),
        )
        if self._last.get(instrument.native_symbol) == (levels.b, levels.a):
            output.duplicates += 1
            return
        self._last[instrument.native_symbol] = levels.b, levels.a
        output.messages.append(quote)

    def forget(self) -> None:
        """A new connection: its first quotes are news, whatever they are."""
        self._last.clear()


_Best = tuple[str | None, str | None, str | None, str | None, int, str | None, str | None]


def _best(instrument: Instrument, bids: list[list[str]], asks: list[list[str]], sequence: int) -> _Best:
    bid_price, bid_size, bid_native = _side(instrument, validated(bids[:1], "bids"))
    ask_price, ask_size, ask_native = _side(instrument, validated(asks[:1], "asks"))
    return bid_price, bid_size, ask_price, ask_size, sequence, bid_native, ask_native


def _side(instrument: Instrument, levels: list[Level]) -> tuple[str | None, str | None, str | None]:
    if not levels or is_zero(levels[0][1]):
        return None, None, None
    price, size = levels[0]
    return price, base_size(instrument, size, price), size if instrument.inverse else None


def liquidations(origin: Origin, instrument: Instrument, data: bytes, output: Output) -> None:
    """``allLiquidation``: what was liquidated since the last frame. Raises ParseError where the frame is no array."""
    for item in ARRAY_LIQUIDATION.items(data, output):
        try:
            output.messages.append(_liquidation(origin, instrument, item, len(output.messages)))
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
            output.messages.append(_candle(origin, instrument, interval, item, len(output.messages)))
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
