"""What was sent, for those who want to know whether all of it arrived."""

from collections import deque

__all__ = ["Ledger"]

KEPT_TRADE_IDS = 20_000


class Ledger:
    """Totals per feed of one product, and the newest trade ids per topic."""

    def __init__(self) -> None:
        self.frames: dict[str, int] = {}
        self.bytes = 0
        self.dropped_for_slow_clients = 0
        self.connections_opened = 0
        self.connections_closed: dict[str, int] = {}
        self.trade_ids: dict[str, deque[str]] = {}

    def sent(self, feed: str, connections: int, size: int) -> None:
        """One payload went to so many connections."""
        self.frames[feed] = self.frames.get(feed, 0) + connections
        self.bytes += size * connections

    def traded(self, topic: str, ids: list[str]) -> None:
        """Trades that left on a topic (once, however many listen)."""
        kept = self.trade_ids.get(topic)
        if kept is None:
            kept = self.trade_ids[topic] = deque(maxlen=KEPT_TRADE_IDS)
        kept.extend(ids)

    def closed(self, why: str) -> None:
        """A connection ended. ``why`` is one of a few words."""
        self.connections_closed[why] = self.connections_closed.get(why, 0) + 1
