"""When to send what has gathered: a decision, not a timer. Times are monotonic nanoseconds."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

__all__ = ["BatchPolicy", "Trigger"]


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
