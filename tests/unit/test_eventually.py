import asyncio
from collections.abc import Iterator

import pytest

from tests.support.eventually import eventually, eventually_async, eventually_sync


@pytest.fixture
def answers() -> Iterator[str | None]:
    return iter(["", None, "found", "too late"])


async def test_gives_the_first_true_answer(answers: Iterator[str | None]) -> None:
    assert await eventually(lambda: next(answers)) == "found"


def test_gives_the_first_true_answer_without_a_loop(answers: Iterator[str | None]) -> None:
    assert eventually_sync(lambda: next(answers)) == "found"


async def test_gives_the_first_true_answer_that_is_awaited(answers: Iterator[str | None]) -> None:
    async def probe() -> str | None:
        return next(answers)

    assert await eventually_async(probe) == "found"


async def test_waits_for_what_another_task_does() -> None:
    seen: list[int] = []
    asyncio.get_running_loop().call_later(0.05, seen.append, 1)

    assert await eventually(lambda: seen) == [1]


async def test_a_failed_assertion_means_not_yet() -> None:
    seen: list[int] = []

    def probe() -> bool:
        seen.append(1)
        assert len(seen) > 1
        return True

    assert await eventually(probe)
    assert len(seen) == 2


async def test_failure_names_the_condition_and_the_last_answer() -> None:
    with pytest.raises(AssertionError, match=r"not so within 0\.05 s: three frames; last answer was 0"):
        await eventually(lambda: 0, "three frames", within=0.05)


async def test_a_question_that_hangs_is_cut_off() -> None:
    with pytest.raises(AssertionError, match=r"not so within 0\.05 s: an answer; last answer was TimeoutError"):
        await eventually_async(asyncio.Event().wait, "an answer", within=0.05)
