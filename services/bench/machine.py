"""Whether the machine itself was the limit: how busy its processors were, and with what."""

import os
import time
from pathlib import Path
from typing import Final

__all__ = ["Load", "Queue"]

STAT: Final = Path("/proc/stat")
FULL: Final = 0.95


class Load:
    """Looks at the processors between :meth:`begin` and :meth:`notes`; on systems that don't tell it says nothing."""

    def __init__(self) -> None:
        self._before = (0.0, 0.0)
        self._began = 0.0

    def begin(self) -> None:
        """From now on."""
        self._before = _ticks()
        self._began = time.monotonic()

    def notes(self, cpu_s: float) -> list[str]:
        """How busy all processors were, and how much of it the design's own ``cpu_s`` was."""
        wall = time.monotonic() - self._began
        busy, every = (now - then for now, then in zip(_ticks(), self._before, strict=True))
        if not self._began or every <= 0:
            return []
        share, cores = busy / every, os.cpu_count() or 1
        notes = [f"machine: {share:.0%} of {cores} cores busy, the design took {cpu_s / wall / cores:.0%}"]
        if share > FULL:
            notes.append("the machine was a limit here: no processor was ever idle")
        return notes


class Queue:
    """How long the main thread of a process, ready to run, has to wait for a processor from now on.

    No design can answer sooner than the machine lets it: what is waited for here is part of every latency and lag.
    """

    def __init__(self, name: str, pid: int) -> None:
        self._name = name
        self._file = Path(f"/proc/{pid}/schedstat")
        self._before = self._look()
        self._began = time.monotonic()

    def notes(self) -> list[str]:
        """On average and as a share of the time; nothing on systems that don't tell, or when the process is gone."""
        waited, times = (now - then for now, then in zip(self._look(), self._before, strict=True))
        wall_ns = (time.monotonic() - self._began) * 1e9
        if times <= 0:
            return []
        mean_us, share = waited / times / 1e3, waited / wall_ns
        each = f"waited {mean_us:.0f} µs for a processor each time it could run"
        return [f"machine: {self._name} {each}, {share:.0%} of all time"]

    def _look(self) -> tuple[int, int]:
        try:
            _, waited, times = map(int, self._file.read_text(encoding="ascii").split())
        except OSError:
            return 0, 0
        return waited, times


def _ticks() -> tuple[float, float]:
    """Busy, and busy or not, since the system started."""
    try:
        fields = [float(field) for field in STAT.read_text(encoding="ascii").splitlines()[0].split()[1:9]]
    except OSError:
        return 0.0, 0.0
    idle = fields[3] + fields[4]
    return sum(fields) - idle, sum(fields)
