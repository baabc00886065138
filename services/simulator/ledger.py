"""What was sent, for those who want to know whether all of it arrived."""

from collections import deque
from itertools import islice

__all__ = ["KEPT_TRADE_IDS", "Ledger", "TradeLog"]

KEPT_TRADE_IDS = 20_000


class TradeLog:
    """The trades that left on one topic: how many so far, and the newest ids, in order."""

    def __init__(self, symbol: str) -> None:
        self.symbol = symbol
        self.sent = 0
        self._ids: deque[str] = deque(maxlen=KEPT_TRADE_IDS)

    def extend(self, ids: list[str]) -> None:
        """These left, in this order."""
        self.sent += len(ids)
        self._ids.extend(ids)

    def newest(self, count: int) -> list[str]:
        """The newest ids of those that are kept, at most so many."""
        return [*islice(self._ids, max(0, len(self._ids) - count), None)]


class Ledger:
    """Totals per feed of one product, and the trades of every topic."""

    def __init__(self) -> None:
        self.frames: dict[str, int] = {}
        self.bytes = 0
        self.dropped_for_slow_clients = 0
        self.connections_opened = 0
        self.connections_closed: dict[str, int] = {}
        self.trades: dict[str, TradeLog] = {}

    def sent(self, feed: str, connections: int, size: int) -> None:
        """One payload went to so many connections."""
        self.frames[feed] = self.frames.get(feed, 0) + connections
        self.bytes += size * connections

    def traded(self, topic: str, symbol: str, ids: list[str]) -> None:
        """Trades that left on a topic of an instrument (once, however many listen)."""
        log = self.trades.get(topic)
        if log is None:
            log = self.trades[topic] = TradeLog(symbol)
        log.extend(ids)

    def closed(self, why: str) -> None:
        """A connection ended. ``why`` is one of a few words."""
        self.connections_closed[why] = self.connections_closed.get(why, 0) + 1
