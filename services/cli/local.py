"""``tidegate up``: the Procfile's processes, and those of accounts, on a broker that is named or a private one."""

import argparse
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from services.cli.bursts import add_burst, check_burst
from services.cli.errors import MAX_PORT, UsageError
from services.cli.local_rabbit import LocalRabbitError, RabbitNode, free_ports
from services.cli.notes import address, leave
from services.cli.output import LogFile, eventful, everything
from services.cli.ports import Wanted, clashes
from services.cli.procfile import PORT_STEP, Process, commands, processes
from services.cli.runner import Runner
from services.cli.status import tell
from services.cli.up_accounts import account_processes, check_credentials, simulated
from shared.errors import SettingsError, TidegateError
from shared.settings import Settings, names_broker
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]

PROCFILE: Final = Path(__file__).resolve().parents[2] / "Procfile"
FIRST_PORT: Final = 9110
MOST_NORMALIZERS: Final = 32
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
SIMULATOR: Final = "simulator"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("--live", action="store_true", help="connect to the real venues (default: the simulator)")
    add_burst(parser)
    add(
        "--port",
        type=int,
        default=FIRST_PORT,
        help="first metrics port, others follow by hundreds, replicas by ones (default: %(default)s)",
    )
    add("--normalizers", type=int, default=1, metavar="N", help="normalizers that share the streams (default: 1)")
    add(
        "--log",
        type=Path,
        metavar="FILE",
        help="all that the processes say goes here; the file before becomes FILE.1 (default: var/log/up-<port>.log)",
    )
    add(
        "-v",
        "--verbose",
        action="store_true",
        default=argparse.SUPPRESS,
        help="show the lines of performance_metrics, too (default: they go to the log file only)",
    )
    parser.epilog = (
        "The broker is the one that AMQP_URL or the settings name, else a private RabbitMQ. Accounts of the settings "
        "are held, too: simulated venues know them, and their files go at the end. "
        "Other commands of the same user find the broker and the metrics by themselves as long as this one runs."
    )


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Until SIGTERM or Ctrl-C (0), or until any process ends: then the others do, and it is that one's status.

    Raises UsageError, SettingsError where a port is taken or a key is not to be had, TidegateError without a broker.
    """
    del telemetry
    if not PROCFILE.exists():
        raise UsageError("up", f"there is no {PROCFILE.name} beside the sources")
    check_burst(arguments.burst, live=arguments.live)
    if not 1 <= arguments.normalizers <= MOST_NORMALIZERS:
        raise UsageError("--normalizers", f"must be from 1 to {MOST_NORMALIZERS}, {arguments.normalizers} was given")
    if arguments.live:
        check_credentials(settings)
    plane = _plane(arguments, settings)
    venues = None if arguments.live else settings.simulator.port or free_ports(1)[0]
    listening = _listening(plane, settings, arguments.port, venues)
    log = _log(arguments)
    try:
        with _stopped_by_signals() as stopping, ExitStack() as stack:
            url = stack.enter_context(_broker(settings, arguments.config))
            environment = _environment(arguments.config, url)
            if venues is not None:
                files = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidegate-accounts-")))
                environment = simulated(settings, environment | _simulator(settings, venues, arguments.burst), files)
            stack.enter_context(leave("up", listening, url))
            runner = Runner(plane, environment, PROCFILE.parent, log, everything if arguments.verbose else eventful)
            metrics = {where: name for where, name in listening.items() if not _simulates(name)}
            sys.stderr.write(f"tidegate: /metrics of {', '.join(f'{name} {at}' for at, name in metrics.items())}\n")
            threading.Thread(target=tell, args=(metrics, runner.say), name="status", daemon=True).start()
            return stopping.run(runner)
    except _Stopped:
        return 0


def _plane(arguments: argparse.Namespace, settings: Settings) -> list[Process]:
    known = commands(PROCFILE.read_text(encoding="utf-8"))
    counts = {SIMULATOR: 0 if arguments.live else 1, "normalizer": arguments.normalizers}
    plane = [
        *processes(known, counts, arguments.port),
        *account_processes(settings, arguments.port + PORT_STEP * len(known)),
    ]
    if arguments.port < 1 or max(one.port for one in plane) > MAX_PORT:
        names = len({one.port // PORT_STEP for one in plane})
        raise UsageError("--port", f"must leave room for {names} ports by hundreds, {arguments.port} was given")
    return plane


def _listening(plane: Sequence[Process], settings: Settings, first: int, venues: int | None) -> dict[str, str]:
    """Processes by where they will listen; SettingsError that names every port which is not free."""
    host = settings.telemetry.host
    wanted = [Wanted("--port", one.name, host, one.port) for one in plane if not _simulates(one.name)]
    if venues is not None:
        if venues in {one.port for one in wanted}:
            raise UsageError("--port", f"{first} leads to {venues}, where the simulator listens")
        setting = "simulator.port (TIDEGATE_SIMULATOR__PORT)"
        wanted.insert(0, Wanted(setting, SIMULATOR, settings.simulator.host, venues))
    if found := clashes(wanted):
        raise SettingsError(found)
    return {address(one.host, one.port): one.process for one in wanted}


def _simulates(process: str) -> bool:
    return process.partition(".")[0] == SIMULATOR


def _log(arguments: argparse.Namespace) -> LogFile:
    path = arguments.log or PROCFILE.parent / "var" / "log" / f"up-{arguments.port}.log"
    try:
        found = LogFile(path)
    except OSError as error:
        raise UsageError("--log", f"{path} can't be written: {error.strerror}") from error
    sys.stderr.write(f"tidegate: everything that is said goes to {path}\n")
    return found


def _environment(config: Path | None, url: str) -> dict[str, str]:
    environment = {**os.environ, "AMQP_URL": url, "PYTHON": sys.executable, "PYTHONUNBUFFERED": "1"}
    if config is not None:
        environment["TIDEGATE_CONFIG"] = str(config.resolve())
    return environment


def _simulator(settings: Settings, port: int, burst: float) -> dict[str, str]:
    return {
        "TIDEGATE_SIMULATOR__CONNECT": f"{settings.simulator.host}:{port}",
        "SIMULATOR_ARGS": f"--port {port} --burst {burst:g}",
    }


@contextmanager
def _broker(settings: Settings, config: Path | None) -> Iterator[str]:
    if names_broker(config):
        yield settings.broker.url.get_secret_value()
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
