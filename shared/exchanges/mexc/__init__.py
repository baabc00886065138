"""MEXC: spot over protobuf, futures over JSON. ``README.md`` says what is covered and what the venue documents."""

from typing import Final

from shared.exchanges.base import Adapter
from shared.exchanges.mexc.adapter import Mexc

__all__ = ["ADAPTER"]

ADAPTER: Final[Adapter] = Mexc()
