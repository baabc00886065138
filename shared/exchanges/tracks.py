"""What a reconciliation asks, written as generators: each yields a call and is sent the reply to it."""

from collections.abc import Generator, Iterator, Sequence

from shared.accounts.base import Call
from shared.envelope import RestReply

__all__ = ["Budget", "Track", "Tracks"]

Track = Generator[Call, RestReply, None]
"""One chain of calls, each of which depends on the reply before."""


class Tracks:
    """Stages of tracks: those of one stage go on at once, the next stage begins when all of them have ended.

    What a reply makes a track raise ends the whole.
    """

    def __init__(self, stages: Iterator[Sequence[Track]]) -> None:
        self._stages = stages
        self._waiting: list[tuple[Call, Track]] = []

    def begin(self) -> list[Call]:
        """The first calls."""
        return self._next_stage()

    def replied(self, call: Call, reply: RestReply) -> list[Call]:
        """The calls that follow; nothing where others of the stage are still to be answered."""
        at = next((index for index, (asked, _) in enumerate(self._waiting) if asked == call), None)
        if at is None:
            return []
        _, track = self._waiting.pop(at)
        try:
            following = track.send(reply)
        except StopIteration:
            return [] if self._waiting else self._next_stage()
        self._waiting.append((following, track))
        return [following]

    def _next_stage(self) -> list[Call]:
        for stage in self._stages:
            for track in stage:
                first = next(track, None)
                if first is not None:
                    self._waiting.append((first, track))
            if self._waiting:
                return [call for call, _ in self._waiting]
        return []


class Budget:
    """How much a reconciliation may fetch: it becomes one frame, which a broker has to take."""

    def __init__(self, replies: int, size: int) -> None:
        self._replies = replies
        self._bytes = size

    def spend(self, reply: RestReply) -> None:
        """A reply came."""
        self._replies -= 1
        self._bytes -= len(reply.body)

    @property
    def spent(self) -> bool:
        """Whether no more should be asked than is needed to get on at all."""
        return self._replies <= 0 or self._bytes <= 0
