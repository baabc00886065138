"""``python -m tests.soak.account``: the soak of the account plane; standard output ends with one JSON object."""

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from msgspec import json

from tests.soak.account.outcome import Outcome, summary
from tests.soak.account.plan import LONG, SHORT
from tests.soak.account.soak import soak
from tests.support.rabbit import ensure_server


def main() -> int:
    """0 when every account's consumer knows exactly what its ledger says, for every seed; else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.soak.account", description="Accounts trade while all breaks."
    )
    add = parser.add_argument
    add("--seeds", type=int, default=1, help="how many runs, one after the other (default: %(default)s)")
    add("--first", type=int, default=1, help="the first one's seed (default: %(default)s)")
    add("--events", type=int, help="private events of a run (default: that of its form)")
    add("--short", action="store_true", help="everything once, each thing briefly (default: 10,000 events a run)")
    add("--logs", type=Path, help="keep the logs of all processes in this directory (default: they are removed)")
    arguments = parser.parse_args()
    form = SHORT if arguments.short else LONG
    if arguments.events is not None:
        form = form._replace(events=arguments.events)
    ensure_server()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logging.getLogger("aiormq").setLevel(logging.CRITICAL)  # a broker that is away is what this is about
    outcomes: list[Outcome] = []
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        _say(f"seed {seed}, {form.events} events")
        logs = None if arguments.logs is None else arguments.logs / str(seed)
        outcomes.append(asyncio.run(soak(seed, form, _say, logs)))
        for line in outcomes[-1].lines():
            _say(line)
    sys.stdout.write(json.encode(summary(outcomes)).decode() + "\n")
    return 0 if all(outcome.clean for outcome in outcomes) else 1


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
