"""Processes of a benchmark: bounded in time, watched through /proc, gone when the benchmark is."""

import os
import select
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from msgspec import json

from shared.errors import TidegateError

__all__ = ["ROOT", "BenchError", "Process", "cpu_seconds", "peak_rss_mib", "rss_mib", "used_by_all"]

ROOT: Final = Path(__file__).resolve().parents[3]
TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
READY_S: Final = 60.0
ANSWER_S: Final = 30.0
POLL_S: Final = 0.05


class BenchError(TidegateError):
    """A process of the benchmark did not do what it is for."""


class Process:
    """One Python module in a process of its own, which lives for at most ``seconds``.

    It runs in the directory that the environment's TMPDIR names, and its log goes there.
    """

    def __init__(self, name: str, module: Sequence[str], environment: Mapping[str, str], seconds: float) -> None:
        self.name = name
        self._said = b""
        self._log = Path(environment["TMPDIR"], f"{name}.log")
        bounded = (sys.executable, "-m", "services.bench.measuring.bounded", str(os.getpid()), str(int(seconds) + 1))
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own modules, run by our own interpreter
                (*bounded, sys.executable, "-m", *module),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
                cwd=environment["TMPDIR"],
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def line(self, seconds: float = READY_S) -> Any:  # noqa: ANN401 - JSON
        """The next line that it says; raises BenchError."""
        output, deadline = self._process.stdout, time.monotonic() + seconds
        while b"\n" not in self._said:
            left = deadline - time.monotonic()
            if output is None or left <= 0 or not select.select([output], [], [], left)[0]:
                raise BenchError(f"{self.name} said nothing for {seconds:g} s:\n{self._end_of_log()}")
            data = os.read(output.fileno(), 65_536)
            if not data:
                raise BenchError(f"{self.name} ended with {self._process.wait(ANSWER_S)}:\n{self._end_of_log()}")
            self._said += data
        line, _, self._said = self._said.partition(b"\n")
        return json.decode(line)

    def ask(self, command: object, seconds: float = ANSWER_S) -> Any:  # noqa: ANN401 - JSON
        """What it answers to a command; raises BenchError."""
        if self._process.stdin is not None:
            self._process.stdin.write(json.encode(command) + b"\n")
            self._process.stdin.flush()
        return self.line(seconds)

    def wait_ready(self, port: int) -> None:
        """Until its ``/readyz`` says so; raises BenchError."""
        deadline = time.monotonic() + READY_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise BenchError(f"{self.name} ended with {self._process.returncode}:\n{self._end_of_log()}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2):
                    return
            except OSError:
                time.sleep(POLL_S)
        raise BenchError(f"{self.name} was not ready within {READY_S:g} s:\n{self._end_of_log()}")

    def close(self) -> None:
        """End it at once; what it would have done is of no interest any more."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _end_of_log(self) -> str:
        return self._log.read_text(errors="replace")[-2_000:]


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, all of its threads (proc(5), ``stat``)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_S


def peak_rss_mib(pid: int) -> float:
    """The most memory that a process had resident, in MiB (proc(5), ``status``)."""
    return _status_mib(pid, "VmHWM:")


def rss_mib(pid: int) -> float:
    """The memory that a process has resident, in MiB (the same)."""
    return _status_mib(pid, "VmRSS:")


def _status_mib(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


def used_by_all() -> float:
    """Seconds of CPU that the machine spent on anybody so far (proc(5), ``/proc/stat``)."""
    line = Path("/proc/stat").read_text(encoding="utf-8").partition("\n")[0]
    user, nice, system, _, _, irq, softirq = map(int, line.split()[1:8])
    return (user + nice + system + irq + softirq) * TICK_S
