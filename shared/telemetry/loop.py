"""The event loop's own health: how late it wakes, how many tasks are on it."""

import asyncio
import threading
from time import perf_counter
from typing import Final

from shared.telemetry.aggregate import Aggregator
from shared.telemetry.metrics import Metrics

__all__ = ["LoopSampler"]


class LoopSampler:
    """Samples the loop it runs on; ``lag`` (seconds) and ``active_tasks`` are the last values.

    A thread asks the loop for a callback ten times a second and the callback says how long it had to wait. (A timer of
    the loop itself can't tell: asyncio rounds timeouts up to whole milliseconds.) Counting tasks must happen on the
    loop's own thread, so it is done there and not when somebody scrapes.
    """

    def __init__(self, metrics: Metrics, aggregator: Aggregator | None = None, *, interval_s: float = 0.1) -> None:
        self._lag_histogram = metrics.event_loop_lag_seconds
        self._tasks_gauge = metrics.active_tasks
        self._aggregator = aggregator
        self._interval: Final = interval_s
        self._asked: float | None = None
        self.lag = 0.0
        self.active_tasks = 0

    async def run(self) -> None:
        """Sample until cancelled."""
        loop = asyncio.get_running_loop()
        stop = threading.Event()
        thread = threading.Thread(target=self._ask, args=(loop, stop), name="loop sampler", daemon=True)
        thread.start()
        try:
            await asyncio.Event().wait()
        finally:
            stop.set()
            thread.join()

    def _ask(self, loop: asyncio.AbstractEventLoop, stop: threading.Event) -> None:
        """In the thread. One question at a time: a stalled loop has one long answer and no burst of them."""
        while not stop.wait(self._interval):
            if self._asked is None:
                self._asked = perf_counter()
                loop.call_soon_threadsafe(self._answer, loop)

    def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        asked, self._asked = self._asked, None
        if asked is not None:
            self._sample(perf_counter() - asked, len(asyncio.all_tasks(loop)))

    def _sample(self, lag: float, tasks: int) -> None:
        self.lag = lag
        self.active_tasks = tasks
        self._lag_histogram.observe(lag)
        self._tasks_gauge.set(tasks)
        if self._aggregator is not None:
            self._aggregator.loop(int(lag * 1e9), tasks)
