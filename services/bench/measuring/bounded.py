"""``python -m services.bench.measuring.bounded PARENT SECONDS COMMAND…``: it ends with its parent, or after its time.

Both bounds outlive the change into the command, so that the command keeps this process's id.
"""

import ctypes
import os
import signal
import sys

__all__ = ["main"]

PR_SET_PDEATHSIG = 1
"""prctl(2)."""


def main() -> None:
    """Become the command, unless the parent (its process id) is gone already."""
    parent, seconds, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):
        return
    signal.alarm(int(seconds))
    os.execv(command[0], command)  # noqa: S606 - the command is the benchmark's own


if __name__ == "__main__":
    main()
