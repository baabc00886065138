"""The market itself: pure, integer, seeded, driven by the time it is told."""

from services.simulator.engine.book import Book, Trade, Watch
from services.simulator.engine.market import Liquidation, Market

__all__ = ["Book", "Liquidation", "Market", "Trade", "Watch"]
