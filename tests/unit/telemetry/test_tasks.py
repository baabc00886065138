import asyncio
import gc
import logging
import weakref

import pytest

from shared.telemetry.events import Events
from shared.telemetry.metrics import Metrics
from shared.telemetry.tasks import TaskSet
from tests.unit.telemetry.conftest import Remembering


class Boom(Exception):
    pass


async def forever() -> None:
    # Nothing but the task refers to this future: a loop alone would let both be collected.
    await asyncio.get_running_loop().create_future()


async def crash() -> None:
    raise Boom("crashed")


async def test_tasks_survive_the_collector() -> None:
    async with TaskSet() as tasks:
        held = [weakref.ref(tasks.spawn(forever(), "forever")) for _ in range(20)]
        await asyncio.sleep(0)
        gc.collect()
        assert len(tasks) == 20
        assert all(task() is not None for task in held)
    assert len(tasks) == 0


async def test_a_task_that_ended_is_let_go() -> None:
    async with TaskSet() as tasks:
        await tasks.spawn(asyncio.sleep(0), "short")
        await asyncio.sleep(0)
        assert len(tasks) == 0


async def test_a_crash_ends_the_wait_and_cancels_it() -> None:
    cancelled = asyncio.Event()

    async def work() -> None:
        try:
            await forever()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    async with TaskSet() as tasks:
        tasks.spawn(crash(), "crash")
        with pytest.raises(Boom, match="crashed"):
            await tasks.first(work())
    assert cancelled.is_set()


async def test_a_crash_before_the_wait_is_not_forgotten() -> None:
    async with TaskSet() as tasks:
        tasks.spawn(crash(), "crash")
        await tasks.join(10)
        with pytest.raises(Boom):
            await tasks.first(forever())


async def test_a_crash_is_handed_over_at_once(metrics: Metrics, remembered: tuple[logging.Logger, Remembering]) -> None:
    events = Events(metrics, logger=remembered[0])
    async with TaskSet(events.task_crashed) as tasks:
        tasks.spawn(crash(), "publisher")
        await tasks.join(10)
    assert remembered[1].lines == [(logging.ERROR, "task_crashed | task=publisher | detail=Boom: crashed")]
    assert metrics.registry.get_sample_value("tidegate_task_crashes_total", {"task": "publisher"}) == 1


async def test_without_a_crash_the_work_is_waited_for() -> None:
    done = asyncio.Event()

    async def work() -> None:
        await asyncio.sleep(0)
        done.set()

    async with TaskSet() as tasks:
        tasks.spawn(forever(), "forever")
        await tasks.first(work())
        assert done.is_set()
        assert len(tasks) == 1


async def test_what_the_work_raises_comes_out() -> None:
    async with TaskSet() as tasks:
        with pytest.raises(Boom):
            await tasks.first(crash())


async def test_cancellation_is_no_crash() -> None:
    crashes: list[str] = []
    async with TaskSet(lambda name, _: crashes.append(name)) as tasks:
        tasks.spawn(forever(), "forever").cancel()
        assert await tasks.join(10)
        await tasks.first(asyncio.sleep(0))
    assert crashes == []


async def test_join_gives_up_at_its_deadline() -> None:
    async with TaskSet() as tasks:
        assert await tasks.join(0.01)
        tasks.spawn(forever(), "forever")
        assert not await tasks.join(0.01)
        assert len(tasks) == 1


async def test_close_also_ends_what_is_spawned_meanwhile() -> None:
    tasks = TaskSet()

    async def stubborn() -> None:
        try:
            await forever()
        finally:
            tasks.spawn(forever(), "late")

    tasks.spawn(stubborn(), "stubborn")
    await asyncio.sleep(0)
    await tasks.close()
    assert len(tasks) == 0
