"""Spot: protobuf bodies to canonical messages, all but books. Sizes are base units, prices and sizes arrive as text."""

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.levels import number
from shared.exchanges.mexc.market import SIDES, interval, opening
from shared.exchanges.mexc.push_pb2 import (
    PublicAggreBookTickerV3Api,
    PublicAggreDealsV3Api,
    PublicBookTickerV3Api,
    PublicMiniTickerV3Api,
    PublicSpotKlineV3Api,
)
from shared.exchanges.mexc.wire import SECOND, nanoseconds, optional_number, price_or_none
from shared.instruments import Instrument
from shared.messages import Candle, Quote, Ticker, Trade
from shared.numbers import is_zero
from shared.sequencing import DuplicateWindow

__all__ = ["candle", "quote", "ticker", "trades"]


def trades(
    origin: Origin,
    instrument: Instrument,
    body: PublicAggreDealsV3Api,
    window: DuplicateWindow,
    sent: int | None,
    output: Output,
) -> None:
    """``aggre.deals``: each deal a trade; one that can't be read is rejected alone.

    ``tradeId`` is two order ids joined, absent before 2026-07; the whole text identifies the trade.
    """
    for deal in body.deals:
        try:
            price, size = number(deal.price, "price"), number(deal.quantity, "quantity")
            head = origin.head(instrument, nanoseconds(deal.time) or sent)
        except ParseError as error:
            output.reject(error)
            continue
        trade_id = deal.tradeId or None
        if trade_id is not None and window.seen(trade_id):
            output.duplicates += 1
            continue
        side = SIDES.get(deal.tradeType, "unknown")
        output.add(Trade(*head, output.parts, trade_id, price, size, side))


def quote(
    origin: Origin,
    instrument: Instrument,
    body: PublicAggreBookTickerV3Api | PublicBookTickerV3Api,
    sequence: int | None,
    sent: int | None,
    output: Output,
) -> Quote:
    """``aggre.bookTicker``: an empty side has neither price nor quantity. Part of the frame in hand, not appended."""
    bid_price, bid_size = _side(body.bidPrice, body.bidQuantity, "bid")
    ask_price, ask_size = _side(body.askPrice, body.askQuantity, "ask")
    head = origin.head(instrument, sent)
    return Quote(*head, output.parts, bid_price, bid_size, ask_price, ask_size, sequence)


def _side(price: str, size: str, name: str) -> tuple[str | None, str | None]:
    if not price and not size:
        return None, None
    price, size = number(price, f"{name} price"), number(size, f"{name} quantity")
    return (None, None) if is_zero(size) else (price, size)


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
    message = Ticker(
        *origin.head(instrument, sent),
        output.parts,
        number(body.price, "price"),
        high_price=price_or_none(body.high, "high"),
        low_price=price_or_none(body.low, "low"),
        volume=optional_number(body.quantity, "quantity"),
        turnover=optional_number(body.volume, "volume"),
    )
    output.add(message)
