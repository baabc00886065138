"""Bybit's wallets as balances. Source: docs/v5/websocket/private/wallet.mdx.

Coins are absolute, and those that are not listed are unchanged. An empty number is one that the venue does not tell:
``availableToWithdraw`` is always empty since 2025-01-09, which does not mean that nothing is available.
"""

from shared.accounts.messages import Balance, Source
from shared.errors import ParseError
from shared.exchanges.bybit.account.wire import CoinRow
from shared.exchanges.records import Start, amount

__all__ = ["balance"]


def balance(start: Start, row: CoinRow, source: Source) -> Balance:
    """What the account holds of a coin; raises ParseError."""
    if not row.coin:
        raise ParseError("missing_field", "coin was empty")
    return Balance(
        *start,
        asset=row.coin,
        total=amount(row.wallet_balance, "walletBalance"),
        available=amount(row.available_to_withdraw, "availableToWithdraw"),
        locked=amount(row.locked, "locked"),
        source=source,
        equity=amount(row.equity, "equity"),
        borrowed=amount(row.borrow_amount, "borrowAmount"),
        unrealized_pnl=amount(row.unrealised_pnl, "unrealisedPnl"),
    )
