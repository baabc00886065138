"""Clocks as a value, so that whoever decides by time can be given another one."""

import time
from typing import Final, Protocol

__all__ = ["Clock", "SystemClock", "boot_ns"]


_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


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


def boot_ns() -> int:
    """Nanoseconds that also go on while the machine is suspended, where the system has such a clock (Linux)."""
    return time.clock_gettime_ns(_BOOT)
