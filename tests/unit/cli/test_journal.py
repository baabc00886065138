"""``tidegate journal``."""

import argparse
import sqlite3
from pathlib import Path

import pytest

from services.cli import journal as command
from services.ingest.account.journal import Journal
from services.ingest.account.main import journal_path
from services.ingest.account.numbering import Begin, Cover, Push, Release, Tell
from shared.account_settings import AccountSection, AccountSettings
from shared.envelope import Frame, FrameKind
from shared.errors import SettingsError
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry

LARGE = 1 << 30


def settings(directory: Path) -> Settings:
    account = AccountSettings(products=("linear",))
    return Settings(accounts={"bybit": {"main": account}}, account=AccountSection(journal_directory=directory))


def run(directory: Path, *, set_aside: bool = False, name: str = "main") -> int:
    arguments = argparse.Namespace(exchange="bybit", account=name, set_aside=set_aside)
    return command.run(arguments, settings(directory), Telemetry())


def test_what_a_journal_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = Journal(journal_path(tmp_path, "bybit.main"), "bybit.main", LARGE)
    frame = Frame(FrameKind.TEXT, 1_790_000_000_000_000_000, b"x")
    journal.commit([Begin(1, "wss://venue.test", frame.ts_received), Release(), Push(frame)], -1)
    journal.commit(
        [Begin(2, "wss://venue.test", frame.ts_received), Tell(frame), Cover(1_790_000_100_000), Push(frame)], -1
    )
    journal.close()
    assert run(tmp_path) == 0
    out = capsys.readouterr().out
    assert "4 frames to be published, 1 held, the oldest from 2026-09-21 14:13:20 UTC" in out
    assert "reconciled up to 2026-09-21 14:15:00 UTC" in out


def test_no_journal_yet_is_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 0
    assert "none yet" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_one_that_can_be_read_is_never_set_aside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal_path(tmp_path, "bybit.main")
    Journal(path, "bybit.main", LARGE).close()
    assert run(tmp_path, set_aside=True) == 0
    assert "0 frames to be published, never reconciled" in capsys.readouterr().out
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_broken_one_is_a_failure_and_is_set_aside_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = journal_path(tmp_path, "bybit.main")
    path.write_bytes(b"broken" * 1000)
    assert run(tmp_path) == 1
    assert "FAIL  bybit.main: journal" in capsys.readouterr().out
    assert path.read_bytes() == b"broken" * 1000
    assert run(tmp_path, set_aside=True) == 0
    assert "set aside as" in capsys.readouterr().out
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 1
    assert kept[0].read_bytes() == b"broken" * 1000
    assert run(tmp_path) == 0


def test_what_belongs_to_a_journal_is_set_aside_with_it(tmp_path: Path) -> None:
    path = journal_path(tmp_path, "bybit.main")
    path.write_bytes(b"file")
    Path(f"{path}-wal").write_bytes(b"log")
    aside = command._rename(path)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        aside.name: b"file",
        f"{aside.name}-wal": b"log",
    }


def test_one_that_is_in_use_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = journal_path(tmp_path, "bybit.main")
    Journal(path, "bybit.main", LARGE).close()
    other = sqlite3.connect(path)
    try:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        assert run(tmp_path) == 0
        assert run(tmp_path, set_aside=True) == 1
        assert "in use" in capsys.readouterr().out
    finally:
        other.close()


def test_an_account_that_there_is_none_of_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no such account"):
        run(tmp_path, name="other")
