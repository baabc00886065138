"""Numbers of frames: contiguous in an epoch, held frames behind the reconciliation that they wait for."""

from services.ingest.account.numbering import Begin, Cover, Head, Learn, Operation, Push, Release, Row, Tell, advance
from shared.envelope import Connected, Frame, FrameKind, decode_mark

URL = "wss://venue.test/private"


def pushed(text: str) -> Push:
    return Push(Frame(FrameKind.TEXT, 5, text.encode()))


def told(text: str) -> Tell:
    return Tell(Frame(FrameKind.CATCH_UP, 6, text.encode()))


def places(rows: list[Row]) -> list[tuple[int, int, int, bytes]]:
    """Marks without their text."""
    return [
        (row.position, row.epoch, row.number, b"mark" if row.frame.kind == FrameKind.MARK else row.frame.data)
        for row in rows
    ]


def done(*operations: Operation, head: Head | None = None) -> tuple[Head, list[Row]]:
    step = advance(head or Head(), operations)
    return step.head, step.rows


def test_an_epoch_begins_with_a_frame_that_says_so_and_holds_what_is_pushed() -> None:
    head, rows = done(Begin(700, URL, 9), pushed("a"), pushed("b"))
    assert places(rows) == [(0, 700, 0, b"mark")]
    assert decode_mark(rows[0].frame.data) == Connected(URL)
    assert [frame.data for frame in head.held] == [b"a", b"b"]
    assert (head.epoch, head.number, head.position, head.holding) == (700, 1, 1, True)


def test_what_is_told_does_not_wait_for_what_is_held() -> None:
    _, rows = done(Begin(1, URL, 9), pushed("later"), told("lists"))
    assert places(rows) == [(0, 1, 0, b"mark"), (1, 1, 1, b"lists")]


def test_held_frames_get_their_numbers_behind_the_reconciliation_in_their_order() -> None:
    head, _ = done(Begin(1, URL, 9), pushed("a"), pushed("b"))
    head, rows = done(told("catch-up"), Cover(1234), Release(), pushed("c"), head=head)
    assert places(rows) == [(1, 1, 1, b"catch-up"), (2, 1, 2, b"a"), (3, 1, 3, b"b"), (4, 1, 4, b"c")]
    assert (head.held, head.holding, head.covered_ms) == ((), False, 1234)


def test_frames_that_were_held_when_an_epoch_ended_belong_to_it() -> None:
    head, _ = done(Begin(1, URL, 9), pushed("a"))
    head, rows = done(Begin(1, URL, 10), pushed("b"), head=head)
    assert places(rows) == [(1, 1, 1, b"a"), (2, 2, 0, b"mark")]
    assert decode_mark(rows[1].frame.data) == Connected(URL, previous_epoch=1, previous_frames=2)
    assert [frame.data for frame in head.held] == [b"b"]


def test_frames_held_and_released_in_one_step_never_count_as_held() -> None:
    step = advance(Head(), [Begin(1, URL, 9), pushed("a"), Release(), Begin(5, URL, 9), pushed("b")])
    assert places(step.rows) == [(0, 1, 0, b"mark"), (1, 1, 1, b"a"), (2, 5, 0, b"mark")]
    assert [frame.data for frame in step.held] == [b"b"] == [frame.data for frame in step.head.held]
    assert step.released


def test_epochs_grow_whatever_the_clock_says() -> None:
    head, _ = done(Begin(1000, URL, 9), Begin(10, URL, 9), Begin(1001, URL, 9))
    assert head.epoch == 1002


def test_what_was_covered_never_shrinks() -> None:
    head, _ = done(Cover(50), Cover(20))
    assert head.covered_ms == 50


def test_symbols_are_passed_on() -> None:
    assert advance(Head(), [Learn(("A",)), Learn(("B", "A"))]).symbols == ["A", "B", "A"]
