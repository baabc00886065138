"""Exchange adapters: one folder each, pure, same file names. Nothing is imported before it is asked for."""

from collections.abc import Mapping
from typing import Final

from shared.exchanges.base import Adapter
from shared.exchanges.registry import Registry, UnknownExchange

__all__ = ["EXCHANGES", "UnknownExchange", "adapter"]

EXCHANGES: Final[Mapping[str, Adapter]] = Registry(
    {
        "binance": "shared.exchanges.binance",
        "bybit": "shared.exchanges.bybit",
        "mexc": "shared.exchanges.mexc",
    },
    "ADAPTER",
)
"""The adapters by name. Names can be listed without importing one."""


def adapter(name: str) -> Adapter:
    """The adapter of an exchange; raises UnknownExchange."""
    return EXCHANGES[name]
