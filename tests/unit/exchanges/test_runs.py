from hypothesis import given
from hypothesis import strategies as st

from shared.exchanges.runs import IdRuns


def test_ids_that_count_up_are_new_once() -> None:
    runs = IdRuns()
    assert [runs.seen(number) for number in (5, 6, 7, 6, 5, 7, 8)] == [False, False, False, True, True, True, False]
    assert runs.expected == 9


def test_late_ids_of_a_hole_are_new_and_then_known() -> None:
    runs = IdRuns()
    assert [runs.seen(number) for number in (1, 2, 10, 11)] == [False] * 4
    assert [runs.seen(number) for number in (5, 5, 2, 11, 12, 12)] == [False, True, True, True, False, True]


@given(st.lists(st.integers(0, 40), max_size=200))
def test_each_id_is_new_once(numbers: list[int]) -> None:
    runs = IdRuns()
    known: set[int] = set()
    for number in numbers:
        assert runs.seen(number) == (number in known)
        known.add(number)
