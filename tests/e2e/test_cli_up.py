"""``tidegate up``: every stage in a process of its own, on a private RabbitMQ."""

import random
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from msgspec import json

from services.cli.local_rabbit import free_ports
from tests.support.eventually import eventually_sync
from tests.support.marked import Mark
from tests.support.paths import ROOT
from tests.support.processes import counter
from tests.support.rabbit import ensure_server
from tests.unit.cli.processes import command, environment, finished

pytestmark = pytest.mark.e2e

STEP = 100
HUNDREDS = 8
"""Names of processes at most."""

STREAMS = 9
"""Of the venues' majors; Binance's USD-M and MEXC's futures have two each."""


def free_hundreds() -> int:
    """A port from which `up` can count: below those that tests get one by one, and nobody listens where it leads."""
    for port in random.sample(range(10_000, 19_000), 1_000):
        with ExitStack() as stack:
            try:
                for number in range(HUNDREDS):
                    probe = stack.enter_context(socket.socket())
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    probe.bind(("127.0.0.1", port + STEP * number))
            except OSError:
                continue
        return port
    raise AssertionError("no ports are free")


class Up:
    """A running ``tidegate up`` and everything that it started."""

    def __init__(self, log: Path, *arguments: str, before: Sequence[str] = ()) -> None:
        self.mark = Mark()
        self.port = free_hundreds()
        self._log = log
        self.file = log.with_name("up.log")
        more = {**self.mark.environment, "TIDEGATE_SIMULATOR__PORT": str(free_ports(1)[0])}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command(*before, "up", "--port", str(self.port), "--log", str(self.file), *arguments),
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
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as reply:
                return bytes(reply.read()).decode()
        except OSError:
            return ""

    def flowing(self) -> bool:
        """Whether canonical messages of every exchange come out of the normalizer."""
        text = self.metrics(self.port + STEP)
        names = ("bybit", "mexc", "binance")
        return all(counter(text, "tidegate_messages_published_total", exchange=name) > 50 for name in names)


@contextmanager
def up(tmp_path: Path, *arguments: str, before: Sequence[str] = ()) -> Iterator[Up]:
    ensure_server()
    running = Up(tmp_path / "log", *arguments, before=before)
    try:
        yield running
    finally:
        running.process.send_signal(signal.SIGTERM)
        try:
            running.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            running.process.kill()
            running.process.wait(timeout=60)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_everything_flows_and_nothing_is_left_of_it(tmp_path: Path, number: signal.Signals) -> None:
    with up(tmp_path) as running:
        eventually_sync(running.flowing, "messages of every exchange", within=120, interval=0.5)
        lines = "\n".join(running.mark.alive())
        for stage in ("simulator", "normalizer", "ingest bybit", "ingest mexc", "ingest binance"):
            assert f"services.cli {stage}" in lines
        assert "private RabbitMQ at amqp://" in running.log()
        if number == signal.SIGTERM:
            others_find_it(running)
        running.process.send_signal(number)
        status = running.process.wait(timeout=60)
        assert status == (0 if number == signal.SIGTERM else -number)
        eventually_sync(running.mark.gone, "nothing is left", within=60, interval=0.2)
        if number == signal.SIGTERM:
            stopped = [line for line in running.log().splitlines() if "stopped (rc=" in line]
            assert len(stopped) == 5
            assert all("rc=0" in line for line in stopped), stopped
            assert "Traceback" not in running.log()
            assert " frames/messages a second; 9 streams up; " in running.log()
            assert "performance_metrics | WORKER" not in running.log()
            assert "performance_metrics | WORKER" in running.file.read_text()


def others_find_it(running: Up) -> None:
    """Commands without an address, and a second `up` that wants the same ports."""
    tapped = finished("tap", "trade.bybit.*", "--count", "1", within=90)
    assert tapped.returncode == 0, tapped.stderr
    assert b" trade.bybit." in tapped.stdout
    looked = finished("top", "--once", "--json", within=90)
    assert f"127.0.0.1:{running.port + STEP}" in looked.stdout.decode()
    second = finished("up", "--port", str(running.port), more={"TIDEGATE_SIMULATOR__PORT": str(free_ports(1)[0])})
    assert second.returncode == 2
    assert second.stdout == b""
    told = second.stderr.decode().splitlines()
    assert len(told) == 4
    who = f"normalizer.1 of `tidegate up` (pid {running.process.pid})"
    where = f"127.0.0.1:{running.port + STEP}"
    assert told[0] == f"tidegate: --port: {where}, which normalizer.1 is to have, is taken by {who}"
    eventually_sync(lambda: "frames/messages a second" in running.log(), "a status", within=90, interval=0.5)


def test_accounts_of_the_settings_are_held_on_the_simulated_venues(tmp_path: Path) -> None:
    file = tmp_path / "tidegate.toml"
    file.write_text('[accounts.bybit.main]\n[accounts.binance.second-one]\nproducts = ["spot"]\n')
    with up(tmp_path, before=("--config", str(file))) as running:
        text = "account=%s | stream=%s | about=complete"
        for account, stream in (("main", "bybit.main"), ("second-one", "binance.second-one.spot")):
            eventually_sync(
                lambda told=text % (account, stream): "reconciled" in running.log() and told in running.log(),  # type: ignore[misc]
                f"{account} is reconciled",
                within=150,
                interval=0.5,
            )
        done = finished("tap", "--account", "account_status.#", "--count", "2", "--json", within=90)
        assert {json.decode(line)["account"] for line in done.stdout.splitlines()} <= {"main", "second-one"}
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=60) == 0
        eventually_sync(running.mark.gone, "nothing is left", within=60, interval=0.2)
        assert running.log().count("stopped (rc=0)") == 8


def test_accounts_without_keys_are_named_before_anything_is_started(tmp_path: Path) -> None:
    file = tmp_path / "tidegate.toml"
    file.write_text("[accounts.bybit.main]\n[accounts.mexc.other]\n")
    done = finished("--config", str(file), "up", "--live", "--log", str(tmp_path / "log"))
    assert (done.returncode, done.stdout) == (2, b"")
    told = [line.partition(": /run")[0] for line in done.stderr.decode().splitlines()]
    parts = [f"{name}.{part}" for name in ("bybit.main", "mexc.other") for part in ("key", "secret")]
    assert told == [f"tidegate: accounts.{part}" for part in parts]


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
            command("up", "--port", str(free_hundreds()), "--log", str(tmp_path / "all")),
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
        process.wait(timeout=60)


@pytest.mark.parametrize("number", ["0", "33"])
def test_a_number_of_normalizers_that_makes_no_sense_is_refused(number: str) -> None:
    done = finished("up", "--normalizers", number)
    assert done.returncode == 2
    assert f"--normalizers: must be from 1 to 32, {number} was given" in done.stderr.decode()
