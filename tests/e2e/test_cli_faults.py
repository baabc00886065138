"""Disks that are full, ports that are taken, outputs that are closed: said in a line that names what and where."""

import errno
import os
import subprocess
from contextlib import closing
from pathlib import Path
from socket import create_server

import pytest
from msgspec import json

from shared.capture import read
from tests.support.paths import ROOT
from tests.unit.cli.processes import command, environment, finished

pytestmark = pytest.mark.e2e

FULL = os.strerror(errno.ENOSPC)


def said(done: "subprocess.CompletedProcess[bytes]") -> list[str]:
    """What is no log line."""
    assert b"Traceback" not in done.stderr
    return [line for line in done.stderr.decode().splitlines() if line.startswith("tidegate: ")]


def test_a_full_disk_ends_the_recording_and_nothing_else() -> None:
    done = finished("run", "--json", "--seconds", "3", "--exchange", "bybit", "--record", "/dev/full")
    result = json.decode(done.stdout.splitlines()[-1])
    assert done.returncode == 1
    assert result["messages_published"] > 100
    assert (result["in_flight"], result["rejected"]) == (0, 0)
    assert said(done) == [f"tidegate: /dev/full: {FULL}; the recording ends after 0 envelopes"]
    assert b"recording_failed | file=/dev/full" in done.stderr


def test_a_disk_that_fills_up_leaves_a_file_that_can_be_played(tmp_path: Path) -> None:
    path = tmp_path / "market.cap"
    arguments = command("run", "--json", "--seconds", "4", "--exchange", "bybit", "--record", str(path))
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 100; exec "$@"', "bash", *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, json.decode(done.stdout)["in_flight"]) == (1, 0)
    with path.open("rb") as file:
        envelopes = len(list(read(file)))
    assert envelopes > 0
    problem = os.strerror(errno.EFBIG)
    assert said(done) == [f"tidegate: {path}: {problem}; the recording ends after {envelopes} envelopes"]


@pytest.mark.parametrize(
    "arguments", [("run", "--seconds", "1", "--metrics-port"), ("normalizer",)], ids=["run", "normalizer"]
)
def test_a_taken_port_is_named(arguments: tuple[str, ...]) -> None:
    with closing(create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        given = (*arguments, port) if arguments[-1].startswith("--") else arguments
        done = finished(*given, more={"TIDEGATE_TELEMETRY__PORT": port, "AMQP_URL": "amqp://127.0.0.1:1/"})
    assert done.returncode == 1
    assert said(done) == [f"tidegate: metrics at 127.0.0.1:{port}: {os.strerror(errno.EADDRINUSE)}"]


PATTERN = "trade.bybit." + "é" * 122
UNUSABLE = [
    (("tap", PATTERN), "tidegate: pattern: a pattern has at most 255 bytes; 'trade.bybit.ééé"),
    (("tap", "#", b"\xff.*"), "tidegate: pattern: '\\udcff.*' is no UTF-8"),
    (("record", "file", "--stream", "s" * 249), "tidegate: --stream: a pattern has at most 255 bytes; 'market.sss"),
]


@pytest.mark.parametrize(("arguments", "line"), UNUSABLE, ids=["tap-long", "tap-bytes", "record-long"])
def test_a_pattern_that_no_binding_can_have_is_unusable(arguments: tuple[str | bytes, ...], line: str) -> None:
    texts = [os.fsdecode(each) for each in arguments]
    done = finished(*texts, more={"AMQP_URL": "amqp://127.0.0.1:1/"})
    assert (done.returncode, done.stdout) == (2, b"")
    (told,) = said(done)
    assert told.startswith(line)


REDIRECTED = [
    ("tap >&-", 2, "tidegate: standard input and output must be open"),
    ("check --no-broker >&-", 2, "tidegate: standard input and output must be open"),
    ("check --no-broker >/dev/full", 1, f"tidegate: standard output: {FULL}"),
    ("normalize --exchange bybit --product linear </dev/null >/dev/full", 0, None),
    ("run --json --seconds 1 --exchange mexc >/dev/full", 1, f"tidegate: standard output: {FULL}"),
]


@pytest.mark.parametrize(("script", "status", "line"), REDIRECTED, ids=[each[0] for each in REDIRECTED])
def test_an_output_that_takes_nothing_is_said(script: str, status: int, line: str | None) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(command())} {script}"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert said(done) == ([] if line is None else [line])
