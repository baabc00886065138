"""``tidegate up``: the Procfile's processes on AMQP_URL, else on a private local RabbitMQ."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Final

from services.cli.errors import MAX_PORT, UsageError, positive
from services.cli.local_rabbit import LocalRabbitError, RabbitNode
from shared.errors import TidegateError
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]

PROCFILE: Final = Path(__file__).resolve().parents[2] / "Procfile"
FIRST_PORT: Final = 9110
PORT_STEP: Final = 100
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
        help="first metrics port, others follow by hundreds (default: %(default)s)",
    )


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Until SIGTERM or Ctrl-C (0), or until any process ends: then the others do, and it is that one's status."""
    del telemetry
    if not PROCFILE.exists():
        raise UsageError("up", f"there is no {PROCFILE.name} beside the sources")
    if find_spec("honcho") is None:
        raise UsageError("up", "honcho is not installed; `make up` installs what is needed")
    if arguments.burst is not None:
        positive("--burst", arguments.burst)
    names = [line.partition(":")[0] for line in PROCFILE.read_text().splitlines() if ":" in line]
    ports = {name: arguments.port + PORT_STEP * index for index, name in enumerate(names)}
    if arguments.port < 1 or max(ports.values()) > MAX_PORT:
        raise UsageError("--port", f"must leave room for {len(names)} ports by hundreds, {arguments.port} was given")
    if not arguments.live and settings.simulator.port in ports.values():
        raise UsageError("--port", f"{arguments.port} leads to {settings.simulator.port}, where the simulator listens")
    command = [sys.executable, "-m", "honcho", "-f", str(PROCFILE), "start"]
    command += ["-c", f"simulator={0 if arguments.live else 1}", "-p", str(arguments.port)]
    served = ", ".join(f"{name} {port}" for name, port in ports.items() if name != "simulator")
    try:
        with _stopped_by_signals() as stopping, _broker() as url:
            sys.stderr.write(f"tidegate: /metrics of {served}\n")
            return stopping.run(command, _environment(arguments, settings, url))
    except _Stopped:
        return 0


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
        self.asked: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._starting = False

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        del frame
        again, self.asked = self.asked is not None, number
        if self._process is not None:
            self._process.send_signal(number)
        elif not self._starting and not again:
            raise _Stopped

    def run(self, command: list[str], environment: dict[str, str]) -> int:
        """Run honcho; what ends us ends it, and we wait for its end."""
        self._starting = True
        with subprocess.Popen(command, env=environment, cwd=PROCFILE.parent) as process:  # noqa: S603 - our own interpreter
            self._process = process
            if self.asked is not None:
                process.send_signal(self.asked)
            with _guarded(process.pid):
                status = process.wait()
        return 0 if self.asked is not None else status if status >= 0 else 128 - status


@contextmanager
def _guarded(pid: int) -> Iterator[None]:
    """A process gets SIGTERM when we are gone, however we end: its guard waits for the end of its input."""
    command = ["/bin/sh", "-c", 'read -r _; kill -s TERM -- "$0"', str(pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as guard:  # noqa: S603 - as above
        try:
            yield
        finally:
            guard.kill()


@contextmanager
def _stopped_by_signals() -> Iterator[_Stopping]:
    stopping = _Stopping()
    before = {number: signal.signal(number, stopping.on_signal) for number in SIGNALS}
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
