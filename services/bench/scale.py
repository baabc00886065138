"""``bench scale``: what a frame costs in 1, 2 and 4 normalizers that share sixteen streams at the same rate."""

import argparse
import os
import re
import sys
import tempfile
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from statistics import median
from typing import Any, Final, Self

from msgspec import Struct, json

from services.bench.measuring.broker import broker
from services.bench.measuring.lane import KEYS, settings_environment
from services.bench.measuring.processes import ROOT, BenchError, Process, cpu_seconds
from services.bench.measuring.trial import DRAIN_S, WARM_LIMIT_S, Trial, play, warm_up
from services.cli.errors import UsageError
from services.cli.local_rabbit import RabbitNode, free_ports
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.topology import MARKET

__all__ = ["HELP", "add_arguments", "run"]

HELP: Final = "CPU of a frame in 1, 2 and 4 normalizers that share sixteen streams"
COUNTS: Final = (1, 2, 4)
STREAMS: Final = 16
TARGET: Final = 1.15
IDLE_S: Final = 2.0
SHARED_S: Final = 60.0
POLL_S: Final = 0.2
OWNED: Final = re.compile(r"^tidegate_streams_owned\{.*\} (\S+)$", re.MULTILINE)
LOST: Final = re.compile(r"^tidegate_frames_(?:lost|rejected)_total(?:\{.*\})? (\S+)$", re.MULTILINE)


