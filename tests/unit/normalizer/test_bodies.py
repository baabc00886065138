"""Bodies: one array where it fits, several in order where it doesn't."""

from collections.abc import Sequence

import pytest
from msgspec import json

from services.normalizer.bodies import MAX_BODY, STEP, bodies, joined
from shared.messages import Message
from tests.unit.core.making import trade


def made(messages: Sequence[Message]) -> list[bytes]:
    return [body for body in bodies(messages) if body is not None]


@pytest.mark.parametrize("count", [1, 2, STEP - 1, STEP, STEP + 1, 10 * STEP, 10 * STEP + 1])
def test_one_array_in_order(count: int) -> None:
    (body,) = made([trade(frame=number) for number in range(count)])
    assert [message["frame"] for message in json.decode(body)] == list(range(count))


def test_none_of_nothing() -> None:
    assert made([]) == []
    assert list(joined([])) == []


def test_steps_don_t_hold_the_loop() -> None:
    steps = list(bodies([trade(frame=number) for number in range(10 * STEP)]))
    assert steps.count(None) == 10
    assert len(steps) == 11


@pytest.mark.parametrize("count", [2, 3, STEP, 3 * STEP])
def test_what_is_too_long_is_cut_in_order(count: int) -> None:
    size = MAX_BODY // 3
    long = [trade("X" * size, frame=number) for number in range(count)]
    cut = made(long)
    assert all(len(body) <= MAX_BODY for body in cut)
    assert [message["frame"] for body in cut for message in json.decode(body)] == list(range(count))


def test_a_message_that_is_too_long_is_alone() -> None:
    long = [trade(frame=0), trade("X" * MAX_BODY, frame=1), trade(frame=2)]
    assert [[message["frame"] for message in json.decode(body)] for body in made(long)] == [[0], [1], [2]]


def test_arrays_are_joined() -> None:
    assert list(joined([b"[1]", b"[2,3]", b"[4]"])) == [b"[1,2,3,4]"]
