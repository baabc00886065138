"""A consumer of everything canonical: what the live table shows, and how late messages come."""

import random
import time
from dataclasses import dataclass, field

from msgspec import DecodeError

from shared.bus.base import Bus
from shared.messages import AnyMessage, BookDelta, BookSnapshot, Quote, StreamStatus, Ticker, Trade, decode_messages
from shared.topology import MARKET

__all__ = ["Latencies", "MarketWatch", "Row"]


class Latencies:
    """A uniform sample of at most ``size`` latencies (ns), whatever their number (reservoir sampling)."""

    def __init__(self, size: int = 20_000) -> None:
        self.size = size
        self.sample: list[int] = []
        self.count = 0
        self._random = random.Random(0)

    def add(self, value: int) -> None:
        """Take one latency."""
        self.count += 1
        if len(self.sample) < self.size:
            self.sample.append(value)
            return
        place = self._random.randrange(self.count)
        if place < self.size:
            self.sample[place] = value

    def percentile(self, fraction: float) -> float | None:
        """In microseconds; None without any."""
        if not self.sample:
            return None
        ordered = sorted(self.sample)
        return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))] / 1_000

    def merged(self, other: "Latencies") -> "Latencies":
        """Both samples together."""
        both = Latencies(self.size + other.size)
        both.sample = self.sample + other.sample
        both.count = self.count + other.count
        return both


@dataclass(slots=True)
class Row:
    """One instrument as last seen, and its counts so far."""

    exchange: str
    symbol: str
    bid: str | None = None
    ask: str | None = None
    last: str | None = None
    frames: int = 0
    messages: int = 0
    gaps: int = 0
    shed: int = 0
    latency_us: float | None = None


@dataclass(slots=True)
class MarketWatch:
    """Subscribes to every market message."""

    rows: dict[tuple[str, str], Row] = field(default_factory=dict)
    latencies: dict[str, Latencies] = field(default_factory=dict)
    heard: set[str] = field(default_factory=set)
    """Exchanges of which market data came, and not just news of their streams."""
    messages: int = 0
    undecodable: int = 0
    dropped: int = 0

    async def run(self, bus: Bus) -> None:
        """Until cancelled."""
        subscriber = await bus.subscribe(MARKET, ["#"], limit=200_000)
        try:
            while True:
                delivery = await subscriber.receive()
                self.dropped = subscriber.dropped
                try:
                    messages = decode_messages(delivery.body)
                except DecodeError:
                    self.undecodable += 1
                    continue
                self.take(messages, time.time_ns())
        finally:
            await subscriber.close()

    def take(self, messages: list[AnyMessage], now: int) -> None:
        """Messages of one routing key, delivered at ``now`` (ns UTC)."""
        first = messages[0]
        late = now - first.ts_received
        latencies = self.latencies.get(first.exchange)
        if latencies is None:
            latencies = self.latencies[first.exchange] = Latencies()
        latencies.add(late)
        self.messages += len(messages)
        if first.symbol is None:
            return
        if not isinstance(first, StreamStatus):
            self.heard.add(first.exchange)
        row = self.rows.get((first.exchange, first.symbol))
        if row is None:
            row = self.rows[first.exchange, first.symbol] = Row(first.exchange, first.symbol)
        row.latency_us = late / 1_000
        row.messages += len(messages)
        for message in messages:
            if message.part == 0:
                row.frames += 1
            self._show(row, message)

    @staticmethod
    def _show(row: Row, message: AnyMessage) -> None:
        match message:
            case Quote():
                row.bid, row.ask = message.bid_price, message.ask_price
            case Trade():
                row.last = message.price
            case Ticker():
                row.last = message.last_price
                row.bid, row.ask = message.bid_price or row.bid, message.ask_price or row.ask
            case StreamStatus(status="gap"):
                row.gaps += 1
            case StreamStatus(status="shed"):
                row.shed += message.count or 0
            case BookSnapshot() | BookDelta() | _:
                pass
