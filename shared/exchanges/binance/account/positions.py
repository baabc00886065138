"""USD-M positions as messages: one row is one leg, and three legs of an instrument are three positions.

Sources: the USD-M pages "Event Balance and Position Update" and "Position Information V3". Quantities are in base
units; the short leg's is negative.
"""

from typing import Final, Literal

from shared.accounts.messages import Leg, Position
from shared.exchanges.binance.account.orders import LEGS
from shared.exchanges.binance.account.rows import RiskRow
from shared.exchanges.binance.account.wire import PositionRow
from shared.exchanges.binance.values import signed
from shared.exchanges.records import Start, amount, known, positive
from shared.numbers import is_zero

__all__ = ["listed", "updated"]

_MODES: Final[dict[str, Literal["cross", "isolated"]]] = {"cross": "cross", "isolated": "isolated"}


def updated(start: Start, row: PositionRow) -> Position:
    """A leg of an ``ACCOUNT_UPDATE``; raises ParseError."""
    leg = known(LEGS, row.position_side, "ps")
    size, side = _held(row.amount, leg, "pa")
    return Position(
        *start,
        leg=leg,
        side=side,
        size=size,
        source="stream",
        entry_price=None if side is None else positive(row.entry_price, "ep"),
        unrealized_pnl=amount(row.unrealized, "up"),
        realized_pnl=amount(row.realized, "cr"),
        margin_mode=_MODES.get(row.margin_type or ""),
    )


def listed(start: Start, row: RiskRow) -> Position:
    """A leg of the list; raises ParseError. The margin mode shows only in margin that is isolated."""
    leg = known(LEGS, row.position_side, "positionSide")
    size, side = _held(row.position_amt, leg, "positionAmt")
    margin = positive(row.isolated_margin, "isolatedMargin")
    return Position(
        *start,
        leg=leg,
        side=side,
        size=size,
        source="rest",
        entry_price=None if side is None else positive(row.entry_price, "entryPrice"),
        mark_price=positive(row.mark_price, "markPrice"),
        liquidation_price=positive(row.liquidation_price, "liquidationPrice"),
        unrealized_pnl=amount(row.un_realized_profit, "unRealizedProfit"),
        margin_mode=None if margin is None else "isolated",
    )


def _held(text: str, leg: Leg, field: str) -> tuple[str, Literal["long", "short"] | None]:
    number = signed(text, field)
    size = number.removeprefix("-")
    if is_zero(size):
        return size, None
    if leg != "net":
        return size, leg
    return size, "short" if number.startswith("-") else "long"
