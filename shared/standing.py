"""Tells an overload from an outage. Sans I/O; times are monotonic nanoseconds.

A queue that is long because the way out was shut for a while empties by itself as soon as it is open: nothing in it
needs to be given up. A queue that *stands*, where what is taken has waited too long and waits no less a while later,
will never be shorter: all it does is to make everything late. Then it is better to give up what is old. The idea is
that of CoDel (RFC 8289), which measures the time that packets wait and not the length of the queue; but where CoDel
drops one packet after the other, market data that is late is worth nothing, so all of it goes.
"""

from typing import Final

__all__ = ["StandingQueue"]

SHRINKING: Final = 0.95
"""A queue whose wait has fallen below this share of what it was is emptying, at that pace in twenty times as long."""


class StandingQueue:
    """Asked whenever something is taken. ``target_ns``: how long a frame may wait; ``patience_ns``: until it counts."""

    __slots__ = ("_patience_ns", "_since", "_waited", "standing", "target_ns")

    def __init__(self, target_ns: int, patience_ns: int) -> None:
        self.target_ns = target_ns
        self._patience_ns = patience_ns
        self._since: int | None = None
        self._waited = 0
        self.standing = False
        """Whether what has waited for longer than the target is to be given up."""

    def taken(self, waited: int, now: int) -> bool:
        """The oldest frame had waited for so long; whether the queue stands."""
        if waited <= self.target_ns // 2:
            self._since, self.standing = None, False
        elif waited > self.target_ns and not self.standing:
            self._look(waited, now)
        return self.standing

    def _look(self, waited: int, now: int) -> None:
        if self._since is None:
            self._since, self._waited = now, waited
        elif now - self._since >= self._patience_ns:
            self.standing = waited >= SHRINKING * self._waited
            self._since, self._waited = now, waited
