"""The search finds what holds, in few steps, also on a machine where something fails by chance."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.bench.measuring.search import RateSearch

STEPS = 40


def searched(search: RateSearch, limit: float) -> int:
    steps = 0
    while (rate := search.next()) is not None:
        search.tried(rate, held=rate <= limit)
        steps += 1
        assert steps < STEPS
    return steps


@given(st.floats(100, 150_000), st.floats(100, 20_000))
def test_the_limit_lies_between_the_best_rate_and_what_is_said_of_precision(limit: float, start: float) -> None:
    search = RateSearch(start, 200_000, halvings=4)
    searched(search, limit)
    assert search.best <= limit
    assert limit <= search.best * (1 + search.precision + 0.001)
    assert search.precision <= 0.06


def test_a_limit_above_the_most_that_is_tried_is_said_to_be_there() -> None:
    search = RateSearch(1_000, 3_000)
    assert searched(search, 1e9) == 3
    assert (search.best, search.capped, search.precision) == (3_000, True, 0.0)


def test_a_failure_below_what_was_held_counts_for_nothing() -> None:
    search = RateSearch(1_000, 8_000)
    search.tried(4_000, held=True)
    search.tried(2_000, held=False)
    assert search.failed is None


def test_where_nothing_holds_the_search_ends() -> None:
    search = RateSearch(500, 1_000)
    assert searched(search, 0) < 10
    assert search.best == 0


@pytest.mark.parametrize("tries", [1, 4])
def test_what_is_to_be_confirmed_falls(tries: int) -> None:
    rates = list(RateSearch.confirm(100, tries))
    assert rates[0] == 100
    assert len(rates) == tries
    assert rates == sorted(rates, reverse=True)
