"""Binance's assets as balances.

Spot's ``outboundAccountPosition`` and USD-M's ``ACCOUNT_UPDATE`` are absolute for the assets that they list and silent
about all others; spot's ``balanceUpdate`` is a difference. Sources: ``user-data-stream.md`` of binance-spot-api-docs;
the USD-M pages "Event Balance and Position Update" and "Futures Account Balance V3".
"""

from collections.abc import Mapping
from typing import Final

from shared.accounts.messages import Balance, Source
from shared.exchanges.binance.account.rows import BalanceRow
from shared.exchanges.binance.account.wire import AssetRow, BalanceChange
from shared.exchanges.levels import number
from shared.exchanges.records import Start, amount
from shared.numbers import add, is_zero

__all__ = ["changed", "held", "listed", "updated"]

_REASONS: Final[Mapping[str, str]] = {
    "ORDER": "trade",
    "FUNDING_FEE": "funding",
    "DEPOSIT": "transfer",
    "WITHDRAW": "transfer",
    "WITHDRAW_REJECT": "transfer",
    "ADMIN_DEPOSIT": "transfer",
    "ADMIN_WITHDRAW": "transfer",
    "MARGIN_TRANSFER": "transfer",
    "ASSET_TRANSFER": "transfer",
    "COIN_SWAP_DEPOSIT": "transfer",
    "COIN_SWAP_WITHDRAW": "transfer",
    "AUTO_EXCHANGE": "exchange",
    "ADJUSTMENT": "adjustment",
    "INSURANCE_CLEAR": "insurance",
    "MARGIN_TYPE_CHANGE": "margin_type",
}


def held(start: Start, asset: str, free: str, locked: str, source: Source) -> Balance:
    """What spot has of an asset; raises ParseError."""
    available, frozen = number(free, "free"), number(locked, "locked")
    total = add(available, frozen)
    return Balance(*start, asset=asset, total=total, available=available, locked=frozen, source=source)


def changed(start: Start, row: BalanceChange, *, locked: bool) -> Balance:
    """A difference of spot: a deposit, a withdrawal, a transfer; raises ParseError.

    ``locked``: it is one of what an external system has locked, of which the venue does not tell what it makes of the
    balance. That something happened is told, without a number.
    """
    change = amount(row.change, "d")
    if locked or change is None or is_zero(change.removeprefix("-")):
        change = None
    reason = "external_lock" if locked else "transfer"
    return Balance(
        *start, asset=row.asset, total=None, available=None, locked=None, source="stream", change=change, reason=reason
    )


def updated(start: Start, row: AssetRow, reason: str) -> Balance:
    """What USD-M has of an asset now; raises ParseError."""
    change = amount(row.change, "bc")
    return Balance(
        *start,
        asset=row.asset,
        total=amount(row.wallet, "wb"),
        available=None,
        locked=None,
        source="stream",
        change=None if change is None or is_zero(change.removeprefix("-")) else change,
        reason=_REASONS.get(reason, "unknown"),
    )


def listed(start: Start, row: BalanceRow) -> Balance:
    """An asset of USD-M's list; raises ParseError."""
    return Balance(
        *start,
        asset=row.asset,
        total=amount(row.balance, "balance"),
        available=amount(row.available_balance, "availableBalance"),
        locked=None,
        source="rest",
        unrealized_pnl=amount(row.cross_un_pnl, "crossUnPnl"),
    )
