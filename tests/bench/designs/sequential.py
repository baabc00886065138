"""Design 1: the worker awaits the broker's confirm of every message before it takes the next frame.

Head-of-line blocking: with a broker 100 ms away ten frames a second get through, the rest waits or is dropped.
"""

import time
from typing import TYPE_CHECKING

from tests.bench.designs.meter import Meter, micros
from tests.bench.designs.parts import Item, Publisher, launch, log, parse

if TYPE_CHECKING:
    import asyncio


async def work(buffer: "asyncio.Queue[Item]", publisher: Publisher, meter: Meter) -> None:
    """One frame after the other."""
    while True:
        item = await buffer.get()
        waited = micros(item.received)
        meter.q_wait.append(waited)
        started = time.perf_counter_ns()
        key, body = parse(item.data)
        took = micros(started)
        meter.norm_time.append(took)
        log.info("WORKER | exchange=bybit | symbol=%s | q_wait=%.4fs | norm_time=%.4fs", key, waited / 1e6, took / 1e6)
        await publisher.publish(key, body)
        meter.confirmed(item.received)


if __name__ == "__main__":
    launch(work)
