"""The buffer, whatever arrives and whenever it is taken.

A second buffer, which is nothing but lists, does the same in the plainest way; besides, what must hold is checked
without it.
"""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from shared.envelope import Frame, FrameKind, Shed, decode_mark
from shared.exchanges.base import DATA, Feed, FrameClass, Overflow, Route
from shared.overflow import Entry, FrameBuffer
from shared.standing import StandingQueue

LIMIT_FRAMES = 6
LIMIT_BYTES = 60
MAX_AGE = 50
TARGET, PATIENCE = 15, 30

Key = tuple[str | None, str | None, str]

ROUTES = [
    DATA,
    Route(FrameClass.DATA, Feed.TRADE, "A", Overflow.SHED),
    Route(FrameClass.DATA, Feed.BOOK, "A", Overflow.RESYNC),
    *(Route(FrameClass.DATA, Feed.QUOTE, symbol, Overflow.CONFLATE) for symbol in "AB"),
    Route(FrameClass.DATA, Feed.TICKER, "A", Overflow.CONFLATE),
]
KINDS = [FrameKind.TEXT, FrameKind.TEXT, FrameKind.TEXT, FrameKind.BINARY, FrameKind.REST, FrameKind.MARK]


@dataclass(eq=False)
class Item:
    """A frame that waits."""

    number: int
    route: Route
    size: int
    queued: int
    life: int
    opens: bool
    protected: bool


@dataclass
class PlainBuffer:
    """The same rules, in the plainest way."""

    waiting: list[Item] = field(default_factory=list)
    superseded: list[Item] = field(default_factory=list)
    losses: Counter[Key] = field(default_factory=Counter)
    unannounced: dict[int, Counter[Key]] = field(default_factory=dict)
    life: int = 0
    taken_life: int = 0
    standing: StandingQueue = field(default_factory=lambda: StandingQueue(TARGET, PATIENCE))

    def append(self, item: Item) -> None:
        if item.route.overflow is Overflow.CONFLATE and not item.protected:
            alike = [one for one in self.waiting if one.route == item.route and not one.protected]
            self.superseded += alike[-1:]
        while self.waiting and self.full(item.size) and self.make_room("overflow"):
            pass
        self.waiting.append(item)

    def full(self, size: int) -> bool:
        return len(self.waiting) >= LIMIT_FRAMES or sum(one.size for one in self.waiting) + size > LIMIT_BYTES

    def conflate(self) -> bool:
        self.superseded = [item for item in self.superseded if item in self.waiting]
        for item in self.superseded[:1]:
            self.waiting.remove(item)
            self.losses[item.route.feed, item.route.native_symbol, "conflated"] += 1
        return bool(self.superseded)

    def make_room(self, reason: str) -> bool:
        if self.conflate():
            return True
        expendable = [item for item in self.waiting if not item.protected]
        for item in expendable[:1]:
            self.shed(item, reason)
        return bool(expendable)

    def shed(self, item: Item, reason: str) -> None:
        self.waiting.remove(item)
        key = (item.route.feed, item.route.native_symbol, reason)
        self.losses[key] += 1
        self.unannounced.setdefault(item.life, Counter())[key] += 1

    def take(self, frames: int, size: int, now: int) -> list[int | dict[Key, int]]:
        """Numbers of frames, and what is announced between them."""
        edge, reason = now - MAX_AGE, "expired"
        if self.waiting and self.standing.taken(now - self.waiting[0].queued, now):
            edge, reason = now - TARGET, "overload"
            while self.conflate():
                pass
        for item in [*self.waiting]:
            if not item.protected and item.queued < edge:
                self.shed(item, reason)
        taken: list[int | dict[Key, int]] = []
        if self.waiting:
            self.announce(taken)
        total = 0
        while self.waiting and len(taken) < frames:
            item = self.waiting[0]
            total += item.size
            if taken and (item.opens or total > size):
                break
            taken.append(self.waiting.pop(0).number)
            if item.opens:
                self.taken_life = item.life
                if len(taken) < frames:
                    self.announce(taken)
        return taken

    def announce(self, taken: list[int | dict[Key, int]]) -> None:
        due: Counter[Key] = Counter()
        for life in [life for life in self.unannounced if life <= self.taken_life]:
            due += self.unannounced.pop(life)
        if due:
            taken.append(dict(due))


