"""Clocks as a value, so that whoever decides by time can be given another one."""

import time
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """Two clocks: one to stamp, one to measure."""

    def wall(self) -> int:
        """Nanoseconds UTC since 1970."""
        ...

    def monotonic(self) -> int:
        """Nanoseconds that only go forward."""
        ...


class SystemClock:
    """The machine's clocks."""

    wall = staticmethod(time.time_ns)
    monotonic = staticmethod(time.perf_counter_ns)
