"""``tidegate top`` on a plane that runs, as a user looks at it."""

import re
import signal
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import json

from services.cli.local_rabbit import free_ports
from tests.support.eventually import eventually_sync
from tests.support.processes import Stage, counter
from tests.support.terminal import Terminal, on_terminal, plain
from tests.unit.cli.processes import command, environment, finished

pytestmark = pytest.mark.e2e

EXCHANGES = {"binance", "bybit", "mexc"}
OTHER_PAGE, BACK, CURSOR = "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25h"


@pytest.fixture(scope="module")
def plane() -> Iterator[Stage]:
    """``tidegate run`` with metrics, messages flowing."""
    port = free_ports(1)[0]
    stage = Stage("run", "--json", "--metrics-port", str(port), port=port)
    try:
        stage.wait_ready()
        eventually_sync(lambda: counter(stage.metrics(), "tidegate_messages_published_total") > 100, "messages flow")
        yield stage
    finally:
        stage.close()


def target(stage: Stage) -> str:
    return f"http://127.0.0.1:{stage.port}/metrics"


def once(*arguments: str) -> dict[str, Any]:
    done = finished("top", "--once", "--json", *arguments)
    assert done.returncode == 0, done.stderr.decode()
    (line,) = done.stdout.splitlines()
    result: dict[str, Any] = json.decode(line)
    return result


def test_one_json_object_tells_what_every_exchange_and_stream_does(plane: Stage) -> None:
    found = once("--target", target(plane))
    assert {row["exchange"] for row in found["exchanges"]} == EXCHANGES
    for row in found["exchanges"]:
        assert row["frames_per_s"] > 1
        assert row["messages_per_s"] > 1
        assert 0 < row["norm_time_s"] < 5
        assert 0 < row["net_write_s"] < 5
        assert all(0 <= wait < 10 for wait in row["q_wait_s"].values())
        assert row["breaker"] == "closed"
    assert {row["exchange"] for row in found["streams"]} == EXCHANGES
    for row in found["streams"]:
        assert row["up"]
        assert row["age_s"] < 30
        assert row["frames_per_s"] > 0
        assert row["owners"] == [f"127.0.0.1:{plane.port}"]
    (process,) = found["processes"]
    assert process["up"]
    assert process["role"] == "ingest binance bybit mexc, normalizer"
    assert process["loop_lag_s"] is not None
    frames = found["frames"]
    gone = ("published", "conflated", "shed", "rejected", "lost", "in_flight", "between", "balance")
    assert frames["received"] == sum(frames[name] for name in gone)


def test_without_targets_it_finds_what_runs_on_this_machine(plane: Stage) -> None:
    done = finished("top", "--once", "--json")
    assert done.returncode == 0, done.stderr.decode()
    found = json.decode(done.stdout)["processes"]
    assert f"127.0.0.1:{plane.port}" in {process["target"] for process in found if process["up"]}
    assert [process for process in found if not process["up"]] == []


def test_a_target_that_is_down_is_a_row_that_says_so(plane: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    found = once("--target", target(plane), "--target", f"127.0.0.1:{port}")
    up, down = found["processes"]
    assert (up["up"], up["problem"]) == (True, None)
    assert (down["target"], down["up"]) == (f"127.0.0.1:{port}", False)
    assert "Connection refused" in down["problem"]
    done = finished("top", "--once", "--target", f"127.0.0.1:{port}")
    assert done.returncode == 1
    assert f":{port} down: Connection refused" in " ".join(done.stdout.decode().split())


def test_plain_lines_without_a_terminal(plane: Stage) -> None:
    stage = Stage("top", "--interval", "0.3", "--target", target(plane))
    try:
        eventually_sync(lambda: stage.log().count("frames ") >= 3, "three rounds")
        stage.process.send_signal(signal.SIGINT)
        assert stage.process.wait(timeout=60) == 0
        text = stage.log()
    finally:
        stage.close()
    assert "\x1b" not in text
    assert re.search(r"^bybit\.linear\.0 frames/s=[\d,]+ msgs/s=[\d,]+ qsize=\d+ ", text, re.MULTILINE)
    assert re.search(r"^bybit frames/s=.* q_wait=\S+ norm=\S+ write=\S+ lag=\S+ .*breaker=closed", text, re.MULTILINE)


def test_where_nothing_answers_is_told_in_a_line() -> None:
    port = free_ports(1)[0]
    done = finished("top", "--target", f"http://127.0.0.1:{port}/metrics", "--interval", "0")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "tidegate: --interval: must be a positive number, 0 was given\n"
    done = finished("top", "--target", "ftp://host")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "tidegate: --target: must be http://host:port/metrics, 'ftp://host' was given\n"


def shown(terminal: Terminal) -> str:
    """The page as it was drawn last."""
    return plain(terminal.look().rpartition("\x1b[H")[2])


def test_a_terminal_shows_it_follows_its_size_and_gets_it_back_clean(plane: Stage) -> None:
    arguments = command("top", "--interval", "0.3", "--target", target(plane))
    with on_terminal(arguments, environment(), rows=30, columns=80) as terminal:
        before = terminal.modes()
        eventually_sync(lambda: "binance" in shown(terminal) and "frames " in shown(terminal), "the page", within=60)
        eventually_sync(lambda: re.search(r"bybit +[\d,]+ ", shown(terminal)), "rates", within=60)
        page = shown(terminal).replace("\r", "").split("\n")
        assert max(map(len, page)) <= 80
        assert len(page) <= 30
        assert {"stream", "frames/s", "msgs/s", "q_wait", "norm", "write", "qsize", "shed", "breaker", "owner"} <= set(
            page[0].split()
        )
        terminal.resize(rows=12, columns=48)
        eventually_sync(lambda: max(map(len, shown(terminal).split("\r\n"))) <= 48, "the narrow page", within=60)
        eventually_sync(lambda: "left out" in shown(terminal), "fewer rows", within=60)
        terminal.interrupt()
        eventually_sync(lambda: terminal.look() and terminal.process.poll() is not None, "the end", within=60)
        text = terminal.look()
        assert terminal.process.returncode == 0
        assert text.count(OTHER_PAGE) == text.count(BACK) == 1
        assert CURSOR in text.rpartition(OTHER_PAGE)[2]
        assert "Traceback" not in text
        assert terminal.modes() == before
