"""``tidegate up``: every stage in a process of its own, on a private RabbitMQ."""

import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from services.cli.local_rabbit import free_ports
from tests.support.eventually import eventually_sync
from tests.support.marked import Mark
from tests.support.paths import ROOT
from tests.support.processes import counter
from tests.support.rabbit import ensure_server
from tests.unit.cli.processes import command, environment, finished

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(240)]

STEP = 100
STREAMS = 9
"""Of the venues' majors; Binance's USD-M and MEXC's futures have two each."""


class Up:
    """A running ``tidegate up`` and everything that it started."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self.mark = Mark()
        self.port = free_ports(1)[0]
        self._log = log
        more = {**self.mark.environment, "TIDEGATE_SIMULATOR__PORT": str(free_ports(1)[0])}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command("up", "--port", str(self.port), *arguments),
                cwd=ROOT,
                env=environment(more),
                stdout=output,
                stderr=output,
            )

    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def metrics(self, port: int) -> str:
        """A process's ``/metrics``, empty while it does not answer."""
        assert self.process.poll() is None, self.log()[-4000:]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
                return bytes(reply.read()).decode()
        except OSError:
            return ""

    def flowing(self) -> bool:
        """Whether canonical messages of every exchange come out of the normalizer."""
        text = self.metrics(self.port + STEP)
        names = ("bybit", "mexc", "binance")
        return all(counter(text, "tidegate_messages_published_total", exchange=name) > 50 for name in names)


@contextmanager
def up(tmp_path: Path, *arguments: str) -> Iterator[Up]:
    ensure_server()
    running = Up(tmp_path / "log", *arguments)
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
        lines = "\n".join(running.mark.alive())
        for stage in ("simulator", "normalizer", "ingest bybit", "ingest mexc", "ingest binance"):
            assert f"services.cli {stage}" in lines
        assert "private RabbitMQ at amqp://" in running.log()
        running.process.send_signal(number)
        status = running.process.wait(timeout=60)
        assert status == (0 if number == signal.SIGTERM else -number)
        eventually_sync(running.mark.gone, "nothing is left", within=60, interval=0.2)
        if number == signal.SIGTERM:
            stopped = [line for line in running.log().splitlines() if "stopped (rc=" in line]
            assert len(stopped) == 5
            assert all("rc=0" in line for line in stopped), stopped
            assert "Traceback" not in running.log()


def test_it_ends_when_it_is_stopped_while_it_starts(tmp_path: Path) -> None:
    with up(tmp_path) as running:
        eventually_sync(lambda: any("beam" in line for line in running.mark.alive()), "a node starts", within=60)
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=60) == 0
        eventually_sync(running.mark.gone, "nothing is left", within=60, interval=0.2)


def test_normalizers_share_the_streams(tmp_path: Path) -> None:
    with up(tmp_path, "--normalizers", "3") as running:

        def shared() -> bool:
            texts = [running.metrics(running.port + STEP + number) for number in range(3)]
            owned = [counter(text, "tidegate_streams_owned") for text in texts]
            return sum(owned) == STREAMS and all(owned)

        eventually_sync(shared, "every normalizer has streams, and every stream one", within=120, interval=0.5)
        assert "normalizer.1 " in running.log()
        assert "normalizer.3 " in running.log()
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=60) == 0
        eventually_sync(running.mark.gone, "nothing is left", within=60, interval=0.2)
        assert running.log().count("stopped (rc=0)") == 7


def test_it_ends_when_nobody_reads_its_output(tmp_path: Path) -> None:
    """As ``tidegate up | head`` does."""
    ensure_server()
    mark, log = Mark(), tmp_path / "log"
    more = {**mark.environment, "TIDEGATE_SIMULATOR__PORT": str(free_ports(1)[0])}
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command("up", "--port", str(free_ports(1)[0])),
            cwd=ROOT,
            env=environment(more),
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdout is not None
    try:
        assert b"started" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=90) == 0
        eventually_sync(mark.gone, "nothing is left", within=60, interval=0.2)
        assert "Traceback" not in log.read_text()
    finally:
        process.kill()
        process.wait(timeout=10)


@pytest.mark.parametrize("number", ["0", "33"])
def test_a_number_of_normalizers_that_makes_no_sense_is_refused(number: str) -> None:
    done = finished("up", "--normalizers", number)
    assert done.returncode == 2
    assert f"--normalizers: must be from 1 to 32, {number} was given" in done.stderr.decode()
