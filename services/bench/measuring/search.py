"""The search for the highest rate that is held: doubled until it fails, then halved in between. A decision, no I/O."""

from collections.abc import Iterator
from math import sqrt

__all__ = ["RateSearch"]

HOPELESS = 50.0
"""Frames a second; what does not hold this is not looked at any closer."""


class RateSearch:
    """Ask :meth:`next`, try that rate, tell :meth:`tried`; ``best`` is the highest that was held so far.

    A rate that fails below ``best`` (other work on the machine) counts for nothing. ``confirm`` gives what to try for
    longer once the search is over, falling.
    """

    def __init__(self, start: float, most: float, *, factor: float = 2.0, halvings: int = 3) -> None:
        self.best = 0.0
        self.failed: float | None = None
        self.capped = False
        """Whether ``most`` itself was held: the limit is somewhere above."""
        self._most = most
        self._start = min(start, most)
        self._factor = factor
        self._halvings = halvings

    def next(self) -> float | None:
        """The rate to try; None when the search is over."""
        if self.capped:
            return None
        if not self.best:
            return self._start if self.failed is None else self._lower(self.failed)
        if self.failed is None:
            return min(self.best * self._factor, self._most)
        if not self._halvings:
            return None
        self._halvings -= 1
        return sqrt(self.best * self.failed)

    def tried(self, rate: float, *, held: bool) -> None:
        """How it went."""
        if held:
            self.best = max(self.best, rate)
            self.capped = rate >= self._most
        elif rate > self.best:
            self.failed = rate if self.failed is None else min(self.failed, rate)

    @property
    def precision(self) -> float:
        """How far above ``best`` the limit may be, as a share of it."""
        return round(self.failed / self.best - 1, 3) if self.failed and self.best else 0.0

    @staticmethod
    def confirm(best: float, tries: int = 5, step: float = 0.9) -> Iterator[float]:
        """What to try for the whole time: ``best``, then less and less."""
        for _ in range(tries):
            yield best
            best *= step

    def _lower(self, failed: float) -> float | None:
        return failed / self._factor if failed > HOPELESS else None
