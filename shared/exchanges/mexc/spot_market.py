"""Spot: candles and tickers. Sizes are base units, prices and sizes arrive as text."""

from shared.exchanges.base import Origin, Output
from shared.exchanges.levels import number
from shared.exchanges.mexc.market import interval, opening
from shared.exchanges.mexc.push_pb2 import PublicMiniTickerV3Api, PublicSpotKlineV3Api
from shared.exchanges.mexc.wire import SECOND, nanoseconds, optional_number, price_or_none
from shared.instruments import Instrument
from shared.messages import Candle, Ticker
from shared.numbers import PROVED, proves

__all__ = ["candle", "ticker"]


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


def ticker(
    origin: Origin, instrument: Instrument, body: PublicMiniTickerV3Api, sent: int | None, output: Output
) -> None:
    """``miniTicker``: ``quantity`` is base volume, ``volume`` quote turnover."""
    price, high, low = body.price, body.high, body.low
    message = Ticker(
        *origin.head(instrument, sent),
        output.parts,
        price if price in PROVED or proves(price) else number(price, "price"),
        None,
        None,
        None,
        None,
        None,
        high if high in PROVED or proves(high) else price_or_none(high, "high"),
        low if low in PROVED or proves(low) else price_or_none(low, "low"),
        optional_number(body.quantity, "quantity"),
        optional_number(body.volume, "volume"),
    )
    output.add(message)
