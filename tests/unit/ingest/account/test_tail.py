"""The way from journal to outlet: every row once, in order, whatever of it is in memory."""

from services.ingest.account.numbering import Row
from services.ingest.account.tail import Tail
from shared.envelope import Frame


def rows(first: int, count: int, size: int = 1) -> list[Row]:
    return [Row(position, 1, position, Frame(0, 0, bytes(size))) for position in range(first, first + count)]


def taken(tail: Tail) -> list[int]:
    found = []
    while (row := tail.take()) is not None:
        found.append(row.position)
    return found


def test_what_is_committed_is_taken_without_the_disk() -> None:
    tail = Tail()
    tail.found(0, -1)
    assert not tail.behind
    tail.committed(rows(0, 3))
    assert taken(tail) == [0, 1, 2]
    assert not tail.behind


def test_what_an_earlier_process_left_is_read_from_disk_first() -> None:
    tail = Tail()
    tail.found(10, 12)
    tail.committed(rows(13, 2))
    assert tail.take() is None
    assert tail.behind
    tail.loaded(rows(10, 4), tail.newest)
    assert taken(tail) == [10, 11, 12, 13]
    assert tail.behind
    tail.loaded(rows(14, 1), tail.newest)
    assert taken(tail) == [14]
    assert not tail.behind


def test_memory_is_bounded_in_rows_and_bytes_but_for_a_single_row() -> None:
    few, small = Tail(max_rows=2), Tail(max_bytes=10)
    for tail in (few, small):
        tail.found(0, -1)
    few.committed(rows(0, 5))
    small.committed(rows(0, 1, size=50))
    small.committed(rows(1, 3, size=4))
    assert taken(few) == [0, 1]
    assert few.behind
    assert taken(small) == [0]
    assert small.behind


def test_rows_that_are_gone_from_the_disk_are_not_waited_for() -> None:
    tail = Tail()
    tail.found(0, 5)
    tail.loaded([], 5)
    assert not tail.behind
    tail.committed(rows(6, 1))
    assert taken(tail) == [6]


def test_a_journal_that_is_opened_again_repeats_nothing() -> None:
    tail = Tail()
    tail.found(0, -1)
    tail.committed(rows(0, 4))
    assert [tail.take(), tail.take()] == rows(0, 2)
    tail.found(0, 5)
    assert taken(tail) == [2, 3]
    assert tail.behind
    tail.loaded(rows(4, 2), tail.newest)
    assert taken(tail) == [4, 5]
