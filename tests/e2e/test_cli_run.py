"""``tidegate run``: the market plane in one process, as a user starts it."""

import re
import signal
import socket
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from services.cli.local_rabbit import free_ports
from tests.support.eventually import eventually_sync
from tests.support.paths import ROOT
from tests.support.processes import Stage, counter
from tests.support.terminal import Terminal, on_terminal, plain
from tests.unit.cli.processes import command, environment, finished

pytestmark = pytest.mark.e2e

FIELDS = {
    "frames_received", "messages_published", "conflated", "shed", "rejected", "in_flight", "gaps", "resyncs",
    "reconnects", "latency_us",
}  # fmt: skip
EXCHANGES = {"binance", "bybit", "mexc"}
SUMS = ("frames_received", "frames_published", "messages_published", "conflated", "shed", "rejected", "in_flight")


def totals(*arguments: str) -> dict[str, Any]:
    """The last line of ``run --json``."""
    done = finished("run", "--json", *arguments)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    (line,) = done.stdout.splitlines()
    result: dict[str, Any] = json.decode(line)
    return result


def conserved(result: dict[str, Any]) -> bool:
    gone = (result[name] for name in ("frames_published", "conflated", "shed", "rejected", "lost", "in_flight"))
    return bool(result["frames_received"] == sum(gone))


def test_one_json_object_tells_what_it_amounted_to() -> None:
    result = totals("--seconds", "3")
    assert set(result["exchanges"]) == EXCHANGES
    for one in (result, *result["exchanges"].values()):
        assert set(one) >= FIELDS
        assert conserved(one)
        assert one["frames_received"] > 100
        assert one["messages_published"] > 100
        assert 0 < one["latency_us"]["p50"] <= one["latency_us"]["p99"]
        assert (one["shed"], one["rejected"], one["gaps"], one["reconnects"], one["in_flight"]) == (0, 0, 0, 0, 0)
    for name in SUMS:
        assert result[name] == sum(one[name] for one in result["exchanges"].values())


def test_a_burst_multiplies_the_frames_and_loses_none_silently() -> None:
    arguments = ("--seconds", "4", "--exchange", "bybit", "--symbols", "BTC/USDT,BTC/USDT:USDT")
    calm = totals(*arguments)
    wild = totals(*arguments, "--burst", "10")
    assert wild["frames_received"] > 1.5 * calm["frames_received"]
    assert conserved(wild)


def test_symbols_choose_what_comes_wherever_it_is_listed() -> None:
    done = finished("run", "--seconds", "2", "--symbols", "ETH/USDT,BTC/USD:BTC", "--exchange", "bybit")
    assert done.returncode == 0
    shown = {tuple(line.split()[:2]) for line in done.stdout.decode().splitlines()}
    assert shown == {("bybit", "ETH/USDT"), ("bybit", "BTC/USD:BTC")}


def test_plain_lines_without_a_terminal() -> None:
    done = finished("run", "--seconds", "2.5", "--exchange", "mexc", "--symbols", "BTC/USDT")
    shape = re.compile(
        r"mexc BTC/USDT bid=[0-9.]+ ask=[0-9.]+ last=[0-9.-]+ frames/s=\d+ messages/s=\d+ latency=[0-9.]+ ms "
        r"gaps=\d+ shed=\d+"
    )
    lines = done.stdout.decode().splitlines()
    assert lines
    assert all(shape.fullmatch(line) for line in lines), lines
    assert b"\x1b" not in done.stdout


UNUSABLE = [
    (("--symbols", "NO/SUCH"), "--symbols: NO/SUCH: not traded at"),
    (("--symbols", "BTC/USDT,NO/SUCH:X,FOO"), "--symbols: NO/SUCH:X, FOO: not traded at"),
    (("--exchange", "kraken"), "--exchange: 'kraken' is no exchange"),
    (("--seconds", "0"), "--seconds: must be a positive number"),
    (("--seconds", "nan"), "--seconds: must be a positive number"),
    (("--seconds", "inf"), "--seconds: must be a positive number"),
    (("--burst", "-1"), "--burst: must be a positive number"),
    (("--live", "--burst", "5"), "--burst: is for the simulator"),
    (("--metrics-port", "70000"), "--metrics-port: must be 0 (any) to 65535"),
]


