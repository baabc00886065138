"""How long to wait before trying again: exponential, capped, jittered, back to the start only after success."""

__all__ = ["Backoff"]


class Backoff:
    """Delays for one thing that is tried again and again.

    The n-th delay lies between half and all of ``min(cap_s, initial_s * factor**n)``. A connection that is accepted
    and closed at once is no success: call :meth:`healthy` when the first data came.
    """

    __slots__ = ("_cap", "_factor", "_initial", "attempts")

    def __init__(self, initial_s: float = 0.5, cap_s: float = 60.0, factor: float = 2.0) -> None:
        self._initial = initial_s
        self._cap = cap_s
        self._factor = factor
        self.attempts = 0

    def next(self, jitter: float) -> float:
        """The next delay in seconds; ``jitter`` is a random number in [0, 1)."""
        exponent = min(self.attempts, 64)
        self.attempts += 1
        full = min(self._cap, self._initial * self._factor**exponent)
        return full * (0.5 + jitter / 2)

    def healthy(self) -> None:
        """It worked: the next failure starts from the beginning."""
        self.attempts = 0
