"""``bench metrics``: what counting costs the pipeline per frame, and how long a scrape of 500 instruments takes."""

import argparse
import asyncio
import sys
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from statistics import median
from time import perf_counter, process_time
from typing import Any, Final

from msgspec import json

from services.bench.measuring.broker import broker
from services.bench.measuring.lane import DESIGNS, Lane
from services.bench.measuring.trial import DRAIN_S, WARM_LIMIT_S, play, warm_up
from services.cli.errors import positive
from services.cli.local_rabbit import RabbitNode
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.telemetry.http import routes, serve
from shared.telemetry.metrics import Metrics

__all__ = ["HELP", "add_arguments", "fill", "run"]

HELP: Final = "CPU per frame with metrics and without, and how long a scrape of 500 instruments takes"
COMPARED: Final = ("tidegate", "unmetered")
STAGES: Final = ("ingest", "normalizer")
RATES: Final = (1_000.0, 5_000.0)
FEEDS: Final = ("trade", "quote", "ticker", "book")
ADDRESS: Final = "127.0.0.1"

Cost = dict[str, float]
"""CPU per frame (µs) by stage."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's arguments."""
    parser.add_argument("--json", action="store_true", help="end standard output with one JSON object")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long a rate is played (%(default)s)")
    parser.add_argument("--rounds", type=int, default=10, help="interleaved rounds, medians are told (%(default)s)")
    parser.add_argument(
        "--rate", type=float, action="append", default=[], help="frames/s; may be repeated (1000, 5000)"
    )
    parser.add_argument("--instruments", type=int, default=500, help="instruments of the scrape (%(default)s)")
    parser.add_argument("--scrapes", type=int, default=30, help="how often it is scraped (%(default)s)")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0; raises UsageError, BenchError."""
    del telemetry
    rates: Sequence[float] = arguments.rate or RATES
    for name in ("seconds", "rounds", "instruments", "scrapes"):
        positive(f"--{name}", getattr(arguments, name))
    positive("--rate", min(rates))
    scrape = asyncio.run(_scrapes(arguments.instruments, arguments.scrapes))
    with broker() as node:
        found = _rounds(node, settings, rates, arguments.seconds, arguments.rounds)
    result = {"rates": [_result(rate, found[rate]) for rate in rates], "scrape": scrape}
    sys.stdout.write(_table(result))
    if arguments.json:
        sys.stdout.write(json.encode(result).decode() + "\n")
    return 0


def fill(metrics: Metrics, instruments: int) -> None:
    """A series of everything that is told by instrument, as after a burst in which every one lost something."""
    for number in range(instruments):
        symbol = f"SYMBOL{number}/USDT:USDT"
        metrics.instrument_messages.labels("bybit", symbol).inc(number)
        metrics.gaps.labels("bybit", symbol).inc()
        for feed in ("quote", "ticker"):
            metrics.frames_conflated.labels("bybit", feed, symbol).inc(3)
        for feed in FEEDS:
            for reason in ("overflow", "circuit_open"):
                metrics.frames_shed.labels("ingest", "bybit", feed, symbol, reason).inc(7)


async def _scrapes(instruments: int, count: int) -> dict[str, float]:
    """Over HTTP, compressed, as Prometheus asks; wall clock and CPU of the process that is scraped and scrapes."""
    telemetry = Telemetry()
    fill(telemetry.metrics, instruments)
    wall, cpu, body = [], [], b""
    async with serve(routes(telemetry.registry, telemetry.health), ADDRESS, 0) as port:
        for number in range(count + 1):
            began, spent = perf_counter(), process_time()
            body = await asyncio.to_thread(_fetch, port)
            if number:  # the first one writes down every series
                wall.append(perf_counter() - began)
                cpu.append(process_time() - spent)
    samples = sum(len(family.samples) for family in telemetry.registry.collect())
    return {
        "instruments": instruments,
        "series": samples,
        "compressed_bytes": len(body),
        "wall_ms": round(1e3 * median(wall), 1),
        "worst_ms": round(1e3 * max(wall), 1),
        "cpu_ms": round(1e3 * median(cpu), 1),
    }


def _fetch(port: int) -> bytes:
    url = f"http://{ADDRESS}:{port}/metrics"
    request = urllib.request.Request(url, headers={"accept-encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310 - as above
        return bytes(reply.read())


def _rounds(
    node: RabbitNode, settings: Settings, rates: Sequence[float], seconds: float, rounds: int
) -> dict[float, list[tuple[Cost, Cost]]]:
    """Both lanes stand side by side and are played in turn, so that what else the machine does meets both alike."""
    found: dict[float, list[tuple[Cost, Cost]]] = {rate: [] for rate in rates}
    lifetime = 2 * WARM_LIMIT_S + 2 * rounds * len(rates) * (seconds + DRAIN_S)
    with ExitStack() as stack:
        lanes = [stack.enter_context(Lane(DESIGNS[name], node, settings, seconds=lifetime)) for name in COMPARED]
        for lane in lanes:
            warm_up(lane)
        for number in range(rounds):
            sys.stderr.write(f"round {number + 1} of {rounds}\n")
            for rate in rates:
                order = lanes if number % 2 else lanes[::-1]
                cost = {lane.name: play(lane, rate, seconds).cpu_us_per_frame() for lane in order}
                found[rate].append((cost["tidegate"], cost["unmetered"]))
    return found


def _result(rate: float, rounds: Sequence[tuple[Cost, Cost]]) -> dict[str, Any]:
    """``rise`` is the median of the rounds' own; of both stages together."""

    def total(cost: Cost) -> float:
        return sum(cost[stage] for stage in STAGES)

    return {
        "frames_per_s": rate,
        "with_us": {stage: round(median(one[stage] for one, _ in rounds), 2) for stage in STAGES},
        "without_us": {stage: round(median(one[stage] for _, one in rounds), 2) for stage in STAGES},
        "rise": round(median(total(metered) / total(bare) - 1 for metered, bare in rounds), 3),
    }


def _table(result: dict[str, Any]) -> str:
    lines = [f"{'frames/s':>10}{'ingest µs':>20}{'normalizer µs':>20}{'rise':>8}   (with / without metrics)"]
    for one in result["rates"]:
        cells = "".join(f"{one['with_us'][stage]:>11.1f} / {one['without_us'][stage]:<6.1f}" for stage in STAGES)
        lines.append(f"{one['frames_per_s']:>10,.0f}{cells}{one['rise']:>8.1%}")
    scrape = result["scrape"]
    lines.append(
        f"scrape of {scrape['series']} series of {scrape['instruments']} instruments: {scrape['wall_ms']} ms "
        f"(at most {scrape['worst_ms']} ms, CPU {scrape['cpu_ms']} ms), {scrape['compressed_bytes']} bytes"
    )
    return "\n".join(lines) + "\n"
