"""Order books: whatever a venue, a network and a REST cache do to updates, what is published is the venue's book."""

from collections.abc import Sequence
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from shared.sequencing import CONTIGUOUS, LINKED, BookSequencer, SeedVerdict, SequenceRule, Update, Verdict

PRICES = st.integers(1, 4)
SIZES = st.integers(0, 3)


class Change(NamedTuple):
    """One id of the venue: this price has this size from now on."""

    price: int
    size: int


Book = dict[int, int]


class Venue:
    """Numbers changes; ids that are None belong to some other instrument."""

    def __init__(self) -> None:
        self.changes: list[Change | None] = []

    @property
    def last(self) -> int:
        return len(self.changes)

    def book(self, sequence: int) -> Book:
        """The book as it was when ``sequence`` was the last id."""
        return applied({}, [change for change in self.changes[:sequence] if change is not None])


def applied(book: Book, changes: Sequence[Change]) -> Book:
    book = dict(book)
    for price, size in changes:
        if size:
            book[price] = size
        else:
            book.pop(price, None)
    return book


class Sequencing(RuleBasedStateMachine):
    """A consumer follows what the sequencer lets through. ``linked`` as in the rule."""

    linked = False

    def __init__(self) -> None:
        super().__init__()
        self.rule: SequenceRule = LINKED if self.linked else CONTIGUOUS
        self.venue = Venue()
        self.sequencer: BookSequencer[list[Change]] = BookSequencer(self.rule)
        self.sent: list[Update[list[Change]]] = []
        self.consumer: Book | None = None
        self.at: int | None = None

    # What happens at the venue and on the way

    def emit(self, changes: list[Change], skipped: int) -> Update[list[Change]]:
        """One more update of the venue."""
        previous = self.sent[-1].last if self.sent else self.venue.last
        if self.linked:
            self.venue.changes += [None] * skipped
        first = self.venue.last + 1
        self.venue.changes += changes
        update = Update(first, self.venue.last, previous if self.linked else None, changes)
        self.sent.append(update)
        return update

    def deliver(self, update: Update[list[Change]]) -> Verdict:
        at = self.sequencer.sequence
        verdict = self.sequencer.offer(update)
        if verdict is Verdict.APPLY:
            assert at is not None
            self.publish(update, at)
        elif verdict is Verdict.GAP:
            assert at is not None
            assert update.last > at
            self.consumer = self.at = None
        elif verdict is Verdict.HELD:
            assert at is None
        elif at is not None:
            assert update.last <= at
        return verdict

    def publish(self, update: Update[list[Change]], previous: int) -> None:
        """A delta reaches the consumer, who checks the link."""
        assert self.consumer is not None
        assert previous == self.at
        self.consumer = applied(self.consumer, update.item)
        self.at = update.last

    @rule(changes=st.lists(st.builds(Change, PRICES, SIZES), min_size=1, max_size=3), skipped=st.integers(0, 3))
    def update(self, changes: list[Change], skipped: int) -> None:
        """It arrives."""
        whole = self.at is not None and bool(self.sent) and self.at == self.sent[-1].last
        verdict = self.deliver(self.emit(changes, skipped))
        if whole:
            assert verdict is Verdict.APPLY

    @rule(changes=st.lists(st.builds(Change, PRICES, SIZES), min_size=1, max_size=3), skipped=st.integers(0, 3))
    def update_gets_lost(self, changes: list[Change], skipped: int) -> None:
        """It does not."""
        self.emit(changes, skipped)

    @precondition(lambda self: self.sent)
    @rule(back=st.integers(0, 6))
    def update_comes_again(self, back: int) -> None:
        """One that was sent before, whether it arrived then or not."""
        self.deliver(self.sent[max(0, len(self.sent) - 1 - back)])

    @rule(data=st.data())
    def snapshot_over_rest(self, data: st.DataObject) -> None:
        """Of now, or from a cache of any age."""
        sequence = data.draw(st.integers(max(0, self.venue.last - 8), self.venue.last))
        at = self.sequencer.sequence
        verdict, through = self.sequencer.seed(sequence)
        if verdict is SeedVerdict.ACCEPTED:
            assert at is None or sequence > at
            self.consumer, self.at = self.venue.book(sequence), sequence
            for update in through:
                self.publish(update, self.at)
        else:
            assert through == []
            assert self.sequencer.sequence == at
            assert (at is None) == (verdict is SeedVerdict.TOO_OLD)

    @rule()
    def snapshot_in_the_stream(self) -> None:
        """The venue says itself where it is."""
        if self.sent and self.sent[-1].last == self.venue.last:
            self.sequencer.restart(self.venue.last)
            self.consumer, self.at = self.venue.book(self.venue.last), self.venue.last

    @rule(changes=st.lists(st.builds(Change, PRICES, SIZES), min_size=1, max_size=3))
    def resync_succeeds(self, changes: list[Change]) -> None:
        """However the book is broken: an update, a snapshot of now, an update, and it is live."""
        self.deliver(self.emit(changes, 0))
        if self.sequencer.sequence is None:
            sequence = self.venue.last
            verdict, through = self.sequencer.seed(sequence)
            assert verdict is SeedVerdict.ACCEPTED
            self.consumer, self.at = self.venue.book(sequence), sequence
            for update in through:
                self.publish(update, self.at)
        if self.at == self.venue.last:
            assert self.deliver(self.emit(changes, 0)) is Verdict.APPLY

    @rule()
    def connection_begins_anew(self) -> None:
        """Nothing of before counts."""
        self.sequencer.begin(0)
        self.consumer = self.at = None

    # What must hold

    @invariant()
    def consumer_has_the_book_of_the_venue(self) -> None:
        """As it was at the sequence that the chain has reached."""
        assert self.at == self.sequencer.sequence
        if self.at is not None:
            assert self.consumer == self.venue.book(self.at)


class LinkedSequencing(Sequencing):
    """The same where ids skip and updates are linked."""

    linked = True


TestContiguous = Sequencing.TestCase
TestLinked = LinkedSequencing.TestCase
