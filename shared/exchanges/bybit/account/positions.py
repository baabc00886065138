"""Bybit's positions as messages. Sources: docs/v5/websocket/private/position.mdx, docs/v5/position/position.mdx.

One row is one leg: ``positionIdx`` 0 is one-way mode, 1 and 2 are the long and the short leg of hedge mode. An inverse
size is in USD; what it stands for in the base coin, ``size / entry price``, is the venue's ``positionValue``.
"""

from typing import Final, Literal

from shared.accounts.messages import Leg, Position, Source
from shared.errors import ParseError
from shared.exchanges.bybit.account.orders import LEGS
from shared.exchanges.bybit.account.wire import PositionRow
from shared.exchanges.levels import base_size, number
from shared.exchanges.records import Start, amount, positive
from shared.instruments import Instrument
from shared.numbers import is_zero

__all__ = ["position"]

_EMPTY: Final = frozenset({None, "", "None"})
"""How the venue spells the side of a leg without a position."""

_ONLY: Final[dict[str, Literal["long", "short"]]] = {"long": "long", "short": "short"}


def position(start: Start, instrument: Instrument, row: PositionRow, source: Source) -> Position:
    """One leg of an instrument; raises ParseError."""
    leg = LEGS.get(row.position_idx)
    if leg is None:
        raise ParseError("unknown_event", f"positionIdx was {row.position_idx}")
    native = number(row.size, "size")
    flat = is_zero(native)
    entry = None if flat else positive(row.entry_price or row.avg_price, "entryPrice")
    return Position(
        *start,
        leg=leg,
        side=None if flat else _side(row.side, leg),
        size=native if flat or not instrument.inverse else _base(instrument, native, entry, row),
        source=source,
        entry_price=entry,
        mark_price=positive(row.mark_price, "markPrice"),
        liquidation_price=positive(row.liq_price, "liqPrice"),
        unrealized_pnl=amount(row.unrealised_pnl, "unrealisedPnl"),
        realized_pnl=amount(row.cur_realised_pnl, "curRealisedPnl"),
        leverage=positive(row.leverage, "leverage"),
        size_native=native if instrument.inverse else None,
    )


def _side(side: str | None, leg: Leg) -> Literal["long", "short"]:
    found: Literal["long", "short"] | None = None if side in _EMPTY else _SIDES.get(side or "")
    if found is None or found != _ONLY.get(leg, found):
        raise ParseError("unknown_event", f"the {leg} leg of an open position had side {side!r}"[:200])
    return found


_SIDES: Final[dict[str, Literal["long", "short"]]] = {"Buy": "long", "Sell": "short"}


def _base(instrument: Instrument, native: str, entry: str | None, row: PositionRow) -> str:
    value = positive(row.position_value, "positionValue")
    if value is not None:
        return value
    price = entry or positive(row.mark_price, "markPrice")
    if price is None:
        raise ParseError("missing_field", f"an inverse position of {native} had no price")
    return base_size(instrument, native, price)
