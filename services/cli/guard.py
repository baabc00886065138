"""Ends what a process started when that process is gone, however it ended."""

import subprocess
from types import TracebackType
from typing import Final, Self

__all__ = ["Guard"]

SCRIPT: Final = """
targets=
while read -r target; do targets="$targets $target"; done
[ -n "$targets" ] || exit 0
kill -s TERM -- $targets
for second in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    alive=
    for target in $targets; do kill -s 0 -- "$target" && alive=1; done
    [ -n "$alive" ] || exit 0
    sleep 1
done
kill -s KILL -- $targets
"""
"""Waits for the end of its input, which comes with the end of whoever writes to it."""


class Guard:
    """Within the block: SIGTERM for what it watches when this process dies, SIGKILL 20 s later for what is left.

    When the block is left in order nothing is done: then it is for its owner to have ended what was watched.
    """

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own script
            ["/bin/sh", "-c", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def group(self, pid: int) -> None:
        """Watch the process group that this process leads."""
        self._watch(f"-{pid}")

    def process(self, pid: int) -> None:
        """Watch one process."""
        self._watch(str(pid))

    def close(self) -> None:
        """Watch nothing any more."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _watch(self, target: str) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(f"{target}\n".encode())
            self._process.stdin.flush()
