"""Futures positions as messages. Source: "Position" of the contract v1 documentation.

Long and short are always two positions of the venue, in one-way mode too, where at most one of them is open: their legs
are ``long`` and ``short``.
"""

from collections.abc import Mapping
from typing import Final, Literal

from shared.accounts.messages import Position, Source
from shared.errors import ParseError
from shared.exchanges.levels import base_size, number
from shared.exchanges.mexc.account.wire import PositionRow, figure
from shared.exchanges.records import Start, amount, positive
from shared.instruments import Instrument
from shared.numbers import is_zero

__all__ = ["position"]

_LEGS: Final[Mapping[int, Literal["long", "short"]]] = {1: "long", 2: "short"}
_MODES: Final[Mapping[int | None, Literal["cross", "isolated"]]] = {1: "isolated", 2: "cross"}


def position(start: Start, instrument: Instrument, row: PositionRow, source: Source) -> Position:
    """One leg of a contract; raises ParseError."""
    leg = _LEGS.get(row.position_type)
    if leg is None:
        raise ParseError("unknown_event", f"positionType was {row.position_type}")
    native = number(figure(row.hold_vol), "holdVol")
    entry = positive(figure(row.hold_avg_price), "holdAvgPrice")
    flat = is_zero(native)
    if entry is None and instrument.inverse and not flat:
        raise ParseError("missing_field", f"an inverse position of {native} had no price")
    size = native if flat else base_size(instrument, native, entry or "1")
    return Position(
        *start,
        leg=leg,
        side=None if flat else leg,
        size=size,
        source=source,
        entry_price=None if flat else entry,
        liquidation_price=positive(figure(row.liquidate_price), "liquidatePrice"),
        realized_pnl=amount(figure(row.realised), "realised"),
        leverage=positive(figure(row.leverage), "leverage"),
        margin_mode=_MODES.get(row.open_type),
        size_native=native if size != native else None,
    )
