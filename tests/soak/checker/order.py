"""Whether messages come in order, and which of them a consumer drops.

Within a stream the messages of one routing key have an order of their own (a snapshot and the deltas around it share
one); a consumer drops what is not above the last one. A status stands behind everything that is older and before
everything that is newer, whatever its key. That holds for what one owner publishes: the next one may begin before the
point at which a crash cut the last one off, and says so by a status there, ahead of all else that it tells.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from tests.soak.checker.wire import BOOK_FEEDS, ONCE_FEEDS, STATUS, Identity, Item

__all__ = ["Order", "Place"]

WINDOW: Final = 8_192
"""Identities that are remembered of one line. An older one that comes (again) cannot be told from one out of order."""

NOTHING: Final[Identity] = (-1, -1, -1)


class Place(Enum):
    """Where a message stands in its line; a consumer drops all but what is NEW.

    DUPLICATE came before. RETOLD: a new owner tells, while it repeats, what the last one had left out, because it was
    the same as what that one had told before, or because their books began at different snapshots. INVERTED should
    have come earlier: an owner goes back, or what is told once only would be dropped.
    """

    NEW = "new"
    DUPLICATE = "duplicate"
    RETOLD = "retold"
    INVERTED = "inverted"


Claimed = Callable[[str, str, int, int], bool]
"""Whether an owner said that it took a stream again: stream, owner, after and until when (ns)."""


class _Tenure:
    """What one owner told of one stream: the newest status, the newest other message, and when (ns) it spoke last."""

    __slots__ = ("data", "last", "owner", "status")

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.data = NOTHING
        self.status = NOTHING
        self.last: int | None = None

    def holds(self, identity: Identity, *, is_status: bool) -> bool:
        if is_status:
            held = identity > self.data
            self.status = max(self.status, identity)
        else:
            held = identity > self.status
            self.data = max(self.data, identity)
        return held


class _Line:
    """One routing key of one stream.

    ``mark`` is the highest identity; ``told`` is the highest of the ``tenure`` that spoke last.
    """

    __slots__ = ("mark", "seen", "tenure", "told")

    def __init__(self) -> None:
        self.mark = NOTHING
        self.tenure: _Tenure | None = None
        self.told = NOTHING
        self.seen: dict[Identity, None] = {}

    def place(self, identity: Identity, tenure: _Tenure, *, once: bool) -> Place:
        if tenure is not self.tenure:
            self.tenure, self.told = tenure, NOTHING
        before, self.told = self.told, max(self.told, identity)
        if identity in self.seen:
            return Place.DUPLICATE
        self.seen[identity] = None
        if len(self.seen) > WINDOW:
            del self.seen[next(iter(self.seen))]
        if identity > self.mark:
            self.mark = identity
            return Place.NEW
        return Place.INVERTED if once or identity < before else Place.RETOLD


class _Return(NamedTuple):
    """An owner says in the middle of a stream that it begins with it."""

    stream: str
    owner: str
    after: int
    now: int
    text: str


class Order:
    """Feed it every message in the order of arrival."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str, str | None], _Line] = {}
        self._tenures: dict[str, _Tenure] = {}
        self._returns: list[_Return] = []
        self._inversions: list[str] = []
        self.duplicates = 0
        self.retold: list[str] = []

    def place(self, item: Item, owner: str, now: int) -> Place:
        """Judge a message that this owner published; only a NEW one is for whoever follows the feed."""
        feed, identity = item.feed, item.identity
        tenure = self._tenure(item, owner, now)
        tenure.last = now
        key = (item.stream, "book" if feed in BOOK_FEEDS else feed, item.symbol)
        line = self._lines.get(key)
        if line is None:
            line = self._lines[key] = _Line()
        mark = line.mark
        place = line.place(identity, tenure, once=feed in ONCE_FEEDS)
        if place is Place.DUPLICATE:
            self.duplicates += 1
        elif place is Place.INVERTED:
            self._inversions.append(f"{_where(item)} after {mark}")
        else:
            if place is Place.RETOLD:
                self.retold.append(f"{_where(item)} after {mark}")
            if not tenure.holds(identity, is_status=feed == STATUS):
                self._inversions.append(f"{_where(item)} on the wrong side of a status")
        return place

    def inversions(self, claimed: Claimed) -> list[str]:
        """What was found so far; who took a stream again in between may begin with it again."""
        misplaced = [one for one in self._returns if not claimed(one.stream, one.owner, one.after, one.now)]
        return self._inversions + [one.text for one in misplaced]

    def _tenure(self, item: Item, owner: str, now: int) -> _Tenure:
        tenure = self._tenures.get(item.stream)
        if tenure is None or tenure.owner != owner:
            tenure = self._tenures[item.stream] = _Tenure(owner)
        elif item.takes_over and tenure.last is not None:
            # Its session ended and it got the stream back; or this stands behind what it should stand before.
            text = f"{_where(item)} says that {owner} begins, which spoke already"
            self._returns.append(_Return(item.stream, owner, tenure.last, now, text))
            tenure = self._tenures[item.stream] = _Tenure(owner)
        return tenure


def _where(item: Item) -> str:
    return f"{item.feed} {item.stream} {item.native_symbol}: {item.identity}"
