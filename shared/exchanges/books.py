"""Order books of one stream: venue updates in, an unbroken chain of snapshot and deltas out."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from shared.exchanges.base import Group, Origin, Output, Resync
from shared.instruments import Instrument
from shared.messages import BookDelta, BookSnapshot, Level, Status, StreamStatus
from shared.numbers import is_zero
from shared.sequencing import BookSequencer, SeedVerdict, SequenceRule, Update, Verdict

__all__ = ["Book", "BookLevels", "Books", "HeldDelta"]


class BookLevels(NamedTuple):
    """Validated levels of a snapshot or delta in base units; the venue's own sizes where they differ, else None."""

    bids: list[Level]
    asks: list[Level]
    bid_sizes_native: list[str] | None = None
    ask_sizes_native: list[str] | None = None


class HeldDelta(NamedTuple):
    """A delta with the times of the frame that brought it."""

    levels: BookLevels
    ts_exchange: int | None
    ts_received: int


class Book(BookSequencer[HeldDelta]):
    """One instrument's procedure, and where its messages go. Snapshots and deltas have one order between them."""

    __slots__ = ("deltas", "instrument", "snapshots")

    def __init__(self, rule: SequenceRule, exchange: str, instrument: Instrument) -> None:
        super().__init__(rule)
        self.instrument = instrument
        self.snapshots = Group("book_snapshot", exchange, instrument.symbol)
        self.deltas = Group("book_delta", exchange, instrument.symbol)

    def follow(  # noqa: PLR0913, PLR0917 - once per frame: by position
        self,
        origin: Origin,
        output: Output,
        first: int,
        last: int,
        previous: int | None,
        ts_exchange: int | None,
        bids: list[Level],
        asks: list[Level],
        bid_sizes: list[str] | None = None,
        ask_sizes: list[str] | None = None,
    ) -> bool:
        """Publish a delta that directly continues the book; False, and nothing done, for any other."""
        # BookSequencer.advance and Books._publish_delta, without their calls.
        before = self.sequence
        if before is None or self._bridging or last <= before:
            return False
        if (previous if self.rule.linked else first - 1) != before:
            return False
        self.sequence = last
        group, instrument, part = self.deltas, self.instrument, output.parts
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(
            BookDelta(
                origin.exchange,
                instrument.symbol,
                instrument.native_symbol,
                ts_exchange,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                part,
                bids,
                asks,
                last,
                before,
                bid_sizes,
                ask_sizes,
            )
        )
        output.parts = part + 1
        return True


