"""What every process of Tidegate has: a log queue, signals, samplers, and the HTTP endpoint."""

import asyncio
import gc
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.cli.notes import address, leave
from shared.settings import TelemetrySettings
from shared.telemetry.aggregate import emit
from shared.telemetry.bundle import Telemetry
from shared.telemetry.http import routes, serve
from shared.telemetry.loop import LoopSampler
from shared.telemetry.tasks import TaskSet

__all__ = ["observed", "spare_the_collector", "stop_on_signals"]

PERFORMANCE = logging.getLogger("performance_metrics")


def spare_the_collector() -> None:
    """Call it when everything is imported: what is there by then is never looked at again by the garbage collector.

    A full collection stops a stage for 30 to 60 ms, and there was one every 100,000 frames or so. Frames and messages
    hold no cycles; what does (tasks, exceptions) is still collected, less often.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


@asynccontextmanager
async def stop_on_signals() -> AsyncIterator[asyncio.Event]:
    """An event that SIGTERM and SIGINT set; a second signal of the same kind does what it always does."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def requested(number: signal.Signals) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, requested, number)
    try:
        yield stop
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def observed(telemetry: Telemetry, settings: TelemetrySettings | None) -> AsyncIterator[TaskSet]:
    """Samplers and log lines run within the block and, where settings are given, the HTTP endpoint, noted for `top`."""
    async with TaskSet(telemetry.events.task_crashed) as tasks:
        tasks.spawn(LoopSampler(telemetry.metrics, telemetry.aggregator).run(), "loop_sampler")
        tasks.spawn(emit(telemetry.aggregator, PERFORMANCE), "log_lines")
        if settings is None:
            yield tasks
            return
        endpoints = routes(telemetry.registry, telemetry.health)
        async with serve(endpoints, settings.host, settings.port) as port:
            with leave("run", {address(settings.host, port): "run"}):
                yield tasks
