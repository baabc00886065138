"""Order books as a consumer keeps them, and the venue's own beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from tests.soak.checker.wire import Identity, Item

__all__ = ["DEPTH", "Books", "Levels", "Side"]

DEPTH: Final = 20
"""Levels of a side that are compared: every venue's feed keeps more."""

Side = list[tuple[Decimal, Decimal]]
"""(price, the venue's own size), best first."""

Levels = tuple[Side, Side]
"""Bids, asks."""


@dataclass(slots=True)
class _Book:
    """``whole``: no status said that it is broken since its last snapshot.

    ``taken_over``: it is so only for want of a snapshot of the new owner's.
    """

    stream: str = ""
    whole: bool = False
    taken_over: bool = False
    snapshot: Identity = (-1, -1, -1)
    broken_by: str = ""
    epoch: int = -1
    sequence: int | None = None
    bids: dict[Decimal, Decimal] = field(default_factory=dict)
    asks: dict[Decimal, Decimal] = field(default_factory=dict)

    def apply(self, item: Item) -> None:
        sides = (self.bids, item.bids, item.bid_sizes_native), (self.asks, item.asks, item.ask_sizes_native)
        for side, levels, native in sides:
            for price, size in _levels(levels, native):
                if size:
                    side[price] = size
                else:
                    side.pop(price, None)
        self.stream, self.epoch, self.sequence = item.stream, item.epoch, item.sequence

    def top(self) -> Levels:
        return sorted(self.bids.items(), reverse=True)[:DEPTH], sorted(self.asks.items())[:DEPTH]


class Books:
    """Feed it new messages in order."""

    def __init__(self) -> None:
        self._books: dict[tuple[str, str], _Book] = {}
        self.breaks: list[str] = []
        """Deltas that continue nothing."""

    def snapshot(self, item: Item) -> None:
        """A whole book."""
        book = self._book(item)
        book.bids.clear()
        book.asks.clear()
        book.apply(item)
        book.whole, book.taken_over, book.snapshot = True, False, item.identity

    def dropped(self, item: Item) -> None:
        """A snapshot that is not above the last book message: what its owner builds on it continues that one, too.

        So a book that another owner took over is whole again. A book that is broken needs one that is not dropped.
        """
        book = self._book(item)
        if book.taken_over:
            book.whole, book.taken_over = True, False

    def delta(self, item: Item) -> None:
        """Changes; they must continue the message before, within its epoch, and no broken book."""
        book = self._book(item)
        if not book.whole:
            self._broken(item, f"no snapshot since {book.broken_by}, the last one was {book.snapshot}")
        elif item.epoch != book.epoch:
            self._broken(item, f"its snapshot was of epoch {book.epoch}")
        elif item.previous_sequence != book.sequence:
            self._broken(item, f"{item.previous_sequence} is not {book.sequence}")
        # A break is counted once: what follows up to the next snapshot follows from it.
        book.apply(item)
        book.whole, book.taken_over = True, False

    def interrupted(self, status: Item) -> None:
        """A status says that one book of a stream, or all of them, are broken: a snapshot has to come."""
        for (_, native), book in self._books.items():
            if status.stream == book.stream and status.native_symbol in {None, native}:
                book.taken_over = status.takes_over and (book.whole or book.taken_over)
                book.whole = False
                book.broken_by = f"{status.status} ({status.reason}) at {status.identity}"

    def broken(self, instruments: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Those of the instruments whose book is not whole at the moment."""
        books = self._books
        return [key for key in instruments if key not in books or not books[key].whole]

    def wrong(self, venue: Mapping[tuple[str, str], Levels]) -> list[str]:
        """The books that are not the venue's, by (product, native symbol); one that never came is wrong, too."""
        found = []
        for key, expected in venue.items():
            book = self._books.get(key)
            if book is None or not book.whole:
                found.append(f"{' '.join(key)}: {'never came' if book is None else 'has no snapshot'}")
            elif book.top() != expected:
                found.append(f"{' '.join(key)}: {_difference(book.top(), expected)}")
        return found

    def _book(self, item: Item) -> _Book:
        key = (item.product, item.native_symbol or "")
        book = self._books.get(key)
        if book is None:
            book = self._books[key] = _Book()
        return book

    def _broken(self, item: Item, why: str) -> None:
        where = f"{item.stream} {item.native_symbol} at {item.identity}"
        self.breaks.append(f"{where}: a delta continues nothing: {why}")


def _levels(levels: Sequence[tuple[str, str]], native: Sequence[str] | None) -> Iterable[tuple[Decimal, Decimal]]:
    sizes = [size for _, size in levels] if native is None else native
    return [(Decimal(price), Decimal(size)) for (price, _), size in zip(levels, sizes, strict=True)]


def _difference(have: Levels, expected: Levels) -> str:
    for name, mine, theirs in zip(("bids", "asks"), have, expected, strict=True):
        if mine != theirs:
            at = next((i for i, pair in enumerate(zip(mine, theirs, strict=False)) if pair[0] != pair[1]), len(mine))
            return f"{name} differ from level {at}: {mine[at : at + 1]} is not {theirs[at : at + 1]}"
    return "equal"
