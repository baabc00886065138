"""Balances and positions: which telling counts, and what a change makes of a balance.

A venue's REST endpoints may be behind its stream, and what a reconciliation fetched enters the stream after events that
came meanwhile. So what REST says counts as known some seconds before it was asked for: it replaces what an earlier
connection left, never what this connection has pushed since, and any later push replaces it.
"""

from decimal import Context, Decimal
from typing import Final

from msgspec import json
from msgspec.structs import replace

from shared.accounts.messages import Balance, Position
from shared.accounts.state_records import HeldBalance, HeldPosition, SeenKey
from shared.numbers import is_zero, plain

__all__ = [
    "LAG_NS",
    "added",
    "balance_of",
    "change_key",
    "confirmed_balance",
    "confirmed_position",
    "holds_nothing",
    "is_flat",
    "outdated",
    "position_of",
    "same_balance",
    "same_position",
]

LAG_NS: Final = 10_000_000_000
"""How far a venue's REST endpoints may be behind its stream."""

_EXACT: Final = Context(prec=200)


def balance_of(told: Balance, until_ns: int | None) -> HeldBalance:
    """A balance to be held; ``until_ns`` is when REST was asked for it (the venue's clock), None for a push."""
    if until_ns is None:
        as_of = told.ts_exchange or told.ts_received
        return HeldBalance(told, as_of, as_of)
    return HeldBalance(told, until_ns - LAG_NS, until_ns)


def position_of(told: Position, product: str | None, until_ns: int | None) -> HeldPosition:
    """The same for a position. Its REST row has a time of its own where the venue gives one."""
    as_of = told.ts_exchange or told.ts_received
    if until_ns is not None:
        as_of = min(told.ts_exchange or until_ns, until_ns - LAG_NS)
    return HeldPosition(told, product, as_of)


def outdated(known: HeldBalance | HeldPosition, told: HeldBalance | HeldPosition) -> bool:
    """Whether what is known is newer than a telling."""
    before, after = known.message, told.message
    if after.source == "stream" or (before.source == "stream" and before.epoch == after.epoch):
        return told.as_of < known.as_of
    return after.ts_exchange is not None and before.ts_exchange is not None and after.ts_exchange < before.ts_exchange


def same_balance(known: Balance, told: Balance) -> bool:
    """Whether a telling says nothing new."""
    return _amounts(known) == _amounts(told)


def same_position(known: Position, told: Position) -> bool:
    """Whether a telling says nothing new."""
    return (known.side, known.margin_mode, *_terms(known)) == (told.side, told.margin_mode, *_terms(told))


def confirmed_balance(known: HeldBalance, told: HeldBalance) -> HeldBalance:
    """What is known, said again."""
    message = told.message if told.message.source == "stream" else known.message
    return HeldBalance(message, max(known.as_of, told.as_of), max(known.covers, told.covers))


def confirmed_position(known: HeldPosition, told: HeldPosition) -> HeldPosition:
    """What is known, said again."""
    message = told.message if told.message.source == "stream" else known.message
    return HeldPosition(message, told.product, max(known.as_of, told.as_of))


def holds_nothing(balance: Balance) -> bool:
    """All of it is zero or not told."""
    return not any(_amounts(balance))


def is_flat(position: Position) -> bool:
    """Whether there is no position."""
    return is_zero(position.size)


def change_key(told: Balance) -> SeenKey:
    """What a change of a balance is known by: venues number them not."""
    parts = [told.ts_exchange, told.change, told.reason, told.symbol, told.total, told.available, told.locked]
    return SeenKey(told.asset, json.encode(["change", *parts]).decode())


def added(held: HeldBalance | None, told: Balance) -> HeldBalance:
    """The balance after a change (``told.change``) of which the venue gives nothing but the amount.

    Where the balance is not known the change is told alone; where what is known has it already, with that.
    """
    at = told.ts_exchange or told.ts_received
    if held is None:
        return HeldBalance(told, 0, 0)
    known, change = held.message, Decimal(told.change or 0)
    included = at <= held.covers
    if included:
        change = Decimal(0)
    message = replace(
        told,
        total=_sum(known.total, change),
        available=_sum(known.available, change),
        equity=_sum(known.equity, change),
        locked=known.locked,
        borrowed=known.borrowed,
        unrealized_pnl=known.unrealized_pnl,
    )
    return HeldBalance(message, max(held.as_of, at), held.covers)


def _sum(known: str | None, change: Decimal) -> str | None:
    return None if known is None else plain(_EXACT.add(Decimal(known), change)) if change else known


def _amounts(balance: Balance) -> tuple[Decimal | None, ...]:
    return tuple(
        None if text is None else Decimal(text)
        for text in (
            balance.total,
            balance.available,
            balance.locked,
            balance.equity,
            balance.borrowed,
            balance.unrealized_pnl,
        )
    )


def _terms(position: Position) -> tuple[Decimal | None, ...]:
    return tuple(
        None if text is None else Decimal(text)
        for text in (
            position.size,
            position.entry_price,
            position.mark_price,
            position.liquidation_price,
            position.unrealized_pnl,
            position.realized_pnl,
            position.leverage,
        )
    )
