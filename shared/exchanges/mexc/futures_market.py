"""Futures: JSON data to canonical messages, all but books, trades and quotes.

Sizes are contracts: times the contract size, and divided by the price where the contract is inverse. The venue's number
stays beside it.
"""

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.levels import base_size, number
from shared.exchanges.mexc.futures_wire import FundingRate, Kline, Ticker
from shared.exchanges.mexc.market import interval, opening
from shared.exchanges.mexc.wire import SECOND, known_or_none, nanoseconds, optional_number, signed, text
from shared.instruments import Instrument
from shared.messages import Candle, Funding, OpenInterest
from shared.messages import Ticker as TickerMessage
from shared.numbers import PROVED, NumberError, multiply, proves

__all__ = ["candle", "funding", "ticker"]

Triple = tuple[str | None, str | None, str | None]


def ticker(
    origin: Origin, instrument: Instrument, data: Ticker, sent: int | None, part: int
) -> tuple[TickerMessage, OpenInterest | None]:
    """``push.ticker``: complete in itself; best prices without sizes. With it the open interest as the next part."""
    last = str(data.last, "latin-1")
    if last not in PROVED and not proves(last):
        last = number(text(data.last), "lastPrice")
    volume, turnover, _ = _volumes(instrument, text(data.contracts), text(data.amount))
    fair, index = known_or_none(data.fair, "fairPrice"), known_or_none(data.index, "indexPrice")
    held, value, native = _held(instrument, text(data.held), fair or last)
    head = origin.head(instrument, nanoseconds(data.timestamp) or sent)
    message = TickerMessage(
        *head,
        part,
        last,
        known_or_none(data.bid, "bid1"),
        None,
        known_or_none(data.ask, "ask1"),
        None,
        None,
        known_or_none(data.high, "high24Price"),
        known_or_none(data.low, "lower24Price"),
        volume,
        turnover,
        fair,
        index,
        _rate(data),
        None,
        held,
    )
    return message, None if held is None else OpenInterest(*head, part + 1, held, value, native)


def _rate(data: Ticker) -> str | None:
    rate = text(data.funding)
    if not rate or rate in PROVED or proves(rate):
        return rate or None
    return signed(rate, "fundingRate")


def _held(instrument: Instrument, holding: str, price: str) -> Triple:
    """Open interest in base units, its value in quote units where the contract gives it, contracts."""
    contracts = optional_number(holding, "holdVol")
    if contracts is None:
        return None, None, None
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
