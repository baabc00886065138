"""Amounts of money and of contracts, exact where the venue's arithmetic is."""

from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_UP, Decimal

from services.simulator.instruments import Instrument

__all__ = [
    "PLACES",
    "ZERO",
    "average_price",
    "base_size",
    "fee_of",
    "fixed",
    "margin_of",
    "native_size",
    "plain",
    "price_of",
    "value_of",
]

ZERO = Decimal(0)
PLACES = Decimal("1e-8")
"""What every venue here rounds fees, profits and margins to."""

BASE_PLACES = Decimal("1e-12")
"""What a base size is rounded to that comes from dividing contracts by a price."""


def plain(amount: Decimal) -> str:
    """Without exponent and without zeros behind the point: ``"0.5"``, ``"84000"``, ``"0"``."""
    text = format(amount, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def fixed(amount: Decimal, places: int) -> str:
    """With exactly so many places (more are cut off)."""
    return format(amount.quantize(Decimal(1).scaleb(-places), ROUND_DOWN), "f")


def price_of(instrument: Instrument, tick: int) -> Decimal:
    """A price in ticks as a number."""
    return Decimal(tick * instrument.tick_units).scaleb(-instrument.price_scale)


def native_size(instrument: Instrument, lots: int) -> Decimal:
    """Lots in the venue's own unit: base, or contracts."""
    return Decimal(lots * instrument.lot_units).scaleb(-instrument.size_scale)


def base_size(instrument: Instrument, lots: int, tick: int | None) -> Decimal | None:
    """Lots in the base coin; None where that takes a price and there is none.

    A contract in quote units is worth its size divided by the price, to 12 places, half even.
    """
    native = native_size(instrument, lots) * Decimal(instrument.contract_size)
    if instrument.kind != "inverse":
        return native
    if tick is None:
        return None
    return (native / price_of(instrument, tick)).quantize(BASE_PLACES, ROUND_HALF_EVEN)


def value_of(instrument: Instrument, lots: int, price: Decimal) -> Decimal:
    """What lots are worth at a price: in quote currency, or in the base coin for contracts sized in quote units."""
    native = native_size(instrument, lots) * Decimal(instrument.contract_size)
    if instrument.kind == "inverse":
        return (native / price).quantize(PLACES, ROUND_HALF_EVEN) if price else ZERO
    return native * price


def average_price(instrument: Instrument, lots: int, value: Decimal) -> Decimal:
    """The price at which lots are worth this, to 8 places; 0 where nothing was filled."""
    native = native_size(instrument, lots) * Decimal(instrument.contract_size)
    if not native or not value:
        return ZERO
    ratio = native / value if instrument.kind == "inverse" else value / native
    return ratio.quantize(PLACES, ROUND_HALF_EVEN)


def fee_of(value: Decimal, rate: Decimal) -> Decimal:
    """A fee, to 8 places."""
    return (value * rate).quantize(PLACES, ROUND_HALF_EVEN)


def margin_of(value: Decimal, leverage: int) -> Decimal:
    """What is set aside for so much value, rounded up to 8 places."""
    return (value / leverage).quantize(PLACES, ROUND_UP)
