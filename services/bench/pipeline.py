"""``bench pipeline``: the highest rate that goes from socket to consumer with nothing shed, beside two baselines."""

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any, Final, Self

from msgspec import Struct, json

from services.bench.measuring.broker import broker
from services.bench.measuring.lane import DESIGNS, Design, Lane, require_baselines
from services.bench.measuring.processes import peak_rss_mib
from services.bench.measuring.search import RateSearch
from services.bench.measuring.trial import DISTURBED, Trial, play, warm_up
from services.cli.errors import UsageError
from services.cli.local_rabbit import RabbitNode
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["HELP", "add_arguments", "run"]

HELP: Final = "frames/s held from socket to consumer, CPU per frame and memory of each stage, beside two baselines"
COMPARED: Final = ("tidegate", "phase1", "faststream", "firehose")
MOST_RATE: Final = 200_000.0
TRIAL_S: Final = 5.0
OVERHEAD_S: Final = 12.0
TRIALS: Final = 60
REPEATS: Final = 2


class Effort(Struct, frozen=True):
    """How long and how closely to look."""

    seconds: float
    trial_s: float
    halvings: int
    confirmations: int
    most: float

    @property
    def lifetime(self) -> float:
        """What a lane may take, generously."""
        return TRIALS * (self.trial_s + OVERHEAD_S) + self.confirmations * (self.seconds + OVERHEAD_S)


