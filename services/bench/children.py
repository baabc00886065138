"""Processes of a benchmark: they talk in lines, and die with the process that started them, however that ends."""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

__all__ = ["ROOT", "Child", "ChildFailed"]

ROOT: Final = Path(__file__).resolve().parents[2]
GUARD: Final = 'read -r _; kill -s KILL -- "-$0"'
LONGEST_LINE: Final = 16 * 1024 * 1024


class ChildFailed(RuntimeError):
    """A process ended or said nothing in time; the text has the end of what it wrote to standard error."""


class Child:
    """``python -m module arguments…`` within the block; standard error goes to ``log``."""

    def __init__(
        self, module: str, arguments: Sequence[str], log: Path, *, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = f"{module} {' '.join(arguments)}"
        self._command = (sys.executable, "-m", module, *arguments)
        self._log = log
        self._environment = {**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})}
        self._process: asyncio.subprocess.Process | None = None
        self._guard: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> Self:
        """Start it."""
        pipe = asyncio.subprocess.PIPE
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                cwd=ROOT,
                env=self._environment,
                stdin=pipe,
                stdout=pipe,
                stderr=log,
                start_new_session=True,
                limit=LONGEST_LINE,
            )
        nowhere = asyncio.subprocess.DEVNULL
        self._guard = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", GUARD, str(self.pid)), stdin=pipe, stdout=nowhere, stderr=nowhere, start_new_session=True
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill what is left of it."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await self._running.wait()
        if self._guard is not None:
            with suppress(ProcessLookupError):
                self._guard.kill()
            await self._guard.wait()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._running.pid

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._running.returncode is not None

    async def line(self, within_s: float) -> bytes:
        """Its next line on standard output; raises ChildFailed when there is none in time."""
        output = self._running.stdout
        if output is None:
            raise ChildFailed(f"{self.name} has no output")
        try:
            async with asyncio.timeout(within_s):
                line = await output.readline()
        except TimeoutError:
            raise ChildFailed(f"{self.name} said nothing for {within_s:g} s; {self.excerpt()}") from None
        if not line:
            raise ChildFailed(f"{self.name} ended; {self.excerpt()}")
        return line

    async def tell(self, text: str) -> None:
        """Write a line to its standard input; it may be gone already."""
        stream = self._running.stdin
        if stream is not None:
            with suppress(ConnectionError):
                stream.write(f"{text}\n".encode())
                await stream.drain()

    async def terminate(self, within_s: float) -> None:
        """SIGTERM, and wait; what does not follow is killed by leaving the block."""
        with suppress(ProcessLookupError):
            self._running.terminate()
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                await self._running.wait()

    def rss_peak_mib(self) -> float:
        """The most memory it had so far, 0 where the system does not tell."""
        try:
            text = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        except OSError:
            return 0.0
        return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("VmHWM")), 0.0)

    @property
    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError(f"{self.name} was not started")
        return self._process

    def excerpt(self) -> str:
        """The end of what it wrote to standard error, for a message."""
        return f"it wrote:\n{self._log.read_text(errors='replace')[-2000:]}"
