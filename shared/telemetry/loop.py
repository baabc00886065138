"""The event loop's own health: how late it wakes, how many tasks are on it."""

import asyncio
from typing import Final

from shared.telemetry.aggregate import Aggregator
from shared.telemetry.metrics import Metrics

__all__ = ["LoopSampler"]


class LoopSampler:
    """Samples the loop it runs on; ``lag`` (seconds) and ``active_tasks`` are the last values.

    Counting tasks must happen on the loop's own thread, so it is done here and not when somebody scrapes.
    """

    def __init__(self, metrics: Metrics, aggregator: Aggregator | None = None, *, interval_s: float = 0.1) -> None:
        self._lag_histogram = metrics.event_loop_lag_seconds
        self._tasks_gauge = metrics.active_tasks
        self._aggregator = aggregator
        self._interval: Final = interval_s
        self.lag = 0.0
        self.active_tasks = 0

    async def run(self) -> None:
        """Sample until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._interval
        while True:
            await asyncio.sleep(due - loop.time())
            now = loop.time()
            self._sample(max(0.0, now - due), len(asyncio.all_tasks(loop)))
            due = max(due + self._interval, now)  # no burst of samples after a long stall

    def _sample(self, lag: float, tasks: int) -> None:
        self.lag = lag
        self.active_tasks = tasks
        self._lag_histogram.observe(lag)
        self._tasks_gauge.set(tasks)
        if self._aggregator is not None:
            self._aggregator.loop(int(lag * 1e9), tasks)
