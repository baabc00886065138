import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from shared.telemetry.aggregate import Aggregator
from shared.telemetry.loop import LoopSampler
from shared.telemetry.metrics import Metrics
from tests.support.eventually import eventually

BLOCK_S = 0.15
INTERVAL_S = 0.01


class Samples:
    """Waits for samples to have been taken."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def count(self) -> float:
        return self._metrics.registry.get_sample_value("tidegate_event_loop_lag_seconds_count") or 0.0

    async def more(self, number: int) -> None:
        target = self.count() + number
        await eventually(lambda: self.count() >= target, "samples")


@pytest.fixture
def aggregator() -> Aggregator:
    return Aggregator()


@pytest.fixture
async def sampler(metrics: Metrics, aggregator: Aggregator) -> AsyncIterator[LoopSampler]:
    sampler = LoopSampler(metrics, aggregator, interval_s=INTERVAL_S)
    task = asyncio.create_task(sampler.run())
    yield sampler
    task.cancel()
    await asyncio.wait([task])


async def test_a_block_shows_once_and_whole(sampler: LoopSampler, metrics: Metrics, aggregator: Aggregator) -> None:
    samples = Samples(metrics)
    await samples.more(3)
    before = samples.count()
    time.sleep(BLOCK_S)  # noqa: ASYNC251 - blocking the loop is what is to be seen
    unblocked = time.monotonic()
    await samples.more(1)
    value = metrics.registry.get_sample_value("tidegate_event_loop_lag_seconds_bucket", {"le": "0.1"})
    assert value is not None
    assert samples.count() - value >= 1, "no sample of more than 0.1 s"
    regular = (time.monotonic() - unblocked) / INTERVAL_S
    assert samples.count() - before <= regular + 3, "a burst of samples after the stall"
    aggregator.worker("bybit", "BTC/USDT", 1, 0, 0)
    ((_, line),) = aggregator.lines()
    lag = float(line.partition("loop_lag=")[2].partition("s")[0])
    assert lag > BLOCK_S - 0.02


async def test_tasks_are_counted(sampler: LoopSampler, metrics: Metrics) -> None:
    samples = Samples(metrics)
    await samples.more(1)
    before = sampler.active_tasks
    assert before >= 2
    tasks = [asyncio.create_task(asyncio.Event().wait()) for _ in range(5)]
    await samples.more(2)
    assert sampler.active_tasks == before + 5
    assert metrics.registry.get_sample_value("tidegate_active_tasks") == before + 5
    assert sampler.lag >= 0
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
