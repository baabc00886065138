"""``bench latency``: what Tidegate adds between the socket and a consumer, beside a bare relay over as many hops."""

import argparse
import sys
from collections.abc import Sequence
from statistics import median
from typing import Any, Final

from msgspec import Struct, convert, json

from services.bench.measuring.broker import broker
from services.bench.measuring.consumer import Latencies
from services.bench.measuring.lane import DESIGNS, Design, Lane, require_baselines
from services.bench.measuring.processes import ANSWER_S
from services.bench.measuring.trial import DRAIN_S, WARM_LIMIT_S, play, warm_up
from services.cli.errors import UsageError
from services.cli.local_rabbit import RabbitNode
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["HELP", "add_arguments", "run"]

HELP: Final = "latency from the socket read to a consumer, beside a bare relay (aio-pika, nothing parsed)"
COMPARED: Final = ("tidegate", "relay")
RATES: Final = (200.0, 2_000.0, 20_000.0)


class Measured(Struct, frozen=True):
    """One design at one rate in one round; ``missing`` frames never came or came too late to be waited for."""

    latencies: Latencies
    sent: int
    wanted: int
    missing: int
    other_cpu: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's arguments."""
    parser.add_argument("--json", action="store_true", help="end standard output with one JSON object")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each rate is played (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="interleaved rounds, medians are told (%(default)s)")
    parser.add_argument(
        "--rate", type=float, action="append", default=[], help="frames/s; may be repeated (200, 2000, 20000)"
    )


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0; raises UsageError, BenchError."""
    del telemetry
    rates: Sequence[float] = arguments.rate or RATES
    for name, value in (("seconds", arguments.seconds), ("rounds", arguments.rounds), ("rate", min(rates))):
        if value <= 0:
            raise UsageError(f"--{name}", f"must be positive, {value} was given")
    require_baselines()
    found: dict[tuple[str, float], list[Measured]] = {}
    with broker() as node:
        for number in range(arguments.rounds):
            for name in COMPARED:
                sys.stderr.write(f"round {number + 1} of {arguments.rounds}: {name}\n")
                for rate, measured in _measure(DESIGNS[name], node, settings, rates, arguments.seconds):
                    found.setdefault((name, rate), []).append(measured)
    result = {"rates": [_of_rate(rate, found) for rate in rates]}
    sys.stdout.write(_table(result["rates"]))
    if arguments.json:
        sys.stdout.write(json.encode(result).decode() + "\n")
    return 0


def _measure(
    design: Design, node: RabbitNode, settings: Settings, rates: Sequence[float], seconds: float
) -> list[tuple[float, Measured]]:
    """Every rate once, slowest first: what can't keep up is left with its backlog at the end."""
    found = []
    lifetime = WARM_LIMIT_S + len(rates) * (seconds + DRAIN_S + ANSWER_S)
    with Lane(design, node, settings, seconds=lifetime, timed=True) as lane:
        warm_up(lane)
        for rate in sorted(rates):
            lane.consumer.ask("latencies")
            trial = play(lane, rate, seconds)
            late = convert(lane.consumer.ask("latencies"), Latencies)
            measured = Measured(late, trial.sent, int(rate * seconds), trial.missing, trial.other_cpu)
            sys.stderr.write(
                f"  {rate:,.0f}/s: p50 {late.p50_us:,.0f} µs, p99 {late.p99_us:,.0f} µs, p99.9 {late.p999_us:,.0f} µs; "
                f"sent {trial.sent}, missing {trial.missing}, others used {trial.other_cpu:.2f} cores\n"
            )
            found.append((rate, measured))
    return found


def _of_rate(rate: float, found: dict[tuple[str, float], list[Measured]]) -> dict[str, Any]:
    one: dict[str, Any] = {name: _median(found[name, rate]) for name in COMPARED}
    ours, relay = one["tidegate"]["p99_us"], one["relay"]["p99_us"]
    return {"frames_per_s": rate, **one, "ratio_p99": round(ours / relay, 3) if relay else None}


def _median(rounds: Sequence[Measured]) -> dict[str, float]:
    """``kept_up``: the share of the frames that were to be sent that came."""
    return {
        "p50_us": median(one.latencies.p50_us for one in rounds),
        "p99_us": median(one.latencies.p99_us for one in rounds),
        "p999_us": median(one.latencies.p999_us for one in rounds),
        "kept_up": round(median((one.sent - one.missing) / one.wanted for one in rounds), 3),
        "other_cpu": median(one.other_cpu for one in rounds),
    }


def _table(rates: Sequence[dict[str, Any]]) -> str:
    lines = [f"{'frames/s':>10}  {'':<9}{'p50':>12}{'p99':>12}{'p99.9':>12}   kept up   (µs)"]
    for one in rates:
        for name in COMPARED:
            late = one[name]
            numbers = "".join(f"{late[key]:>12,.0f}" for key in ("p50_us", "p99_us", "p999_us"))
            lines.append(f"{one['frames_per_s']:>10,.0f}  {name:<9}{numbers}{late['kept_up']:>10.1%}")
        lines.append(f"{'':>10}  p99: {one['ratio_p99']} times the relay's")
    return "\n".join(lines) + "\n"
