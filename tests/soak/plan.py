"""What is done to the market plane, decided before anything starts: the same for a seed."""

import random
from collections.abc import Sequence
from typing import Final, NamedTuple

__all__ = ["MANDATORY", "SHORTEST", "Step", "plan"]

REST_S: Final = 2.0
"""Between the mandatory steps: what was handed over is used for a while."""
MOST_REST_S: Final = 8.0
HASTE: Final = 0.3
"""The share of later steps that are followed by the next one while things are still in motion."""
MOST: Final = 6
LEAST: Final = 2
"""Normalizers beyond which none is added, and from which on none is taken away."""
LATER: Final = 1_000


class Step(NamedTuple):
    """``many`` normalizers are concerned; ``rest`` is how long nothing is done afterwards (seconds).

    ``hasty``: afterwards begins at once, not when every stream has an owner again.
    """

    action: str
    many: int = 1
    rest: float = REST_S
    hasty: bool = False


MANDATORY: Final = (
    Step("add", 3),
    Step("kill"),
    Step("stop"),
    Step("pause"),
    Step("kill broker"),
    Step("add", 2),
)
"""From one normalizer to four, then everything once, in this order."""

SHORTEST: Final = (
    Step("add", 2, 4.0),
    Step("kill", rest=0.5),
    Step("pause", rest=0.5),
    Step("stop", rest=0.5),
    Step("kill broker", rest=0.5),
    Step("add", rest=0.5),
)
"""The same with as few processes and as little time as can be; what is handed over to those that join gets its time."""


def plan(seed: int, first: Sequence[Step] = MANDATORY) -> Sequence[Step]:
    """What comes first, then more of it by chance than any run has time for."""
    chance = random.Random(seed)
    steps = list(first)
    live = 1 + sum(_change(step) for step in steps)
    while len(steps) < LATER:
        action = chance.choice(_possible(live))
        many = chance.randrange(1, MOST - live + 1) if action == "add" else 1
        step = Step(action, many, chance.random() * MOST_REST_S, chance.random() < HASTE)
        steps.append(step)
        live += _change(step)
    return steps


def _possible(live: int) -> list[str]:
    """A broker dies seldom; most of the time normalizers come and go."""
    actions = ["burst", "kill broker"]
    if live < MOST:
        actions += ["add"] * 3
    if live > LEAST:
        actions += ["kill", "kill", "stop", "stop", "pause"]
    return actions


def _change(step: Step) -> int:
    return {"add": step.many, "kill": -1, "stop": -1}.get(step.action, 0)
