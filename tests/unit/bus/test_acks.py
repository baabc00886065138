"""Exactly the given deliveries, in as few frames as that takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.bus.rabbit.acks import Ack, Outstanding


def outstanding(count: int) -> Outstanding:
    deliveries = Outstanding()
    for tag in range(1, count + 1):
        deliveries.add(tag)
    return deliveries


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ([1, 2, 3], [Ack(3, multiple=True)]),
        ([3, 1, 2], [Ack(3, multiple=True)]),
        ([2, 4], [Ack(2, multiple=False), Ack(4, multiple=False)]),
        ([1, 2, 5], [Ack(2, multiple=True), Ack(5, multiple=False)]),
        ([], []),
        ([9], []),
        ([1, 1], [Ack(1, multiple=True)]),
    ],
)
def test_head_is_one_frame_and_the_rest_single(tags: list[int], expected: list[Ack]) -> None:
    assert outstanding(5).settle(tags) == expected


def test_what_is_settled_does_not_stand_between() -> None:
    deliveries = outstanding(5)
    assert deliveries.settle([2, 3]) == [Ack(2, multiple=False), Ack(3, multiple=False)]
    assert deliveries.settle([1, 4]) == [Ack(4, multiple=True)]
    assert deliveries.settle([4]) == []
    assert deliveries.settle([5]) == [Ack(5, multiple=True)]


@given(st.lists(st.sets(st.integers(1, 20))))
def test_broker_ends_with_exactly_what_was_not_given(rounds: list[set[int]]) -> None:
    deliveries = outstanding(20)
    at_broker = set(range(1, 21))
    given_so_far: set[int] = set()
    for tags in rounds:
        for ack in deliveries.settle(tags):
            taken = {tag for tag in at_broker if tag <= ack.tag} if ack.multiple else {ack.tag}
            assert ack.tag in at_broker
            at_broker -= taken
        given_so_far |= tags
        assert at_broker == set(range(1, 21)) - given_so_far
