"""Runs processes side by side: what they say line by line under their names, and one end for all of them."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Final, NamedTuple

from services.cli.guard import Guard
from services.cli.output import LogFile, Output, Shown, everything
from services.cli.procfile import Process

__all__ = ["Runner"]

KILL_AFTER_S: Final = 20.0
"""Longer than any stage takes to end, beside a broker that does not answer too."""
LAST_WORDS_S: Final = 2.0
LONGEST_LINE: Final = 65_536
SYSTEM: Final = "system"


class _Ended(NamedTuple):
    """A process ended; negative: by that signal."""

    child: "_Child"
    status: int


class _Signalled(NamedTuple):
    number: int


class _Unread(NamedTuple):
    """Nobody reads standard output any more."""


_Event = _Ended | _Signalled | _Unread


class Runner:
    """Starts every process in order. When one ends, a signal comes or nobody reads any more, all of them end.

    What they say goes to ``log``, and to standard output where ``shown`` lets it.
    """

    def __init__(
        self,
        processes: Sequence[Process],
        environment: Mapping[str, str],
        directory: Path,
        log: LogFile | None = None,
        shown: Shown = everything,
    ) -> None:
        self._processes = processes
        self._environment = environment
        self._directory = directory
        self._events: SimpleQueue[_Event] = SimpleQueue()
        width = max(len(one.name) for one in processes)
        self._output = Output(width, lambda: self._events.put(_Unread()), log, shown)
        self._children: list[_Child] = []

    def say(self, text: str) -> None:
        """A line of our own among theirs; from any thread."""
        self._output.line(SYSTEM, text)

    def ask(self, number: int) -> None:
        """End: from a signal handler, at any time. Asked again, nothing is waited for any more."""
        self._events.put(_Signalled(number))

    def run(self) -> int:
        """Until everything has ended. 0 when it was asked to or nobody read; else the status of the first that ended.

        A process that a signal killed has the status that a shell gives it.
        """
        with Guard() as guard:
            try:
                for one in self._processes:
                    if not self._events.empty():
                        break
                    environment = {**self._environment, "PORT": str(one.port)}
                    self._children.append(_Child(one, environment, self._directory, guard, self._output, self._events))
                event = self._events.get()
                if isinstance(event, _Ended):
                    self._say_ended(event)
                self._stop()
            finally:
                for child in self._children:
                    child.kill()
            for child in self._children:
                child.finish()
        if not isinstance(event, _Ended):
            return 0
        return event.status if event.status >= 0 else 128 - event.status

    def _stop(self) -> None:
        """SIGTERM to all, and wait until they have ended, or for so long, or until asked again."""
        for child in self._children:
            child.terminate()
        deadline = monotonic() + KILL_AFTER_S
        while any(child.running for child in self._children):
            try:
                event = self._events.get(timeout=max(0.0, deadline - monotonic()))
            except Empty:
                self._output.line(SYSTEM, f"not everything ended within {KILL_AFTER_S:g} s")
                return
            if isinstance(event, _Signalled):
                return
            if isinstance(event, _Ended):
                self._say_ended(event)

    def _say_ended(self, event: _Ended) -> None:
        event.child.running = False
        self._output.line(SYSTEM, f"{event.child.name} stopped (rc={event.status})")


class _Child:
    """One process, the leader of a group and of a session of its own: a terminal's signals don't reach it."""

    def __init__(
        self,
        of: Process,
        environment: Mapping[str, str],
        directory: Path,
        guard: Guard,
        output: Output,
        events: "SimpleQueue[_Event]",
    ) -> None:
        self.name = of.name
        self.running = True
        self._output = output
        self._events = events
        self._process = subprocess.Popen(  # noqa: S603 - the Procfile's own commands
            ["/bin/sh", "-c", of.command],
            env=environment,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        guard.group(self._process.pid)
        output.line(SYSTEM, f"{of.name} started (pid={self._process.pid})")
        self._reading = threading.Thread(target=self._read, name=f"output of {of.name}", daemon=True)
        self._reading.start()
        threading.Thread(target=self._wait, name=f"end of {of.name}", daemon=True).start()

    def terminate(self) -> None:
        """SIGTERM, if it still runs."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL for whatever is left of its group."""
        self._signal(signal.SIGKILL)

    def finish(self) -> None:
        """It was killed: wait for its end and for the rest of what it said."""
        self._process.wait()
        self._reading.join(LAST_WORDS_S)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(
            ProcessLookupError, PermissionError
        ):  # PermissionError: macOS, for a group of nothing but zombies
            os.killpg(self._process.pid, number)

    def _read(self) -> None:
        if self._process.stdout is not None:
            with self._process.stdout as lines:
                while line := lines.readline(LONGEST_LINE):
                    self._output.write(self.name, line if line.endswith(b"\n") else line + b"\n")

    def _wait(self) -> None:
        self._events.put(_Ended(self, self._process.wait()))
