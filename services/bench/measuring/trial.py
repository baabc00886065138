"""One rate, played for a while through one lane: whether it was held, and what it cost."""

import os
import time
from collections.abc import Mapping
from typing import Final, Protocol

from msgspec import Struct, convert

from services.bench.measuring.consumer import Counts
from services.bench.measuring.generator import Play, Played
from services.bench.measuring.processes import BenchError, Process, cpu_seconds, used_by_all

__all__ = ["DISTURBED", "DRAIN_S", "WARM_LIMIT_S", "Playable", "Trial", "play", "warm_up"]

FULFILLED: Final = 0.98
SETTLE_SHARE: Final = 0.05
SETTLE_MIN_S, SETTLE_MAX_S = 0.1, 0.5
DRAIN_S: Final = 10.0
POLL_S: Final = 0.01
WARM_RATE, WARM_S, WARM_TRIES = 200.0, 1.0, 10
WARM_LIMIT_S: Final = WARM_TRIES * (WARM_S + DRAIN_S)
NO_TIME: Final = 0.02
BUSY: Final = 0.85
"""What used more than this of what there is had not much left."""
DISTURBED: Final = 0.3
"""Cores that others used: more than this, and a rate that was not held proves nothing."""


class Trial(Struct, frozen=True):
    """``missing``: frames of which nothing came; ``settle_s``: how long the last ones took after they were sent."""

    rate: float
    wanted_s: float
    sent: int
    missing: int
    lost: int
    dropped: int
    blocked_s: float
    settle_s: float
    seconds: float
    cpu: Mapping[str, float]
    """Seconds of CPU by stage."""
    other_cpu: float
    """Cores that the rest of the machine used meanwhile."""

    @property
    def held(self) -> bool:
        """The rate was reached, everything came, and no backlog was left that more time would have let grow."""
        allowed = min(SETTLE_MAX_S, max(SETTLE_MIN_S, SETTLE_SHARE * self.wanted_s))
        return self.fulfilled and not self.missing and not self.lost and self.settle_s <= allowed

    @property
    def arrived(self) -> bool:
        """Whether anything was sent, and all of it came."""
        return bool(self.sent) and not self.missing

    @property
    def fulfilled(self) -> bool:
        """Whether the generator sent what it should."""
        return self.sent >= FULFILLED * self.rate * self.wanted_s

    @property
    def shed(self) -> int:
        """Frames of which nothing came, for whatever reason."""
        return max(self.lost, self.missing)

    @property
    def limited_by(self) -> str:
        """Why it was not more.

        A stage that was busy; ``others`` that used the machine; ``machine``: all stages together; ``waiting``: nobody.
        """
        if not self.fulfilled and self.blocked_s < NO_TIME * self.wanted_s:
            return "generator"
        if self.dropped:
            return "consumer"
        shares = {stage: seconds / self.seconds for stage, seconds in self.cpu.items()}
        busiest = max(shares, key=lambda stage: shares[stage] if stage != "broker" else 0.0)
        if shares[busiest] > BUSY:
            return busiest
        if self.other_cpu > DISTURBED:
            return "others"
        return "machine" if sum(shares.values()) > BUSY * (os.cpu_count() or 1) else "waiting"

    def cpu_us_per_frame(self) -> dict[str, float]:
        """By stage."""
        frames = max(1, self.sent - self.missing)
        return {stage: round(seconds * 1e6 / frames, 2) for stage, seconds in self.cpu.items()}


class Playable(Protocol):
    """Processes that frames are sent through."""

    name: str
    generator: Process
    consumer: Process
    pids: dict[str, int]
    """By stage."""

    def lost(self) -> int:
        """Frames that the stages say were given up so far."""
        ...


def _count(lane: Playable) -> Counts:
    """What the consumer has got so far."""
    return convert(lane.consumer.ask("count"), Counts)


def warm_up(lane: Playable) -> None:
    """Frames that count for nothing, until the first of them have come through; raises BenchError."""
    for _ in range(WARM_TRIES):
        if play(lane, WARM_RATE, WARM_S).arrived:
            return
    raise BenchError(f"{lane.name}: nothing came through")


def play(lane: Playable, rate: float, seconds: float) -> Trial:
    """Play, wait until everything has come or no more does."""
    before, lost = _count(lane), lane.lost()
    cpu, everything, begun = _cpu(lane), used_by_all(), time.monotonic()
    played = convert(lane.generator.ask(Play(rate, seconds), seconds + DRAIN_S), Played)
    sent = time.monotonic()
    now = _count(lane)
    while now.frames - before.frames < played.sent and time.monotonic() - sent < DRAIN_S:
        time.sleep(POLL_S)
        now = _count(lane)
    ended = time.monotonic()
    spent = {stage: used - cpu[stage] for stage, used in _cpu(lane).items()}
    foreign = (used_by_all() - everything - sum(spent.values())) / (ended - begun)
    return Trial(
        rate,
        seconds,
        played.sent,
        max(0, played.sent - (now.frames - before.frames)),
        lane.lost() - lost,
        now.dropped - before.dropped,
        played.blocked_s,
        ended - sent,
        ended - begun,
        spent,
        round(max(0.0, foreign), 2),
    )


def _cpu(lane: Playable) -> dict[str, float]:
    return {stage: cpu_seconds(pid) for stage, pid in lane.pids.items()}
