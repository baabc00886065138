"""Which number a frame of an account stream gets, and which frames wait for one. Plain values: the journal stores them.

Frames are numbered from 0 in every epoch, without a hole, in the order in which they are published. From the opening
of a connection to the end of the reconciliation that follows, what the venue pushes is *held*: on disk, but without a
number until the reconciliation has its own, so that a fill that was missed comes out before the later ones.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from shared.envelope import Connected, Frame, FrameKind, encode_mark

__all__ = ["Advance", "Begin", "Cover", "Head", "Learn", "Operation", "Push", "Release", "Row", "Tell", "advance"]


class Push(NamedTuple):
    """What the venue pushed: numbered at once, or held while frames are held."""

    frame: Frame


class Tell(NamedTuple):
    """What ingest has to say (a mark, REST replies): numbered at once."""

    frame: Frame


class Release(NamedTuple):
    """Held frames get their numbers, and nothing is held any more."""


class Begin(NamedTuple):
    """A connection stands: an epoch, ``floor`` or above, whose first frame says so; from now on frames are held.

    What was still held belongs to the epoch before and gets its numbers there.
    """

    floor: int
    url: str
    ts_received: int


class Cover(NamedTuple):
    """A reconciliation told everything up to this time (ms, the venue's clock)."""

    until_ms: int


class Learn(NamedTuple):
    """Native symbols that the account has to do with."""

    symbols: tuple[str, ...]


Operation = Push | Tell | Release | Begin | Cover | Learn


class Row(NamedTuple):
    """A numbered frame; ``position`` grows over all epochs."""

    position: int
    epoch: int
    number: int
    frame: Frame


class Head(Struct, frozen=True):
    """Where a stream stands. Epoch 0 is before the first connection; ``covered_ms`` None: never reconciled."""

    epoch: int = 0
    number: int = 0
    """Of the next frame; so many frames the epoch has."""
    position: int = 0
    """Of the next frame."""
    covered_ms: int | None = None
    held: tuple[Frame, ...] = ()
    holding: bool = False


class Advance(NamedTuple):
    """What operations come to.

    The head after them, the frames that were numbered, whether what was held before is held no longer, what is held
    from now on in addition, and the symbols that were named.
    """

    head: Head
    rows: list[Row]
    released: bool
    held: list[Frame]
    symbols: list[str]


def advance(head: Head, operations: Sequence[Operation]) -> Advance:
    """The operations in their order, all of them or none."""
    step = _Step(head)
    for operation in operations:
        step.apply(operation)
    return step.result()


class _Step:
    def __init__(self, head: Head) -> None:
        self._epoch = head.epoch
        self._number = head.number
        self._position = head.position
        self._covered_ms = head.covered_ms
        self._before = head.held
        self._holding = head.holding
        self._released = False
        self._rows: list[Row] = []
        self._held: list[Frame] = []
        self._symbols: list[str] = []

    def apply(self, operation: Operation) -> None:
        match operation:
            case Push(frame) if self._holding:
                self._held.append(frame)
            case Push(frame) | Tell(frame):
                self._give(frame)
            case Release():
                self._release()
            case Begin():
                self._begin(operation)
            case Cover(until_ms):
                self._covered_ms = max(until_ms, self._covered_ms or 0)
            case Learn(symbols):
                self._symbols += symbols

    def result(self) -> Advance:
        held = (*(() if self._released else self._before), *self._held)
        head = Head(self._epoch, self._number, self._position, self._covered_ms, held, self._holding)
        return Advance(head, self._rows, self._released, self._held, self._symbols)

    def _give(self, frame: Frame) -> None:
        self._rows.append(Row(self._position, self._epoch, self._number, frame))
        self._position += 1
        self._number += 1

    def _release(self) -> None:
        for frame in (*(() if self._released else self._before), *self._held):
            self._give(frame)
        self._released = True
        self._held = []
        self._holding = False

    def _begin(self, begin: Begin) -> None:
        self._release()
        known = self._epoch > 0
        mark = Connected(begin.url, self._epoch, self._number) if known else Connected(begin.url)
        self._epoch, self._number = max(self._epoch + 1, begin.floor), 0
        self._give(Frame(FrameKind.MARK, begin.ts_received, encode_mark(mark)))
        self._holding = True
