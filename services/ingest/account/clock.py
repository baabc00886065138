"""The venue's time, without asking for it each time. Plain values; times are nanoseconds."""

from typing import Final

__all__ = ["VenueClock"]

MEASURE_EVERY: Final = 600 * 1_000_000_000
APART: Final = 500_000_000
"""By so much wall clock and monotonic clock may drift apart between two measurements: then one of them jumped (the
wall clock was set) or stood (the machine slept)."""

HALF_MS: Final = 500_000
"""Venues cut their time to whole milliseconds."""


class VenueClock:
    """The venue's time by the monotonic clock and the last measurement, so that a wall clock that is set harms nobody.

    Until there is a measurement, the wall clock has to do.
    """

    def __init__(self) -> None:
        self._monotonic = 0
        self._wall = 0
        self._venue: int | None = None

    @property
    def measured(self) -> bool:
        """Whether there was a measurement."""
        return self._venue is not None

    @property
    def offset(self) -> int:
        """The venue's clock minus our wall clock at the last measurement."""
        return 0 if self._venue is None else self._venue - self._wall

    def measure(self, venue_ms: int, sent: int, received: int, wall: int) -> None:
        """The venue said ``venue_ms`` between the (monotonic) times of request and reply; ``wall`` is now, too.

        It is taken to have said so half-way.
        """
        self._monotonic, self._wall = received, wall
        self._venue = venue_ms * 1_000_000 + HALF_MS + (received - sent) // 2

    def now_ms(self, monotonic: int, wall: int) -> int:
        """The venue's time in ms."""
        if self._venue is None:
            return wall // 1_000_000
        return (self._venue + monotonic - self._monotonic) // 1_000_000

    def due(self, monotonic: int, wall: int) -> bool:
        """Whether it should be measured (again)."""
        if self._venue is None:
            return True
        passed = monotonic - self._monotonic
        return passed > MEASURE_EVERY or abs(wall - self._wall - passed) > APART
