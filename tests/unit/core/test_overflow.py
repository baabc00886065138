"""The buffer between a socket and the broker."""

import gc
from collections.abc import Iterable
from typing import Final

import pytest

from shared.envelope import Connected, Frame, FrameKind, Shed, ShedItem, decode_mark, encode_mark
from shared.exchanges.base import DATA, Feed, FrameClass, Overflow, Route
from shared.overflow import CROWD, Entry, FrameBuffer
from shared.standing import StandingQueue

TRADE: Final = Route(FrameClass.DATA, Feed.TRADE, "BTCUSDT", Overflow.SHED)
BOOK: Final = Route(FrameClass.DATA, Feed.BOOK, "BTCUSDT", Overflow.RESYNC)
QUOTE: Final = Route(FrameClass.DATA, Feed.QUOTE, "BTCUSDT", Overflow.CONFLATE)
ETH_QUOTE: Final = Route(FrameClass.DATA, Feed.QUOTE, "ETHUSDT", Overflow.CONFLATE)
TICKER: Final = Route(FrameClass.DATA, Feed.TICKER, "BTCUSDT", Overflow.CONFLATE)
MARK: Final = Frame(FrameKind.MARK, 9, encode_mark(Connected("wss://venue.test")))


def patient() -> StandingQueue:
    """One that takes nothing for an overload."""
    return StandingQueue(10**15, 10**15)


def text(data: str) -> Frame:
    return Frame(FrameKind.TEXT, 1, data.encode())


def buffer_of(*frames: tuple[str, Route], limit: int = 100, size: int = 10_000, age: int = 1_000) -> FrameBuffer:
    buffer = FrameBuffer(limit, size, age, patient())
    for data, route in frames:
        buffer.append(text(data), route, 0)
    return buffer


def shown(entries: Iterable[Entry]) -> list[str | list[ShedItem]]:
    """Data of the frames; of an announcement its items."""
    found: list[str | list[ShedItem]] = []
    for entry in entries:
        mark = decode_mark(entry.frame.data) if entry.frame.kind == FrameKind.MARK else None
        found.append(mark.items if isinstance(mark, Shed) else "mark" if mark else entry.frame.data.decode())
    return found


def everything(buffer: FrameBuffer, now: int = 0) -> list[str | list[ShedItem]]:
    return shown(buffer.take(1_000, 1_000_000, now))


def test_order_and_bounds_of_a_batch() -> None:
    """Oldest first, at most so many frames and bytes, one at least however large."""
    buffer = buffer_of(("a", TRADE), ("b", TRADE), ("ccccc", TRADE), ("d", TRADE))
    assert buffer.oldest() == 0
    assert shown(buffer.take(1, 100, 0)) == ["a"]
    assert shown(buffer.take(100, 3, 0)) == ["b"]
    assert shown(buffer.take(100, 3, 0)) == ["ccccc"]
    assert (buffer.frames, buffer.bytes) == (1, 1)
    assert shown(buffer.take(100, 100, 0)) == ["d"]
    assert (buffer.oldest(), buffer.frames, buffer.bytes) == (None, 0, 0)
    assert buffer.take(100, 100, 0) == []


def test_superseded_frames_go_first() -> None:
    """A quote that a newer one of the same instrument replaces is given up before anything is lost."""
    buffer = buffer_of(
        ("t", TRADE), ("q1", QUOTE), ("e1", ETH_QUOTE), ("k1", TICKER), ("q2", QUOTE), ("x", BOOK), limit=5
    )
    assert everything(buffer) == ["t", "e1", "k1", "q2", "x"]
    assert buffer.collect() == {("quote", "BTCUSDT", "conflated"): 1}
    assert buffer.announced == 0


def test_oldest_frames_are_shed_and_announced_once() -> None:
    """The next batch begins with what is missing before it, by feed, instrument and reason."""
    buffer = buffer_of(("t1", TRADE), ("t2", TRADE), ("b1", BOOK), ("t3", TRADE), ("t4", TRADE), limit=2)
    assert everything(buffer) == [
        [ShedItem("trade", "BTCUSDT", "overflow", 2), ShedItem("book", "BTCUSDT", "overflow", 1)],
        "t3",
        "t4",
    ]
    assert buffer.collect() == {("trade", "BTCUSDT", "overflow"): 2, ("book", "BTCUSDT", "overflow"): 1}
    assert buffer.collect() == {}
    buffer.append(text("t5"), TRADE, 0)
    assert everything(buffer) == ["t5"]
    assert buffer.announced == 1


