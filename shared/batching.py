"""When to send what has gathered: a decision, not a timer. Times are monotonic nanoseconds."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

__all__ = ["BatchPolicy", "Pace", "Trigger"]


class Trigger(StrEnum):
    """Why a batch was closed."""

    IDLE = "idle"  # nothing was under way: no reason to wait
    FRAMES = "frames"
    BYTES = "bytes"
    AGE = "age"
    DRAIN = "drain"  # shutting down


class BatchPolicy(Struct, frozen=True):
    """At once when idle; else at ``frames`` frames, ``bytes`` bytes, or when the oldest waited ``window_ns``."""

    frames: int = 200
    bytes: int = 256 * 1024
    window_ns: int = 500_000

    def due(self, frames: int, size: int, oldest_ns: int, in_flight: int, now: int) -> Trigger | int:
        """A trigger: close the batch now. A number: look again in so many nanoseconds, or when more arrives.

        ``frames`` and ``size`` are what waits (at least one frame), ``oldest_ns`` when its first frame came,
        ``in_flight`` how many batches of this stream are being published.
        """
        if frames >= self.frames:
            return Trigger.FRAMES
        if size >= self.bytes:
            return Trigger.BYTES
        if not in_flight:
            return Trigger.IDLE
        left: Final = self.window_ns - (now - oldest_ns)
        return Trigger.AGE if left <= 0 else left


class Pace:
    """How long to wait for more before the next batch: batches that follow each other begin ``linger_ns`` apart.

    A batch costs its makers, the broker and every consumer the same whether it holds one frame or fifty, and where all
    of them are busy what they save is time that frames would have waited. A lone batch is never held up.
    """

    __slots__ = ("_begun", "_linger_ns")

    def __init__(self, linger_ns: int) -> None:
        self._linger_ns = linger_ns
        self._begun: int | None = None

    def wait(self, begun: int, now: int) -> int:
        """Nanoseconds from now; a batch began at ``begun``."""
        before, self._begun = self._begun, begun
        if before is None or begun - before >= 2 * self._linger_ns:
            return 0
        return max(0, begun + self._linger_ns - now)
