"""What the crowd does next: a seeded mix of limit, market and cancel around a random walk."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from random import Random

from services.simulator.engine.book import Book
from services.simulator.instruments import Instrument

__all__ = ["Action", "Flow"]

TARGET_ORDERS = 900
MOST_ORDERS = 1200
THIN_LEVELS = 15
SIGMA = 0.00001
"""Relative move of the reference per event, a few basis points a minute at 20 events a second."""

BURST_SIGMA = 2.0
BURST_DRIFT = 0.1
"""Share of SIGMA that every event of a burst adds in the cascade's direction: some percent in ten seconds."""

REVERSION = 0.00001
"""Pull back to the opening price per event, so that a market that runs for weeks stays a plausible one."""

SPREAD_SCALE = 0.0004
LEAST_DISTANCE = 80.0
LIQUIDATION_CALM = 0.004
LIQUIDATION_BURST = 0.03


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do at the book: ``kind`` is limit, market, cancel or liquidation."""

    kind: str
    buy: bool = False
    tick: int = 0
    lots: int = 0
    order: int = 0


class Flow:
    """Draws actions; keeps the ids of resting orders so that a cancel can pick one evenly.

    Orders whose number is in ``foreign`` are not the crowd's to take back.
    """

    def __init__(self, instrument: Instrument, rng: Random, foreign: AbstractSet[int] = frozenset()) -> None:
        self.rng = rng
        self.reference = float(instrument.start_tick)
        self.liquidations = not instrument.is_spot
        self.cascade_buys = False
        self._typical = instrument.typical_lots
        self._start = self.reference
        self._distance = max(LEAST_DISTANCE, instrument.start_tick * SPREAD_SCALE)
        self._ids: list[int] = []
        self._foreign = foreign

    def rests(self, order: int) -> None:
        """An order came to rest."""
        self._ids.append(order)

    def seed_action(self, *, buy: bool) -> Action:
        """A limit order of the opening book, never crossing the reference."""
        return Action("limit", buy, self._away(buy=buy), self._lots())

    def next(self, book: Book, *, burst: bool) -> Action:
        """The next action, given the book as it is."""
        self._walk(burst=burst)
        draw = self.rng.random()
        if self.liquidations and self.rng.random() < (LIQUIDATION_BURST if burst else LIQUIDATION_CALM):
            liquidation = self._liquidation(book, burst=burst)
            if liquidation is not None:
                return liquidation
        lean = self._lean(book)
        if draw < 0.14 + 0.1 * abs(lean):
            market = self._market(book, lean)
            if market is not None:
                return market
        crowded = len(book.resting) / TARGET_ORDERS
        if draw < 0.24 + 0.36 * crowded or len(book.resting) > MOST_ORDERS:
            order = self._exposed(book, lean) or self._pick(book)
            if order:
                return Action("cancel", order=order)
        buy = self.rng.random() < 0.5
        return Action("limit", buy, self._away(buy=buy), self._lots())

    def _walk(self, *, burst: bool) -> None:
        drift = REVERSION * (self._start / self.reference - 1.0)
        if burst:
            drift += SIGMA * (BURST_DRIFT if self.cascade_buys else -BURST_DRIFT)
        sigma = SIGMA * (BURST_SIGMA if burst else 1.0)
        self.reference = max(100.0, self.reference * (1.0 + self.rng.gauss(drift, sigma)))

    def _away(self, *, buy: bool) -> int:
        draw = self.rng.expovariate(1.0)
        distance = 1 + int(draw * draw * 0.5 * self._distance)
        return max(1, int(self.reference) - distance if buy else int(self.reference) + distance)

    def _lots(self) -> int:
        return 1 + int(self.rng.expovariate(1.0) * self._typical)

    def _lean(self, book: Book) -> float:
        """Where the reference lies from the middle of the book, in fair distances, from -1 to 1."""
        bid, ask = book.best_bid, book.best_ask
        if bid is None or ask is None:
            return 0.0
        fair = max(3.0, self.reference * SIGMA * 4)
        return max(-1.0, min(1.0, (self.reference - (bid + ask) / 2) / fair))

    def _exposed(self, book: Book, lean: float) -> int:
        """The oldest order at the touch that the reference has passed: whoever quotes there takes it back."""
        if self.rng.random() > abs(lean):
            return 0
        buy = lean < 0
        tick = book.best_bid if buy else book.best_ask
        if tick is None or len(book.bid_ticks if buy else book.ask_ticks) < THIN_LEVELS:
            return 0
        oldest = next(iter((book.bids if buy else book.asks)[tick].orders))
        return 0 if oldest in self._foreign else oldest

    def _market(self, book: Book, lean: float) -> Action | None:
        buy = self.rng.random() < 0.5 + 0.45 * lean
        if len(book.ask_ticks if buy else book.bid_ticks) < THIN_LEVELS:
            return None
        return Action("market", buy, lots=self._lots())

    def _liquidation(self, book: Book, *, burst: bool) -> Action | None:
        buy = self.cascade_buys if burst else self.rng.random() < 0.5
        if len(book.ask_ticks if buy else book.bid_ticks) < THIN_LEVELS:
            return None
        return Action("liquidation", buy, lots=self._lots() * 3)

    def _pick(self, book: Book) -> int:
        """Any resting order, 0 where there is none or the side is thin; ids of filled ones are swept out on the way."""
        while self._ids:
            at = self.rng.randrange(len(self._ids))
            order = self._ids[at]
            self._ids[at] = self._ids[-1]
            self._ids.pop()
            held = book.resting.get(order)
            if held is None:
                continue
            if len(book.bid_ticks if held[0] else book.ask_ticks) < THIN_LEVELS:
                self._ids.append(order)
                return 0
            return order
        return 0
