"""``bench overload``: twice the rate that can be held, for minutes: what it costs in memory, latency and frames."""

import argparse
import asyncio
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any, Final

from msgspec import Struct, convert, json

from services.bench.measuring.broker import broker
from services.bench.measuring.consumer import Latencies
from services.bench.measuring.generator import Play, Played
from services.bench.measuring.lane import DESIGNS, Lane
from services.bench.measuring.processes import ANSWER_S, rss_mib
from services.bench.measuring.search import RateSearch
from services.bench.measuring.trial import DRAIN_S, WARM_LIMIT_S, play, warm_up
from services.bench.scrape import Look
from services.cli.errors import UsageError
from services.cli.local_rabbit import RabbitNode
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["HELP", "add_arguments", "run"]

HELP: Final = "twice the rate that can be held, for minutes: memory, latency of what gets through, what was given up"
REASONS: Final = ("overflow", "expired", "overload", "circuit_open", "publish_failed", "shutdown")
TRIAL_S: Final = 5.0
TRIALS: Final = 12
SAMPLE_S: Final = 1.0
WARM_SHARE: Final = 10
"""Memory may still grow in the first tenth of the time, or the first minute of it."""


class Sample(Struct, frozen=True):
    """One second of the overload."""

    second: float
    latencies: Latencies
    rss_mib: dict[str, float]