class Measured(Struct, frozen=True):
    """One design in one round. ``frames_per_s`` 0: nothing was held."""

    frames_per_s: float
    shed: int
    cpu_us_per_frame: dict[str, float]
    peak_rss_mib: dict[str, float]
    limited_by: str
    precision: float
    other_cpu: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's arguments."""
    parser.add_argument("--json", action="store_true", help="end standard output with one JSON object")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long a rate has to be held (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="interleaved rounds, medians are told (%(default)s)")
    parser.add_argument("--max-rate", type=float, default=MOST_RATE, help="don't look above (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="look less closely: for a first impression")
    parser.add_argument("--only", action="append", default=[], choices=COMPARED, help="only this; may be repeated")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0; raises UsageError, BenchError."""
    del telemetry
    for name, value in (
        ("seconds", arguments.seconds),
        ("rounds", arguments.rounds),
        ("max-rate", arguments.max_rate),
    ):
        if value <= 0:
            raise UsageError(f"--{name}", f"must be positive, {value} was given")
    require_baselines()
    quick = arguments.quick
    trial_s = min(arguments.seconds, TRIAL_S / 2 if quick else TRIAL_S)
    effort = Effort(arguments.seconds, trial_s, 1 if quick else 4, 2 if quick else 5, arguments.max_rate)
    wanted = [DESIGNS[name] for name in arguments.only or COMPARED]
    rounds: dict[str, list[Measured]] = {design.name: [] for design in wanted}
    with broker() as node:
        for number in range(arguments.rounds):
            for design in wanted:
                _say(f"round {number + 1} of {arguments.rounds}: {design.name}")
                rounds[design.name].append(_measure(design, node, settings, effort, rounds[design.name]))
    result = _result(rounds)
    sys.stdout.write(_table(result, rounds, effort))
    if arguments.json:
        sys.stdout.write(json.encode(result).decode() + "\n")
    return 0


def _measure(
    design: Design, node: RabbitNode, settings: Settings, effort: Effort, before: Sequence[Measured]
) -> Measured:
    """Search, then hold what was found for the whole time."""
    known = median(one.frames_per_s for one in before) if before else 0.0
    start, factor = (known * 0.8, 1.25) if known else (design.start, 2.0)
    search = RateSearch(start, effort.most, factor=factor, halvings=effort.halvings)
    with _Lanes(design, node, settings, effort.lifetime) as lanes:
        while (rate := search.next()) is not None:
            search.tried(rate, held=lanes.play(rate, effort.trial_s))
        for rate in search.confirm(search.best or start, effort.confirmations):
            if lanes.play(rate, effort.seconds):
                break
        return _measured(lanes, search)


def _measured(lanes: "_Lanes", search: RateSearch) -> Measured:
    """Of the last trial; one that was not held still tells what a frame costs."""
    trial, failed = lanes.trial, lanes.failed
    held = trial.held
    return Measured(
        round(trial.sent / (trial.seconds - trial.settle_s), 1) if held else 0.0,
        trial.shed,
        trial.cpu_us_per_frame(),
        lanes.peak_rss_mib,
        "max-rate" if failed is None else failed.limited_by,
        max(search.precision, round(search.best / trial.rate - 1, 3)) if held else 0.0,
        trial.other_cpu,
    )


class _Lanes:
    """A lane that is set up anew after a trial that left something behind."""

    def __init__(self, design: Design, node: RabbitNode, settings: Settings, seconds: float) -> None:
        self._make = partial(Lane, design, node, settings, seconds=seconds)
        self._lane: Lane | None = None
        self.trial: Trial
        """The last one."""
        self.failed: Trial | None = None
        """The last one that was not held."""
        self.peak_rss_mib: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        lane, self._lane = self._lane, None
        if lane is not None:
            lane.__exit__()

    def play(self, rate: float, seconds: float) -> bool:
        """Whether the rate was held; it is tried again where it failed while others were busy on the machine."""
        for _ in range(REPEATS + 1):
            trial = self.trial = self._play(rate, seconds)
            if trial.held:
                return True
            self.failed = trial
            if trial.other_cpu < DISTURBED:
                break
        return False

    def _play(self, rate: float, seconds: float) -> Trial:
        if self._lane is None:
            self._lane = self._make().__enter__()
            warm_up(self._lane)
        trial = play(self._lane, rate, seconds)
        verdict = "held" if trial.held else f"not held ({trial.limited_by})"
        detail = f"sent {trial.sent}, missing {trial.missing}, lost {trial.lost}, settled in {trial.settle_s:.2f} s"
        _say(f"  {rate:,.0f}/s for {seconds:g} s: {verdict}: {detail}, others used {trial.other_cpu:.2f} cores")
        self.peak_rss_mib = {stage: peak_rss_mib(pid) for stage, pid in self._lane.pids.items()}
        if trial.missing or trial.lost:
            self.__exit__()
        return trial


def _result(rounds: dict[str, list[Measured]]) -> dict[str, Any]:
    result: dict[str, Any] = {name: _median(measured) for name, measured in rounds.items()}

    def ratio(of: str, to: str) -> float | None:
        if of not in result or to not in result or not result[to]["frames_per_s"]:
            return None
        return round(float(result[of]["frames_per_s"] / result[to]["frames_per_s"]), 2)

    result["ratio_phase1"] = ratio("tidegate", "phase1")
    result["ratio_faststream"] = ratio("tidegate", "faststream")
    result["ratio_firehose"] = ratio("firehose", "phase1")
    return result


def _median(rounds: Sequence[Measured]) -> dict[str, Any]:
    def stages(name: str) -> dict[str, float]:
        found = [getattr(one, name) for one in rounds]
        return {stage: round(median(one[stage] for one in found), 2) for stage in found[0]}

    return {
        "frames_per_s": median(one.frames_per_s for one in rounds),
        "shed": max(one.shed for one in rounds),
        "cpu_us_per_frame": stages("cpu_us_per_frame"),
        "peak_rss_mib": stages("peak_rss_mib"),
        "limited_by": rounds[-1].limited_by,
        "precision": max(one.precision for one in rounds),
        "rounds": [one.frames_per_s for one in rounds],
        "other_cpu": median(one.other_cpu for one in rounds),
    }


def _table(result: dict[str, Any], rounds: dict[str, list[Measured]], effort: Effort) -> str:
    lines = [f"held for {effort.seconds:g} s with nothing shed, {os.cpu_count()} cores; CPU in µs per frame, peak MiB"]
    for name in rounds:
        one = result[name]
        lines.append(
            f"{name:<11}{one['frames_per_s']:>10,.0f} frames/s  (+{one['precision']:.0%}; {one['limited_by']})"
        )
        lines += [
            f"{'':<11}{stage:<11}{cost:>9.1f} µs {one['peak_rss_mib'][stage]:>8.1f} MiB"
            for stage, cost in one["cpu_us_per_frame"].items()
        ]
    lines += [f"{name}: {result[name]}" for name in ("ratio_phase1", "ratio_faststream", "ratio_firehose")]
    return "\n".join(lines) + "\n"


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
