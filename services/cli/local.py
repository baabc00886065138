"""``tidegate up``: the Procfile's processes on AMQP_URL, else on a private local RabbitMQ."""

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from services.cli.errors import MAX_PORT, UsageError, positive
from services.cli.local_rabbit import LocalRabbitError, RabbitNode
from services.cli.procfile import Process, commands, processes
from services.cli.runner import Runner
from shared.errors import TidegateError
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]

PROCFILE: Final = Path(__file__).resolve().parents[2] / "Procfile"
FIRST_PORT: Final = 9110
MOST_NORMALIZERS: Final = 32
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("--live", action="store_true", help="connect to the real venues (default: the simulator)")
    add("--burst", type=float, metavar="N", help="every 30 s, N times the simulator's rate for 5 s (default: never)")
    add(
        "--port",
        type=int,
        default=FIRST_PORT,
        help="first metrics port, others follow by hundreds, replicas by ones (default: %(default)s)",
    )
    add("--normalizers", type=int, default=1, metavar="N", help="normalizers that share the streams (default: 1)")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Until SIGTERM or Ctrl-C (0), or until any process ends: then the others do, and it is that one's status."""
    del telemetry
    if not PROCFILE.exists():
        raise UsageError("up", f"there is no {PROCFILE.name} beside the sources")
    if arguments.burst is not None:
        positive("--burst", arguments.burst)
    if not 1 <= arguments.normalizers <= MOST_NORMALIZERS:
        raise UsageError("--normalizers", f"must be from 1 to {MOST_NORMALIZERS}, {arguments.normalizers} was given")
    counts = {"simulator": 0 if arguments.live else 1, "normalizer": arguments.normalizers}
    plane = processes(commands(PROCFILE.read_text(encoding="utf-8")), counts, arguments.port)
    _check_ports(plane, arguments, settings)
    served = ", ".join(f"{one.name} {one.port}" for one in plane if not one.name.startswith("simulator"))
    try:
        with _stopped_by_signals() as stopping, _broker() as url:
            sys.stderr.write(f"tidegate: /metrics of {served}\n")
            return stopping.run(Runner(plane, _environment(arguments, settings, url), PROCFILE.parent))
    except _Stopped:
        return 0


def _check_ports(plane: Sequence[Process], arguments: argparse.Namespace, settings: Settings) -> None:
    ports = {one.port for one in plane}
    if arguments.port < 1 or max(ports) > MAX_PORT:
        names = len({one.name.partition(".")[0] for one in plane})
        raise UsageError("--port", f"must leave room for {names} ports by hundreds, {arguments.port} was given")
    if not arguments.live and settings.simulator.port in ports:
        raise UsageError("--port", f"{arguments.port} leads to {settings.simulator.port}, where the simulator listens")


def _environment(arguments: argparse.Namespace, settings: Settings, url: str) -> dict[str, str]:
    environment = {**os.environ, "AMQP_URL": url, "PYTHON": sys.executable, "PYTHONUNBUFFERED": "1"}
    if arguments.config is not None:
        environment["TIDEGATE_CONFIG"] = str(arguments.config.resolve())
    if not arguments.live:
        environment["TIDEGATE_SIMULATOR__CONNECT"] = f"{settings.simulator.host}:{settings.simulator.port}"
        environment["SIMULATOR_ARGS"] = f"--burst {arguments.burst:g}" if arguments.burst else ""
    return environment


@contextmanager
def _broker() -> Iterator[str]:
    url = os.environ.get("AMQP_URL")
    if url:
        yield url
        return
    try:
        with RabbitNode() as node:
            sys.stderr.write(f"tidegate: private RabbitMQ at {node.url}\n")
            yield node.url
    except LocalRabbitError as error:
        raise TidegateError(str(error)) from error


class _Stopped(BaseException):
    """A signal came while nothing ran yet."""


class _Stopping:
    """What a signal does: end what is being prepared, or the processes."""

    def __init__(self) -> None:
        self._runner: Runner | None = None
        self._asked = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self._runner is not None:
            self._runner.ask(number)
        elif not self._asked:
            self._asked = True
            raise _Stopped

    def run(self, runner: Runner) -> int:
        """Run it; from now on signals are for it."""
        self._runner = runner
        return runner.run()


@contextmanager
def _stopped_by_signals() -> Iterator[_Stopping]:
    stopping = _Stopping()
    before = {number: signal.signal(number, stopping.on_signal) for number in SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
