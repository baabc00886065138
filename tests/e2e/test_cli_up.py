"""``tidegate up``: every stage in a process of its own, on a private RabbitMQ."""

import signal
import subprocess
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.cli.local_rabbit import free_ports
from tests.support.eventually import eventually_sync
from tests.support.paths import ROOT
from tests.support.processes import counter
from tests.support.rabbit import ensure_server
from tests.unit.cli.processes import command, environment

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

MARK = "UP_UNDER_TEST"
STEP = 100


class Up:
    """A running ``tidegate up`` and everything that it started, told by a mark in the environment."""

    def __init__(self, log: Path) -> None:
        self.mark = uuid.uuid4().hex
        self.port = free_ports(1)[0]
        self._log = log
        more = {MARK: self.mark, "TIDEGATE_SIMULATOR__PORT": str(free_ports(1)[0])}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command("up", "--port", str(self.port)), cwd=ROOT, env=environment(more), stdout=output, stderr=output
            )

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def alive(self) -> list[str]:
        """Command lines of what is there of it."""
        found = []
        for folder in Path("/proc").iterdir():
            try:
                if folder.name.isdigit() and f"{MARK}={self.mark}".encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return [line for line in found if line]

    def flowing(self) -> bool:
        """Whether canonical messages of every exchange come out of the normalizer."""
        assert self.process.poll() is None, self.log()[-4000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port + STEP}/metrics", timeout=5) as reply:
                text = reply.read().decode()
        except OSError:
            return False
        names = ("bybit", "mexc", "binance")
        return all(counter(text, "tidegate_messages_published_total", exchange=name) > 50 for name in names)


@contextmanager
def up(tmp_path: Path) -> Iterator[Up]:
    ensure_server()
    running = Up(tmp_path / "log")
    try:
        yield running
    finally:
        running.process.send_signal(signal.SIGTERM)
        try:
            running.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            running.process.kill()
            running.process.wait(timeout=10)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_everything_flows_and_nothing_is_left_of_it(tmp_path: Path, number: signal.Signals) -> None:
    with up(tmp_path) as running:
        eventually_sync(running.flowing, "messages of every exchange", within=120, interval=0.5)
        lines = "\n".join(running.alive())
        for stage in ("simulator", "normalizer", "ingest bybit", "ingest mexc", "ingest binance"):
            assert f"services.cli {stage}" in lines
        assert "private RabbitMQ at amqp://" in running.log()
        running.process.send_signal(number)
        status = running.process.wait(timeout=60)
        assert status == (0 if number == signal.SIGTERM else -number)
        eventually_sync(lambda: not running.alive(), "nothing is left", within=60, interval=0.2)
        if number == signal.SIGTERM:
            stopped = [line for line in running.log().splitlines() if "stopped (rc=" in line]
            assert len(stopped) == 5
            assert all("rc=0" in line for line in stopped), stopped
            assert "Traceback" not in running.log()


def test_it_ends_when_it_is_stopped_while_it_starts(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        eventually_sync(lambda: any("beam" in line for line in running.alive()), "a node starts", within=60)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=60) == 0
        eventually_sync(lambda: not running.alive(), "nothing is left", within=60, interval=0.2)
