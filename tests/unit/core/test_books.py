"""Order books of one stream: what a consumer is told, in which order."""

import pytest

from shared.exchanges.base import Origin, Output, Resync
from shared.exchanges.books import BookLevels, Books
from shared.messages import BookDelta, BookSnapshot, StreamStatus
from shared.sequencing import CONTIGUOUS, LINKED
from tests.unit.core.making import BTC, COIN, ETH, SECOND, START, levels

ONE_BID = levels([("100", "1")])


class Stream:
    """Drives books with one update per call, one second apart."""

    def __init__(self, *, linked: bool = False) -> None:
        self.books = Books(LINKED if linked else CONTIGUOUS)
        self.origin = Origin("tiny", "tiny.spot.0")
        self.origin.ts_received = START

    def next(self) -> Output:
        self.origin.frame += 1
        self.origin.ts_received += SECOND
        return Output()

    def delta(self, first: int, last: int, previous: int | None = None, changed: BookLevels = ONE_BID) -> Output:
        output = self.next()
        self.books.delta(self.origin, BTC, output, changed, first=first, last=last, previous=previous)
        return output

    def snapshot(self, sequence: int, whole: BookLevels = ONE_BID) -> Output:
        output = self.next()
        self.books.snapshot(self.origin, BTC, output, whole, sequence, None)
        return output

    def seed(self, sequence: int, whole: BookLevels = ONE_BID) -> Output:
        output = self.next()
        self.books.seed(self.origin, BTC, output, whole, sequence, None)
        return output

    def interrupted(self, reason: str, native_symbol: str | None = None) -> Output:
        output = self.next()
        self.books.interrupted(self.origin, native_symbol, reason, output)
        return output


def said(output: Output) -> list[str]:
    """Statuses and book messages in order; every part counts on."""
    assert [message.part for message in output.messages] == list(range(output.parts))
    return [message.status if isinstance(message, StreamStatus) else message.feed for message in output.messages]


def chain(output: Output) -> list[tuple[int | None, int | None]]:
    """``(previous_sequence, sequence)`` of the deltas."""
    return [(one.previous_sequence, one.sequence) for one in output.messages if isinstance(one, BookDelta)]


def test_deltas_follow_a_snapshot() -> None:
    """A snapshot of the venue, then each delta linked to the one before."""
    stream = Stream()
    assert said(stream.snapshot(10)) == ["book_snapshot"]
    assert chain(stream.delta(11, 11)) == [(10, 11)]
    assert chain(stream.delta(12, 12)) == [(11, 12)]


def test_seed_publishes_what_was_held() -> None:
    """Snapshot and held deltas come at once, with the times of the frames that brought them."""
    stream = Stream()
    assert said(stream.delta(101, 105)) == []
    stream.delta(106, 110)
    came = stream.origin.ts_received
    stream.delta(111, 112)
    output = stream.seed(107)
    assert said(output) == ["book_snapshot", "book_delta", "book_delta"]
    assert chain(output) == [(107, 110), (110, 112)]
    assert output.messages[0].ts_received == stream.origin.ts_received
    assert output.messages[1].ts_received == came
    assert {message.frame for message in output.messages} == {stream.origin.frame}
    assert chain(stream.delta(113, 113)) == [(112, 113)]


def test_gap_is_told_and_asked_for_once() -> None:
    """Status, resync wish of that instrument, silence until the snapshot, ``live`` before it."""
    stream = Stream()
    stream.snapshot(10)
    output = stream.delta(12, 12)
    assert said(output) == ["gap", "resync"]
    assert output.resyncs == [Resync("book", "BTCUSDT", "sequence")]
    status = output.messages[0]
    assert isinstance(status, StreamStatus)
    assert (status.affects, status.reason, status.detail) == ("book", "sequence", "ids 12 to 12 after 10")
    quiet = stream.delta(13, 13)
    assert (said(quiet), quiet.resyncs) == ([], [])
    assert said(stream.snapshot(13)) == ["live", "book_snapshot"]
    assert said(stream.delta(14, 14)) == ["book_delta"]
    assert said(stream.snapshot(20)) == ["book_snapshot"]


def test_gap_of_linked_updates_names_the_link() -> None:
    """The detail says which id was referred to."""
    stream = Stream(linked=True)
    stream.snapshot(10)
    status = stream.delta(20, 25, previous=12).messages[0]
    assert isinstance(status, StreamStatus)
    assert status.detail == "previous id 12 after 10"


def test_old_updates_and_seeds_are_counted() -> None:
    """What is stale gives no message."""
    stream = Stream()
    stream.snapshot(10)
    for output in (stream.delta(9, 10), stream.seed(10)):
        assert (said(output), output.stale, output.resyncs) == ([], 1, [])


def test_seed_that_is_too_old_is_asked_for_again() -> None:
    """No book is published from it, what was held stays."""
    stream = Stream()
    stream.delta(101, 105)
    output = stream.seed(95)
    assert said(output) == ["resync"]
    assert output.resyncs == [Resync("book", "BTCUSDT", "snapshot_too_old")]
    assert said(stream.seed(100)) == ["book_snapshot", "book_delta"]


def test_missing_seed_is_asked_for_after_ten_seconds() -> None:
    """And ever more seldom after that, while updates come."""
    stream = Stream()
    asked = []
    for at in range(1, 200):
        output = stream.delta(at, at)
        if output.resyncs:
            assert output.resyncs == [Resync("book", "BTCUSDT", "no_snapshot")]
            assert said(output) == ["resync"]
            asked.append(at)
    assert asked == [11, 31, 71, 151]


