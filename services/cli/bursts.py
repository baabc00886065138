"""Bursts of the simulated venues: one argument and one rhythm for ``run``, ``up`` and ``simulator``."""

import argparse
from typing import Final

from services.cli.errors import UsageError, positive

__all__ = ["EVERY_S", "FOR_S", "add_burst", "check_burst"]

EVERY_S: Final = 10.0
FOR_S: Final = 5.0
MAX: Final = 10_000


def add_burst(parser: argparse.ArgumentParser) -> None:
    """``--burst N``; 1 where it is not given."""
    parser.add_argument(
        "--burst",
        type=float,
        default=1.0,
        metavar="N",
        help=f"bursts of N times the simulator's rate, {FOR_S:g} s out of every {EVERY_S:g} s (default: none)",
    )


def check_burst(factor: float, *, live: bool = False) -> None:
    """Raises UsageError for one that can't be."""
    positive("--burst", factor)
    if factor > MAX:
        raise UsageError("--burst", f"must be at most {MAX}, {factor:g} was given")
    if factor != 1 and live:
        raise UsageError("--burst", "is for the simulator, not for --live")
