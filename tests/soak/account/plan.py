"""What is done to the account plane and when, decided before anything starts: the same for a seed."""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["ACCOUNTS", "LONG", "MANDATORY", "SHORT", "Form", "Step", "plan"]

ACCOUNTS: Final = (("bybit", "main"), ("bybit", "second"), ("binance", "main"), ("mexc", "main"))


class Form(NamedTuple):
    """How long a soak is. Times in seconds: ``rest`` after a step at most, ``away`` without a broker."""

    events: int
    rest: float
    away: float
    far: float
    alarm: float
    more: int
    """Steps beyond the mandatory ones."""


SHORT: Final = Form(300, 0.3, 1.0, 1.5, 0.5, 0)
LONG: Final = Form(10_000, 4.0, 60.0, 15.0, 5.0, 24)


class Step(NamedTuple):
    """``target`` is an account's place among ACCOUNTS where the step strikes one, ``seconds`` how long it lasts."""

    action: str
    target: int
    seconds: float
    rest: float


VENUE: Final = (
    "drop socket",
    "duplicate",
    "reorder",
    "rest error",
    "rest slow",
    "rest lag",
    "refuse auth",
    "expire key",
    "clock ahead",
    "clock behind",
)
LAG_S: Final = 1.0
"""How far REST lists are behind the stream while they lag."""

CLOCK_OFF_MS: Final = 3_000
"""How far a venue's clock jumps, and back again."""

PROCESSES: Final = ("kill ingest", "kill normalizer", "kill broker", "far ingest", "far normalizer", "memory alarm")
MANDATORY: Final = ("broker away", *PROCESSES, *VENUE)
LATER: Final = (*VENUE, *PROCESSES[:3], *PROCESSES[:3], *PROCESSES)


def plan(seed: int, form: Form) -> Sequence[Step]:
    """Everything once, in an order of the seed's, mixed with more of it."""
    chance = random.Random(seed)
    actions = [*MANDATORY, *(chance.choice(LATER) for _ in range(form.more))]
    chance.shuffle(actions)
    return [_step(action, chance, form) for action in actions]


def _step(action: str, chance: random.Random, form: Form) -> Step:
    lasting = {
        "broker away": form.away,
        "memory alarm": form.alarm,
        "clock ahead": form.alarm,
        "clock behind": form.alarm,
        "far ingest": form.far,
        "far normalizer": form.far,
    }
    seconds = lasting.get(action, chance.random() * min(form.rest, 2.0))
    return Step(action, chance.randrange(len(ACCOUNTS)), seconds, chance.random() * form.rest)
