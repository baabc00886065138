"""Which streams a normalizer claims and which it releases: one member's share of a decision that nobody makes alone.

Every member sees how many there are, and takes and gives so that nobody has more than ``ceil(streams / members)``. Who
has what, it finds out by claiming: a lock is atomic, so that a wrong or late view costs a refused claim, never a second
owner. Times are nanoseconds of one clock that only goes forward.
"""

from collections import deque
from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

__all__ = ["FLAP_NS", "HOLD_MAX_NS", "HOLD_NS", "RETRY_MAX_NS", "TICK_NS", "Ownership", "Verdict", "tick_ns"]

TICK_NS: Final = 500_000_000
HOLD_NS: Final = 1_000_000_000
"""How long a smaller share must have been due before anything is released."""
HOLD_MAX_NS: Final = 8_000_000_000
FLAP_NS: Final = 60_000_000_000
"""A member that went so lately may be the one that comes: each one doubles the wait."""
RETRY_NS: Final = 250_000_000
RETRY_MAX_NS: Final = 4_000_000_000


def tick_ns(jitter: float) -> int:
    """When to decide again: 0.35 to 0.65 s, so that members don't act in step; ``jitter`` is random in [0, 1)."""
    return int(TICK_NS * (0.7 + 0.6 * jitter))


class Verdict(NamedTuple):
    """Streams to claim, most wanted first, and streams to release."""

    claim: list[str]
    release: list[str]


class _Refusal(NamedTuple):
    retry_at: int
    delay: int


class Ownership:
    """The decision of one member, and what it remembers: refused claims, and how the number of members changed."""

    def __init__(self, member: str) -> None:
        self._member = member.encode()
        self._scores: dict[str, bytes] = {}
        self._refusals: dict[str, _Refusal] = {}
        self._members = 0
        self._falls: deque[int] = deque(maxlen=8)
        self._excess_since: int | None = None

    def decide(
        self, now: int, known: Collection[str], members: int, owned: Collection[str], releasing: Collection[str] = ()
    ) -> Verdict:
        """What to do now. ``owned`` counts claims that are under way; ``releasing`` is neither owned nor free."""
        members = max(1, members)
        if members < self._members:
            # Somebody's streams are free, or will be in a moment.
            self._falls.append(now)
            self._refusals.clear()
        self._members = members
        self._forget(known)
        quota = -(-len(known) // members)
        mine = [stream for stream in owned if stream in known]
        release = [stream for stream in owned if stream not in known]
        if self._due(now, len(mine) - quota):
            release += sorted(mine, key=self._score)[: len(mine) - quota]
        free = [stream for stream in known if stream not in owned and stream not in releasing]
        wanted = sorted((stream for stream in free if self._retry_at(stream) <= now), key=self._score, reverse=True)
        wanted.sort(key=self._retry_at)  # what was refused comes behind, or the most wanted would hide a free one
        return Verdict(wanted[: max(0, quota - len(mine))], release)

    def refused(self, stream: str, now: int, jitter: float) -> None:
        """A claim failed: again after a while, ever longer; ``jitter`` is random in [0, 1)."""
        before = self._refusals.get(stream)
        delay = RETRY_NS if before is None else min(2 * before.delay, RETRY_MAX_NS)
        self._refusals[stream] = _Refusal(now + int(delay * (0.5 + jitter / 2)), delay)

    def freed(self, streams: Iterable[str]) -> None:
        """Somebody says that these have no owner any more: refusals of before mean nothing."""
        for stream in streams:
            self._refusals.pop(stream, None)

    def _due(self, now: int, excess: int) -> bool:
        """Whether there has been too much for long enough; a member that comes and goes is waited for longer."""
        if excess <= 0:
            self._excess_since = None
            return False
        if self._excess_since is None:
            self._excess_since = now
        lately = sum(now - fall < FLAP_NS for fall in self._falls)
        return now - self._excess_since >= min(HOLD_NS << lately, HOLD_MAX_NS)

    def _retry_at(self, stream: str) -> int:
        refusal = self._refusals.get(stream)
        return 0 if refusal is None else refusal.retry_at

    def _score(self, stream: str) -> bytes:
        """Rendezvous hash: members want different streams, and each always the same ones."""
        score = self._scores.get(stream)
        if score is None:
            digest = blake2b(self._member + b"\0" + stream.encode(), digest_size=8)
            score = self._scores[stream] = digest.digest()
        return score

    def _forget(self, known: Collection[str]) -> None:
        if len(self._scores) > 2 * len(known) + 64:
            self._scores = {stream: score for stream, score in self._scores.items() if stream in known}
        for stream in [stream for stream in self._refusals if stream not in known]:
            del self._refusals[stream]
