"""Liquidations and candles as messages. Source: docs/v5/websocket/public/*.mdx."""

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.bybit.wire import ARRAY_CANDLE, ARRAY_LIQUIDATION, CandleItem, LiquidationItem, nanoseconds
from shared.exchanges.levels import base_size, number
from shared.instruments import Instrument
from shared.messages import Candle, Liquidation, Side

__all__ = ["candles", "liquidations"]

_LIQUIDATION_ORDER: dict[str, Side] = {"Buy": "sell", "Sell": "buy"}
"""The venue names the position: a long (Buy) is liquidated by a sell order."""


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
