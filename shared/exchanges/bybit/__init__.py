"""Bybit v5: public spot, linear and inverse market data."""

from shared.exchanges.bybit.adapter import ADAPTER

__all__ = ["ADAPTER"]
