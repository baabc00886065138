"""``tidegate bench``: how near the limit each part is, beside what it is compared with."""

import argparse
from importlib import import_module
from typing import Final

from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["add_arguments", "run"]

NAMES: Final = (
    "parse",
    "executor",
    "publish",
    "pipeline",
    "scale",
    "latency",
    "overload",
    "metrics",
    "account",
    "journey",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-command for each benchmark."""
    commands = parser.add_subparsers(required=True, metavar="BENCHMARK")
    for name in NAMES:
        module = import_module(f"services.bench.{name}")
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(command)
        command.set_defaults(benchmark=name)


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """Run the benchmark; its status."""
    module = import_module(f"services.bench.{arguments.benchmark}")
    return int(module.run(arguments, settings, telemetry))
