"""Futures: JSON data to canonical messages, all but books.

Sizes are contracts: times the contract size, and divided by the price where the contract is inverse. The venue's number
stays beside it.
"""

from collections.abc import Iterable
from decimal import Decimal

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.levels import base_size, number
from shared.exchanges.mexc.book import futures_levels
from shared.exchanges.mexc.futures_wire import Deal, Depth, FundingRate, Kline, Ticker
from shared.exchanges.mexc.market import SIDES, interval, opening
from shared.exchanges.mexc.wire import SECOND, nanoseconds, optional_number, price_or_none, signed, text
from shared.instruments import Instrument
from shared.messages import Candle, Funding, Level, OpenInterest, Quote, Trade
from shared.messages import Ticker as TickerMessage
from shared.numbers import NumberError, is_zero, multiply
from shared.sequencing import DuplicateWindow

__all__ = ["candle", "funding", "open_interest", "quote", "ticker", "trades"]

Triple = tuple[str | None, str | None, str | None]


def trades(
    origin: Origin,
    instrument: Instrument,
    deals: Iterable[Deal],
    window: DuplicateWindow,
    sent: int | None,
    output: Output,
) -> None:
    """``push.deal``: one that can't be read is rejected alone; deals without an id (before 2025) are all new."""
    for deal in deals:
        try:
            price, contracts = number(text(deal.price), "p"), number(text(deal.contracts), "v")
            size, native = _sizes(instrument, contracts, price)
            head = origin.head(instrument, nanoseconds(deal.time) or sent)
        except ParseError as error:
            output.reject(error)
            continue
        trade_id = None if deal.trade_id is None or deal.trade_id == "" else str(deal.trade_id)
        if trade_id is not None and window.seen(trade_id):
            output.duplicates += 1
            continue
        side = SIDES.get(deal.taker, "unknown")
        output.add(Trade(*head, output.parts, trade_id, price, size, side, native))


def quote(origin: Origin, instrument: Instrument, top: Depth, sent: int | None, output: Output) -> Quote:
    """``push.depth.full``: its best levels. Part of the frame in hand, not appended."""
    levels = futures_levels(instrument, top)
    bid, bid_size, bid_native = _best(levels.bids, levels.bid_sizes_native, highest=True)
    ask, ask_size, ask_native = _best(levels.asks, levels.ask_sizes_native, highest=False)
    head = origin.head(instrument, sent)
    return Quote(*head, output.parts, bid, bid_size, ask, ask_size, top.version, bid_native, ask_native)


def _best(levels: list[Level], native: list[str] | None, *, highest: bool) -> Triple:
    """Price, size in base units, contracts (None where these are the same)."""
    sizes = [size for _, size in levels] if native is None else native
    there = [(Decimal(levels[index][0]), index) for index, size in enumerate(sizes) if not is_zero(size)]
    if not there:
        return None, None, None
    index = (max(there) if highest else min(there))[1]
    price, size = levels[index]
    return price, size, None if native is None else native[index]


def ticker(origin: Origin, instrument: Instrument, data: Ticker, sent: int | None, output: Output) -> None:
    """``push.ticker``: complete in itself; best prices without sizes."""
    volume, turnover, _ = _volumes(instrument, text(data.contracts), text(data.amount))
    message = TickerMessage(
        *origin.head(instrument, nanoseconds(data.timestamp) or sent),
        output.parts,
        number(text(data.last), "lastPrice"),
        bid_price=price_or_none(text(data.bid), "bid1"),
        ask_price=price_or_none(text(data.ask), "ask1"),
        high_price=price_or_none(text(data.high), "high24Price"),
        low_price=price_or_none(text(data.low), "lower24Price"),
        volume=volume,
        turnover=turnover,
        mark_price=price_or_none(text(data.fair), "fairPrice"),
        index_price=price_or_none(text(data.index), "indexPrice"),
        funding_rate=_rate(data),
        open_interest=_held(instrument, data)[0],
    )
    output.add(message)


def _rate(data: Ticker) -> str | None:
    rate = text(data.funding)
    return signed(rate, "fundingRate") if rate else None


def open_interest(
    origin: Origin, instrument: Instrument, data: Ticker, sent: int | None, output: Output
) -> OpenInterest | None:
    """``holdVol`` of the ticker; None where it has none. Part of the frame in hand, not appended."""
    held, value, native = _held(instrument, data)
    if held is None:
        return None
    head = origin.head(instrument, nanoseconds(data.timestamp) or sent)
    return OpenInterest(*head, output.parts, held, value, native)


def _held(instrument: Instrument, data: Ticker) -> Triple:
    """Open interest in base units, its value in quote units where the contract gives it, contracts."""
    contracts = optional_number(text(data.held), "holdVol")
    if contracts is None:
        return None, None, None
    price = price_or_none(text(data.fair), "fairPrice") or number(text(data.last), "lastPrice")
    size, native = _sizes(instrument, contracts, price)
    value = _counted(instrument, contracts, "holdVol") if instrument.inverse else None
    return size, value, native


def funding(origin: Origin, instrument: Instrument, data: FundingRate, sent: int | None, output: Output) -> Funding:
    """``push.funding.rate``. Part of the frame in hand, not appended."""
    head = origin.head(instrument, sent)
    return Funding(*head, output.parts, signed(text(data.rate), "rate"), nanoseconds(data.next_settle))


def candle(origin: Origin, instrument: Instrument, data: Kline, sent: int | None, output: Output) -> None:
    """``push.kline``: a start in seconds, no end, no closed flag; intervals of fixed length give the end."""
    length = interval(data.interval)
    ts_open = opening(data.start)
    volume, turnover, native = _volumes(instrument, text(data.contracts), text(data.amount))
    message = Candle(
        *origin.head(instrument, sent),
        output.parts,
        length.name,
        ts_open,
        None if length.seconds is None else ts_open + length.seconds * SECOND,
        number(text(data.open), "o"),
        number(text(data.high), "h"),
        number(text(data.low), "l"),
        number(text(data.close), "c"),
        volume,
        turnover,
        volume_native=native,
    )
    output.add(message)


def _volumes(instrument: Instrument, volume: str, turnover: str) -> Triple:
    """Base volume, quote turnover, contracts, of a volume in contracts and an amount.

    The amount is in the quote coin; of an inverse contract in the base coin, the venue's own figure.
    """
    contracts, amount = optional_number(volume, "volume"), optional_number(turnover, "amount")
    counted = None if contracts is None else _counted(instrument, contracts, "volume")
    if instrument.inverse:
        return amount, counted, contracts
    return counted, amount, None if instrument.contract_size == "1" else contracts


def _counted(instrument: Instrument, contracts: str, field: str) -> str:
    """What so many contracts stand for: base coin, or quote coin where inverse."""
    try:
        return multiply(contracts, instrument.multiplier)
    except NumberError as error:
        raise ParseError("bad_number", f"{field}: {error}") from error


def _sizes(instrument: Instrument, contracts: str, price: str) -> tuple[str, str | None]:
    """A size in base units, and the contracts where they differ."""
    if instrument.contract_size == "1" and not instrument.inverse:
        return contracts, None
    return base_size(instrument, contracts, price), contracts
