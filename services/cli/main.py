"""The ``tidegate`` command."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from services.cli import checking, embedded, local, offline, stages, tapping
from services.cli.errors import UsageError
from shared.errors import SettingsError, TidegateError
from shared.settings import Settings, load, secrets
from shared.telemetry.bundle import Telemetry
from shared.telemetry.logs import logging_to
from shared.telemetry.redact import Redactor

__all__ = ["main"]

FAILED = 1
UNUSABLE = 2

Command = Callable[[argparse.Namespace, Settings, Telemetry], int]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    0 when it did what it should, 1 when it failed, 2 for unusable arguments or settings, 3 (normalize, replay) when
    frames were rejected. Data goes to standard output, everything else to standard error.
    """
    arguments = _parser().parse_args(argv)
    try:
        if arguments.command == "normalize":
            return offline.run(arguments)
        settings = load(arguments.config)
        level = "DEBUG" if arguments.verbose else settings.telemetry.log_level
        telemetry = Telemetry()
        redactor = Redactor()
        for secret in secrets(settings):
            redactor.add(secret)
        with logging_to(
            sys.stderr,
            level=level,
            as_json=settings.telemetry.log_format == "json",
            redactor=redactor,
            dropped=telemetry.metrics.log_records_dropped,
            errors=telemetry.metrics.log_errors,
        ):
            command: Command = arguments.run
            return command(arguments, settings, telemetry)
    except (UsageError, SettingsError) as error:
        mistakes = error.mistakes if isinstance(error, SettingsError) else [(error.argument, str(error))]
        for path, problem in mistakes:
            sys.stderr.write(f"tidegate: {problem if problem.startswith(path) else f'{path}: {problem}'}\n")
        return UNUSABLE
    except (TidegateError, OSError) as error:
        if arguments.verbose:
            raise
        sys.stderr.write(f"tidegate: {error}\n")
        return FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tidegate", description="Real-time market-data gateway.")
    parser.add_argument("--config", type=Path, help="settings file (TIDEGATE_CONFIG; default: tidegate.toml if there)")
    parser.add_argument("-v", "--verbose", action="store_true", help="debug log lines, and tracebacks of failures")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, text, add, run in (
        ("run", "the whole market plane in one process, no broker needed", embedded.add_arguments, embedded.run),
        ("up", "the stages as processes on RabbitMQ", local.add_arguments, local.run),
        ("ingest", "hold the streams of one exchange, publish raw frames", stages.add_ingest, stages.run_ingest),
        ("normalizer", "consume raw frames, publish canonical messages", stages.add_normalizer, stages.run_normalizer),
        ("simulator", "the simulated venues", stages.add_simulator, stages.run_simulator),
        ("normalize", "offline: raw frames in, canonical messages out", offline.add_arguments, None),
        ("record", "raw streams from the broker to a capture file", tapping.add_record, tapping.run_record),
        ("replay", "a capture file through the normalizer", tapping.add_replay, tapping.run_replay),
        ("tap", "canonical messages live from the broker", tapping.add_tap, tapping.run_tap),
        ("check", "settings, broker, topology: what is wrong and where", checking.add_arguments, checking.run),
    ):
        command = commands.add_parser(name, help=text, description=text)
        add(command)
        command.set_defaults(run=run, command=name)
    return parser


if __name__ == "__main__":
    sys.exit(main())
