"""Which connection of which account a stream is: by its name, so that a normalizer needs no account in its settings."""

from shared.accounts.base import AccountPlan
from shared.accounts.state_stream import account_of
from shared.control import StreamInfo
from shared.exchanges.accounts import ACCOUNT_EXCHANGES, account_adapter

__all__ = ["plan_of"]


def plan_of(info: StreamInfo) -> AccountPlan | None:
    """The connection that a stream is; it may carry more products than the account uses. None where there is none."""
    account = account_of(info.stream)
    if account is None or info.exchange not in ACCOUNT_EXCHANGES:
        return None
    adapter = account_adapter(info.exchange)
    for plan in adapter.plan(account, tuple(adapter.products), (), adapter.products):
        if plan.name == info.stream:
            return plan
    return None