class Buffering(RuleBasedStateMachine):
    """Frames carry their number; ``waiting`` is known from what came and went."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = FrameBuffer(LIMIT_FRAMES, LIMIT_BYTES, MAX_AGE, StandingQueue(TARGET, PATIENCE))
        self.plain = PlainBuffer()
        self.now = 0
        self.appended: list[Item] = []
        self.taken: list[int] = []
        self.shown = 0
        self.lost: Counter[Key] = Counter()
        self.announced: Counter[Key] = Counter()

    @rule(
        kind=st.sampled_from(KINDS),
        route=st.sampled_from(ROUTES),
        size=st.sampled_from([4, 4, 4, 10, 70]),
        opens=st.sampled_from([False] * 7 + [True]),
    )
    def frame_arrives(self, kind: FrameKind, route: Route, size: int, opens: bool) -> None:  # noqa: FBT001 - drawn
        """Of any kind; some open an epoch."""
        number = len(self.appended)
        self.plain.life += opens
        protected = opens or kind in {FrameKind.REST, FrameKind.MARK}
        item = Item(number, route, size, self.now, self.plain.life, opens, protected)
        self.appended.append(item)
        frame = Frame(kind, number, b"%0*d" % (size, number))
        self.buffer.append(frame, route, self.now, number if opens else None)
        self.plain.append(item)

    @rule(frames=st.integers(1, 5), size=st.sampled_from([1, 12, 1_000]))
    def batch_is_taken(self, frames: int, size: int) -> None:
        """Order, bounds, and every loss before the next frame."""
        announced_before = self.buffer.announced
        entries = self.buffer.take(frames, size, self.now)
        read = [self.read(entry) for entry in entries]
        assert read == self.plain.take(frames, size, self.now)
        assert self.buffer.announced - announced_before == sum(isinstance(one, dict) for one in read)
        assert len(entries) <= frames
        assert all(entry.gone for entry in entries)
        numbers = [one for one in read if isinstance(one, int)]
        assert len(numbers) < 2 or sum(self.appended[number].size for number in numbers) <= size
        assert not any(self.appended[number].opens for one, number in enumerate(numbers) if one)
        assert all(entry.epoch is None for entry in entries[1:])
        self.taken += numbers
        assert self.taken == sorted(self.taken)

    def read(self, entry: Entry) -> int | dict[Key, int]:
        mark = None if entry.route is not DATA or b"shed" not in entry.frame.data else decode_mark(entry.frame.data)
        if not isinstance(mark, Shed):
            return int(entry.frame.data)
        items: dict[Key, int] = {(one.feed, one.native_symbol, one.reason): one.count for one in mark.items}
        assert len(items) == len(mark.items)
        self.announced.update(items)
        return items

    def shed(self) -> Counter[Key]:
        """What is lost and must be told of."""
        self.lost.update(self.buffer.collect())
        return Counter({key: count for key, count in self.lost.items() if key[2] != "conflated"})

    @rule(later=st.sampled_from([1, 10, 20, 51]))
    def time_passes(self, later: int) -> None:
        """Up to more than frames live."""
        self.now += later

    @rule()
    def circuit_is_open(self) -> None:
        """Everything that may go goes."""
        self.buffer.shed_all("circuit_open")
        while self.plain.make_room("circuit_open"):
            pass
        assert self.buffer.frames == sum(item.protected for item in self.plain.waiting)

    @rule()
    def somebody_looks(self) -> None:
        """The oldest is that which would be taken next."""
        waiting = self.plain.waiting
        assert self.buffer.oldest() == (waiting[0].queued if waiting else None)

    @invariant()
    def nothing_vanishes(self) -> None:
        """Appended = taken + conflated + shed + waiting, and every loss is counted under its name."""
        shed = self.shed()
        assert len(self.appended) == len(self.taken) + self.lost.total() + self.buffer.frames
        assert self.lost == self.plain.losses
        assert self.announced <= shed

    @invariant()
    def bounds_hold(self) -> None:
        """But for frames that may not go, and one that is larger than the bound alone."""
        taken = set(self.taken)
        protected = [item for item in self.appended if item.protected and item.number not in taken]
        assert self.buffer.frames <= max(LIMIT_FRAMES, len(protected) + 1)
        assert self.buffer.bytes <= LIMIT_BYTES or self.buffer.frames <= len(protected) + 1
        assert self.buffer.frames == len(self.plain.waiting)
        assert self.buffer.bytes == sum(item.size for item in self.plain.waiting)

    def teardown(self) -> None:
        """Drained, the buffer has told of everything; marks, replies and openings all came."""
        self.drain()
        self.frame_arrives(FrameKind.MARK, DATA, 4, opens=True)
        self.drain()
        assert self.announced == self.shed()
        taken = set(self.taken)
        assert all(item.number in taken for item in self.appended if item.protected)
        newest = {item.route: item for item in self.appended if item.route.overflow is Overflow.CONFLATE}
        if not self.shed():
            assert all(item.number in taken for item in newest.values())

    def drain(self) -> None:
        while self.buffer.frames:
            self.batch_is_taken(5, 1_000)


TestBuffer = Buffering.TestCase
