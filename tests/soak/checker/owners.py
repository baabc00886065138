"""Who published a stream when: at any instant it may be one normalizer only.

Judged by every message, duplicates too: what an owner that lost a stream still sends is wrong even where a consumer
would drop it. An owner may come back; between two of its times it must have said that it took the stream again.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

__all__ = ["SLACK_NS", "Handover", "Owners", "Tenure"]

SLACK_NS: Final = 100_000_000
"""An owner looks at the clock after its claim succeeded; its first message may be under way by then."""


@dataclass(slots=True)
class Tenure:
    """Consecutive messages of one owner; times are those of their arrival (ns)."""

    owner: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Handover:
    """One owner's last message of a stream, and the next one's first (ns)."""

    stream: str
    old: str
    new: str
    last: int
    first: int


class Owners:
    """Feed it every message in the order of arrival."""

    def __init__(self) -> None:
        self.tenures: dict[str, list[Tenure]] = {}
        self._claims: dict[tuple[str, str], set[int]] = {}

    def took(self, stream: str, owner: str, now: int) -> None:
        """A message of a stream came from this owner."""
        tenures = self.tenures.setdefault(stream, [])
        if tenures and tenures[-1].owner == owner:
            tenures[-1].last = now
        else:
            tenures.append(Tenure(owner, now, now))

    def claimed(self, stream: str, owner: str, since: int) -> None:
        """An owner says that it has had the stream since then (ns, the same clock)."""
        self._claims.setdefault((stream, owner), set()).add(since)

    def claimed_within(self, stream: str, owner: str, after: int, until: int) -> bool:
        """Whether the owner took the stream again between two of its messages (ns)."""
        return any(after < since <= until + SLACK_NS for since in self._claims.get((stream, owner), ()))

    def latest(self) -> list[str]:
        """For each stream whose message came last."""
        return [tenures[-1].owner for tenures in self.tenures.values()]

    def handovers(self) -> list[Handover]:
        """Every change, stream by stream."""
        return [
            Handover(stream, before.owner, after.owner, before.last, after.first)
            for stream, tenures in self.tenures.items()
            for before, after in pairwise(tenures)
        ]

    def most(self) -> int:
        """The most owners that any stream had at one instant; 0 when nothing came."""
        return max((_overlap(self._intervals(stream)) for stream in self.tenures), default=0)

    def shared(self) -> list[str]:
        """The streams that had more than one owner at an instant, with all their tenures."""
        return [
            f"{stream}: " + ", ".join(f"{one.owner} {one.first}-{one.last}" for one in tenures[:20])
            for stream, tenures in self.tenures.items()
            if _overlap(self._intervals(stream)) > 1
        ]

    def _intervals(self, stream: str) -> list[tuple[int, int]]:
        """From when to when each owner must have had the stream, judged by what it sent and what it claimed."""
        by_owner: dict[str, list[list[int]]] = {}
        for tenure in self.tenures[stream]:
            intervals = by_owner.setdefault(tenure.owner, [])
            if intervals and not self.claimed_within(stream, tenure.owner, intervals[-1][1], tenure.first):
                intervals[-1][1] = tenure.last
            else:
                intervals.append([tenure.first, tenure.last])
        return [(first, last) for intervals in by_owner.values() for first, last in intervals]


def _overlap(intervals: list[tuple[int, int]]) -> int:
    """The most intervals that have an instant in common."""
    edges = sorted([(first, 1) for first, _ in intervals] + [(last + 1, -1) for _, last in intervals])
    now = most = 0
    for _, step in edges:
        now += step
        most = max(most, now)
    return most
