"""The ``performance_metrics`` log lines: what happened in a second, per exchange and symbol.

What a line shows of its second, the worst where a mean would hide it:

- ``q_wait``, ``norm_time``: mean over the frames; ``pool_wait``, ``net_write``: mean over the writes
- ``batch_size``: mean over the writes, rounded; 0 in a line without a write, which comes while a breaker is not CLOSED
- ``loop_lag``: the longest of the second; ``active_tasks``: the last sample
- ``cb_state``, ``cb_failures``: the worst breaker of the process at the end of the second
- ``qsize``: the largest; ``dropped``: whether anything was dropped; ``items``: the sum

The histograms of the same quantities hold the distributions. Durations are nanoseconds. Belongs to one thread.
"""

import asyncio
import logging
from collections.abc import Iterator
from heapq import nlargest
from itertools import chain
from typing import Final, TypeVar

from shared.telemetry.lines import buffer_line, pipeline_line, publisher_line, worker_line

__all__ = ["Aggregator", "Line", "emit"]

Line = tuple[int, str]
"""Logging level and text."""

REST: Final = "*"
"""In place of a symbol: all instruments that have no line of their own."""

SEVERITY: Final = {"CLOSED": 0, "HALF_OPEN": 1, "OPEN": 2}
LINES_PER_TURN: Final = 4


class _Worker:
    __slots__ = ("frames", "norm_time", "q_wait")

    def __init__(self) -> None:
        self.frames = self.q_wait = self.norm_time = 0

    def add(self, other: "_Worker") -> None:
        self.frames += other.frames
        self.q_wait += other.q_wait
        self.norm_time += other.norm_time

    def weight(self) -> int:
        return self.frames


class _Buffer:
    __slots__ = ("dropped", "qsize")

    def __init__(self) -> None:
        self.qsize = self.dropped = 0

    def add(self, other: "_Buffer") -> None:
        self.qsize = max(self.qsize, other.qsize)
        self.dropped += other.dropped

    def weight(self) -> tuple[int, int]:
        return self.dropped, self.qsize


class _Pipeline:
    __slots__ = ("items", "qsize")

    def __init__(self) -> None:
        self.qsize = self.items = 0


class _Second:
    """What was recorded since the last lines."""

    def __init__(self) -> None:
        self.workers: dict[tuple[str, str], _Worker] = {}
        self.buffers: dict[tuple[str, str], _Buffer] = {}
        self.pipelines: dict[tuple[str, str], _Pipeline] = {}
        self.writes = self.frames = self.pool_wait = self.net_write = 0
        self.loop_lag = 0


