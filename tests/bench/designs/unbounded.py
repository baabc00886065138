"""Design 2: a task per message that nobody awaits or counts, a thread for every parse, a log file on the loop.

Nothing holds the worker back any more: tasks pile up with everything that they hold, and threads, log lines and
publishes compete for one interpreter lock.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial

from tests.bench.designs.meter import Meter, micros
from tests.bench.designs.parts import Item, Publisher, launch, log, parse

__all__ = ["Timed", "gateway"]

Timed = Callable[[str], AbstractContextManager[object]]
"""Gives what is put around a step of that name."""


async def gateway(
    buffer: "asyncio.Queue[Item]", publisher: Publisher, meter: Meter, timed: Timed = lambda _: nullcontext()
) -> None:
    """Start a task for each frame as fast as frames come."""

    def parse_in_thread(data: str | bytes) -> tuple[str, bytes, float]:
        started = time.perf_counter_ns()
        with timed("raw_router:parse_sync (in a thread)"):
            return *parse(data), micros(started)

    async def process(item: Item) -> None:
        with timed("executor:round_trip (awaited)"):
            key, body, took = await asyncio.get_running_loop().run_in_executor(
                None, partial(parse_in_thread, item.data)
            )
        meter.norm_time.append(took)
        with timed("publisher:publish (awaited)"):
            await publisher.publish(key, body)
        meter.confirmed(item.received)

    tasks: set[asyncio.Task[None]] = set()
    while True:
        item = await buffer.get()
        waited = micros(item.received)
        meter.q_wait.append(waited)
        with timed("logging:line (on the loop)"):
            log.info(
                "WORKER | exchange=bybit | symbol=BTC/USDT | q_wait=%.4fs | active_tasks=%d", waited / 1e6, len(tasks)
            )
        with timed("asyncio:create_task (on the loop)"):
            task = asyncio.create_task(process(item))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


if __name__ == "__main__":
    launch(gateway)