@pytest.mark.parametrize("limit", [20, CROWD, 2 * CROWD])
def test_superseded_go_first_however_many_waited(limit: int) -> None:
    """Again after the buffer was empty, and whether it was full before or not."""
    buffer = FrameBuffer(limit, 1_000_000, 1_000, patient())
    for _ in range(3):
        for at in range(limit - 5):
            buffer.append(text(f"q{at}"), QUOTE, 0)
        for at in range(12):
            buffer.append(text(f"t{at}"), TRADE, 0)
        taken = shown(buffer.take(limit, 1_000_000, 0))
        assert taken == [f"q{at}" for at in range(7, limit - 5)] + [f"t{at}" for at in range(12)]
        assert buffer.collect() == {("quote", "BTCUSDT", "conflated"): 7}


def test_announcement_has_the_time_of_the_frame_behind_it() -> None:
    """Its receive time keeps the stream's times in order."""
    buffer = buffer_of(("t1", TRADE), limit=1)
    buffer.append(Frame(FrameKind.TEXT, 77, b"t2"), TRADE, 5)
    assert [entry.frame.ts_received for entry in buffer.take(9, 99, 5)] == [77, 77]


def test_announcement_waits_for_a_frame() -> None:
    """Where nothing is left nothing is said, until something comes."""
    buffer = buffer_of(("t1", TRADE), ("t2", TRADE))
    buffer.shed_all("circuit_open")
    assert (everything(buffer), buffer.frames) == ([], 0)
    buffer.append(text("t3"), TRADE, 0)
    assert everything(buffer) == [[ShedItem("trade", "BTCUSDT", "circuit_open", 2)], "t3"]


def test_bytes_are_bounded_too() -> None:
    """A large frame makes room for itself, and stands alone if it must."""
    buffer = buffer_of(("aaaa", TRADE), ("bbbb", TRADE), size=10)
    buffer.append(text("c" * 6), TRADE, 0)
    assert (buffer.frames, buffer.bytes) == (2, 10)
    buffer.append(text("d" * 50), TRADE, 0)
    assert (buffer.frames, buffer.bytes) == (1, 50)


@pytest.mark.parametrize("route", [DATA, TRADE, QUOTE])
def test_marks_and_replies_are_never_given_up(route: Route) -> None:
    """Whatever is said of them; only the end of the process clears them."""
    buffer = FrameBuffer(2, 10_000, 1_000, patient())
    frames = [MARK, Frame(FrameKind.REST, 2, b"reply"), Frame(FrameKind.REST, 3, b"reply")]
    for frame in frames:
        buffer.append(frame, route, 0)
    buffer.append(text("t"), TRADE, 0)
    buffer.append(text("u"), TRADE, 0)
    buffer.shed_all("circuit_open")
    taken = [entry.frame for entry in buffer.take(99, 9_999, 1_000_000)]
    assert [frame for frame in taken if frame in frames] == frames
    assert {reason for _, _, reason in buffer.collect()} == {"overflow", "circuit_open"}


def test_clear_gives_up_everything() -> None:
    """And counts it."""
    buffer = buffer_of(("t", TRADE))
    buffer.append(MARK, DATA, 0)
    buffer.clear("shutdown")
    assert buffer.collect() == {("trade", "BTCUSDT", "shutdown"): 1, (None, None, "shutdown"): 1}
    assert (buffer.frames, buffer.bytes, buffer.oldest()) == (0, 0, None)


def test_old_frames_expire() -> None:
    """They are worth nothing any more; marks before them are in nobody's way."""
    buffer = FrameBuffer(100, 10_000, 1_000, patient())
    buffer.append(MARK, DATA, 0)
    buffer.append(text("old"), TRADE, 0)
    buffer.append(text("young"), TRADE, 1)
    assert everything(buffer, now=1_001) == [[ShedItem("trade", "BTCUSDT", "expired", 1)], "mark", "young"]


def test_epoch_begins_a_batch() -> None:
    """No batch holds frames of two epochs."""
    buffer = buffer_of(("a", TRADE), ("b", TRADE))
    buffer.append(MARK, DATA, 0, epoch=7)
    buffer.append(text("c"), TRADE, 0)
    assert everything(buffer) == ["a", "b"]
    entries = buffer.take(99, 999, 0)
    assert (shown(entries), entries[0].epoch) == (["mark", "c"], 7)


def test_loss_is_announced_in_its_own_epoch() -> None:
    """What was shed of the new epoch is told behind the mark that begins it, and not before."""
    buffer = buffer_of(("a1", TRADE), ("a2", TRADE), limit=2)
    buffer.append(MARK, DATA, 0, epoch=7)
    buffer.append(text("b1"), BOOK, 0)
    buffer.append(text("b2"), TRADE, 0)
    assert everything(buffer) == [[ShedItem("trade", "BTCUSDT", "overflow", 2)]]
    assert everything(buffer) == ["mark", [ShedItem("book", "BTCUSDT", "overflow", 1)], "b2"]


