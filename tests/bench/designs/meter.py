"""What the designs measure of themselves, and how they end: in time, within their memory, whatever their loop does."""

import asyncio
import os
import resource
import sys
import threading
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import json

from services.bench.journey_result import Block, DesignReport, Second, distribution

__all__ = ["Meter", "micros"]

LAG_INTERVAL_S: Final = 0.05
LOOK_S: Final = 0.1
SECOND: Final = 1_000_000_000
PAGE_MIB: Final = resource.getpagesize() / 2**20


def micros(since: int) -> float:
    """µs since a ``perf_counter_ns``."""
    return (time.perf_counter_ns() - since) / 1e3


class Meter:
    """Counts and times of one design. All times are µs."""

    def __init__(self, memory_mib: float) -> None:
        self.frames_in = 0
        self.published = 0
        self.dropped = 0
        self.q_wait = array("d")
        self.norm_time = array("d")
        self.net_write = array("d")
        self.blocks: dict[str, array[float]] = {}
        self._lag = array("d")
        self._tasks_peak = 0
        self._memory_mib = memory_mib
        self._rss_peak = 0.0
        self._latencies: dict[int, array[float]] = {}
        self._reads: dict[int, int] = {}
        self._drops: dict[int, int] = {}
        self._first = 0
        self._ended = threading.Event()
        self._note = ""

    def received(self) -> int:
        """A frame came; when (``perf_counter_ns``)."""
        now = time.perf_counter_ns()
        self._first = self._first or now
        self.frames_in += 1
        second = (now - self._first) // SECOND
        self._reads[second] = self._reads.get(second, 0) + 1
        return now

    def drop(self) -> None:
        """The buffer was full."""
        self.dropped += 1
        second = self._second()
        self._drops[second] = self._drops.get(second, 0) + 1

    def confirmed(self, received: int) -> None:
        """A frame that came at ``received`` is in the broker."""
        self.published += 1
        self._latencies.setdefault(self._second(), array("d")).append(micros(received))

    def block(self, name: str, duration: float) -> None:
        """A step took so long."""
        self.blocks.setdefault(name, array("d")).append(duration)

    async def sample(self) -> None:
        """Loop lag and tasks, until cancelled."""
        loop = asyncio.get_running_loop()
        due = loop.time() + LAG_INTERVAL_S
        while True:
            await asyncio.sleep(due - loop.time())
            now = loop.time()
            self._lag.append(max(0.0, now - due) * 1e6)
            self._tasks_peak = max(self._tasks_peak, len(asyncio.all_tasks()))
            due = max(due + LAG_INTERVAL_S, now)

    def watch(self) -> None:
        """Start the threads that end the process: with its input, or when it has more memory than it may."""
        threading.Thread(target=self._await_end, daemon=True).start()
        threading.Thread(target=self._look_and_end, daemon=True).start()

    def _await_end(self) -> None:
        sys.stdin.readline()
        self._ended.set()

    def _look_and_end(self) -> None:
        statm = Path("/proc/self/statm")
        while not self._ended.wait(LOOK_S):
            rss = int(statm.read_text(encoding="ascii").split()[1]) * PAGE_MIB
            self._rss_peak = max(self._rss_peak, rss)
            if rss > self._memory_mib:
                seconds = self._second()
                self._note = f"ended in second {seconds}: {rss:.0f} MiB of memory, {self._memory_mib:.0f} were allowed"
                break
        # Whatever hangs on the loop now would take minutes to unwind, and is of no use to anyone.
        sys.stdout.buffer.write(json.encode(self._report()) + b"\n")
        sys.stdout.buffer.flush()
        os._exit(0)

    def _second(self) -> int:
        return (time.perf_counter_ns() - self._first) // SECOND if self._first else 0

    def _report(self) -> DesignReport:
        return DesignReport(
            self.frames_in,
            self.published,
            self.dropped,
            distribution(_copied(lambda: self.q_wait)),
            _mean(_copied(lambda: self.norm_time)),
            distribution(_copied(lambda: self._lag)),
            _mean(_copied(lambda: self.net_write)),
            self._tasks_peak,
            self._rss_peak,
            time.process_time(),
            self._timeline(),
            [self._note] if self._note else [],
            [self._block(name) for name in tuple(self.blocks)],
        )

    def _timeline(self) -> list[Second]:
        seconds = []
        for second in range(max((*self._reads, *self._latencies, *self._drops), default=-1) + 1):
            latencies = self._latencies.get(second, array("d"))
            at = distribution(latencies)
            p50, p99 = (at.p50 / 1e3, at.p99 / 1e3) if latencies else (None, None)
            counts = self._reads.get(second, 0), len(latencies), self._drops.get(second, 0)
            seconds.append(Second(second, *counts, p50, p99))
        return seconds

    def _block(self, name: str) -> Block:
        taken = _copied(lambda: self.blocks[name])
        wall = max(1.0, micros(self._first))
        return Block(name, len(taken), sum(taken) / len(taken), distribution(taken).p99, max(taken), sum(taken) / wall)


def _mean(values: list[float]) -> float:
    return sum(values) / max(1, len(values))


def _copied(values: Callable[[], "array[float]"]) -> list[float]:
    """The loop may go on appending while this thread reports."""
    return values().tolist()