class Books:
    """The books of one stream. Every method appends what a consumer must see, in order."""

    def __init__(self, rule: SequenceRule) -> None:
        self._rule = rule
        self._books: dict[str, Book] = {}
        self._started = False

    def delta(
        self,
        origin: Origin,
        instrument: Instrument,
        output: Output,
        levels: BookLevels,
        *,
        first: int,
        last: int,
        previous: int | None = None,
        ts_exchange: int | None = None,
    ) -> None:
        """A venue update that covers ids ``first`` to ``last``: published, held, dropped as stale, or a gap."""
        book = self._books.get(instrument.native_symbol) or self._book(origin, instrument)
        before = book.sequence
        if book.advance(first, last, previous):
            self._publish_delta(origin, book, output, levels, ts_exchange, origin.ts_received, before)
            return
        delta = HeldDelta(levels, ts_exchange, origin.ts_received)
        verdict = book.offer(Update(first, last, previous, delta))
        if verdict is Verdict.APPLY:
            self._publish_delta(origin, book, output, levels, ts_exchange, origin.ts_received, before)
        elif verdict is Verdict.STALE:
            output.stale += 1
        elif verdict is Verdict.GAP:
            came = f"ids {first} to {last}" if previous is None else f"previous id {previous}"
            self._break(origin, instrument, output, book, "sequence", f"{came} after {before}")
        elif book.asks(origin.ts_received):
            self._ask(origin, instrument, output, book, "no_snapshot")

    def snapshot(
        self,
        origin: Origin,
        instrument: Instrument,
        output: Output,
        levels: BookLevels,
        sequence: int,
        ts_exchange: int | None,
    ) -> None:
        """A snapshot that the venue sent in the stream: replaces the book, at any time."""
        whole = _whole(levels)
        book = self._book(origin, instrument)
        book.restart(sequence)
        self._publish_snapshot(origin, instrument, output, book, whole, sequence, ts_exchange)

    def seed(
        self,
        origin: Origin,
        instrument: Instrument,
        output: Output,
        levels: BookLevels,
        sequence: int,
        ts_exchange: int | None,
    ) -> None:
        """A snapshot over REST: published if the held updates continue it, with those that do."""
        whole = _whole(levels)
        book = self._book(origin, instrument)
        verdict, held = book.seed(sequence)
        if verdict is SeedVerdict.STALE:
            output.stale += 1
        elif verdict is SeedVerdict.TOO_OLD:
            self._ask(origin, instrument, output, book, "snapshot_too_old")
        else:
            self._publish_snapshot(origin, instrument, output, book, whole, sequence, ts_exchange)
            final, at = book.sequence, sequence
            for update in held:
                book.sequence = update.last
                self._publish_delta(origin, book, output, *update.item, at)
                at = update.last
            book.sequence = final

    def partial(
        self,
        origin: Origin,
        instrument: Instrument,
        output: Output,
        levels: BookLevels,
        sequence: int | None,
        ts_exchange: int | None,
    ) -> None:
        """A top-of-book snapshot that no delta continues; ignored where a book of the instrument is kept already."""
        if instrument.native_symbol in self._books:
            output.stale += 1
            return
        output.add(_snapshot(origin, instrument, output.parts, _whole(levels), sequence, ts_exchange))

    def interrupted(self, origin: Origin, native_symbol: str | None, reason: str, output: Output) -> None:
        """Books lost something. With ``connected`` fresh snapshots come by themselves; else they are asked for."""
        if reason == "started":
            self._started = True
            output.resyncs.append(Resync("book", native_symbol, reason))
            return
        if reason == "connected":
            self._started = False
        symbols = list(self._books) if native_symbol is None else [native_symbol]
        for symbol in symbols:
            book = self._books.get(symbol)
            if book is None:
                continue
            if reason == "connected":
                book.begin(origin.ts_received)
            elif book.sequence is not None:
                book.reset()
                self._break(origin, book.instrument, output, book, reason, None)

    def find(self, native_symbol: str) -> Book | None:
        """The book of an instrument, if there is one yet."""
        return self._books.get(native_symbol)

    def waiting(self) -> list[Instrument]:
        """The instruments whose book has no snapshot."""
        return [book.instrument for book in self._books.values() if book.sequence is None]

    def _book(self, origin: Origin, instrument: Instrument) -> Book:
        book = self._books.get(instrument.native_symbol)
        if book is None:
            book = self._books[instrument.native_symbol] = Book(self._rule, origin.exchange, instrument)
            book.broken = self._started  # consumers had it from whoever owned the stream before
        return book

    def _break(
        self,
        origin: Origin,
        instrument: Instrument,
        output: Output,
        book: Book,
        reason: str,
        detail: str | None,
    ) -> None:
        book.broken = True
        _say(origin, instrument, output, "gap", reason, detail)
        self._ask(origin, instrument, output, book, reason)

    def _ask(self, origin: Origin, instrument: Instrument, output: Output, book: Book, reason: str) -> None:
        book.asked(origin.ts_received)
        _say(origin, instrument, output, "resync", reason, None)
        output.resyncs.append(Resync("book", instrument.native_symbol, reason))

    def _publish_snapshot(
        self,
        origin: Origin,
        instrument: Instrument,
        output: Output,
        book: Book,
        levels: BookLevels,
        sequence: int,
        ts_exchange: int | None,
    ) -> None:
        if book.broken:
            book.broken = False
            _say(origin, instrument, output, "live", "snapshot", None)
        # Each snapshot begins a list of its own, and so does the delta after it: none may overtake the other.
        book.snapshots.open(output)
        book.deltas.close()
        book.snapshots.messages.append(_snapshot(origin, instrument, output.parts, levels, sequence, ts_exchange))
        output.parts += 1

    @staticmethod
    def _publish_delta(
        origin: Origin,
        book: Book,
        output: Output,
        levels: BookLevels,
        ts_exchange: int | None,
        ts_received: int,
        previous: int | None,
    ) -> None:
        group, instrument = book.deltas, book.instrument
        if group.segment is not output.segment:
            group.open(output)
        bids, asks, bid_sizes, ask_sizes = levels
        group.messages.append(
            BookDelta(
                origin.exchange,
                instrument.symbol,
                instrument.native_symbol,
                ts_exchange,
                ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                output.parts,
                bids,
                asks,
                book.sequence,
                previous,
                bid_sizes,
                ask_sizes,
            )
        )
        output.parts += 1


def _say(
    origin: Origin, instrument: Instrument, output: Output, status: Status, reason: str | None, detail: str | None
) -> None:
    head = origin.head(instrument, None)
    output.add(StreamStatus(*head, output.parts, status, "book", reason, detail))


def _snapshot(
    origin: Origin,
    instrument: Instrument,
    part: int,
    levels: BookLevels,
    sequence: int | None,
    ts_exchange: int | None,
) -> BookSnapshot:
    bids, asks, *native = levels
    return BookSnapshot(*origin.head(instrument, ts_exchange), part, bids, asks, sequence, *native)


def _whole(levels: BookLevels) -> BookLevels:
    """The levels as a snapshot has them. Made before a book's state changes: what raises here leaves the book alone."""
    bids, bid_sizes = _sorted_levels(levels.bids, levels.bid_sizes_native, reverse=True)
    asks, ask_sizes = _sorted_levels(levels.asks, levels.ask_sizes_native, reverse=False)
    return BookLevels(bids, asks, bid_sizes, ask_sizes)


def _sorted_levels(
    levels: Sequence[Level], native: Sequence[str] | None, *, reverse: bool
) -> tuple[list[Level], list[str] | None]:
    """Levels by price without those of size zero (a size of 0 deletes, also inside a snapshot)."""
    kept = [index for index, level in enumerate(levels) if not is_zero(level[1])]
    kept.sort(key=lambda index: Decimal(levels[index][0]), reverse=reverse)
    return [levels[index] for index in kept], None if native is None else [native[index] for index in kept]
