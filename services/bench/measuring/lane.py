"""One design set up from end to end on a broker of its own name: generator → ingest → normalizer → consumer."""

import os
import re
import tempfile
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final, NamedTuple, Self

from msgspec import json

from services.bench.measuring.frames import SYMBOLS
from services.bench.measuring.processes import ROOT, BenchError, Process
from services.cli.local_rabbit import RabbitNode, free_ports
from shared.messages import routing_key
from shared.settings import Settings
from shared.topology import FIREHOSE, MARKET

__all__ = ["DESIGNS", "KEYS", "Design", "Lane", "require_baselines", "settings_environment"]

BASELINES: Final = "tests.bench.baselines"
LOST: Final = re.compile(r"^tidegate_frames_(?:shed|conflated|lost|rejected)_total(?:\{.*\})? (\S+)$", re.MULTILINE)
KEYS: Final = tuple(routing_key("*", "bybit", symbol) for symbol in SYMBOLS)
"""Routing key patterns of everything that comes of the benchmark's frames."""


class Design(NamedTuple):
    """What is compared. ``start``: the first rate to try; ``baseline``: its module, None for Tidegate."""

    name: str
    start: float
    baseline: str | None = None
    firehose: bool = False
    program: str = "services.cli"
    """The module that Tidegate's stages are started by."""


DESIGNS: Final = {
    design.name: design
    for design in (
        Design("tidegate", 8_000),
        Design("phase1", 500, "phase1"),
        Design("faststream", 500, "faststream_plain"),
        Design("firehose", 8_000, firehose=True),
        Design("relay", 500, "relay"),
        Design("unmetered", 8_000, program="services.bench.measuring.unmetered"),
    )
}


def require_baselines() -> None:
    """Raise BenchError where the baselines are not: they belong to the tests, not to what is installed."""
    if not (ROOT / BASELINES.replace(".", "/")).is_dir():
        raise BenchError("the baselines are part of the source tree: run the benchmark there")


class Lane:
    """The processes of one design, started on entering and gone on leaving; each lives ``seconds`` at most."""

    def __init__(
        self, design: Design, node: RabbitNode, settings: Settings, *, seconds: float, timed: bool = False
    ) -> None:
        self.design = design
        self.name = design.name
        self._node = node
        self._settings = settings
        self._seconds = seconds
        self._timed = timed
        self._stack = ExitStack()
        self.ports: list[int] = []
        self._environment: dict[str, str] = {}
        self.pids: dict[str, int] = {}
        """By stage."""
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
        """Frames that Tidegate says were shed, conflated, rejected or lost so far."""
        total = 0.0
        for port in self.ports:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                total += sum(map(float, LOST.findall(answer.read().decode())))
        return int(total)

    def _start(self) -> None:
        host = f"bench-{self.design.name}-{os.urandom(3).hex()}"
        self._node.ctl("add_vhost", host)
        self._stack.callback(self._node.ctl, "delete_vhost", host)
        self._node.ctl("set_permissions", "-p", host, "guest", ".*", ".*", ".*")
        directory = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-bench-"))
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TIDEGATE_")},
            "AMQP_URL": self._node.url_of(host),
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "TMPDIR": directory,
        }
        self.generator = self._child("generator", "services.bench.measuring.generator")
        port = int(self.generator.line()["port"])
        self._environment |= settings_environment(self._settings, firehose=self.design.firehose)
        self._environment |= _venue(f"127.0.0.1:{port}")
        self._consume()
        self._baseline() if self.design.baseline else self._product()
        self.pids["broker"] = self._node.pid

    def _consume(self) -> None:
        exchange, patterns = (FIREHOSE, ("#",)) if self.design.firehose else (MARKET, KEYS)
        timed = ("--timed",) if self._timed else ()
        self.consumer = self._child("consumer", "services.bench.measuring.consumer", exchange, *patterns, *timed)
        self.consumer.line()

    def _product(self) -> None:
        self.ports = free_ports(2)
        stages = [
            self._child("normalizer", self.design.program, "normalizer", port=self.ports[0]),
            self._child("ingest", self.design.program, "ingest", "bybit", port=self.ports[1]),
        ]
        for stage, port in zip(stages, self.ports, strict=True):
            stage.wait_ready(port)

    def _baseline(self) -> None:
        for stage in ("normalizer", "ingest"):
            self._child(stage, f"{BASELINES}.{self.design.baseline}", stage).line()

    def _child(self, stage: str, *module: str, port: int | None = None) -> Process:
        environment = self._environment if port is None else _with_port(self._environment, port)
        child = self._stack.enter_context(Process(stage, module, environment, self._seconds))
        self.pids[stage] = child.pid
        return child


def _with_port(environment: Mapping[str, str], port: int) -> Mapping[str, str]:
    return {**environment, "TIDEGATE_TELEMETRY__PORT": str(port)}


def settings_environment(settings: Settings, *, firehose: bool) -> dict[str, str]:
    """The settings of the benchmark's caller for its processes."""
    broker = {"publish_deadline_s": settings.broker.publish_deadline_s, "firehose": firehose}
    sections = {"INGEST": settings.ingest, "NORMALIZER": settings.normalizer, "QUEUES": settings.queues}
    return {
        **{f"TIDEGATE_{name}": section.model_dump_json() for name, section in sections.items()},
        "TIDEGATE_BROKER": json.encode(broker).decode(),
    }


def _venue(address: str) -> dict[str, str]:
    """Settings by which the generator is the only venue."""
    linear = {
        "symbols": SYMBOLS,
        "feeds": ["trade", "quote", "book"],
        "websocket": f"ws://{address}",
        "rest": f"http://{address}",
    }
    return {
        "TIDEGATE_EXCHANGES": json.encode({"bybit": {"products": {"linear": linear}}}).decode(),
        "BENCH_WEBSOCKET": f"ws://{address}/v5/public/linear",
    }
