"""Design 4 of ``bench journey``: Tidegate's stages as processes, judged by what they say on ``/metrics``."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

from services.bench.burst import FEEDS, SYMBOLS
from services.bench.children import Child, ChildFailed
from services.bench.feeder import FeedReport
from services.bench.journey_result import Block, DesignReport, Distribution, Second
from services.bench.machine import Queue
from services.bench.scrape import Look
from services.cli.local_rabbit import free_ports

__all__ = ["run_tidegate"]

READY_S: Final = 90.0
POLL_S: Final = 0.1
DRAIN_S: Final = 20.0
FREE_S: Final = 0.0001
"""A permit that was there took less (the bound of a bucket)."""
NOTHING: Final = Distribution(0.0, 0.0)
CONFIGURATION: Final = """
[exchanges.bybit.products.linear]
websocket = "ws://127.0.0.1:{port}"
rest = "http://127.0.0.1:{port}"
symbols = {symbols}
feeds = {feeds}
"""


class _Looks(NamedTuple):
    """Both stages at one moment."""

    ingest: Look
    normalizer: Look

    def given_up(self, before: "_Looks") -> int:
        """Frames shed, conflated, lost or rejected; a write that failed counts where its hole is seen."""
        shed = sum(self.ingest.since(before.ingest, f"frames_{name}_total") for name in ("shed", "conflated"))
        shed -= self.ingest.since(before.ingest, "frames_shed_total", reason="publish_failed")
        names = ("frames_lost_total", "frames_rejected_total")
        return int(shed + sum(self.normalizer.since(before.normalizer, name) for name in names))

    def received(self, before: "_Looks") -> int:
        """Frames that came in."""
        return int(self.ingest.since(before.ingest, "frames_received_total", stage="ingest"))

    def published(self, before: "_Looks") -> int:
        """Frames whose messages were confirmed."""
        return int(self.normalizer.since(before.normalizer, "frames_published_total", stage="normalizer"))


async def run_tidegate(
    directory: Path, venue: int, amqp: str, feed: Callable[[], Coroutine[Any, Any, FeedReport]]
) -> DesignReport:
    """Start the stages, let the burst run, wait until all of it is through; ``venue`` is the feeder's port."""
    settings = directory / "tidegate.toml"
    lists = {"symbols": [*SYMBOLS], "feeds": [*FEEDS]}
    settings.write_text(CONFIGURATION.format(port=venue, **lists), encoding="utf-8")
    ports = free_ports(2)
    async with AsyncExitStack() as stack:
        stages = []
        for arguments, port in zip((["normalizer"], ["ingest", "bybit"]), ports, strict=True):
            environment = {"AMQP_URL": amqp, "TIDEGATE_TELEMETRY__PORT": str(port)}
            log = directory / f"{arguments[0]}.log"
            child = Child("services.cli", ["--config", str(settings), *arguments], log, environment=environment)
            stages.append(await stack.enter_async_context(child))
        normalizer, ingest = stages
        for stage, port, gauge in zip(stages, ports, ("streams_owned", "stream_up"), strict=True):
            await _ready(stage, port, gauge)
        watch = _Watch(ports[1], ports[0])
        queues = [Queue("ingest", ingest.pid), Queue("normalizer", normalizer.pid)]
        fed = await watch.run(feed)
        waiting = [note for queue in queues for note in queue.notes()]
        report = watch.report(ingest.rss_peak_mib(), normalizer.rss_peak_mib())
        # The stream's own marks ("n frames were shed here") are frames too, but nobody offered them.
        marks = max(0, report.frames_in - (fed.offered - fed.skipped))
        report.frames_in -= marks
        report.published -= marks
        report.notes += waiting
        for stage in stages:
            await stage.terminate(10.0)
    return report


async def _ready(stage: Child, port: int, gauge: str) -> None:
    """Until the stage holds (ingest) or consumes (normalizer) the stream."""
    try:
        async with asyncio.timeout(READY_S):
            while True:
                if await _gauge(stage, port, gauge) >= 1:
                    return
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        raise ChildFailed(f"{stage.name} was not ready after {READY_S:g} s; {stage.excerpt()}") from None


async def _gauge(stage: Child, port: int, name: str) -> float:
    if stage.ended:
        raise ChildFailed(f"{stage.name} ended; {stage.excerpt()}")
    try:
        return (await Look.at(port)).total(name)
    except OSError:
        return 0.0


