"""Processes side by side: their lines, their common end, and that nothing of them outlives it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.eventually import eventually_sync
from tests.support.marked import Mark
from tests.support.paths import ROOT

pytestmark = pytest.mark.integration

DRIVER = """
import os, signal, sys
from pathlib import Path
from services.cli.procfile import commands, processes
from services.cli.runner import Runner

runner = Runner(processes(commands(sys.argv[1]), {}, 9000), dict(os.environ), Path.cwd())
signal.signal(signal.SIGTERM, lambda number, frame: runner.ask(number))
sys.exit(runner.run())
"""
POLITE = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
STUBBORN = "trap 'echo never' TERM; echo up; while :; do sleep 0.05; done"
CHATTY = "trap 'exit 0' TERM; while :; do echo chat; sleep 0.01; done"


class Run:
    """One runner over the given commands."""

    def __init__(self, **commands: str) -> None:
        self.mark = Mark()
        text = "\n".join(f"{name}: {command}" for name, command in commands.items())
        self.process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, text],
            cwd=ROOT,
            env={**os.environ, **self.mark.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.lines: list[str] = []

    def until(self, text: str, times: int = 1) -> None:
        """Read until so many lines end with this."""
        assert self.process.stdout is not None
        while sum(line.endswith(text) for line in self.lines) < times:
            line = self.process.stdout.readline().decode()
            assert line, self.lines
            self.lines.append(line.rstrip("\n"))

    def ended(self) -> int:
        """Its status, when it has ended by itself and nothing of it is left."""
        out, error = self.process.communicate(timeout=60)
        self.lines += out.decode().splitlines()
        assert error == b""
        eventually_sync(self.mark.gone, "nothing is left", within=60)
        return self.process.returncode


@contextmanager
def running(**commands: str) -> Iterator[Run]:
    run = Run(**commands)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.communicate()
        eventually_sync(run.mark.gone, "its guard ends what is left", within=60, interval=0.1)


def test_lines_stand_under_their_names_and_processes_start_in_order() -> None:
    with running(one=f"echo port $PORT; {POLITE}", second="printf 'no end'; echo >&2 error; exit 0") as run:
        assert run.ended() == 0
    started = [line.partition(" (")[0] for line in run.lines if "started" in line]
    assert started == ["system   | one.1 started", "system   | second.1 started"]
    assert "one.1    | port 9000" in run.lines
    assert "second.1 | no enderror" in run.lines


def test_the_first_that_ends_ends_all_and_gives_its_status() -> None:
    with running(one=POLITE, two=POLITE, three="sleep 0.3; exit 7") as run:
        assert run.ended() == 7
    assert {"one.1   | bye", "two.1   | bye"} <= set(run.lines)
    assert next(line for line in run.lines if "stopped" in line) == "system  | three.1 stopped (rc=7)"
    assert {"system  | one.1 stopped (rc=0)", "system  | two.1 stopped (rc=0)"} <= set(run.lines)


def test_a_process_that_a_signal_killed_gives_the_status_of_a_shell() -> None:
    with running(one=POLITE, two="kill -s KILL $$") as run:
        assert run.ended() == 128 + signal.SIGKILL


def test_sigterm_ends_all_and_that_is_no_failure() -> None:
    with running(one=POLITE, two=POLITE) as run:
        run.until("up", 2)
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 0
    assert sorted(line for line in run.lines if line.endswith("bye")) == ["one.1 | bye", "two.1 | bye"]


def test_sigterm_as_early_as_can_be_ends_what_was_started() -> None:
    with running(**{f"p{number}": POLITE for number in range(20)}) as run:
        run.until(")")
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 0


def test_who_is_asked_twice_waits_for_nobody() -> None:
    with running(one=STUBBORN, two=POLITE) as run:
        run.until("up", 2)
        run.process.send_signal(signal.SIGTERM)
        run.until("never")
        run.process.send_signal(signal.SIGTERM)
        assert run.ended() == 0


def test_a_reader_that_has_had_enough_ends_all() -> None:
    with running(one=CHATTY, two=CHATTY) as run:
        run.until("chat", 5)
        assert run.process.stdout is not None
        run.process.stdout.close()
        assert run.process.wait(timeout=60) == 0
        eventually_sync(run.mark.gone, "nothing is left", within=60)


def test_a_child_of_a_child_is_not_left_behind() -> None:
    with running(one="sleep 1000 & exit 3") as run:
        assert run.ended() == 3


def test_its_own_death_ends_everything() -> None:
    with running(one=POLITE, two=CHATTY) as run:
        run.until("up")
        run.process.kill()
        run.process.wait()
        eventually_sync(run.mark.gone, "the guard ends them", within=60)
