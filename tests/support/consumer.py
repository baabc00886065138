"""An independent consumer: rebuilds books from canonical messages and notes everything that breaks a promise.

It uses nothing of Tidegate but JSON.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from msgspec import json

__all__ = ["CheckingConsumer", "RebuiltBook"]


@dataclass(slots=True)
class RebuiltBook:
    """One instrument's book from snapshot and deltas."""

    valid: bool = False
    sequence: int | None = None
    bids: dict[Decimal, Decimal] = field(default_factory=dict)
    asks: dict[Decimal, Decimal] = field(default_factory=dict)

    def snapshot(self, message: dict[str, Any]) -> None:
        """Replace everything."""
        self.bids = _levels(message["bids"])
        self.asks = _levels(message["asks"])
        self.sequence = message["sequence"]
        self.valid = True

    def delta(self, message: dict[str, Any]) -> bool:
        """Apply; False when the chain is broken (the book is invalid until the next snapshot)."""
        if not self.valid or message["previous_sequence"] != self.sequence:
            self.valid = False
            return False
        for side, levels in ((self.bids, message["bids"]), (self.asks, message["asks"])):
            for price, size in _levels(levels).items():
                if size:
                    side[price] = size
                else:
                    side.pop(price, None)
        self.sequence = message["sequence"]
        return True

    def top(self, depth: int) -> tuple[list[tuple[Decimal, Decimal]], list[tuple[Decimal, Decimal]]]:
        """The best levels of both sides."""
        bids = sorted(self.bids.items(), reverse=True)[:depth]
        asks = sorted(self.asks.items())[:depth]
        return bids, asks


@dataclass(slots=True)
class CheckingConsumer:
    """Feed it AMQP bodies in order."""

    books: dict[tuple[str, str], RebuiltBook] = field(default_factory=dict)
    messages: int = 0
    duplicates: int = 0
    inversions: list[str] = field(default_factory=list)
    broken_chains: int = 0
    crossed: list[str] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    feeds: dict[str, int] = field(default_factory=dict)
    _last: dict[tuple[str, str, str | None], tuple[int, int, int]] = field(default_factory=dict)
    _seen: dict[tuple[str, str, str | None], set[tuple[int, int, int]]] = field(default_factory=dict)

    def take(self, body: bytes) -> None:
        """One AMQP message."""
        for message in json.decode(body):
            self.messages += 1
            self.feeds[message["feed"]] = self.feeds.get(message["feed"], 0) + 1
            if self._is_new(message):
                self._apply(message)

    def _is_new(self, message: dict[str, Any]) -> bool:
        kind = "book" if message["feed"].startswith("book_") else message["feed"]
        key = (message["stream"], kind, message["symbol"])
        at = (message["epoch"], message["frame"], message["part"])
        last, seen = self._last.get(key), self._seen.setdefault(key, set())
        if at in seen:
            self.duplicates += 1
            return False
        seen.add(at)
        if last is not None and at < last:
            self.inversions.append(f"{key}: {at} after {last}")
            return False
        self._last[key] = at
        return True

    def _apply(self, message: dict[str, Any]) -> None:
        feed = message["feed"]
        if feed == "stream_status":
            self.statuses[message["status"]] = self.statuses.get(message["status"], 0) + 1
            return
        if not feed.startswith("book_"):
            return
        key = (message["stream"].rsplit(".", 1)[0], message["native_symbol"])
        book = self.books.setdefault(key, RebuiltBook())
        if feed == "book_snapshot":
            book.snapshot(message)
        elif not book.delta(message):
            self.broken_chains += 1
        bids, asks = book.top(1)
        if book.valid and bids and asks and bids[0][0] >= asks[0][0]:
            self.crossed.append(f"{key} at frame {message['frame']}")


def _levels(levels: list[list[str]]) -> dict[Decimal, Decimal]:
    return {Decimal(price): Decimal(size) for price, size in levels}
