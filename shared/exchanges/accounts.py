"""Account adapters by name: one folder ``account`` within each venue's. Nothing is imported before it is asked for."""

from collections.abc import Mapping
from typing import Final

from shared.accounts.base import AccountAdapter
from shared.exchanges.registry import Registry

__all__ = ["ACCOUNT_EXCHANGES", "account_adapter"]

ACCOUNT_EXCHANGES: Final[Mapping[str, AccountAdapter]] = Registry(
    {
        "binance": "shared.exchanges.binance.account",
        "bybit": "shared.exchanges.bybit.account",
        "mexc": "shared.exchanges.mexc.account",
    },
    "ACCOUNT_ADAPTER",
)
"""The account adapters by name. Names can be listed without importing one."""


def account_adapter(name: str) -> AccountAdapter:
    """The account adapter of an exchange; raises UnknownExchange."""
    return ACCOUNT_EXCHANGES[name]
