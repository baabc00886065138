"""A SQLite file of one process: locked, checked, all or nothing."""

import sqlite3
from pathlib import Path

import pytest

from shared.database import Database, Form
from shared.errors import StateError

FORM = Form("test file", 0x54475454, 3, ("CREATE TABLE words (word TEXT PRIMARY KEY) WITHOUT ROWID",), StateError)


def words(database: Database) -> list[str]:
    return [str(word) for (word,) in database.rows("SELECT word FROM words ORDER BY word")]


def test_what_was_committed_is_there_and_what_was_not_is_not(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "words.sqlite"
    database = Database(file, FORM)
    with database.transaction():
        database.write("INSERT INTO words VALUES (?)", ("one",))
        database.write_many("INSERT INTO words VALUES (?)", [("two",), ("three",)])
    with pytest.raises(StateError), database.transaction():
        database.write_many("INSERT INTO words VALUES (?)", [("four",), ("one",)])
    database.close()
    again = Database(file, FORM)
    assert words(again) == ["one", "three", "two"]
    assert again.one("SELECT word FROM words WHERE word = ?", ("four",)) is None
    again.close()


def test_every_transaction_is_synced(tmp_path: Path) -> None:
    database = Database(tmp_path / "words.sqlite", FORM)
    assert [database.one(f"PRAGMA {name}") for name in ("journal_mode", "synchronous")] == [("wal",), (2,)]
    database.close()


def test_nobody_else_gets_the_file_while_it_is_open(tmp_path: Path) -> None:
    file = tmp_path / "words.sqlite"
    database = Database(file, FORM)
    with pytest.raises(StateError) as caught:
        Database(file, FORM)
    assert caught.value.reason == "locked"
    database.close()
    Database(file, FORM).close()


@pytest.mark.parametrize(
    ("application", "version", "reason"), [(7, 3, "foreign"), (0x54475454, 4, "foreign"), (0, 0, "foreign")]
)
def test_a_file_of_another_kind_or_version_is_refused(
    tmp_path: Path, application: int, version: int, reason: str
) -> None:
    file = tmp_path / "words.sqlite"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE things (thing)")
        other.execute(f"PRAGMA application_id = {application}")
        other.execute(f"PRAGMA user_version = {version}")
    other.close()
    with pytest.raises(StateError, match="it is no test file of this version of Tidegate") as caught:
        Database(file, FORM)
    assert (caught.value.reason, caught.value.path) == (reason, str(file))


def test_a_spoiled_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "words.sqlite"
    database = Database(file, FORM)
    with database.transaction():
        database.write_many("INSERT INTO words VALUES (?)", [(f"word{number:05}",) for number in range(3_000)])
    database.close()
    spoiled = bytearray(file.read_bytes())
    spoiled[8_192:20_480] = b"\xa5" * 12_288
    file.write_bytes(spoiled)
    with pytest.raises(StateError) as caught:
        Database(file, FORM)
    assert caught.value.reason == "corrupt"
    assert file.read_bytes() == spoiled


def test_a_full_disk_is_told_and_nothing_is_half_written(tmp_path: Path) -> None:
    file = tmp_path / "words.sqlite"
    database = Database(file, FORM)
    database.write("PRAGMA max_page_count = 8")
    with pytest.raises(StateError) as caught, database.transaction():
        database.write_many("INSERT INTO words VALUES (?)", [(f"word{number:05}" * 20,) for number in range(3_000)])
    assert caught.value.reason == "full"
    database.close()
    again = Database(file, FORM)
    assert words(again) == []
    again.close()


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StateError) as caught:
        Database(tmp_path / "file" / "words.sqlite", FORM)
    assert caught.value.reason == "unwritable"
