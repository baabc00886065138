"""What a trade does to a position."""

from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from typing import NamedTuple

from services.simulator.accounts.amounts import PLACES, ZERO, native_size, price_of, value_of
from services.simulator.accounts.records import PositionRecord
from services.simulator.instruments import Instrument

__all__ = ["Cleared", "cleared"]


class Cleared(NamedTuple):
    """The position afterwards, what was earned, and how many lots were closed."""

    position: PositionRecord
    realized: Decimal
    closed_lots: int


def cleared(position: PositionRecord, lots: int, tick: int, ts_ns: int, sequence: int) -> Cleared:
    """Lots were bought (negative: sold) at a price.

    The entry price is a mean to 8 places; a close keeps it, a position that turns opens anew at the trade's price.
    """
    instrument, price = position.instrument, price_of(position.instrument, tick)
    closed = min(abs(lots), abs(position.lots)) if lots * position.lots < 0 else 0
    realized = _profit(position, closed, price)
    held = position.lots + lots
    fresh = not position.lots
    if not held:
        entry = ZERO
    elif closed:
        entry = price if held * position.lots < 0 else position.entry
    else:
        entry = _mean(instrument, (abs(position.lots), position.entry), (abs(lots), price))
    after = replace(
        position,
        lots=held,
        entry=entry,
        realized=(ZERO if fresh else position.realized) + realized,
        total_realized=position.total_realized + realized,
        closed_lots=(0 if fresh else position.closed_lots) + closed,
        closed_value=(ZERO if fresh else position.closed_value) + value_of(instrument, closed, price),
        paid_funding=ZERO if fresh else position.paid_funding,
        opened_ns=ts_ns if fresh else position.opened_ns,
        updated_ns=ts_ns,
        sequence=sequence,
    )
    return Cleared(after, realized, closed)


def _profit(position: PositionRecord, closed: int, price: Decimal) -> Decimal:
    if not closed:
        return ZERO
    instrument = position.instrument
    native = native_size(instrument, closed) * Decimal(instrument.contract_size)
    if instrument.kind == "inverse":
        gained = native / position.entry - native / price
    else:
        gained = native * (price - position.entry)
    return (gained if position.lots > 0 else -gained).quantize(PLACES, ROUND_HALF_EVEN)


def _mean(instrument: Instrument, held: tuple[int, Decimal], added: tuple[int, Decimal]) -> Decimal:
    lots = held[0] + added[0]
    if not held[0]:
        return added[1]
    if instrument.kind == "inverse":
        return (lots / (held[0] / held[1] + added[0] / added[1])).quantize(PLACES, ROUND_HALF_EVEN)
    return ((held[0] * held[1] + added[0] * added[1]) / lots).quantize(PLACES, ROUND_HALF_EVEN)
