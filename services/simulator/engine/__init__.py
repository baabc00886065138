"""The market itself: pure, integer, seeded, driven by the time it is told."""

from services.simulator.engine.book import Book, Trade, Watch
from services.simulator.engine.flow import Action
from services.simulator.engine.market import Entry, Liquidation, Market

__all__ = ["Action", "Book", "Entry", "Liquidation", "Market", "Trade", "Watch"]
