"""A small world whose canonical feed is known: what the venue sent, what was published of it by whom, and when."""

import random
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import groupby

from tests.soak.checker.books import Levels
from tests.soak.checker.checker import Checker, Verdict
from tests.soak.checker.wire import STATUS, Held, Holding, Item

__all__ = ["PRODUCT", "STREAM", "SYMBOLS", "Arrival", "World", "play"]

STREAM = "venue.spot.0"
PRODUCT = "venue.spot"
SYMBOLS = ("AAA", "BBB")
SIBLINGS = {"book_delta": "book_snapshot", "book_snapshot": "book_delta"}
TICK = 1_000_000


@dataclass
class Arrival:
    """One AMQP message, or what an owner says it holds, at a time (ns)."""

    owner: str
    now: int
    items: list[Item] = field(default_factory=list)
    since: int | None = None


class World:
    """Steps make frames; ``publish`` makes arrivals of the frames that wait, as a normalizer's batch does."""

    def __init__(self, seed: int = 0) -> None:
        self.chance = random.Random(seed)
        self.arrivals: list[Arrival] = []
        self.sent: dict[tuple[str, str], list[str]] = {(PRODUCT, symbol): [] for symbol in SYMBOLS}
        self.owner = "host:1:aaaa"
        self._now = 1_000 * TICK
        self._epoch, self._frame = 7, 0
        self._trade = 0
        self._sequence = 100
        self._chain = dict.fromkeys(SYMBOLS, 0)
        self._books: dict[str, tuple[dict[int, int], dict[int, int]]] = {symbol: ({}, {}) for symbol in SYMBOLS}
        self._waiting: list[list[Item]] = []
        self._handled: list[list[Item]] = []
        self.status("connected")
        for symbol in SYMBOLS:
            for price in range(1, 6):
                self._books[symbol][0][100 - price] = self._books[symbol][1][100 + price] = price
            self.snapshot(symbol)
        self.take_over(self.owner)

    def _put(self, *items: Item) -> None:
        for part, item in enumerate(items):
            item.epoch, item.frame, item.part = self._epoch, self._frame, part
        self._frame += 1
        self._waiting.append(list(items))

    def trades(self, symbol: str, count: int = 1, *, shed: bool = False) -> None:
        """The venue sends trades in one frame; ``shed`` ones never leave ingest, which the caller has to announce."""
        ids = [f"t{self._trade + number}" for number in range(count)]
        self._trade += count
        self.sent[PRODUCT, symbol] = [*self.sent[PRODUCT, symbol], *ids]
        if not shed:
            self._put(*(_item("trade", symbol, trade_id=trade_id) for trade_id in ids))

    def delta(self, symbol: str) -> None:
        """One level changes; the best of each side stay."""
        side = self.chance.randrange(2)
        price = 100 + (1 if side else -1) * self.chance.randrange(2, 9)
        size = self.chance.randrange(5)
        self._change(side, symbol, price, size)
        levels = [(str(price), str(size))]
        before, self._sequence = self._chain[symbol], self._sequence + self.chance.randrange(1, 4)
        self._chain[symbol] = self._sequence
        item = _item("book_delta", symbol, sequence=self._sequence, previous_sequence=before)
        item.asks, item.bids = (levels, []) if side else ([], levels)
        self._put(item)

    def _change(self, side: int, symbol: str, price: int, size: int) -> None:
        if size:
            self._books[symbol][side][price] = size
        else:
            self._books[symbol][side].pop(price, None)

    def snapshot(self, symbol: str) -> None:
        """The whole book."""
        self._sequence += 1
        self._chain[symbol] = self._sequence
        item = _item("book_snapshot", symbol, sequence=self._sequence)
        bids, asks = self._books[symbol]
        item.bids = [(str(price), str(bids[price])) for price in sorted(bids, reverse=True)]
        item.asks = [(str(price), str(asks[price])) for price in sorted(asks)]
        self._put(item)

    def status(
        self, status: str, symbol: str | None = None, affects: str | None = None, reason: str | None = None
    ) -> None:
        """The stream tells something."""
        self._put(_item(STATUS, symbol, status=status, affects=affects, reason=reason))

    def gap(self, symbol: str) -> None:
        """The venue's sequence broke: a delta is missing, which is announced, and a snapshot follows."""
        self.delta(symbol)
        self._waiting.pop()
        self.status("gap", symbol, "book")
        self.snapshot(symbol)

    def reconnect(self) -> None:
        """The connection is lost with a trade on its way; everything begins anew."""
        self.status("disconnected")
        self.trades(SYMBOLS[0], shed=True)
        self._epoch, self._frame = self._epoch + 1, 0
        self.status("connected")
        for symbol in SYMBOLS:
            self.snapshot(symbol)

    def shed(self, symbol: str) -> None:
        """Ingest gives trades up, and says so."""
        self.trades(symbol, 2, shed=True)
        self.status("shed", symbol, "trade")

    def step(self) -> None:
        """Anything, mostly ordinary."""
        symbol = self.chance.choice(SYMBOLS)
        lot = self.chance.random()
        if lot < 0.45:
            self.trades(symbol, self.chance.randrange(1, 4))
        elif lot < 0.9:
            self.delta(symbol)
        else:
            self.chance.choice((lambda: self.gap(symbol), lambda: self.shed(symbol), self.reconnect))()

    def publish(self) -> None:
        """All waiting frames in one batch: messages of one key together, a status between what is before and behind."""
        self._say(self._waiting)
        self._handled += self._waiting
        self._waiting = []

    def _say(self, frames: list[list[Item]]) -> None:
        for _, run in groupby((item for frame in frames for item in frame), key=lambda item: item.feed == STATUS):
            lists: list[list[Item]] = []
            opened: dict[tuple[str, str | None], list[Item]] = {}
            for item in run:
                key = (item.feed, item.native_symbol)
                if key not in opened:
                    lists.append(opened.setdefault(key, []))
                opened[key].append(item)
                opened.pop((SIBLINGS.get(item.feed, ""), item.native_symbol), None)
            self.arrivals += [Arrival(self.owner, self._later(), items) for items in lists]

    def take_over(self, owner: str, again: int = 0) -> None:
        """Another owner begins, with the last frames that the one before had not acknowledged, and says so."""
        self.owner = owner
        self.arrivals.append(Arrival(owner, self._later(), since=self._now))
        self._say(self._handled[len(self._handled) - again :])

    def _later(self) -> int:
        self._now += TICK
        return self._now

    def books(self) -> dict[tuple[str, str], Levels]:
        """The venue's own."""
        return {
            (PRODUCT, symbol): (
                [(Decimal(price), Decimal(bids[price])) for price in sorted(bids, reverse=True)],
                [(Decimal(price), Decimal(asks[price])) for price in sorted(asks)],
            )
            for symbol, (bids, asks) in self._books.items()
        }

    def of(self, feed: str) -> list[int]:
        """Where arrivals of a feed are."""
        return [at for at, one in enumerate(self.arrivals) if one.items and one.items[0].feed == feed]


def play(world: World) -> Verdict:
    """What a checker says of it."""
    checker = Checker()
    for one in world.arrivals:
        if one.since is not None:
            checker.held(Holding(one.owner, [Held(STREAM, one.since)]))
        else:
            checker.take(one.owner, one.items, one.now)
    return checker.verdict(world.sent, world.books())


def _item(feed: str, symbol: str | None, **fields: object) -> Item:
    item = Item(feed, symbol, symbol, STREAM, 0, 0, 0)
    for name, value in fields.items():
        setattr(item, name, value)
    return item
