"""Spot: candles. Sizes are base units, prices and sizes arrive as text."""

from shared.exchanges.base import Origin, Output
from shared.exchanges.levels import number
from shared.exchanges.mexc.market import interval, opening
from shared.exchanges.mexc.push_pb2 import PublicSpotKlineV3Api
from shared.exchanges.mexc.wire import SECOND, nanoseconds, optional_number
from shared.instruments import Instrument
from shared.messages import Candle

__all__ = ["candle"]


def candle(
    origin: Origin, instrument: Instrument, body: PublicSpotKlineV3Api, sent: int | None, output: Output
) -> None:
    """``kline``: window times in seconds. The venue doesn't say when a window is closed, so ``closed`` is null."""
    message = Candle(
        *origin.head(instrument, sent),
        output.parts,
        interval(body.interval).name,
        opening(body.windowStart),
        nanoseconds(body.windowEnd, SECOND),
        number(body.openingPrice, "openingPrice"),
        number(body.highestPrice, "highestPrice"),
        number(body.lowestPrice, "lowestPrice"),
        number(body.closingPrice, "closingPrice"),
        optional_number(body.volume, "volume"),
        optional_number(body.amount, "amount"),
    )
    output.add(message)
