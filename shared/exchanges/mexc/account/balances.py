"""MEXC's assets as balances.

Every push is absolute for its one asset and silent about all others. Sources: "Spot Account Update" of the spot v3
documentation; "Asset" of the contract v1 documentation.
"""

from collections.abc import Mapping
from typing import Final

from shared.accounts.messages import Balance, Source
from shared.errors import ParseError
from shared.exchanges.levels import number
from shared.exchanges.mexc.account.wire import AssetRow, SpotAsset, figure
from shared.exchanges.mexc.push_pb2 import PrivateAccountV3Api
from shared.exchanges.records import Start, amount
from shared.numbers import add, is_zero

__all__ = ["held", "listed", "pushed"]

_REASONS: Final[Mapping[str, str]] = {
    "ENTRUST": "trade",
    "ENTRUST_PLACE": "order",
    "ENTRUST_CANCEL": "order",
    "ENTRUST_UNFROZEN": "order",
    "TRADE_FEE": "fee",
    "DEPOSIT": "transfer",
    "WITHDRAW": "transfer",
    "WITHDRAW_FEE": "transfer",
    "CONTRACT_TRANSFER": "transfer",
    "INTERNAL_TRANSFER": "transfer",
    "MARGIN_TRANSFER": "transfer",
}

_TRADING: Final = frozenset({"trade", "order", "fee"})
"""What such a balance changed by, the fills tell."""


def pushed(start: Start, row: PrivateAccountV3Api) -> Balance:
    """What spot has of an asset now; raises ParseError."""
    available, locked = number(row.balanceAmount, "balanceAmount"), number(row.frozenAmount, "frozenAmount")
    reason = _REASONS.get(row.type, "unknown")
    changes = [amount(text, "change") for text in (row.balanceAmountChange, row.frozenAmountChange)]
    change = add(changes[0] or "0", changes[1] or "0")
    return Balance(
        *start,
        asset=_asset(row.vcoinName),
        total=add(available, locked),
        available=available,
        locked=locked,
        source="stream",
        change=None if reason in _TRADING or is_zero(change.removeprefix("-")) else change,
        reason=reason,
    )


def listed(start: Start, row: SpotAsset) -> Balance:
    """An asset of spot's ``account``; raises ParseError."""
    available, locked = number(figure(row.free), "free"), number(figure(row.locked), "locked")
    total = add(available, locked)
    return Balance(*start, asset=_asset(row.asset), total=total, available=available, locked=locked, source="rest")


def held(start: Start, row: AssetRow, source: Source) -> Balance:
    """A currency of the futures wallet; raises ParseError.

    The total is the venue's cash balance: where it leaves that out, what is available has profits in it that are not
    realized, so that no sum of the others is one.
    """
    return Balance(
        *start,
        asset=_asset(row.currency),
        total=amount(figure(row.cash_balance), "cashBalance"),
        available=amount(figure(row.available_balance), "availableBalance"),
        locked=None if not figure(row.frozen_balance) else number(figure(row.frozen_balance), "frozenBalance"),
        source=source,
        equity=amount(figure(row.equity), "equity"),
        unrealized_pnl=amount(figure(row.unrealized), "unrealized"),
    )


def _asset(name: str) -> str:
    if not name:
        raise ParseError("missing_field", "a balance had no asset")
    return name