class _Watch:
    """Looks at both stages every second."""

    def __init__(self, ingest: int, normalizer: int) -> None:
        self._ports = ingest, normalizer
        self._looks: list[_Looks] = []
        self._tasks = 0

    async def run(self, feed: Callable[[], Coroutine[Any, Any, FeedReport]]) -> FeedReport:
        """Until the burst is over and nothing is under way any more, or no more comes of it."""
        loop = asyncio.get_running_loop()
        await self._settle()
        burst = asyncio.ensure_future(feed())
        started, over = loop.time(), 0.0
        try:
            while not over or (loop.time() - over < DRAIN_S and self._under_way()):
                await asyncio.sleep(started + len(self._looks) - loop.time())
                await self._look()
                over = over or (loop.time() if burst.done() else 0.0)
            return await burst
        finally:
            burst.cancel()

    async def _settle(self) -> None:
        """What the stream began with must be through, lest it counts as the burst's."""
        nothing = _Looks(Look({}), Look({}))
        async with asyncio.timeout(READY_S):
            while not self._looks or self._looks[0].published(nothing) < self._looks[0].received(nothing):
                await asyncio.sleep(POLL_S)
                self._looks.clear()
                await self._look()

    async def _look(self) -> None:
        looks = _Looks(*[await Look.at(port) for port in self._ports])
        self._looks.append(looks)
        self._tasks = max(self._tasks, *(int(look.total("active_tasks")) for look in looks))

    def _under_way(self) -> bool:
        first, now = self._looks[0], self._looks[-1]
        return now.published(first) + now.given_up(first) < now.received(first)

    def report(self, ingest_mib: float, normalizer_mib: float) -> DesignReport:
        """What the looks tell. Memory is that of both processes."""
        first, last = self._looks[0], self._looks[-1]
        before, ingest = first.ingest, last.ingest
        normalizer = last.normalizer
        frames = max(1.0, normalizer.since(first.normalizer, "frames_received_total", stage="normalizer"))
        normalized = normalizer.since(first.normalizer, "normalize_seconds_sum")
        lags = [look.quantiles(old, "event_loop_lag_seconds") or NOTHING for look, old in zip(last, first, strict=True)]
        return DesignReport(
            last.received(first),
            last.published(first),
            last.given_up(first),
            ingest.quantiles(before, "queue_wait_seconds", stage="ingest") or NOTHING,
            1e6 * normalized / frames,
            max(lags, key=lambda lag: lag.p99),
            ingest.mean_us(before, "publish_seconds", stage="ingest"),
            self._tasks,
            ingest_mib + normalizer_mib,
            sum(look.since(old, "process_cpu_seconds_total") for look, old in zip(last, first, strict=True)),
            [self._second(at) for at in range(1, len(self._looks))],
            [*self._notes(lags), f"memory: ingest {ingest_mib:.0f} MiB, normalizer {normalizer_mib:.0f} MiB"],
            self._blocks(),
            1.0 - ingest.share_within(before, "pool_wait_seconds", FREE_S, stage="ingest"),
        )

    def _second(self, at: int) -> Second:
        before, now = self._looks[at - 1], self._looks[at]
        latency = now.normalizer.quantiles(before.normalizer, "end_to_end_seconds")
        p50, p99 = (None, None) if latency is None else (latency.p50 / 1e3, latency.p99 / 1e3)
        return Second(at - 1, now.received(before), now.published(before), now.given_up(before), p50, p99)

    def _notes(self, lags: list[Distribution]) -> list[str]:
        first, last = self._looks[0], self._looks[-1]
        before, ingest = first.ingest, last.ingest
        frames = max(1, last.received(first))
        cpu = [
            1e6 * look.since(old, "process_cpu_seconds_total") / frames for look, old in zip(last, first, strict=True)
        ]
        pool = ingest.quantiles(before, "pool_wait_seconds", stage="ingest") or NOTHING
        free = ingest.share_within(before, "pool_wait_seconds", FREE_S, stage="ingest")
        batch = ingest.mean_us(before, "batch_frames", stage="ingest") / 1e6
        per_batch = last.normalizer.quantiles(first.normalizer, "normalize_seconds") or NOTHING
        return [
            f"CPU per frame: ingest {cpu[0]:.1f} µs, normalizer {cpu[1]:.1f} µs",
            f"loop_lag p50/p99: ingest {_pair(lags[0])} µs, normalizer {_pair(lags[1])} µs",
            f"ingest: {batch:.1f} frames a write; {free:.0%} of the writes had a permit at once",
            f"ingest: pool_wait p50/p99 {_pair(pool)} µs, which q_wait includes",
            f"normalizer: a whole batch took p50/p99 {_pair(per_batch)} µs, in slices",
        ]

    def _blocks(self) -> list[Block]:
        """The synchronous blocks that hold a stage's loop, where it measures them."""
        blocks = []
        for look, before in zip(self._looks[-1], self._looks[0], strict=True):
            wall = 1e6 * max(1, len(self._looks) - 1)
            for name in look.values_of("block_seconds_count", "block"):
                at = look.quantiles(before, "block_seconds", block=name)
                runs = int(look.since(before, "block_seconds_count", block=name))
                mean = look.mean_us(before, "block_seconds", block=name)
                if at is not None:
                    blocks.append(Block(name, runs, mean, at.p99, 0.0, runs * mean / wall))
        return blocks


def _pair(of: Distribution) -> str:
    return f"{of.p50:.0f}/{of.p99:.0f}"
