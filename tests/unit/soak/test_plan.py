"""What a soak does is decided by its seed, and everything that it is for is in it."""

from collections.abc import Sequence

import pytest

from tests.soak.plan import LEAST, MANDATORY, MOST, SHORTEST, Step, plan


def test_a_seed_is_a_plan() -> None:
    assert plan(5) == plan(5)
    assert plan(5) != plan(6)


@pytest.mark.parametrize("seed", range(20))
def test_everything_happens_once_and_then_again_by_chance(seed: int) -> None:
    steps = plan(seed)
    assert tuple(steps[: len(MANDATORY)]) == MANDATORY
    later = steps[len(MANDATORY) : 100]
    assert {step.action for step in later} == {"add", "kill", "stop", "pause", "kill broker", "burst"}
    assert {step.hasty for step in later} == {True, False}


def test_the_shortest_plan_leaves_nothing_out() -> None:
    assert [step.action for step in plan(5, SHORTEST)[: len(SHORTEST)]] == [step.action for step in SHORTEST]
    assert {step.action for step in SHORTEST} == {step.action for step in MANDATORY}


@pytest.mark.parametrize("first", [MANDATORY, SHORTEST])
@pytest.mark.parametrize("seed", range(20))
def test_there_are_never_too_many_normalizers_nor_too_few(seed: int, first: Sequence[Step]) -> None:
    live = 1
    for step in plan(seed, first):
        if step.action in {"kill", "stop", "pause"}:
            assert live >= LEAST
        live += {"add": step.many, "kill": -1, "stop": -1}.get(step.action, 0)
        assert 1 <= live <= MOST
