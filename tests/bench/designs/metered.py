"""Design 3: design 2 with a micro-metric around each step, which shows where the loop's time goes (and takes some)."""

import time
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tests.bench.designs.meter import Meter, micros
from tests.bench.designs.parts import Item, Publisher, launch, log
from tests.bench.designs.unbounded import gateway

if TYPE_CHECKING:
    import asyncio


class MicroMetric:
    """Times a block by the wall clock, and by the processor time of its thread: the difference is waiting."""

    def __init__(self, meter: Meter, name: str) -> None:
        self._meter = meter
        self._name = name

    def __enter__(self) -> Self:
        self._started, self._worked = time.perf_counter_ns(), time.thread_time_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        took, worked = micros(self._started), (time.thread_time_ns() - self._worked) / 1e3
        self._meter.block(self._name, took)
        if "awaited" not in self._name:
            self._meter.block(f"{self._name}, at work", worked)
        log.debug("[MICRO-METRIC] %s took %.3fms", self._name, took / 1e3)


async def metered(buffer: "asyncio.Queue[Item]", publisher: Publisher, meter: Meter) -> None:
    """The same gateway."""
    await gateway(buffer, publisher, meter, partial(MicroMetric, meter))


if __name__ == "__main__":
    launch(metered)
