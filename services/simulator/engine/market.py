"""One instrument's market: pure, driven by the time it is told."""

from collections import deque
from random import Random
from typing import NamedTuple

from services.simulator.engine.book import Book, Fill, Trade, Watch
from services.simulator.engine.candles import MINUTE_MS, Candle, Candles, Statistics
from services.simulator.engine.derivatives import Derivatives
from services.simulator.engine.flow import Action, Flow
from services.simulator.instruments import Instrument

__all__ = ["Entry", "Liquidation", "Market"]

NANOSECONDS = 1_000_000_000
OPENING_ORDERS = 450
"""Limit orders of each side before the market opens."""

MOST_EVENTS_PER_STEP = 200
KEPT_TRADES = 1000
SKIPPED_ID_RANGE = 400
"""Venues with ids that are not consecutive skip up to this many."""


class Liquidation(NamedTuple):
    """A forced order; ``buy`` is the side of the order (False: a long was liquidated)."""

    ts_ns: int
    buy: bool
    lots: int
    bankruptcy_tick: int
    average_tick: int


class Entry(NamedTuple):
    """What became of an order that was entered: its number, the lots that rest, the lots that were dropped."""

    order: int
    resting: int
    dropped: int


class Market:
    """Book, tape, candles, statistics, mark, funding and open interest of one instrument.

    ``now_ns`` is the time of the last event, ``due_ns`` when :meth:`step` has something to do again. Orders of
    somebody in particular are ``tracked`` by their number: the crowd never takes them back, and their trades are in
    ``private_trades`` until someone takes them from there.
    """

    def __init__(self, instrument: Instrument, seed: int, now_ns: int, rate: float) -> None:
        key = f"{seed}/{instrument.exchange}/{instrument.product}/{instrument.native_symbol}"
        self.instrument = instrument
        self.now_ns = now_ns
        self.rate = rate
        self.paused = False
        self.burst_factor = 1.0
        self.burst_until_ns = 0
        self.events = self.skipped = 0
        self.trades: deque[Trade] = deque(maxlen=KEPT_TRADES)
        self.trade_taps: list[list[Trade]] = []
        self.liquidation_taps: list[list[Liquidation]] = []
        self.closed_candles: list[tuple[int, Candle]] = []
        self.submitted_lots = self.filled_lots = self.cancelled_lots = self.dropped_lots = 0
        now_ms = now_ns // 1_000_000
        self.book = Book(now_ms)
        self.next_trade_id = now_ms
        self._next_order = now_ms * 10
        self._rng = Random(key)
        self._id_rng = Random(key + "/ids")
        self.tracked: set[int] = set()
        self.private_trades: list[Trade] = []
        self.flow = Flow(instrument, self._rng, self.tracked)
        self.candles = Candles(instrument.start_tick, now_ms)
        self.statistics = Statistics(instrument.start_tick)
        self.derivatives = Derivatives(instrument, Random(key + "/oi"), now_ms)
        self._open()
        self.next_event_ns = now_ns + self._interval(now_ns)
        self.due_ns = now_ns

    def step(self, now_ns: int) -> int:
        """Bring the market up to ``now_ns``; how many events happened. What is over the bound is skipped, counted."""
        if self.paused:
            self.next_event_ns = max(self.next_event_ns, now_ns)
            self.due_ns = now_ns
            return 0
        done = 0
        while self.next_event_ns <= now_ns:
            if done >= MOST_EVENTS_PER_STEP:
                self._skip(now_ns)
                break
            self.now_ns = max(self.now_ns, self.next_event_ns)
            self._act(self.flow.next(self.book, burst=self.bursting(self.now_ns)))
            self._value()
            self.next_event_ns += self._interval(self.next_event_ns)
            done += 1
        self.events += done
        self._roll(now_ns // 1_000_000)
        return done

    def enter(self, action: Action, now_ns: int, *, rests: bool = True, tracked: bool = True) -> Entry:
        """An order from outside the flow, matched at once, also while the market stands still.

        ``rests`` False drops what is not filled; a market order's rest is always dropped. ``tracked`` False: it is
        the crowd's, whose trades nobody waits for.
        """
        self.now_ns = max(self.now_ns, now_ns)
        order, left = self._match(action, tracked=tracked)
        if left and action.kind == "limit" and rests:
            self.book.add(order, action.tick, left, self._id_step(), buy=action.buy)
            return Entry(order, left, 0)
        self.dropped_lots += left
        self.tracked.discard(order)
        return Entry(order, 0, left)

    def withdraw(self, order: int, now_ns: int) -> int:
        """Take a tracked order out of the book; the lots it had left. KeyError where it does not rest."""
        lots = self.book.cancel(order, self._id_step())
        self.now_ns = max(self.now_ns, now_ns)
        self.cancelled_lots += lots
        self.tracked.discard(order)
        return lots

    def burst(self, factor: float, until_ns: int) -> None:
        """Multiply the rate until then; a cascade runs in one direction, drawn now."""
        self.burst_factor, self.burst_until_ns = factor, until_ns
        self.flow.cascade_buys = self._rng.random() < 0.5
        self.next_event_ns = min(self.next_event_ns, self.now_ns + self._interval(self.now_ns))
        self.due_ns = self.now_ns

    def bursting(self, now_ns: int) -> bool:
        """Whether the rate is multiplied at this time."""
        return now_ns < self.burst_until_ns

    def watch(self) -> Watch:
        """A new record of changed levels; give it back with :meth:`unwatch`."""
        watch = Watch()
        self.book.watches.append(watch)
        return watch

    def unwatch(self, watch: Watch) -> None:
        """Stop recording changes into it."""
        self.book.watches = [one for one in self.book.watches if one is not watch]

    def resting_lots(self) -> int:
        """Everything that rests in the book."""
        book = self.book
        return sum(level.total for levels in (book.bids, book.asks) for level in levels.values())

    def _open(self) -> None:
        for number in range(2 * OPENING_ORDERS):
            self._act(self.flow.seed_action(buy=number % 2 == 0))

    def _interval(self, now_ns: int) -> int:
        rate = self.rate * (self.burst_factor if self.bursting(now_ns) else 1.0)
        return max(1, int(self._rng.expovariate(rate) * NANOSECONDS))

    def _skip(self, now_ns: int) -> None:
        rate = self.rate * (self.burst_factor if self.bursting(now_ns) else 1.0)
        self.skipped += max(1, int((now_ns - self.next_event_ns) / NANOSECONDS * rate))
        self.next_event_ns = now_ns + self._interval(now_ns)

    def _roll(self, now_ms: int) -> None:
        closed = self.candles.roll(now_ms)
        if any(interval == MINUTE_MS for interval, _ in closed):
            self.statistics.recount(self.candles.minutes)
        self.due_ns = min(self.next_event_ns, self.candles.next_end_ms * 1_000_000)

    def _value(self) -> None:
        bid, ask = self.book.best_bid, self.book.best_ask
        if bid is not None and ask is not None:
            self.derivatives.step(self.now_ns // 1_000_000, self.flow.reference, (bid + ask) / 2)

    def _id_step(self) -> int:
        return 1 if self.instrument.consecutive_ids else self._id_rng.randint(1, SKIPPED_ID_RANGE)

    def _act(self, action: Action) -> None:
        if action.kind == "cancel":
            self.cancelled_lots += self.book.cancel(action.order, self._id_step())
            return
        order, left = self._match(action, tracked=False)
        if left and action.kind == "limit":
            self.book.add(order, action.tick, left, self._id_step(), buy=action.buy)
            self.flow.rests(order)
        else:
            self.dropped_lots += left

    def _match(self, action: Action, *, tracked: bool) -> tuple[int, int]:
        """The order's number, and the lots that found nobody."""
        order = self._next_order
        self._next_order += 1
        self.submitted_lots += action.lots
        if tracked:
            self.tracked.add(order)
        limit = action.tick if action.kind == "limit" else None
        fills, left = self.book.match(limit, action.lots, self._id_step(), buy=action.buy)
        for fill in fills:
            self._trade(fill, action, order)
        if fills and action.kind == "liquidation":
            self._liquidated(action, [(fill.tick, fill.lots) for fill in fills])
        return order, left

    def _trade(self, fill: Fill, action: Action, taker: int) -> None:
        tick, lots, maker = fill
        self.filled_lots += lots
        direction, sequence = self._direction(tick), self.book.update_id
        trade = Trade(self.next_trade_id, self.now_ns, tick, lots, action.buy, maker, taker, sequence, direction)
        self.next_trade_id += 1
        self.trades.append(trade)
        self.candles.add(trade)
        self.statistics.add(trade)
        if maker in self.tracked or taker in self.tracked:
            self.private_trades.append(trade)
            if maker not in self.book.resting:
                self.tracked.discard(maker)
        self.derivatives.traded(lots, closing=action.kind == "liquidation")
        for tap in self.trade_taps:
            tap.append(trade)

    def _direction(self, tick: int) -> str:
        last = self.statistics.last
        if tick != last:
            return "PlusTick" if tick > last else "MinusTick"
        return "ZeroPlusTick" if self.statistics.direction in ("PlusTick", "ZeroPlusTick") else "ZeroMinusTick"

    def _liquidated(self, action: Action, fills: list[tuple[int, int]]) -> None:
        lots = sum(size for _, size in fills)
        average = sum(tick * size for tick, size in fills) // lots
        worst = max(fills)[0] if action.buy else min(fills)[0]
        bankruptcy = worst + (2 if action.buy else -2)
        liquidation = Liquidation(self.now_ns, action.buy, lots, max(1, bankruptcy), average)
        for tap in self.liquidation_taps:
            tap.append(liquidation)
