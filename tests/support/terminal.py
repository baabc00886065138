"""A command on a pseudo-terminal of its own, as a user has it: resized, interrupted by keys, looked at."""

import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fcntl import ioctl
from select import select

from tests.support.paths import ROOT

__all__ = ["Terminal", "on_terminal", "plain"]

INTERRUPT = b"\x03"


class Terminal:
    """The user's side of it."""

    def __init__(self, control: int, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._control = control
        self._seen = bytearray()

    def look(self, wait: float = 0.1) -> str:
        """Everything that was written so far, after waiting for more."""
        if select([self._control], [], [], wait)[0]:
            try:
                self._seen.extend(os.read(self._control, 65_536))
            except OSError:  # the other side is closed
                self.process.wait(timeout=60)
        return self._seen.decode(errors="replace")

    def resize(self, rows: int, columns: int) -> None:
        """Change its size, of which the kernel tells the command."""
        ioctl(self._control, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def interrupt(self) -> None:
        """Ctrl-C."""
        os.write(self._control, INTERRUPT)

    def modes(self) -> list[object]:
        """The terminal's settings (echo and so on)."""
        return list(termios.tcgetattr(self._control))


@contextmanager
def on_terminal(command: Sequence[str], environment: Mapping[str, str], rows: int, columns: int) -> Iterator[Terminal]:
    """Run a command on a terminal of this size; it is killed at the end if it has not ended by itself."""
    control, terminal = pty.openpty()
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    values = {name: value for name, value in environment.items() if name not in {"COLUMNS", "LINES"}}
    with subprocess.Popen(
        ["setsid", "--ctty", *command],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=ROOT,
        env=values | {"TERM": "xterm-256color"},
    ) as process:
        os.close(terminal)
        try:
            yield Terminal(control, process)
        finally:
            process.kill()
            os.close(control)


def plain(text: str) -> str:
    """Without the terminal's control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
