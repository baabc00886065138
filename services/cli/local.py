"""``tidegate up``: the Procfile's processes on AMQP_URL, else on a private local RabbitMQ."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from services.cli.errors import UsageError
from services.cli.local_rabbit import LocalRabbitError, RabbitNode
from shared.errors import TidegateError
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]

PROCFILE = Path(__file__).resolve().parents[2] / "Procfile"
FIRST_PORT = 9100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--live", action="store_true", help="connect to the real venues instead of the simulator")
    parser.add_argument("--burst", type=float, metavar="N", help="the simulator's bursts: N times the rate")
    parser.add_argument("--port", type=int, default=FIRST_PORT, help="first metrics port (default: %(default)s)")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Until Ctrl-C, or until any process ends; the status of the first that did."""
    del telemetry
    if not PROCFILE.exists():
        raise UsageError("up", f"there is no {PROCFILE.name} beside the sources")
    with _broker() as url:
        environment = {**os.environ, "AMQP_URL": url, "PYTHON": sys.executable, "PYTHONUNBUFFERED": "1"}
        concurrency = "simulator=0" if arguments.live else "simulator=1"
        if not arguments.live:
            environment["TIDEGATE_SIMULATOR__CONNECT"] = f"{settings.simulator.host}:{settings.simulator.port}"
            environment["SIMULATOR_ARGS"] = f"--burst {arguments.burst}" if arguments.burst else ""
        command = [sys.executable, "-m", "honcho", "-f", str(PROCFILE), "start", "-c", concurrency]
        return _run([*command, "-p", str(arguments.port)], environment)


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


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run honcho; what ends us ends it, and we wait for its end."""
    with subprocess.Popen(command, env=environment, cwd=PROCFILE.parent) as process:  # noqa: S603 - our own interpreter

        def pass_on(number: int, frame: FrameType | None) -> None:
            del frame
            process.send_signal(number)

        before = {number: signal.signal(number, pass_on) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            return process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
