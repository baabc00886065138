"""MEXC: the private side of spot and futures accounts."""

from shared.exchanges.mexc.account.adapter import ACCOUNT_ADAPTER

__all__ = ["ACCOUNT_ADAPTER"]
