"""``bench account``: how fast private frames get through, and how soon, in a quiet market and in a burst."""

import argparse
import sys
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from msgspec import json

from services.bench.account_latency import Round, latency
from services.bench.account_publishing import Speed, publishing, speeds
from services.bench.measuring.broker import broker
from services.bench.measuring.lane import require_baselines
from services.cli.errors import positive
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["HELP", "add_arguments", "run"]

HELP: Final = "private frames: confirmed one by one beside a bare aio-pika loop, and latency in a market burst"
LEAST_RATIO: Final = 0.9
MOST_RISE: Final = 1.5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("--rounds", type=int, default=6, help="interleaved rounds, medians are told (%(default)s)")
    add("--count", type=int, default=2_000, help="frames of each kind in a round (%(default)s)")
    add("--bytes", type=int, default=700, help="the size of a frame (%(default)s)")
    add("--seconds", type=float, default=15.0, help="how long latency is measured at a time (%(default)s)")
    add("--rate", type=float, default=20.0, help="what happens to the account in a second (%(default)s)")
    add("--burst", type=float, default=20.0, help="the market's rate in a burst, times the usual (%(default)s)")
    add("--json", action="store_true", help="end standard output with one JSON object")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0; raises UsageError, BenchError, BrokerError."""
    del settings, telemetry
    for name in ("rounds", "count", "bytes", "seconds", "rate", "burst"):
        positive(f"--{name}", getattr(arguments, name))
    require_baselines()
    with broker() as node:
        found = speeds(publishing(node, arguments.rounds, arguments.count, arguments.bytes), arguments.count)
        rounds = latency(node, arguments.rounds, arguments.seconds, arguments.rate, arguments.burst)
    result = _result(found, rounds)
    sys.stdout.write(_table(found, result["latency"]))
    if arguments.json:
        sys.stdout.write(json.encode(result).decode() + "\n")
    return 0


def _result(found: Sequence[Speed], rounds: Sequence[Round]) -> dict[str, Any]:
    """Ratios are the medians of the rounds' own: what disturbs a round disturbs all of it."""
    by_kind = {one.kind: one for one in found}
    names = ("quiet_p50", "quiet_p99", "burst_p50", "burst_p99")
    return {
        "publishing": {
            "per_s": {one.kind: one.per_s for one in found},
            "ratio_journal_off": by_kind["off"].ratio,
            "ratio_journal_on": by_kind["on"].ratio,
            "journal_us_per_frame": round(by_kind["on"].frame_us - by_kind["off"].frame_us, 1),
            "wanted_ratio_journal_off": LEAST_RATIO,
        },
        "latency": {
            **{f"{name}_ms": round(median(getattr(one, name) for one in rounds), 3) for name in names},
            "ratio_p99": round(median(one.burst_p99 / one.quiet_p99 for one in rounds), 3),
            "wanted_ratio_p99": MOST_RISE,
            "messages": sum(one.frames for one in rounds),
            "rounds": [one._asdict() for one in rounds],
        },
    }


def _table(found: Sequence[Speed], latencies: dict[str, Any]) -> str:
    names = {"bare": "aio-pika, bare", "off": "journal off", "on": "journal on"}
    lines = [f"{'one by one, confirmed':<24}{'frames/s':>10}{'µs':>9}{'ratio':>8}"]
    lines += [f"{names[one.kind]:<24}{one.per_s:>10,.0f}{one.frame_us:>9.0f}{one.ratio:>8.2f}" for one in found]
    lines.append(f"{'arrival to consumer':<24}{'p50 ms':>10}{'p99 ms':>9}")
    for name, text in (("quiet", "market at rest"), ("burst", "market in a burst")):
        lines.append(f"{text:<24}{latencies[f'{name}_p50_ms']:>10.2f}{latencies[f'{name}_p99_ms']:>9.2f}")
    lines.append(f"p99 in a burst: {latencies['ratio_p99']:.2f} times, wanted at most {MOST_RISE}")
    return "\n".join(lines) + "\n"
