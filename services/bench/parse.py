"""``tidegate bench parse``: frames a second from raw bytes to canonical JSON, beside the floor in the same run."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import json

from services.bench.case import Case
from services.bench.race import Result, race
from services.bench.recorded import race_recorded
from services.bench.venues import binance, bybit, mexc
from services.cli.process import spare_the_collector
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

__all__ = ["CASES", "HELP", "add_arguments", "measure", "run"]

HELP: Final = "raw bytes to canonical JSON, per feed, beside the floor: decode the same fields, encode the same message"

CASES: Final[tuple[Case, ...]] = (*bybit.CASES, *binance.CASES, *mexc.CASES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--exchange", choices=sorted({case.exchange for case in CASES}), help="only this exchange")
    parser.add_argument("--product", help="only this product")
    parser.add_argument("--feed", choices=sorted({case.feed for case in CASES}), help="only this feed")
    parser.add_argument("--frames", type=Path, metavar="FILE", help="recorded frames, one a line, instead of made ones")
    parser.add_argument("--base64", action="store_true", help="lines of FILE are base64 of binary frames")
    parser.add_argument("--rounds", type=int, default=7, help="how often everything is measured (default: 7)")
    parser.add_argument("--count", type=int, default=4_000, help="frames of a feed in a round (default: 4000)")
    parser.add_argument("--json", action="store_true", help="end with one JSON object")


def run(arguments: argparse.Namespace, settings: Settings, telemetry: Telemetry) -> int:
    """As a command of ``tidegate``: needs neither settings nor telemetry."""
    del settings, telemetry
    spare_the_collector()
    return measure(arguments)


def measure(arguments: argparse.Namespace) -> int:
    """Print the table; 0, or 2 where nothing was to be measured."""
    cases = [case for case in CASES if _wanted(case, arguments)]
    if arguments.frames is None:
        results = list(race(cases, max(1, arguments.rounds), max(1, arguments.count)))
    elif arguments.exchange is None or arguments.product is None:
        sys.stderr.write("bench parse: --frames: needs --exchange and --product\n")
        return 2
    else:
        results = list(race_recorded(cases, arguments.frames, max(1, arguments.rounds), encoded=arguments.base64))
    if not results:
        sys.stderr.write("bench parse: nothing to measure: no feed of these frames has a floor\n")
        return 2
    sys.stdout.write(table(results))
    if arguments.json:
        sys.stdout.write(json.encode({"results": [item._asdict() for item in results]}).decode() + "\n")
    return 0


def _wanted(case: Case, arguments: argparse.Namespace) -> bool:
    return (
        arguments.exchange in {None, case.exchange}
        and arguments.product in {None, case.product}
        and arguments.feed in {None, case.feed}
    )


def table(results: Sequence[Result]) -> str:
    """One line a feed; ``new`` is the share of numbers that were never seen before."""
    lines = [f"{'exchange':<10}{'product':<9}{'feed':<12}{'frames/s':>10}{'floor':>10}{'ratio':>7}{'new':>6}"]
    for item in results:
        new = "" if item.new_numbers is None else f"{item.new_numbers:.0%}"
        rates = f"{item.frames_per_s:>10,.0f}{item.floor_frames_per_s:>10,.0f}{item.ratio:>7.2f}{new:>6}"
        lines.append(f"{item.exchange:<10}{item.product:<9}{item.feed:<12}{rates}")
    return "\n".join(lines) + "\n"
