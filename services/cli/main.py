"""The ``tidegate`` command."""

import argparse
import errno
import io
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO, cast

from services.cli.errors import ReaderGone, UsageError
from shared.errors import SettingsError, TidegateError

if TYPE_CHECKING:
    from shared.settings import Settings
    from shared.telemetry.bundle import Telemetry

__all__ = ["main"]

FAILED: Final = 1
UNUSABLE: Final = 2
INTERRUPTED: Final = 130

UNWRITABLE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})

LIBRARIES: Final = {
    "uvicorn": "WARNING",
    "aio_pika": "ERROR",
    "aio_pika.tools": "CRITICAL",
    "aiormq.base": "CRITICAL",
    "websockets": "WARNING",
}
"""Loggers that tell in many lines what Tidegate's own events tell in one."""


class Stderr(io.TextIOBase):
    """Whatever stands for standard error at the moment: a live table prints log lines above itself."""

    def write(self, text: str) -> int:
        """Pass on."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Pass on."""
        sys.stderr.flush()


class Command(NamedTuple):
    """Where a command is: ``add(parser)`` and ``run(arguments, settings, telemetry)`` in a module of this package."""

    help: str
    module: str
    add: str = "add_arguments"
    run: str = "run"


COMMANDS: Final = {
    "run": Command("the whole market plane in one process, no broker needed", "embedded"),
    "up": Command("the stages as processes on RabbitMQ", "local"),
    "ingest": Command("hold the streams of one exchange, publish raw frames", "stages", "add_ingest", "run_ingest"),
    "normalizer": Command(
        "consume raw frames, publish canonical messages", "stages", "add_normalizer", "run_normalizer"
    ),
    "simulator": Command("the simulated venues", "stages", "add_simulator", "run_simulator"),
    "normalize": Command("offline: raw frames in, canonical messages out", "offline"),
    "record": Command("raw streams from the broker to a capture file", "tapping", "add_record", "run_record"),
    "replay": Command("a capture file through the normalizer", "tapping", "add_replay", "run_replay"),
    "tap": Command("canonical messages live from the broker", "tapping", "add_tap", "run_tap"),
    "quarantine": Command("frames that could not be normalized: list them, try them again", "quarantine"),
    "top": Command("what every process says of itself, live", "top"),
    "streams": Command("which normalizer owns which stream", "streams"),
    "journal": Command("what an account's journals hold; --set-aside where one is broken", "journal"),
    "check": Command("settings, broker, topology: what is wrong and where", "checking"),
    "bench": Command(
        "benchmarks: parse, executor, publish, pipeline, scale, latency, overload, metrics, account, journey",
        "benching",
    ),
}
WITHOUT_SETTINGS: Final = frozenset({"normalize"})
ON_BROKER: Final = frozenset({"ingest", "normalizer", "record", "replay", "tap", "quarantine", "streams", "check"})
"""Those that use the broker of a `tidegate up` that runs, where neither environment nor settings name one."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    0 when it did what it should, 1 when it failed, 2 for unusable arguments or settings, 3 (normalize, replay) when
    frames were rejected. Data goes to standard output, everything else to standard error. A reader who has had enough
    (``| head``) ends a command without a complaint.
    """
    given = sys.argv[1:] if argv is None else argv
    arguments = _parser(given).parse_args(given)
    if sys.stdin is None or sys.stdout is None:
        _say("standard input and output must be open")
        return UNUSABLE
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError as error:
        _let_go()
        return error.status if isinstance(error, ReaderGone) else 0
    except (UsageError, SettingsError) as error:
        mistakes = error.mistakes if isinstance(error, SettingsError) else [(error.argument, str(error))]
        for path, problem in mistakes:
            _say(problem if problem.startswith(path) else f"{path}: {problem}")
        return UNUSABLE
    except (TidegateError, OSError) as error:
        if arguments.verbose:
            raise
        _say(_told(error) if isinstance(error, OSError) else str(error))
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _run(arguments: argparse.Namespace) -> int:
    command = COMMANDS[arguments.command]
    run = getattr(import_module(f"services.cli.{command.module}"), command.run)
    if arguments.command in WITHOUT_SETTINGS:
        return int(run(arguments))
    from shared.settings import load
    from shared.telemetry.bundle import Telemetry

    settings = load(arguments.config)
    if arguments.command in ON_BROKER:
        from services.cli.connecting import beside_up

        settings = beside_up(settings, arguments.config)
    telemetry = Telemetry()
    with _logging(arguments, settings, telemetry):
        return int(run(arguments, settings, telemetry))


@contextmanager
def _logging(arguments: argparse.Namespace, settings: "Settings", telemetry: "Telemetry") -> Iterator[None]:
    from shared.settings import secrets
    from shared.telemetry.logs import logging_to

    for secret in secrets(settings):
        telemetry.redactor.add(secret)
    with logging_to(
        cast("TextIO", Stderr()),
        level=_level(arguments, settings),
        levels={} if arguments.verbose else LIBRARIES,
        as_json=settings.telemetry.log_format == "json",
        redactor=telemetry.redactor,
        dropped=telemetry.metrics.log_records_dropped,
        errors=telemetry.metrics.log_errors,
    ):
        yield


def _level(arguments: argparse.Namespace, settings: "Settings") -> str:
    """Those who watch ``run`` on a terminal look at its table; the lines of every second would only push it away."""
    if arguments.verbose:
        return "DEBUG"
    chosen = "log_level" in settings.telemetry.model_fields_set
    if arguments.command == "run" and not chosen and sys.stderr.isatty():
        return "WARNING"
    return settings.telemetry.log_level


def _told(error: OSError) -> str:
    """What is wrong and where. Whatever else writes names its file: without a name it is standard output."""
    where = error.filename or ("standard output" if error.errno in UNWRITABLE else None)
    return str(error) if where is None else f"{where}: {error.strerror}"


def _say(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"tidegate: {' '.join(text.split())}\n")


def _let_go() -> None:
    """Nobody reads any more: what is still buffered must not fail once more while the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; arguments only of commands that are named, so that help is there at once."""
    parser = argparse.ArgumentParser(prog="tidegate", description="Real-time market-data gateway.")
    parser.add_argument(
        "--config", type=Path, help="settings file (default: TIDEGATE_CONFIG, else tidegate.toml where there is one)"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="debug log lines, and tracebacks of failures")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for name, command in COMMANDS.items():
        one: Any = commands.add_parser(name, help=command.help, description=command.help)
        if name in given:
            getattr(import_module(f"services.cli.{command.module}"), command.add)(one)
    return parser


if __name__ == "__main__":
    sys.exit(main())
