"""Binance: spot and USD-M futures, public market data."""

from typing import Final

from shared.exchanges.base import Adapter
from shared.exchanges.binance.adapter import BinanceAdapter

__all__ = ["ADAPTER"]

ADAPTER: Final[Adapter] = BinanceAdapter()
