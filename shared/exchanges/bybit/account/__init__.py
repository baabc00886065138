"""Bybit v5: the private side of a unified account."""

from shared.exchanges.bybit.account.adapter import ACCOUNT_ADAPTER

__all__ = ["ACCOUNT_ADAPTER"]
