"""Order books rebuilt the documented way, strict about every rule; they fail where a client would resync."""

from decimal import Decimal
from typing import Any

Side = dict[str, str]


def apply(side: Side, levels: list[list[Any]]) -> None:
    for price, size, *_ in levels:
        if Decimal(str(size)) == 0:
            side.pop(str(price), None)
        else:
            side[str(price)] = str(size)


class BybitBook:
    def __init__(self) -> None:
        self.bids: Side = {}
        self.asks: Side = {}
        self.update = 0
        self.deltas = 0

    def take(self, frame: dict[str, Any]) -> None:
        data = frame["data"]
        if frame["type"] == "snapshot":
            self.bids, self.asks = {}, {}
        else:
            assert data["u"] == self.update + 1
            self.deltas += 1
        self.update = data["u"]
        apply(self.bids, data["b"])
        apply(self.asks, data["a"])


class SeededBook:
    """A REST seed and deltas as (first, last and previous last id, bids, asks); without a previous, ids continue."""

    def __init__(self, last_id: int, bids: list[list[Any]], asks: list[list[Any]]) -> None:
        self.bids: Side = {}
        self.asks: Side = {}
        self.last_id = last_id
        self.deltas = 0
        apply(self.bids, bids)
        apply(self.asks, asks)

    def take(self, first: int, last: int, previous: int | None, bids: list[list[Any]], asks: list[list[Any]]) -> None:
        if last <= self.last_id:
            return
        if previous is None:
            contiguous = first == self.last_id + 1
            bridge = first <= self.last_id + 1
        else:
            contiguous = bridge = previous <= self.last_id
        assert bridge if not self.deltas else contiguous
        self.last_id = last
        self.deltas += 1
        apply(self.bids, bids)
        apply(self.asks, asks)


def ordered(bids: Side, asks: Side, depth: int) -> tuple[list[tuple[Decimal, Decimal]], list[tuple[Decimal, Decimal]]]:
    """Best first, as numbers."""
    numbers = [
        sorted(((Decimal(p), Decimal(s)) for p, s in side.items()), key=lambda one: one[0]) for side in (bids, asks)
    ]
    return numbers[0][::-1][:depth], numbers[1][:depth]


def truth(book: dict[str, Any]) -> tuple[list[tuple[Decimal, Decimal]], list[tuple[Decimal, Decimal]]]:
    """The control API's book in the same form."""
    bids, asks = ([(Decimal(price), Decimal(size)) for price, size in book[side]] for side in ("bids", "asks"))
    return bids, asks
