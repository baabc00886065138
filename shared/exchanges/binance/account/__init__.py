"""Binance: the private side of spot and USD-M accounts."""

from shared.exchanges.binance.account.adapter import ACCOUNT_ADAPTER

__all__ = ["ACCOUNT_ADAPTER"]
