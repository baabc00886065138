"""The bounded buffer between a socket and the broker, and what is given up when it is full.

Nothing waits: an append always succeeds. Where room is needed, superseded quotes and tickers go first (a newer frame
of the same instrument is waiting behind them: *conflated*), then the oldest frames (*shed*). The same happens, full or
not, when the queue stands: more comes than gets out, so that everything would be late. Marks, REST replies and
what opens an epoch are never given up. Times are monotonic nanoseconds.
"""

from collections import deque
from typing import Final

from msgspec import Struct

from shared.envelope import Frame, FrameKind, Shed, ShedItem, encode_mark
from shared.exchanges.base import DATA, Feed, Overflow, Route
from shared.standing import StandingQueue

__all__ = ["Entry", "FrameBuffer", "Losses"]

Losses = dict[tuple[str | None, str | None, str], int]
"""Frames by (feed, native symbol, reason)."""

SLACK: Final = 256
"""So many entries at least must be gone before it is worth while to clear them out."""

CROWD: Final = 1_024
"""So many waiting frames are ranked in less than a millisecond; where the broker keeps up there are fewer."""

_SHEDDABLE: Final = frozenset({FrameKind.TEXT, FrameKind.BINARY})


class Entry(Struct, gc=False, eq=False):
    """A waiting frame. ``gone`` once it was taken or given up; ``epoch`` where it is the first of a new one.

    ``life`` says which of the buffer's epochs the frame belongs to, counted from 0.
    """

    frame: Frame
    route: Route
    queued: int
    epoch: int | None = None
    life: int = 0
    gone: bool = False


def _is_expendable(entry: Entry) -> bool:
    return entry.epoch is None and entry.frame.kind in _SHEDDABLE