class Overload(Struct, frozen=True):
    """Frames are those that the venue sent; ``unaccounted`` those of which no counter tells what became of them.

    ``latency_us``: percentiles over all seconds of each second's own (the highest second's is ``worst_p99``).
    ``rss_mib``: by stage, when it had settled (``settled``), at the end, and at most.
    """

    capacity_per_s: float
    offered_per_s: float
    seconds: float
    sent: int
    received: int
    published: int
    conflated: int
    shed: dict[str, int]
    lost: int
    unaccounted: int
    latency_us: dict[str, float]
    rss_mib: dict[str, dict[str, float]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's arguments."""
    parser.add_argument("--json", action="store_true", help="end standard output with one JSON object")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long it lasts (%(default)s)")
    parser.add_argument("--factor", type=float, default=2.0, help="times the rate that is held (%(default)s)")
    parser.add_argument("--rate", type=float, help="the rate that is held, where it is known already")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0; raises UsageError, BenchError."""
    del telemetry
    for name in ("seconds", "factor", "rate"):
        value = getattr(arguments, name)
        if value is not None and value <= 0:
            raise UsageError(f"--{name}", f"must be positive, {value} was given")
    with broker() as node:
        held = arguments.rate or _capacity(node, settings)
        measured = _measure(node, settings, held, held * arguments.factor, arguments.seconds)
    sys.stdout.write(_table(measured))
    if arguments.json:
        sys.stdout.write(json.encode(measured).decode() + "\n")
    return 0


def _capacity(node: RabbitNode, settings: Settings) -> float:
    """The highest rate that a quick look finds to be held."""
    design = DESIGNS["tidegate"]
    search = RateSearch(design.start, 200_000.0, halvings=1)
    while (rate := search.next()) is not None:
        with Lane(design, node, settings, seconds=WARM_LIMIT_S + TRIALS * (TRIAL_S + DRAIN_S)) as lane:
            warm_up(lane)
            search.tried(rate, held=play(lane, rate, TRIAL_S).held)
    sys.stderr.write(f"held: {search.best:,.0f} frames/s\n")
    return search.best


def _measure(node: RabbitNode, settings: Settings, held: float, rate: float, seconds: float) -> Overload:
    lifetime = WARM_LIMIT_S + seconds + 4 * DRAIN_S + ANSWER_S
    with ExitStack() as stack:
        lane = stack.enter_context(Lane(DESIGNS["tidegate"], node, settings, seconds=lifetime, timed=True))
        warm_up(lane)
        lane.consumer.ask("latencies")
        before = _looks(lane)
        played, samples = _play(lane, rate, seconds)
        after = _settled(lane)

    def counted(name: str, **labels: str) -> int:
        return int(sum(then.since(now, name, **labels) for then, now in zip(after, before, strict=True)))

    return _result(held, rate, seconds, played, samples, counted)


def _play(lane: Lane, rate: float, seconds: float) -> tuple[Played, list[Sample]]:
    """Play in a thread, and look every second at who still comes and at what it takes."""
    answers: list[Any] = []
    playing = threading.Thread(target=lambda: answers.append(lane.generator.ask(Play(rate, seconds), 2 * seconds + 60)))
    samples: list[Sample] = []
    begun = time.monotonic()
    playing.start()
    while playing.is_alive():
        playing.join(SAMPLE_S)
        late = convert(lane.consumer.ask("latencies"), Latencies)
        memory = {stage: rss_mib(pid) for stage, pid in lane.pids.items()}
        samples.append(Sample(round(time.monotonic() - begun, 1), late, memory))
    return convert(answers[0], Played), samples


def _looks(lane: Lane) -> list[Look]:
    return [asyncio.run(Look.at(port)) for port in lane.ports]


def _settled(lane: Lane) -> list[Look]:
    """Once nothing is under way any more, or after a while. What the broker holds is nobody's; it shows by coming."""
    deadline = time.monotonic() + 3 * DRAIN_S
    looks, before = _looks(lane), -1.0
    while time.monotonic() < deadline:
        seen = sum(look.total("frames_received_total") for look in looks)
        if seen == before and not any(look.total("frames_in_flight") for look in looks):
            break
        before = seen
        time.sleep(SAMPLE_S)
        looks = _looks(lane)
    return looks


def _result(
    held: float,
    rate: float,
    seconds: float,
    played: Played,
    samples: Sequence[Sample],
    counted: Callable[..., int],
) -> Overload:
    shed = {reason: counted("frames_shed_total", reason=reason) for reason in REASONS}
    received, published = (counted(f"frames_{name}_total", stage="ingest") for name in ("received", "published"))
    conflated, lost = counted("frames_conflated_total"), counted("frames_lost_total")
    at_ingest = received - published - conflated - sum(shed.values())
    beyond = published - counted("frames_received_total", stage="normalizer") - lost
    heard = [sample.latencies for sample in samples if sample.latencies.count]
    return Overload(
        held,
        rate,
        seconds,
        played.sent,
        received,
        published,
        conflated,
        {reason: count for reason, count in shed.items() if count},
        lost,
        abs(at_ingest) + abs(beyond),
        _latency(heard),
        _memory(samples, min(60.0, seconds / WARM_SHARE)),
    )


def _latency(heard: Sequence[Latencies]) -> dict[str, float]:
    if not heard:
        return {}
    return {
        "p50": median(one.p50_us for one in heard),
        "p99": median(one.p99_us for one in heard),
        "p999": median(one.p999_us for one in heard),
        "worst_p99": max(one.p99_us for one in heard),
    }


def _memory(samples: Sequence[Sample], settled_s: float) -> dict[str, dict[str, float]]:
    first = next((sample for sample in samples if sample.second >= settled_s), samples[-1])
    return {
        stage: {
            "settled": first.rss_mib[stage],
            "end": samples[-1].rss_mib[stage],
            "most": max(sample.rss_mib[stage] for sample in samples),
        }
        for stage in first.rss_mib
    }


def _table(measured: Overload) -> str:
    shed = ", ".join(f"{reason} {count:,}" for reason, count in measured.shed.items()) or "none"
    late = {name: f"{value / 1000:,.1f}" for name, value in measured.latency_us.items()}
    offered = f"held {measured.capacity_per_s:,.0f} frames/s; offered {measured.offered_per_s:,.0f}/s"
    received = f"received {measured.received:,}, published {measured.published:,}, conflated {measured.conflated:,}"
    lines = [
        f"{offered} for {measured.seconds:g} s, of which {measured.sent:,} could be sent",
        f"{received}, lost {measured.lost:,}, shed: {shed}; not accounted for {measured.unaccounted:,}",
        f"latency of what got through (ms): {late}",
    ]
    lines += [
        f"{stage:<11}{one['settled']:>9.1f} MiB once settled, {one['end']:.1f} at the end, {one['most']:.1f} at most"
        for stage, one in measured.rss_mib.items()
    ]
    return "\n".join(lines) + "\n"
