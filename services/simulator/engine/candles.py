"""Candles and rolling 24 hour statistics, in integers."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from services.simulator.engine.book import Trade

__all__ = ["Candle", "Candles", "Statistics", "window"]

MINUTE_MS = 60_000
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS
MONDAY_MS = 4 * DAY_MS
"""1970-01-05, the first Monday."""

KEPT_MINUTES = 1440


def window(interval_ms: int, now_ms: int) -> tuple[int, int]:
    """First millisecond of the interval that holds ``now_ms`` and of the next one; interval 0 is a calendar month."""
    if interval_ms == 0:
        day = datetime.fromtimestamp(now_ms / 1000, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        year, month = divmod(day.year * 12 + day.month, 12)
        following = day.replace(year=year, month=month + 1)
        return int(day.timestamp()) * 1000, int(following.timestamp()) * 1000
    offset = MONDAY_MS if interval_ms == WEEK_MS else 0
    start = (now_ms - offset) // interval_ms * interval_ms + offset
    return start, start + interval_ms


@dataclass(slots=True)
class Candle:
    """One interval: prices in ticks, volumes in lots, ``turnover`` in ticks times lots."""

    start_ms: int
    end_ms: int
    open: int
    high: int
    low: int
    close: int
    volume: int = 0
    turnover: int = 0
    buy_volume: int = 0
    buy_turnover: int = 0
    trades: int = 0
    first_trade: int = -1
    last_trade: int = -1
    last_ms: int = 0

    def add(self, trade: Trade) -> None:
        """Take one trade in."""
        self.high = max(self.high, trade.tick)
        self.low = min(self.low, trade.tick)
        self.close = trade.tick
        value = trade.tick * trade.lots
        self.volume += trade.lots
        self.turnover += value
        if trade.buy:
            self.buy_volume += trade.lots
            self.buy_turnover += value
        if self.first_trade < 0:
            self.first_trade = trade.id
        self.last_trade = trade.id
        self.trades += 1
        self.last_ms = trade.ts_ns // 1_000_000


def _merged(start_ms: int, end_ms: int, price: int, minutes: Iterable[Candle]) -> Candle:
    whole = Candle(start_ms, end_ms, price, price, price, price)
    for minute in minutes:
        if not start_ms <= minute.start_ms < end_ms:
            continue
        if not whole.volume:
            whole.open = whole.high = whole.low = minute.open
        whole.high = max(whole.high, minute.high)
        whole.low = min(whole.low, minute.low)
        whole.close = minute.close
        whole.volume += minute.volume
        whole.turnover += minute.turnover
        whole.buy_volume += minute.buy_volume
        whole.buy_turnover += minute.buy_turnover
        whole.trades += minute.trades
        whole.first_trade = minute.first_trade if whole.first_trade < 0 else whole.first_trade
        whole.last_trade = max(whole.last_trade, minute.last_trade)
        whole.last_ms = max(whole.last_ms, minute.last_ms)
    return whole


class Candles:
    """The running candle of every interval somebody asked for; a candle without trades repeats the last close."""

    def __init__(self, price: int, now_ms: int) -> None:
        self.minutes: deque[Candle] = deque(maxlen=KEPT_MINUTES)
        self.current: dict[int, Candle] = {}
        self._last = price
        self.next_end_ms = 0
        self._open(MINUTE_MS, now_ms)
        self.roll(now_ms)

    def get(self, interval_ms: int, now_ms: int) -> Candle:
        """The running candle of an interval (0 = month), started from the kept minutes the first time."""
        candle = self.current.get(interval_ms)
        if candle is None:
            start, end = window(interval_ms, now_ms)
            if interval_ms and interval_ms < MINUTE_MS:
                return self._open(interval_ms, now_ms)
            minutes = [*self.minutes, self.current[MINUTE_MS]]
            candle = self.current[interval_ms] = _merged(start, end, self._last, minutes)
            self.next_end_ms = min(self.next_end_ms, end)
        return candle

    def roll(self, now_ms: int) -> list[tuple[int, Candle]]:
        """Close what is over and open what follows; the closed ones as (interval, candle)."""
        if now_ms < self.next_end_ms:
            return []
        closed = [(interval_ms, candle) for interval_ms, candle in self.current.items() if now_ms >= candle.end_ms]
        for interval_ms, candle in closed:
            if interval_ms == MINUTE_MS:
                self.minutes.append(replace(candle))
            self._open(interval_ms, now_ms)
        self.next_end_ms = min(candle.end_ms for candle in self.current.values())
        return closed

    def add(self, trade: Trade) -> None:
        """Take a trade into every running candle."""
        self._last = trade.tick
        for candle in self.current.values():
            candle.add(trade)

    def _open(self, interval_ms: int, now_ms: int) -> Candle:
        start, end = window(interval_ms, now_ms)
        candle = Candle(start, end, self._last, self._last, self._last, self._last)
        self.current[interval_ms] = candle
        self.next_end_ms = min(self.next_end_ms, end)
        return candle


class Statistics:
    """High, low, volume and so on of the last 24 hours, by whole minutes."""

    def __init__(self, price: int) -> None:
        self.open = self.high = self.low = self.last = price
        self.last_lots = 0
        self.volume = self.turnover = self.trades = 0
        self.first_trade = self.last_trade = -1
        self.open_1h = price
        self.direction = "ZeroPlusTick"

    def add(self, trade: Trade) -> None:
        """Take a trade in."""
        self.direction = trade.direction
        self.last, self.last_lots = trade.tick, trade.lots
        self.high = max(self.high, trade.tick)
        self.low = min(self.low, trade.tick)
        self.volume += trade.lots
        self.turnover += trade.tick * trade.lots
        self.trades += 1
        self.last_trade = trade.id
        if self.first_trade < 0:
            self.first_trade = trade.id

    def recount(self, minutes: deque[Candle]) -> None:
        """Once a minute: the sums of the kept minutes, so that what is older than a day drops out."""
        whole = _merged(minutes[0].start_ms, minutes[-1].end_ms, minutes[0].open, minutes)
        self.open, self.high, self.low = whole.open, whole.high, whole.low
        self.volume, self.turnover, self.trades = whole.volume, whole.turnover, whole.trades
        self.first_trade = whole.first_trade
        self.open_1h = minutes[-60].open if len(minutes) >= 60 else minutes[0].open