class FrameBuffer:
    """What has arrived on one stream and is not yet published.

    Which frames would be given up first is found out when there is a crowd or no room, and then kept up to date until
    the buffer is empty again: where the broker keeps up, frames pass through a queue and nothing else.
    """

    def __init__(self, limit_frames: int, limit_bytes: int, max_age_ns: int, standing: StandingQueue) -> None:
        self.limit_frames: Final = limit_frames
        self.limit_bytes: Final = limit_bytes
        self._crowd: Final = min(limit_frames, CROWD)
        self._max_age_ns: Final = max_age_ns
        self.standing: Final = standing
        self._entries: deque[Entry] = deque()
        self._ranked = False
        """Whether the next three are up to date; else they are empty, and no entry is gone."""
        self._expendable: deque[Entry] = deque()
        self._superseded: deque[Entry] = deque()
        self._newest: dict[tuple[Feed | None, str | None], Entry] = {}
        self._appended_life = 0
        self._taken_life = 0
        self._unannounced: dict[int, Losses] = {}
        self._losses: Losses = {}
        self.frames = 0
        self.bytes = 0
        self.announced = 0
        """Marks that this buffer made itself, so far."""

    def append(self, frame: Frame, route: Route, now: int, epoch: int | None = None) -> None:
        """Put a frame at the end; makes room if need be. ``epoch`` with the first frame of a new one."""
        size = len(frame[2])
        if epoch is not None:
            self._appended_life += 1
        entry = Entry(frame, route, now, epoch, self._appended_life)
        if self._ranked or self.frames >= self._crowd or self.bytes + size > self.limit_bytes:
            self._fit(entry, size)
        self._entries.append(entry)
        self.frames += 1
        self.bytes += size

    def oldest(self) -> int | None:
        """When the first waiting frame was queued; None when nothing waits."""
        entries = self._entries
        while entries and entries[0].gone:
            entries.popleft()
        return entries[0].queued if entries else None

    def take(self, frames: int, size: int, now: int) -> list[Entry]:
        """The next frames in order, all of one epoch, at most so many frames and bytes (one at least, however large).

        Frames that are too old to be worth anything are shed, and while the queue stands those that a newer one
        supersedes are conflated and those that waited for longer than its target are shed. What was shed since the
        last call is announced by a mark in front, or behind the frame that opens the epoch to which it belonged.
        """
        taken: list[Entry] = []
        oldest = self.oldest()
        if oldest is None or not self._still_wanted(oldest, now):
            return taken
        entries = self._entries
        self._announce(taken, entries[0].frame.ts_received, now)
        total = 0
        while entries and len(taken) < frames:
            entry = entries[0]
            if entry.gone:
                entries.popleft()
                continue
            if entry.epoch is not None and taken:
                break
            total += len(entry.frame[2])
            if total > size and taken:
                break
            entries.popleft()
            self._remove(entry)
            taken.append(entry)
            if entry.epoch is not None:
                self._taken_life = entry.life
                if len(taken) < frames:
                    self._announce(taken, entry.frame.ts_received, now)
        if not self.frames and self._ranked:
            self._compact()
            self._ranked = False
        return taken

    def shed_all(self, reason: str) -> None:
        """Give up every frame that may be given up (the circuit is open)."""
        self._rank()
        while self._make_room(reason):
            pass

    def clear(self, reason: str) -> None:
        """Give up everything, marks and replies too: the process ends."""
        for entry in self._entries:
            if not entry.gone:
                self._remove(entry)
                self._count(self._losses, entry, reason)
        self._compact()

    def note_lost(self, entries: list[Entry], reason: str) -> None:
        """Frames that were taken and could not be published. No mark tells of them: the hole in the numbers does."""
        for entry in entries:
            self._count(self._losses, entry, reason)

    def collect(self) -> Losses:
        """What was given up since the last call."""
        losses = self._losses
        if losses:
            self._losses = {}
        return losses

    def _rank(self) -> None:
        """Find out what could be given up; the entries are in the order in which they came, so this is as good late."""
        if not self._ranked:
            self._ranked = True
            for entry in self._entries:
                if _is_expendable(entry):
                    self._supersede(entry)
                    self._expendable.append(entry)

    def _supersede(self, entry: Entry) -> None:
        if entry.route.overflow is Overflow.CONFLATE:
            key = (entry.route.feed, entry.route.native_symbol)
            older = self._newest.get(key)
            if older is not None and not older.gone:
                self._superseded.append(older)
            self._newest[key] = entry

    def _fit(self, entry: Entry, size: int) -> None:
        """Rank a frame that comes, and make room for it."""
        self._rank()
        expendable = _is_expendable(entry)
        if expendable:
            self._supersede(entry)
        while self.frames and (self.frames >= self.limit_frames or self.bytes + size > self.limit_bytes):
            if not self._make_room("overflow"):
                break
        if expendable:
            self._expendable.append(entry)
        if len(self._entries) + len(self._expendable) + len(self._superseded) > 4 * self.frames + SLACK:
            self._compact()

    def _still_wanted(self, oldest: int, now: int) -> bool:
        """Give up what is too late to be of use; whether anything is left."""
        standing = self.standing
        if standing.taken(now - oldest, now):
            self._rank()
            while self._drop_superseded():
                pass
            self._expire(now - standing.target_ns, "overload")
        elif oldest < (edge := now - self._max_age_ns):
            self._expire(edge, "expired")
        else:
            return True
        return self.oldest() is not None

    def _expire(self, edge: int, reason: str) -> None:
        self._rank()
        expendable = self._expendable
        while expendable and (expendable[0].gone or expendable[0].queued < edge):
            entry = expendable.popleft()
            if not entry.gone:
                self._give_up(entry, reason)

    def _drop_superseded(self) -> bool:
        while self._superseded:
            entry = self._superseded.popleft()
            if not entry.gone:
                self._remove(entry)
                self._count(self._losses, entry, "conflated")
                return True
        return False

    def _make_room(self, reason: str) -> bool:
        if self._drop_superseded():
            return True
        while self._expendable:
            entry = self._expendable.popleft()
            if not entry.gone:
                self._give_up(entry, reason)
                return True
        return False

    def _give_up(self, entry: Entry, reason: str) -> None:
        self._remove(entry)
        self._count(self._losses, entry, reason)
        self._count(self._unannounced.setdefault(entry.life, {}), entry, reason)

    def _remove(self, entry: Entry) -> None:
        entry.gone = True
        self.frames -= 1
        self.bytes -= len(entry.frame.data)

    def _compact(self) -> None:
        """Let go of what is gone: while the broker is away, nothing is taken and much is given up."""
        self._entries = deque(entry for entry in self._entries if not entry.gone)
        self._expendable = deque(entry for entry in self._expendable if not entry.gone)
        self._superseded = deque(entry for entry in self._superseded if not entry.gone)
        self._newest = {key: entry for key, entry in self._newest.items() if not entry.gone}

    def _count(self, losses: Losses, entry: Entry, reason: str) -> None:
        route = entry.route
        key = (route.feed, route.native_symbol, reason)
        losses[key] = losses.get(key, 0) + 1

    def _announce(self, taken: list[Entry], ts_received: int, now: int) -> None:
        """Append the mark that tells what was shed of the epochs that were begun; nothing if nothing was."""
        due: Losses = {}
        for life in [life for life in self._unannounced if life <= self._taken_life]:
            for key, count in self._unannounced.pop(life).items():
                due[key] = due.get(key, 0) + count
        if not due:
            return
        items = [ShedItem(feed, symbol, reason, count) for (feed, symbol, reason), count in due.items()]
        entry = Entry(Frame(FrameKind.MARK, ts_received, encode_mark(Shed(items))), DATA, now)
        entry.gone = True
        self.announced += 1
        taken.append(entry)
