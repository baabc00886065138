"""``python -m tests.soak``: the scale-out soak; standard output ends with one JSON object."""

import argparse
import asyncio
import logging
import random
import signal
import sys
from pathlib import Path

from msgspec import json

from tests.soak.outcome import Options
from tests.soak.soak import soak
from tests.support.rabbit import ensure_server


def main() -> int:
    """0 when nothing was lost, turned around or owned twice, every gap announced and every book right; else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Normalizers come and go under load.")
    add = parser.add_argument
    add("--seconds", type=float, default=300.0, help="how long; all happens once at least (default: %(default)g)")
    add("--seed", type=int, help="the same seed does the same in the same order (default: another one each time)")
    add("--rate", type=float, default=20.0, help="events per second and instrument (default: %(default)g)")
    add("--logs", type=Path, help="keep the logs of all processes in this directory (default: they are removed)")
    arguments = parser.parse_args()
    seed = random.randrange(1_000_000) if arguments.seed is None else arguments.seed
    ensure_server()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logging.getLogger("aiormq").setLevel(logging.CRITICAL)  # a broker that is away is what this is about
    _say(f"soak --seconds {arguments.seconds:g} --seed {seed}")
    outcome = asyncio.run(soak(Options(arguments.seconds, seed, arguments.rate, arguments.logs), _say))
    for line in outcome.lines():
        _say(line)
    sys.stdout.write(json.encode(outcome.summary()).decode() + "\n")
    return 0 if outcome.clean else 1


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