class Aggregator:
    """Recorders for the hot path, called once per batch (and symbol in it), and the lines of a second.

    ``line_limit`` busiest symbols per exchange get a WORKER line and as many a BUFFER line (those that dropped come
    first); the others share one with ``symbol=*``. At most ``symbol_limit`` symbols are kept apart within a second.
    """

    def __init__(self, *, line_limit: int = 50, symbol_limit: int = 1_000) -> None:
        self._line_limit: Final = line_limit
        self._symbol_limit: Final = symbol_limit
        self._second = _Second()
        self._circuits: dict[str, tuple[int, int, str]] = {}
        self._tasks = 0
        self.debug = False
        """Whether :meth:`pipeline` records; :func:`emit` sets it by the logger's level."""

    def worker(self, exchange: str, symbol: str, frames: int, q_wait: int, norm_time: int) -> None:
        """So many frames (at least one) of a symbol were normalized; both durations per frame (ns)."""
        workers = self._second.workers
        slot = workers.get((exchange, symbol))
        if slot is None:
            key = (exchange, symbol if len(workers) < self._symbol_limit else REST)
            slot = workers.setdefault(key, _Worker())
        slot.frames += frames
        slot.q_wait += q_wait * frames
        slot.norm_time += norm_time * frames

    def publisher(self, frames: int, pool_wait: int, net_write: int) -> None:
        """One write of so many frames: wait for a permit, and write with confirm (ns)."""
        second = self._second
        second.writes += 1
        second.frames += frames
        second.pool_wait += pool_wait
        second.net_write += net_write

    def buffer(self, exchange: str, symbol: str, qsize: int, dropped: int = 0) -> None:
        """Frames that wait in the buffer that a symbol's frames go through, and frames of the symbol just dropped."""
        buffers = self._second.buffers
        slot = buffers.get((exchange, symbol))
        if slot is None:
            key = (exchange, symbol if len(buffers) < self._symbol_limit else REST)
            slot = buffers.setdefault(key, _Buffer())
        slot.qsize = max(slot.qsize, qsize)
        slot.dropped += dropped

    def pipeline(self, plane: str, event: str, qsize: int, items: int) -> None:
        """A step of a plane (``enqueue``, ``publish``, …): what waits after it, and how many items it moved."""
        if self.debug:
            slot = self._second.pipelines.setdefault((plane, event), _Pipeline())
            slot.qsize = max(slot.qsize, qsize)
            slot.items += items

    def loop(self, lag: int, tasks: int) -> None:
        """A sample of the event loop: how late it woke (ns), tasks on it."""
        self._second.loop_lag = max(self._second.loop_lag, lag)
        self._tasks = tasks

    def circuit(self, name: str, state: str, failures: int) -> None:
        """State (``CLOSED``, ``HALF_OPEN``, ``OPEN``) of a breaker and its failures in a row, whenever they changed."""
        self._circuits[name] = (SEVERITY[state], failures, str(state))

    def lines(self) -> Iterator[Line]:
        """The lines of everything recorded since the last call. Rendered as they are taken."""
        second, self._second = self._second, _Second()
        return self._render(second)

    def _render(self, second: _Second) -> Iterator[Line]:
        for (exchange, symbol), worker in _busiest(second.workers, self._line_limit):
            q_wait, norm_time = worker.q_wait / worker.frames, worker.norm_time / worker.frames
            yield logging.INFO, worker_line(exchange, symbol, q_wait, norm_time, second.loop_lag, self._tasks)
        severity, failures, state = max(self._circuits.values(), default=(0, 0, "CLOSED"))
        if second.writes or severity:
            writes = max(second.writes, 1)
            size, pool_wait, net_write = second.frames / writes, second.pool_wait / writes, second.net_write / writes
            yield logging.INFO, publisher_line(round(size), pool_wait, net_write, state, failures)
        for (exchange, symbol), buffer in _busiest(second.buffers, self._line_limit):
            dropped = buffer.dropped > 0
            level = logging.WARNING if dropped else logging.INFO
            yield level, buffer_line(exchange, symbol, buffer.qsize, dropped=dropped)
        for (plane, event), pipeline in second.pipelines.items():
            yield logging.DEBUG, pipeline_line(plane, event, pipeline.qsize, pipeline.items)


async def emit(aggregator: Aggregator, logger: logging.Logger, *, interval_s: float = 1.0) -> None:
    """Log the aggregator's lines every second, until cancelled; then what is left.

    Between every few lines the loop gets a turn: a logging call costs some 15 µs.
    """
    lines: Iterator[Line] = iter(())
    try:
        while True:
            aggregator.debug = logger.isEnabledFor(logging.DEBUG)
            await asyncio.sleep(interval_s)
            lines = aggregator.lines()
            for number, (level, text) in enumerate(lines, 1):
                logger.log(level, "%s", text)
                if number % LINES_PER_TURN == 0:
                    await asyncio.sleep(0)
    finally:
        for level, text in chain(lines, aggregator.lines()):
            logger.log(level, "%s", text)


SlotT = TypeVar("SlotT", _Worker, _Buffer)


def _busiest(slots: dict[tuple[str, str], SlotT], limit: int) -> Iterator[tuple[tuple[str, str], SlotT]]:
    """Per exchange the ``limit`` slots of most weight, heaviest first, then what is left in one."""
    exchanges: dict[str, list[tuple[str, SlotT]]] = {}
    for (exchange, symbol), slot in slots.items():
        exchanges.setdefault(exchange, []).append((symbol, slot))
    for exchange, entries in exchanges.items():
        named = [entry for entry in entries if entry[0] != REST]
        shown = nlargest(limit, named, key=lambda entry: entry[1].weight())
        for symbol, slot in shown:
            yield (exchange, symbol), slot
        kept = {symbol for symbol, _ in shown}
        others = [slot for symbol, slot in entries if symbol not in kept]
        if others:
            rest = type(others[0])()
            for slot in others:
                rest.add(slot)
            yield (exchange, REST), rest
