"""Sequence decisions: which update continues a chain, which is old, which shows that something is missing.

Nothing here knows a message or a clock; times are arguments (ns), updates are opaque.
"""

from collections import deque
from collections.abc import Hashable
from enum import IntEnum
from typing import Final, Generic, NamedTuple, TypeVar

__all__ = [
    "CONTIGUOUS",
    "LINKED",
    "BookSequencer",
    "DuplicateWindow",
    "SeedVerdict",
    "SequenceRule",
    "Update",
    "Verdict",
]

ItemT = TypeVar("ItemT")

HELD_LIMIT: Final = 2_000
"""Updates held while a book waits for its seed. The oldest go first: a newer seed makes up for them."""

ASK_AGAIN_NS: Final = 10_000_000_000
ASK_AGAIN_MAX_NS: Final = 160_000_000_000


class Verdict(IntEnum):
    """What an update is to a book."""

    APPLY = 0
    STALE = 1  # older than what the book holds
    HELD = 2  # kept until the seed comes
    GAP = 3  # something before it is missing


class SeedVerdict(IntEnum):
    """What a snapshot is to a book."""

    ACCEPTED = 0
    STALE = 1  # the book is live and ahead of it
    TOO_OLD = 2  # the first held update does not reach back to it


class Update(NamedTuple, Generic[ItemT]):
    """An update that covers the venue's ids ``first`` to ``last``; ``previous`` where the venue links updates."""

    first: int
    last: int
    previous: int | None
    item: ItemT


class SequenceRule(NamedTuple):
    """How a venue numbers updates.

    ``linked`` false (Binance spot, MEXC): ids are contiguous, ``first == previous last + 1``.
    ``linked`` true (Binance USD-M): ids skip, ``previous == previous last``.
    """

    linked: bool

    def stale(self, update: Update[ItemT], sequence: int) -> bool:
        """Wholly contained in a snapshot taken at ``sequence``."""
        return update.last < sequence if self.linked else update.last <= sequence

    def bridges(self, update: Update[ItemT], sequence: int) -> bool:
        """May be the first update after a snapshot taken at ``sequence``."""
        if self.linked:
            return update.first <= sequence <= update.last or update.previous == sequence < update.last
        return update.first <= sequence + 1 <= update.last

    def follows(self, update: Update[ItemT], sequence: int) -> bool:
        """Directly continues an update that ended at ``sequence``."""
        if self.linked:
            return update.previous == sequence < update.last
        return update.first == sequence + 1 <= update.last


CONTIGUOUS: Final = SequenceRule(linked=False)
LINKED: Final = SequenceRule(linked=True)


class BookSequencer(Generic[ItemT]):
    """The order-book procedure of one instrument.

    Unseeded, it holds updates, of which each follows the one before: what lies before a break can't be made whole any
    more. A seed lets those through that continue it; from then on each must follow the last.
    """

    __slots__ = ("_ask_interval", "_asked", "_bridging", "_held", "broken", "rule", "sequence")

    def __init__(self, rule: SequenceRule) -> None:
        self.rule = rule
        self.sequence: int | None = None
        """Last id that the book holds; None while it waits for a snapshot."""
        self.broken = False
        """A consumer was told of a break and must be told when it is over."""
        self._bridging = False
        self._held: deque[Update[ItemT]] = deque(maxlen=HELD_LIMIT)
        self._asked: int | None = None
        self._ask_interval = ASK_AGAIN_NS

    def advance(self, first: int, last: int, previous: int | None) -> bool:
        """The common case of :meth:`offer`, without making an update: whether it directly continues a live book."""
        sequence = self.sequence
        if sequence is None or self._bridging or last <= sequence:
            return False
        if (previous if self.rule.linked else first - 1) != sequence:
            return False
        self.sequence = last
        return True

    def offer(self, update: Update[ItemT]) -> Verdict:
        """Judge an update. After APPLY ``sequence`` is its ``last``; after GAP it is held until a seed comes."""
        sequence = self.sequence
        if sequence is None:
            return self._hold(update)
        continues = self.rule.bridges if self._bridging else self.rule.follows
        if continues(update, sequence):
            self._bridging = False
            self.sequence = update.last
            return Verdict.APPLY
        if update.last <= sequence:
            return Verdict.STALE
        self.reset()
        self._held.append(update)
        return Verdict.GAP

    def seed(self, sequence: int) -> tuple[SeedVerdict, list[Update[ItemT]]]:
        """A snapshot taken at ``sequence``: the verdict, and the held updates to publish right after it, in order.

        The caller publishes the snapshot itself; ``sequence`` of the book ends at the last held update.
        """
        if self.sequence is not None and sequence <= self.sequence:
            return SeedVerdict.STALE, []
        through = [update for update in self._held if not self.rule.stale(update, sequence)]
        if through and not self.rule.bridges(through[0], sequence):
            return SeedVerdict.TOO_OLD, []
        self.restart(through[-1].last if through else sequence)
        self._bridging = not through
        return SeedVerdict.ACCEPTED, through

    def restart(self, sequence: int) -> None:
        """The venue itself sent a snapshot: live at ``sequence``, whatever was before."""
        self.sequence = sequence
        self._bridging = False
        self._held.clear()
        self._asked = None
        self._ask_interval = ASK_AGAIN_NS

    def reset(self) -> None:
        """Wait for a snapshot."""
        self.sequence = None
        self._bridging = False
        self._held.clear()

    def asks(self, now: int) -> bool:
        """Whether to ask for a snapshot (again) now (ns): not within 10 s of the last time, then ever more seldom.

        The first call counts as having asked: what is new has its snapshot under way.
        """
        if self._asked is None:
            self._asked = now
            return False
        if now - self._asked < self._ask_interval:
            return False
        self._ask_interval = min(self._ask_interval * 2, ASK_AGAIN_MAX_NS)
        self._asked = now
        return True

    def asked(self, now: int) -> None:
        """A snapshot was asked for at ``now``."""
        self._asked = now

    def begin(self, now: int) -> None:
        """A new epoch began at ``now``: wait for its snapshot, which is under way."""
        self.reset()
        self._asked = now
        self._ask_interval = ASK_AGAIN_NS

    def _hold(self, update: Update[ItemT]) -> Verdict:
        held = self._held
        if held and not self.rule.follows(update, held[-1].last):
            if held[0].first <= update.last <= held[-1].last:
                return Verdict.STALE
            held.clear()
        held.append(update)
        return Verdict.HELD


class DuplicateWindow:
    """The last so many keys: trade ids that a venue sends again after a reconnect, for instance.

    Two generations: at least ``size`` and at most twice as many keys are remembered. Hot code looks into ``new`` and
    ``old`` itself, adds to ``new``, and calls :meth:`turn` once a frame.
    """

    __slots__ = ("new", "old", "size")

    def __init__(self, size: int = 4_096) -> None:
        self.size = size
        self.new: set[Hashable] = set()
        self.old: set[Hashable] = set()

    def seen(self, key: Hashable) -> bool:
        """Whether the key is in the window; if not, it enters it."""
        if key in self.new or key in self.old:
            return True
        self.new.add(key)
        self.turn()
        return False

    def turn(self) -> None:
        """Begin a new generation when the newest is full."""
        if len(self.new) >= self.size:
            self.old, self.new = self.new, set()
