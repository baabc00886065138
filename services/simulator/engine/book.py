"""A price-time order book in integer ticks and lots."""

from bisect import bisect_left, insort
from typing import NamedTuple

__all__ = ["Book", "Fill", "Level", "Trade", "Watch"]


class Fill(NamedTuple):
    """One match at one resting order."""

    tick: int
    lots: int
    maker: int


class Trade(NamedTuple):
    """One fill as the market saw it; ``buy`` is the taker's side, ``sequence`` the book's id after it."""

    id: int
    ts_ns: int
    tick: int
    lots: int
    buy: bool
    maker: int
    taker: int
    sequence: int
    direction: str


class Level:
    """Orders at one price, first in first out (a dict keeps insertion order), and their total."""

    __slots__ = ("orders", "total")

    def __init__(self) -> None:
        self.orders: dict[int, int] = {}
        self.total = 0


class Watch:
    """What changed since it was last taken: ticks of both sides, the first id of the span.

    With a list in ``log`` every single change is in it too, as (id, buy, tick, lots).
    """

    __slots__ = ("asks", "bids", "first_id", "log")

    def __init__(self) -> None:
        self.bids: set[int] = set()
        self.asks: set[int] = set()
        self.first_id = 0
        self.log: list[tuple[int, bool, int, int]] | None = None

    def __bool__(self) -> bool:
        return bool(self.bids or self.asks)

    def clear(self) -> None:
        """Forget: the changes were passed on."""
        self.bids.clear()
        self.asks.clear()
        self.first_id = 0


class Book:
    """Both sides. Every change of a level's total gets an id, greater than the one before."""

    def __init__(self, first_id: int) -> None:
        self.update_id = first_id
        self.bids: dict[int, Level] = {}
        self.asks: dict[int, Level] = {}
        self.bid_ticks: list[int] = []
        self.ask_ticks: list[int] = []
        self.resting: dict[int, tuple[bool, int]] = {}
        self.watches: list[Watch] = []

    @property
    def best_bid(self) -> int | None:
        """The highest bid in ticks."""
        return self.bid_ticks[-1] if self.bid_ticks else None

    @property
    def best_ask(self) -> int | None:
        """The lowest ask in ticks."""
        return self.ask_ticks[0] if self.ask_ticks else None

    def size_at(self, tick: int, *, buy: bool) -> int:
        """Lots at a price of one side; 0 where there is no level."""
        level = (self.bids if buy else self.asks).get(tick)
        return level.total if level is not None else 0

    def top_bids(self, depth: int) -> list[tuple[int, int]]:
        """Best bids first, as (tick, lots)."""
        return [(tick, self.bids[tick].total) for tick in self.bid_ticks[: -depth - 1 : -1]]

    def top_asks(self, depth: int) -> list[tuple[int, int]]:
        """Best asks first, as (tick, lots)."""
        return [(tick, self.asks[tick].total) for tick in self.ask_ticks[:depth]]

    def ahead(self, order: int) -> int:
        """Lots that are filled before a resting order: at better prices, and of older orders at its own."""
        buy, own = self.resting[order]
        levels = self.bids if buy else self.asks
        better = sum(level.total for tick, level in levels.items() if (tick > own if buy else tick < own))
        for other, lots in levels[own].orders.items():
            if other == order:
                break
            better += lots
        return better

    def fillable(self, limit: int | None, *, buy: bool) -> int:
        """Lots that an order of this side could fill at once, at ``limit`` or better."""
        levels = self.asks if buy else self.bids
        return sum(
            level.total for tick, level in levels.items() if limit is None or (tick <= limit if buy else tick >= limit)
        )

    def add(self, order: int, tick: int, lots: int, id_step: int, *, buy: bool) -> None:
        """Rest an order that does not cross."""
        levels, ticks = (self.bids, self.bid_ticks) if buy else (self.asks, self.ask_ticks)
        level = levels.get(tick)
        if level is None:
            level = levels[tick] = Level()
            insort(ticks, tick)
        level.orders[order] = lots
        level.total += lots
        self.resting[order] = (buy, tick)
        self._changed(tick, id_step, buy=buy)

    def cancel(self, order: int, id_step: int) -> int:
        """Take a resting order out; its lots."""
        buy, tick = self.resting.pop(order)
        level = (self.bids if buy else self.asks)[tick]
        lots = level.orders.pop(order)
        level.total -= lots
        self._drop_if_empty(tick, level, buy=buy)
        self._changed(tick, id_step, buy=buy)
        return lots

    def match(self, limit: int | None, lots: int, id_step: int, *, buy: bool) -> tuple[list[Fill], int]:
        """Fill against the other side, best price then oldest order first; the fills and what is left over."""
        fills: list[Fill] = []
        levels, ticks = (self.asks, self.ask_ticks) if buy else (self.bids, self.bid_ticks)
        while lots and ticks:
            tick = ticks[0] if buy else ticks[-1]
            if limit is not None and (tick > limit if buy else tick < limit):
                break
            level = levels[tick]
            lots = self._fill_level(level, tick, lots, fills)
            self._drop_if_empty(tick, level, buy=not buy)
            self._changed(tick, id_step, buy=not buy)
        return fills, lots

    def _fill_level(self, level: Level, tick: int, lots: int, fills: list[Fill]) -> int:
        while lots and level.orders:
            maker, held = next(iter(level.orders.items()))
            taken = min(held, lots)
            lots -= taken
            level.total -= taken
            if taken == held:
                del level.orders[maker]
                del self.resting[maker]
            else:
                level.orders[maker] = held - taken
            fills.append(Fill(tick, taken, maker))
        return lots

    def _drop_if_empty(self, tick: int, level: Level, *, buy: bool) -> None:
        if not level.orders:
            levels, ticks = (self.bids, self.bid_ticks) if buy else (self.asks, self.ask_ticks)
            del levels[tick]
            del ticks[bisect_left(ticks, tick)]

    def _changed(self, tick: int, id_step: int, *, buy: bool) -> None:
        self.update_id += id_step
        for watch in self.watches:
            (watch.bids if buy else watch.asks).add(tick)
            if not watch.first_id:
                watch.first_id = self.update_id
            if watch.log is not None:
                watch.log.append((self.update_id, buy, tick, self.size_at(tick, buy=buy)))
