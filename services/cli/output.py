"""What processes that run side by side say: all of it into a file, and what is worth a look to standard output."""

import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["LogFile", "Output", "Shown", "eventful", "everything"]

LIMIT: Final = 64 * 1024 * 1024
ROUTINE: Final = re.compile(
    rb'(?:[-\d]{10} [\d:,]{12} \| (?:DEBUG|INFO ) \| |\{"time": "[^"]*", "level": "(?:DEBUG|INFO)", "logger": ")'
    rb"performance_metrics"
)
"""The start of a line of the logger ``performance_metrics``, as text or as JSON, that warns of nothing."""

Shown = Callable[[bytes], bool]
"""Whether a line goes to standard output, too."""


def eventful(line: bytes) -> bool:
    """All but the figures of every second; of these, those that warn."""
    return ROUTINE.match(line) is None


def everything(line: bytes) -> bool:
    """All."""
    del line
    return True


class LogFile:
    """A file of lines. The one before, and what is full, becomes ``<name>.1`` in the place of what that was."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        """Begin the file; raises OSError. Directories are made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._limit = limit
        self._begin()

    def write(self, data: bytes) -> None:
        """Raises OSError."""
        if self._size and self._size + len(data) > self._limit:
            self._file.close()
            self._begin()
        self._size += len(data)
        while data:
            data = data[self._file.write(data) :]

    def close(self) -> None:
        """Close it."""
        self._file.close()

    def _begin(self) -> None:
        if self._path.exists():
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        self._file = self._path.open("wb", buffering=0)
        self._size = 0


class Output:
    """Takes lines from several threads.

    Standard output is written to as a file descriptor: a thread that hangs in Python's own buffer would stop the
    interpreter's end. ``unread`` is called when nobody reads it any more.
    """

    def __init__(self, width: int, unread: Callable[[], None], log: LogFile | None, shown: Shown) -> None:
        self._width = width
        self._unread = unread
        self._log = log
        self._shown = shown
        self._lock = threading.Lock()
        self._descriptor = sys.stdout.fileno()
        self._read = True

    def line(self, name: str, text: str) -> None:
        """One line of our own."""
        self.write(name, text.encode() + b"\n")

    def write(self, name: str, line: bytes) -> None:
        """One line; to standard output without an effect once nobody reads."""
        data = f"{name:<{self._width}} | ".encode() + line
        with self._lock:
            self._keep(data)
            if self._shown(line):
                self._show(data)

    def _keep(self, data: bytes) -> None:
        if self._log is None:
            return
        try:
            self._log.write(data)
        except OSError as error:
            self._log.close()
            self._log = None
            self._show(f"{'':<{self._width}} | the log file ends here: {error}\n".encode())

    def _show(self, data: bytes) -> None:
        try:
            while data and self._read:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            self._read = False
            self._unread()
