"""Circuit breaker around a publisher: a decision, not a wrapper. Times are monotonic nanoseconds."""

from enum import StrEnum

__all__ = ["Circuit", "CircuitState"]


class CircuitState(StrEnum):
    """CLOSED lets everything through, OPEN nothing, HALF_OPEN one probe."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


class Circuit:
    """Opens after ``threshold`` failures in a row; after ``reset_ns`` one probe decides.

    Every admitted call must end in exactly one of :meth:`success`, :meth:`failure` and :meth:`abandoned`.
    Cancellation is no failure: it is ``abandoned``, and a probe that was abandoned frees its place for another.
    What was admitted before the circuit opened ends before it is probed, so that no end can be taken for the probe's;
    a call that has not ended within ``patience_ns`` is waited for no longer.
    """

    __slots__ = ("_calls", "_opened", "_patience_ns", "_probing", "_reset_ns", "_threshold", "failures", "state")

    def __init__(self, threshold: int = 5, reset_ns: int = 1_000_000_000, *, patience_ns: int = 60_000_000_000) -> None:
        self._threshold = threshold
        self._reset_ns = reset_ns
        self._patience_ns = patience_ns
        self._opened = 0
        self._calls = 0
        self._probing = False
        self.failures = 0
        self.state = CircuitState.CLOSED

    def admit(self, now: int) -> bool:
        """Whether a call may be made now; in HALF_OPEN this takes the one probe's place."""
        if self.state is CircuitState.CLOSED:
            self._calls += 1
            return True
        if self.state is CircuitState.OPEN:
            waited = now - self._opened
            if waited < self._reset_ns or (self._calls and waited < self._patience_ns):
                return False
            self._calls = 0
            self.state = CircuitState.HALF_OPEN
        if self._probing:
            return False
        self._probing = True
        return True

    def success(self) -> None:
        """An admitted call worked. One that was admitted before the circuit opened does not close it."""
        self._ended()
        if self.state is CircuitState.OPEN:
            return
        self.failures = 0
        self._probing = False
        self.state = CircuitState.CLOSED

    def failure(self, now: int) -> None:
        """An admitted call failed."""
        self._ended()
        self.failures += 1
        if self.state is CircuitState.HALF_OPEN or (
            self.state is CircuitState.CLOSED and self.failures >= self._threshold
        ):
            self.state = CircuitState.OPEN
            self._opened = now
            self._probing = False

    def abandoned(self) -> None:
        """An admitted call was cancelled: nothing is known."""
        self._ended()
        self._probing = False

    def _ended(self) -> None:
        if self._calls:
            self._calls -= 1