def test_loss_of_a_new_epoch_waits_for_the_next_batch_if_it_must() -> None:
    """A batch of one frame has no room for it."""
    buffer = FrameBuffer(2, 10_000, 1_000, patient())
    buffer.append(MARK, DATA, 0, epoch=7)
    for data in ("b1", "b2"):
        buffer.append(text(data), TRADE, 0)
    assert [shown(buffer.take(1, 999, 0)) for _ in range(3)] == [
        ["mark"],
        [[ShedItem("trade", "BTCUSDT", "overflow", 1)]],
        ["b2"],
    ]


def test_frame_that_opens_an_epoch_is_kept() -> None:
    """Whatever kind it is of: without it nobody knew that the epoch began."""
    buffer = FrameBuffer(1, 10_000, 1_000, patient())
    buffer.append(text("first"), QUOTE, 0, epoch=7)
    buffer.append(text("second"), QUOTE, 0)
    buffer.shed_all("circuit_open")
    assert everything(buffer) == ["first", [ShedItem("quote", "BTCUSDT", "circuit_open", 1)]]


def test_failed_publish_is_counted_without_a_mark() -> None:
    """The hole in the numbers tells of it."""
    buffer = buffer_of(("a", TRADE), ("b", TRADE))
    buffer.note_lost(buffer.take(9, 99, 0), "publish_failed")
    buffer.append(text("c"), TRADE, 0)
    assert everything(buffer) == ["c"]
    assert buffer.collect() == {("trade", "BTCUSDT", "publish_failed"): 2}


def kept(text_of: str) -> int:
    """How many frames whose data begin so are still in memory."""
    gc.collect()
    return sum(type(one) is Frame and one.data.startswith(text_of.encode()) for one in gc.get_objects())


@pytest.mark.parametrize("first", [TRADE, QUOTE, DATA])
def test_memory_is_bounded_while_nothing_is_taken(first: Route) -> None:
    """A broker that is away for an hour does not make the buffer keep what it has given up."""
    buffer = FrameBuffer(10, 1_000_000, 10**15, patient())
    buffer.append(MARK if first is DATA else text("first"), first, 0)
    for at in range(5_000):
        buffer.append(text(f"away {at}"), QUOTE if at % 2 else ETH_QUOTE, at)
        if at % 100 == 0:
            buffer.oldest()
        if at % 1_000 == 0:
            buffer.shed_all("circuit_open")
    assert 0 < kept("away") < 1_000
    assert buffer.frames <= 10


def test_memory_is_bounded_while_everything_is_taken() -> None:
    """Nor does it keep what it has handed out, superseded or not, when there was never a want of room."""
    buffer = FrameBuffer(1_000, 1_000_000, 10**15, patient())
    for at in range(5_000):
        buffer.append(text(f"taken {at}"), QUOTE, at)
        if at % 3 == 2:
            buffer.take(2, 1_000, at)
        if buffer.frames > 100:
            buffer.take(1_000, 100_000, at)
        assert buffer.collect() == {}
    assert kept("taken") < 1_000
    buffer.take(1_000, 100_000, 0)
    assert kept("taken") == 0


def test_a_queue_that_stands_is_conflated_and_cut_to_what_may_wait() -> None:
    """Every frame waits 30 where 10 would do, and goes on to do so: newer quotes stand for older ones, trades go."""
    buffer = FrameBuffer(100, 10_000, 1_000, StandingQueue(10, 100))
    for now in range(0, 400, 10):
        buffer.append(text(f"t{now}"), TRADE, now)
        buffer.append(text(f"q{now}"), QUOTE, now)
        if now >= 30:
            waited = [now - entry.queued for entry in buffer.take(2, 1_000, now) if entry.frame.kind != FrameKind.MARK]
            assert waited == [30, 30] if now <= 120 else max(waited) <= 10
    losses = buffer.collect()
    assert losses["quote", "BTCUSDT", "conflated"] > 0
    assert losses["trade", "BTCUSDT", "overload"] > 0
    assert losses.keys() == {("quote", "BTCUSDT", "conflated"), ("trade", "BTCUSDT", "overload")}


def test_what_an_outage_left_is_not_given_up_while_it_gets_less() -> None:
    buffer = FrameBuffer(1_000, 10_000, 10**9, StandingQueue(10, 100))
    for at in range(100):
        buffer.append(text(f"t{at}"), TRADE, 20 * at)
    taken = [name for now in range(2_000, 3_000, 20) for name in shown(buffer.take(3, 1_000, now))]
    assert taken == [f"t{at}" for at in range(100)]
    assert buffer.collect() == {}
