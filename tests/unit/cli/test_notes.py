"""Notes that commands leave for each other."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from services.cli.notes import Note, address, leave, left
from tests.support.eventually import eventually_sync
from tests.support.paths import ROOT

URL = "amqp://guest:guest@127.0.0.1:25672/"


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "tidegate"


def test_a_note_is_there_as_long_as_its_command_runs(runtime: Path) -> None:
    assert left() == []
    with leave("up", {"127.0.0.1:9210": "normalizer.1"}, URL):
        (note,) = left()
        assert note == Note("up", os.getpid(), note.since_ns, {"127.0.0.1:9210": "normalizer.1"}, URL)
        assert note.told == f"`tidegate up` (pid {os.getpid()})"
        (path,) = runtime.iterdir()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(runtime.stat().st_mode) == 0o700
    assert left() == []
    assert list(runtime.iterdir()) == []


def test_the_newest_comes_first() -> None:
    with leave("up", {}, URL), leave("run", {}, None):
        assert [note.command for note in left()] == ["run", "up"]


def test_what_a_killed_command_left_is_no_note_and_is_removed(runtime: Path) -> None:
    script = "import time\nfrom services.cli.notes import leave\nwith leave('up', {}, 'amqp://x/'):\n time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT)
    try:
        eventually_sync(left, "the note", within=60)
        assert left()[0].pid == process.pid
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
        assert len(list(runtime.iterdir())) == 1
        assert left() == []
        assert list(runtime.iterdir()) == []
    finally:
        process.kill()
        process.wait(timeout=60)


def test_a_directory_that_is_open_to_others_is_not_used(runtime: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with leave("up", {}, URL):
        assert left()
        runtime.chmod(0o777)
        assert left() == []
        with leave("run", {}, None):
            assert len(list(runtime.iterdir())) == 1
    assert "other commands won't find this one" in capsys.readouterr().err
    runtime.rename(runtime.with_name("elsewhere"))
    runtime.symlink_to(runtime.with_name("elsewhere"))
    assert left() == []


def test_garbage_is_no_note(runtime: Path) -> None:
    with leave("up", {}, URL):
        (path,) = runtime.iterdir()
        path.write_bytes(b'{"command": 5}')
        assert left() == []


@pytest.mark.parametrize(
    ("host", "reached"),
    [("127.0.0.1", "127.0.0.1:9"), ("0.0.0.0", "127.0.0.1:9"), ("::", "[::1]:9"), ("::1", "[::1]:9"), ("a", "a:9")],
)
def test_an_address_is_one_that_can_be_reached(host: str, reached: str) -> None:
    assert address(host, 9) == reached