@pytest.mark.parametrize(("arguments", "line"), UNUSABLE, ids=[" ".join(each) for each, _ in UNUSABLE])
def test_unusable_arguments(arguments: tuple[str, ...], line: str) -> None:
    done = finished("run", "--json", "--seconds", "1", *arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    complaints = [each for each in done.stderr.decode().splitlines() if each.startswith("tidegate: ")]
    assert len(complaints) == 1
    assert complaints[0].startswith(f"tidegate: {line}")
    assert b"Traceback" not in done.stderr


def test_a_taken_port_and_an_unwritable_file_are_told_in_a_line(tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        done = finished("run", "--seconds", "1", "--json", "--metrics-port", str(port))
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"already in use" in done.stderr.splitlines()[-1]
    done = finished("run", "--seconds", "1", "--json", "--record", str(tmp_path / "no" / "such"))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().splitlines()[-1].startswith(f"tidegate: {tmp_path}/no/such: No such file")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(number: signal.Signals) -> None:
    port = free_ports(1)[0]
    stage = Stage("run", "--json", "--metrics-port", str(port), port=port)
    try:
        stage.wait_ready()
        eventually_sync(lambda: counter(stage.metrics(), "tidegate_messages_published_total") > 100, "messages flow")
        assert "tidegate_event_loop" in stage.metrics() or "tidegate_loop" in stage.metrics()
        stage.process.send_signal(number)
        assert stage.process.wait(timeout=60) == 0
        result = json.decode(stage.log().splitlines()[-1])
        assert conserved(result)
        assert result["messages_published"] > 100
        assert result["in_flight"] == 0
    finally:
        stage.close()


def test_a_reader_who_has_enough_ends_it() -> None:
    script = f"{' '.join(command('run', '--seconds', '30', '--exchange', 'bybit'))} 2>/dev/null | head -n 1"
    script += "; echo ${PIPESTATUS[0]}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, capture_output=True, env=environment(), timeout=60, check=True
    )
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith("bybit ")
    assert lines[1] == "0"


COLUMNS = ["instrument", "bid", "ask", "last", "frames/s", "messages/s", "latency", "gaps", "shed"]
INSTRUMENTS = 32


def pages(terminal: Terminal) -> list[list[str]]:
    """The tables that were drawn so far, each as its lines."""
    drawn = plain(terminal.look(0.2)).replace("\r", "").split("Tidegate, simulator: ")
    return [page.rstrip("\n").split("\n") for page in drawn[1:]]


@pytest.mark.parametrize(("rows", "columns", "left_out"), [(24, 80, True), (40, 120, False)])
def test_a_terminal_shows_a_live_table_that_fits_and_no_log_lines(rows: int, columns: int, *, left_out: bool) -> None:
    arguments = command("run", "--seconds", "8")
    with on_terminal(arguments, environment(), rows, columns) as terminal:
        eventually_sync(lambda: len(pages(terminal)) >= 3, "the table was drawn three times", within=60)
        eventually_sync(lambda: terminal.look() and terminal.process.poll() is not None, "the end", within=60)
        text = plain(terminal.look())
        last = pages(terminal)[-1]
    assert "performance_metrics" not in text
    assert "INFO" not in text
    assert len(last) < rows
    assert max(map(len, last)) <= columns
    title, head, *body = last
    assert title.endswith(" messages")
    assert head.split() == COLUMNS
    exchanges = [line.split()[0] for line in body if line and not line.startswith(" ") and "left out" not in line]
    instruments = [line.split() for line in body if line.startswith(" ")]
    assert exchanges == sorted(EXCHANGES)
    if left_out:
        assert body[-1] == f"{INSTRUMENTS - len(instruments)} instruments are left out: the window is too low"
        assert len(last) == rows - 1
    else:
        assert len(instruments) == INSTRUMENTS
    for cells in instruments:
        assert len(cells) >= len(COLUMNS) - 1, cells  # there may have been no trade yet
    assert {"BTC/USDT", "BTC/USDT:USDT", "BTC/USD:BTC"} <= {cells[0] for cells in instruments}


def test_what_is_logged_beside_a_table_stands_above_it() -> None:
    arguments = command("-v", "run", "--seconds", "3", "--exchange", "bybit", "--symbols", "BTC/USDT")
    with on_terminal(arguments, environment(), 60, 180) as terminal:
        eventually_sync(lambda: len(pages(terminal)) >= 3, "three tables", within=60)
        text = plain(terminal.look(0.5))
    assert "stream_connected" in text
    for line in text.splitlines():
        assert not ("BTC/USDT " in line and "performance_metrics" in line and line.startswith(" ")), line


def test_silent_exchanges_are_told_with_the_host_and_the_reason(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    file = tmp_path / "tidegate.toml"
    file.write_text(
        f"""
        [exchanges.bybit.products.spot]
        websocket = "ws://127.0.0.1:{port}"
        rest = "http://127.0.0.1:{port}"
        [exchanges.mexc.products.spot]
        websocket = "ws://127.0.0.1:{port}"
        rest = "http://127.0.0.1:{port}"
        """
    )
    done = finished("--config", str(file), "run", "--live", "--seconds", "3", "--json")
    assert done.returncode == 1
    assert json.decode(done.stdout.splitlines()[-1])["frames_received"] == 0
    *_, bybit, mexc = done.stderr.decode().splitlines()
    for line, name in ((bybit, "bybit"), (mexc, "mexc")):
        assert line.startswith(f"tidegate: nothing was received from {name}; GET http://127.0.0.1:{port}/")
        assert "Connect call failed" in line or "Connection refused" in line
