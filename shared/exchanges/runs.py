"""Ids that count up, mostly by one, each of them once."""

from bisect import bisect_right
from typing import Final

from shared.sequencing import DuplicateWindow

__all__ = ["IdRuns"]

MOST: Final = 4_096


class IdRuns:
    """Which ids of an instrument's trades were seen: runs of consecutive ids, and late ones that are in none.

    At least the last 4,096 runs and late ids are remembered. Hot code compares with ``expected`` itself and counts it
    up: what continues the highest run is new.
    """

    __slots__ = ("_begin", "_late", "_runs", "expected")

    def __init__(self) -> None:
        self.expected = 0
        """One more than the highest id so far."""
        self._begin = 0
        self._runs: list[tuple[int, int]] = []
        self._late = DuplicateWindow(MOST)

    def seen(self, number: int) -> bool:
        """Whether the id (not negative) was seen; if not, it is from now on."""
        if number >= self.expected:
            if number > self.expected:
                self._runs.append((self._begin, self.expected))
                if len(self._runs) > 2 * MOST:
                    del self._runs[:MOST]
                self._begin = number
            self.expected = number + 1
            return False
        if number >= self._begin:
            return True
        at = bisect_right(self._runs, (number, self.expected)) - 1
        if at >= 0 and number < self._runs[at][1]:
            return True
        return self._late.seen(number)