def test_wait_of_an_old_epoch_is_forgotten() -> None:
    """A new epoch brings snapshots by itself; if it does not, ten seconds are enough again."""
    stream = Stream()
    for at in range(1, 40):
        stream.delta(at, at)
    stream.interrupted("connected")
    asked = [at for at in range(1, 15) if stream.delta(at, at).resyncs]
    assert asked == [10]


@pytest.mark.parametrize("reason", ["shed", "lost"])
def test_interrupted_book_is_a_gap(reason: str) -> None:
    """What may have missed a delta is told and asked for; what is asked for already is left alone."""
    stream = Stream()
    stream.snapshot(10)
    output = stream.interrupted(reason, "BTCUSDT")
    assert said(output) == ["gap", "resync"]
    assert output.resyncs == [Resync("book", "BTCUSDT", reason)]
    again = stream.interrupted(reason)
    assert (said(again), again.resyncs) == ([], [])
    assert said(stream.delta(11, 11)) == []
    assert said(stream.seed(11)) == ["live", "book_snapshot"]


def test_interruption_of_one_instrument_leaves_others_alone() -> None:
    """Only the book that lost something is resynced; one that isn't kept is nobody's loss."""
    stream = Stream()
    stream.snapshot(10)
    stream.books.snapshot(stream.origin, ETH, Output(), ONE_BID, 50, None)
    assert [one.native_symbol for one in stream.interrupted("shed", "ETHUSDT").resyncs] == ["ETHUSDT"]
    assert stream.interrupted("shed", "XRPUSDT").resyncs == []
    assert said(stream.delta(11, 11)) == ["book_delta"]


def test_interruption_of_the_stream_concerns_every_book() -> None:
    """Frames that are lost may have been anybody's."""
    stream = Stream()
    stream.snapshot(10)
    stream.books.snapshot(stream.origin, ETH, Output(), ONE_BID, 50, None)
    output = stream.interrupted("lost")
    assert [one.native_symbol for one in output.resyncs] == ["BTCUSDT", "ETHUSDT"]
    assert said(output) == ["gap", "resync", "gap", "resync"]


def test_new_epoch_starts_silently() -> None:
    """Snapshots come by themselves: nothing is said of books that were whole, and ``live`` of those that were not."""
    stream = Stream()
    stream.snapshot(10)
    assert said(stream.interrupted("connected")) == []
    assert said(stream.delta(11, 11)) == []
    assert said(stream.snapshot(1)) == ["book_snapshot"]
    stream.delta(3, 3)
    stream.interrupted("connected")
    assert said(stream.snapshot(1)) == ["live", "book_snapshot"]


def test_started_in_mid_life_asks_for_everything() -> None:
    """It can't know what books there are."""
    output = Stream().interrupted("started")
    assert (said(output), output.resyncs) == ([], [Resync("book", None, "started")])


def test_snapshot_is_sorted_and_has_no_empty_level() -> None:
    """Bids fall, asks rise, by number and not by text; zero in any spelling is no level."""
    whole = BookLevels(
        [("9.5", "2"), ("100.0", "0"), ("10", "1"), ("9", "0.0")],
        [("110", "4"), ("99.6", "0.00000000"), ("10.2", "1"), ("9.9", "3")],
    )
    message = Stream().snapshot(7, whole).messages[0]
    assert isinstance(message, BookSnapshot)
    assert message.bids == [("10", "1"), ("9.5", "2")]
    assert message.asks == [("9.9", "3"), ("10.2", "1"), ("110", "4")]
    assert message.bid_sizes_native is None


def test_native_sizes_move_with_their_levels() -> None:
    """They stay beside the level to which they belong."""
    stream = Stream()
    whole = BookLevels([("1", "0.1"), ("2", "0"), ("3", "0.3")], [], ["10", "0", "30"], [])
    output = stream.next()
    stream.books.seed(stream.origin, COIN, output, whole, 7, None)
    message = output.messages[0]
    assert isinstance(message, BookSnapshot)
    assert (message.bids, message.bid_sizes_native) == ([("3", "0.3"), ("1", "0.1")], ["30", "10"])
    assert message.ask_sizes_native == []


def test_delta_keeps_its_zeros() -> None:
    """They delete levels."""
    stream = Stream()
    stream.snapshot(10)
    message = stream.delta(11, 11, changed=levels([("9", "0.000")], [("8", "1")])).messages[0]
    assert isinstance(message, BookDelta)
    assert (message.bids, message.asks) == ([("9", "0.000")], [("8", "1")])


def test_partial_snapshot_is_for_those_without_a_book() -> None:
    """The top of a book is published as it comes, but not into a chain."""
    stream = Stream()
    output = stream.next()
    stream.books.partial(stream.origin, BTC, output, levels([("1", "1"), ("2", "1")]), None, None)
    message = output.messages[0]
    assert isinstance(message, BookSnapshot)
    assert (message.bids, message.sequence) == ([("2", "1"), ("1", "1")], None)
    stream.snapshot(10)
    output = stream.next()
    stream.books.partial(stream.origin, BTC, output, ONE_BID, 12, None)
    assert (said(output), output.stale) == ([], 1)


def test_snapshot_that_cannot_be_sorted_changes_nothing() -> None:
    """A book is never live without its snapshot having been published."""
    stream = Stream()
    stream.snapshot(10)
    for take in (stream.snapshot, stream.seed):
        with pytest.raises(ArithmeticError):
            take(20, levels([("price", "1"), ("2", "1")]))
    assert chain(stream.delta(11, 11)) == [(10, 11)]


def test_waiting_books() -> None:
    """Those without a snapshot."""
    stream = Stream()
    stream.delta(1, 1)
    assert stream.books.waiting() == [BTC]
    stream.snapshot(2)
    assert stream.books.waiting() == []