class Measured(Struct, frozen=True):
    """One number of normalizers in one round; ``idle_cpu``: cores that all of them used while nothing came."""

    cpu_us_per_frame: float
    idle_cpu: float
    frames_per_s: float
    shed: int
    other_cpu: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The benchmark's arguments."""
    parser.add_argument("--json", action="store_true", help="end standard output with one JSON object")
    parser.add_argument("--rate", type=float, default=8_000.0, help="frames/s of all streams together (%(default)g)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long it is played (%(default)g)")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds, medians are told (%(default)s)")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """0; raises UsageError, BenchError."""
    del telemetry
    for name in ("rate", "seconds", "rounds"):
        if getattr(arguments, name) <= 0:
            raise UsageError(f"--{name}", f"must be positive, {getattr(arguments, name)} was given")
    rounds: list[dict[int, Measured]] = []
    with broker() as node:
        for number in range(arguments.rounds):
            _say(f"round {number + 1} of {arguments.rounds}")
            rounds.append({count: _measure(count, node, settings, arguments) for count in COUNTS})
    result = _result(rounds, arguments.rate)
    sys.stdout.write(_table(result))
    if arguments.json:
        sys.stdout.write(json.encode(result).decode() + "\n")
    return 0


def _measure(count: int, node: RabbitNode, settings: Settings, arguments: argparse.Namespace) -> Measured:
    lifetime = SHARED_S + WARM_LIMIT_S + IDLE_S + arguments.seconds + 2 * DRAIN_S
    with _Plane(count, node, settings, lifetime) as plane:
        plane.wait_shared()
        warm_up(plane)
        idle = plane.idle()
        trial = play(plane, arguments.rate, arguments.seconds)
    if not trial.arrived:
        raise BenchError(f"{count} normalizers: {trial.missing} of {trial.sent} frames never came")
    cost = sum(cost for stage, cost in trial.cpu_us_per_frame().items() if stage.startswith("normalizer"))
    measured = Measured(round(cost, 2), round(idle, 4), round(trial.sent / trial.wanted_s), trial.shed, trial.other_cpu)
    _say(f"  {count} normalizers: {cost:.2f} µs a frame, {_idle(trial, idle)}, others used {trial.other_cpu:.2f} cores")
    return measured


def _idle(trial: Trial, idle: float) -> str:
    frames_per_s = max(1.0, trial.sent / trial.seconds)
    return f"of which {idle * 1e6 / frames_per_s:.2f} µs are what they use when nothing comes"


class _Plane:
    """Envelopes → broker → normalizers → consumer, on a broker of its own name; gone on leaving."""

    def __init__(self, count: int, node: RabbitNode, settings: Settings, seconds: float) -> None:
        self.name = f"{count} normalizers"
        self._count = count
        self._node = node
        self._settings = settings
        self._seconds = seconds
        self._stack = ExitStack()
        self._ports = free_ports(count)
        self.pids: dict[str, int] = {}
        self.generator: Process
        self.consumer: Process

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def lost(self) -> int:
        """Frames that the normalizers rejected or missed so far."""
        return int(sum(sum(map(float, LOST.findall(text))) for text in self._metrics()))

    def wait_shared(self) -> None:
        """Until all have the same number of streams; raises BenchError."""
        deadline, owned = time.monotonic() + SHARED_S, [0]
        while time.monotonic() < deadline:
            owned = [int(sum(map(float, OWNED.findall(text)))) for text in self._metrics()]
            if owned == [STREAMS // self._count] * self._count:
                return
            time.sleep(POLL_S)
        raise BenchError(f"{self.name} did not share {STREAMS} streams within {SHARED_S:g} s: they had {owned}")

    def idle(self) -> float:
        """Cores that the normalizers use together while nothing comes."""
        pids = [pid for stage, pid in self.pids.items() if stage.startswith("normalizer")]
        before, begun = sum(map(cpu_seconds, pids)), time.monotonic()
        time.sleep(IDLE_S)
        return (sum(map(cpu_seconds, pids)) - before) / (time.monotonic() - begun)

    def _start(self) -> None:
        host = f"bench-scale-{os.urandom(3).hex()}"
        self._node.ctl("add_vhost", host)
        self._stack.callback(self._node.ctl, "delete_vhost", host)
        self._node.ctl("set_permissions", "-p", host, "guest", ".*", ".*", ".*")
        directory = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-bench-"))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TIDEGATE_")},
            **settings_environment(self._settings, firehose=False),
            "AMQP_URL": self._node.url_of(host),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": directory,
        }
        self.consumer = self._child("consumer", environment, "services.bench.measuring.consumer", MARKET, *KEYS)
        self.consumer.line()
        self.generator = self._child("generator", environment, "services.bench.measuring.envelopes", str(STREAMS))
        self.generator.line()
        for number, port in enumerate(self._ports):
            own = {**environment, "TIDEGATE_TELEMETRY__PORT": str(port)}
            self._child(f"normalizer.{number + 1}", own, "services.cli", "normalizer")
        self.pids["broker"] = self._node.pid

    def _child(self, stage: str, environment: Mapping[str, str], *module: str) -> Process:
        child = self._stack.enter_context(Process(stage, module, environment, self._seconds))
        self.pids[stage] = child.pid
        return child

    def _metrics(self) -> list[str]:
        """What each normalizer says; nothing of one that does not answer yet."""
        found = []
        for port in self._ports:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                    found.append(answer.read().decode())
            except OSError:
                found.append("")
        return found


def _result(rounds: Sequence[Mapping[int, Measured]], rate: float) -> dict[str, Any]:
    """Ratios are the medians of the rounds' own: what disturbs a round disturbs all of it."""
    result: dict[str, Any] = {"rate": rate, "streams": STREAMS, "target": TARGET}
    result["normalizers"] = {str(count): _median([one[count] for one in rounds]) for count in COUNTS}
    for count in COUNTS[1:]:
        ratios = [one[count].cpu_us_per_frame / one[1].cpu_us_per_frame for one in rounds]
        result[f"ratio_{count}"] = round(median(ratios), 3)
    return result


def _median(rounds: Sequence[Measured]) -> dict[str, Any]:
    return {
        "cpu_us_per_frame": round(median(one.cpu_us_per_frame for one in rounds), 2),
        "idle_cpu": round(median(one.idle_cpu for one in rounds), 4),
        "frames_per_s": median(one.frames_per_s for one in rounds),
        "shed": max(one.shed for one in rounds),
        "rounds": [one.cpu_us_per_frame for one in rounds],
        "other_cpu": median(one.other_cpu for one in rounds),
    }


def _table(result: Mapping[str, Any]) -> str:
    lines = [f"{result['rate']:,.0f} frames/s of {result['streams']} streams, {os.cpu_count()} cores"]
    for count, one in result["normalizers"].items():
        ratio = result.get(f"ratio_{count}")
        lines.append(
            f"{count} normalizers {one['cpu_us_per_frame']:>8.2f} µs a frame, idle {one['idle_cpu']:.1%} of a core"
            + ("" if ratio is None else f", {ratio:.2f} times that of one")
        )
    return "\n".join([*lines, f"wanted: at most {result['target']} times with {COUNTS[-1]}"]) + "\n"


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
