"""Which streams there are, and who is said to own them. Decisions: no I/O, times in nanoseconds of one clock."""

import re
from collections.abc import Iterable
from typing import Final

from services.normalizer.account.plans import plan_of
from shared.control import Holdings, StreamInfo
from shared.exchanges import EXCHANGES

__all__ = ["Known", "Peers", "is_stream"]

STREAM_NAME: Final = re.compile(r"(?=.{1,100}$)[a-z0-9_]+(\.[a-z0-9_-]+){1,4}", re.ASCII)
"""As ``bybit.linear.0``; what is announced becomes the name of a queue."""

STEP_NS: Final = 1_000_000_000
"""No look at the clock counts for more: who was away, or frozen, could hear nobody."""


def is_stream(stream: StreamInfo) -> bool:
    """Whether what was announced can be a stream of a known venue."""
    if stream.plane == "account" and plan_of(stream) is None:
        return False
    return stream.exchange in EXCHANGES and STREAM_NAME.fullmatch(stream.stream) is not None


class Known:
    """Streams, from their first announcement until there was no sign of them for ``patience_ns``.

    Only time counts in which somebody listened.
    """

    def __init__(self, patience_ns: int) -> None:
        self.streams: dict[str, StreamInfo] = {}
        self._patience_ns = patience_ns
        self._heard: dict[str, int] = {}
        self._listened = 0
        self._looked: int | None = None

    def announced(self, stream: StreamInfo) -> bool:
        """There is this stream; whether that is new."""
        new = self.streams.get(stream.stream) != stream
        self.streams[stream.stream] = stream
        self._heard[stream.stream] = self._listened
        return new

    def alive(self, streams: Iterable[str]) -> None:
        """Frames came of these, whoever announces them or not."""
        for stream in streams:
            if stream in self._heard:
                self._heard[stream] = self._listened

    def look(self, now: int) -> list[StreamInfo]:
        """Time passed; the streams that are none any more."""
        if self._looked is not None:
            self._listened += min(now - self._looked, STEP_NS)
        self._looked = now
        over = [stream for stream, heard in self._heard.items() if self._listened - heard > self._patience_ns]
        for stream in over:
            del self._heard[stream]
        return [self.streams.pop(stream) for stream in over]


class Peers:
    """What other members said last that they own."""

    def __init__(self, member: str) -> None:
        self._member = member
        self._owners: dict[str, str] = {}
        self._freed: set[str] = set()

    def heard(self, holdings: Holdings, known: Iterable[str]) -> list[str]:
        """A member tells what it owns; the streams that it owned and does not any more."""
        if holdings.member == self._member:
            return []
        has = {holding.stream for holding in holdings.streams}
        freed = [stream for stream, owner in self._owners.items() if owner == holdings.member and stream not in has]
        for stream in freed:
            del self._owners[stream]
        self._freed.update(freed)
        self._freed -= has
        self._owners.update((stream, holdings.member) for stream in known if stream in has)
        return freed

    def taken(self, stream: str) -> str:
        """We own it now; why that could be: ``rebalanced``, ``orphaned`` (its owner never let it go) or ``started``."""
        owner = self._owners.pop(stream, None)
        if stream in self._freed:
            self._freed.discard(stream)
            return "rebalanced"
        return "started" if owner is None else "orphaned"

    def forget(self, stream: str) -> None:
        """There is no such stream any more."""
        self._owners.pop(stream, None)
        self._freed.discard(stream)
