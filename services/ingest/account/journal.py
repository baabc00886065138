"""A stream's frames on disk, from before their publish is tried until it is confirmed. Synchronous, for one thread.

SQLite in WAL mode with ``synchronous=FULL``: when :meth:`Journal.commit` returns, what it was given has been written
and synced, and survives the process and the machine. The file is locked for as long as it is open, and the lock dies
with the process. What is read back is checked against a sum that was stored with it.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from zlib import crc32

from msgspec import msgpack, structs

from services.ingest.account.numbering import Advance, Head, Operation, Row, advance
from shared.envelope import Frame
from shared.errors import JournalError

__all__ = ["Journal", "Size"]

APPLICATION: Final = 0x54474A4C
"""``TGJL``: how the file is known for a journal (SQLite's ``application_id``)."""

VERSION: Final = 1
PAGE_BYTES: Final = 4096
WAL_BYTES: Final = 8 * 1024 * 1024
"""A longer write-ahead log is cut to this when it has been copied into the file."""

SPARE_PAGES: Final = 1024
"""So much of an empty journal is kept for what comes; the rest is given back, as many pages at a time."""

FEW_FRAMES: Final = 100
"""A journal that holds no more is as good as empty."""

SCHEMA: Final = """\
CREATE TABLE stream (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL,
    commits INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    number INTEGER NOT NULL,
    position INTEGER NOT NULL,
    covered_ms INTEGER,
    holding INTEGER NOT NULL
);
CREATE TABLE frames (
    position INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    number INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    ts_received INTEGER NOT NULL,
    data BLOB NOT NULL,
    sum INTEGER NOT NULL
);
CREATE TABLE held (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    ts_received INTEGER NOT NULL,
    data BLOB NOT NULL,
    sum INTEGER NOT NULL
);
CREATE TABLE symbols (symbol TEXT PRIMARY KEY) WITHOUT ROWID
"""

REASONS: Final = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_CORRUPT: "corrupt",
    sqlite3.SQLITE_NOTADB: "corrupt",
    sqlite3.SQLITE_ERROR: "corrupt",  # the statements are right: the tables are not
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
}
"""By primary result code (https://www.sqlite.org/rescode.html); any other: ``unwritable``."""


class Size(NamedTuple):
    """What a journal holds: numbered frames, held ones, and bytes of the file that are in use."""

    frames: int
    held: int
    bytes: int


class Journal:
    """An open journal file. Every method raises JournalError; after that it is to be closed and opened anew.

    ``max_bytes`` bounds the file. ``known``: where the stream stood when this process had it open before, so that no
    number is given twice even where the file was replaced by an older one or by none.
    """

    def __init__(self, path: Path, stream: str, max_bytes: int, known: Head | None = None) -> None:
        self._path = path
        self._stream = stream
        with self._translated(), self._reading():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
            try:
                self._prepare(max_bytes)
                self.head, self.commits = self._load(known)
                symbols = self._connection.execute("SELECT symbol FROM symbols")
                self.symbols = frozenset(str(symbol) for (symbol,) in symbols)
                self._frames = self._number("SELECT count(*) FROM frames")
            except BaseException:
                self._connection.close()
                raise

    def positions(self) -> tuple[int, int]:
        """Positions of the oldest and the newest numbered frame; the newest below the oldest where there are none."""
        with self._translated():
            first, last = self._connection.execute("SELECT min(position), max(position) FROM frames").fetchone()
        return (self.head.position, self.head.position - 1) if first is None else (first, last)

    def commit(self, operations: Sequence[Operation], confirmed: int) -> Advance:
        """Write operations, and forget frames up to position ``confirmed``, in one transaction that is synced."""
        step = advance(self.head, operations)
        with self._translated(), self._transaction():
            execute, executemany = self._connection.execute, self._connection.executemany
            forgotten = execute("DELETE FROM frames WHERE position <= ?", (confirmed,)).rowcount
            executemany("INSERT INTO frames VALUES (?, ?, ?, ?, ?, ?, ?)", map(_numbered, step.rows))
            if step.released:
                execute("DELETE FROM held")
            executemany("INSERT INTO held (kind, ts_received, data, sum) VALUES (?, ?, ?, ?)", map(_held, step.held))
            executemany("INSERT OR IGNORE INTO symbols VALUES (?)", ((symbol,) for symbol in step.symbols))
            head = step.head
            execute(
                "UPDATE stream SET commits = ?, epoch = ?, number = ?, position = ?, covered_ms = ?, holding = ?",
                (self.commits + 1, head.epoch, head.number, head.position, head.covered_ms, head.holding),
            )
        self.head = step.head
        self.commits += 1
        self.symbols |= frozenset(step.symbols)
        self._frames += len(step.rows) - forgotten
        self._give_back()
        return step

    def read(self, after: int, max_frames: int, max_bytes: int) -> list[Row]:
        """The oldest numbered frames behind a position: at least one, where there is one."""
        rows: list[Row] = []
        size = 0
        query = (
            "SELECT position, epoch, number, kind, ts_received, data, sum FROM frames"
            " WHERE position > ? ORDER BY position LIMIT ?"
        )
        with self._translated(), self._reading():
            for position, epoch, number, kind, ts_received, data, stored in self._connection.execute(
                query, (after, max_frames)
            ):
                row = Row(position, epoch, number, Frame(kind, ts_received, data))
                if _sum(epoch, number, row.frame) != stored:
                    raise JournalError("corrupt", str(self._path), f"frame {number} of epoch {epoch} was changed")
                size += len(data)
                if rows and size > max_bytes:
                    break
                rows.append(row)
        return rows

    def size(self) -> Size:
        """What it holds at the moment."""
        with self._translated():
            pages = self._number("PRAGMA page_count") - self._number("PRAGMA freelist_count")
        return Size(self._frames, len(self.head.held), pages * PAGE_BYTES)

    def close(self) -> None:
        """Close the file; what was committed is in it."""
        with self._translated():
            self._connection.close()

    def _prepare(self, max_bytes: int) -> None:
        execute = self._connection.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")
        fresh = self._one("PRAGMA application_id") == 0 and self._one("SELECT count(*) FROM sqlite_master") == 0
        if fresh:
            execute(f"PRAGMA page_size = {PAGE_BYTES}")
            execute("PRAGMA auto_vacuum = INCREMENTAL")
        elif self._one("PRAGMA application_id") != APPLICATION or self._one("PRAGMA user_version") != VERSION:
            raise JournalError("foreign", str(self._path), "it is no journal of this version of Tidegate")
        mode = self._one("PRAGMA journal_mode = WAL")
        if mode != "wal":
            raise JournalError("unwritable", str(self._path), f"it can't be put into WAL mode, it stays in {mode}")
        execute("PRAGMA synchronous = FULL")
        execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        execute(f"PRAGMA max_page_count = {max(max_bytes // PAGE_BYTES, 16)}")
        if fresh:
            self._create()
        else:
            self._check()

    def _create(self) -> None:
        with self._transaction():
            for statement in SCHEMA.split(";"):
                self._connection.execute(statement)
            self._connection.execute("INSERT INTO stream VALUES (1, ?, 0, 0, 0, 0, NULL, 0)", (self._stream,))
            self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
            self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self) -> None:
        with self._transaction():  # takes the lock, also where there is nothing to be written
            found = self._one("PRAGMA quick_check(1)")
        if found != "ok":
            raise JournalError("corrupt", str(self._path), str(found))
        name = self._one("SELECT name FROM stream")
        if name != self._stream:
            raise JournalError("foreign", str(self._path), f"it is the journal of {name}")

    def _load(self, known: Head | None) -> tuple[Head, int]:
        held = tuple(self._read_held())
        query = "SELECT commits, epoch, number, position, covered_ms, holding FROM stream"
        commits, epoch, number, position, covered_ms, holding = self._connection.execute(query).fetchone()
        head = Head(epoch, number, position, covered_ms, held, bool(holding))
        if known is not None and known.position > position:
            head = structs.replace(known, held=held)
        return head, commits

    def _read_held(self) -> Iterator[Frame]:
        for kind, ts_received, data, stored in self._connection.execute(
            "SELECT kind, ts_received, data, sum FROM held ORDER BY id"
        ):
            frame = Frame(kind, ts_received, data)
            if _sum(0, 0, frame) != stored:
                raise JournalError("corrupt", str(self._path), "a held frame was changed")
            yield frame

    def _give_back(self) -> None:
        """An outage leaves a large file; when that is over its pages go back to the disk, some at a time."""
        with self._translated():
            if self._frames <= FEW_FRAMES and self._number("PRAGMA freelist_count") > SPARE_PAGES:
                # execute() would stop after one page.
                self._connection.executescript(f"PRAGMA incremental_vacuum({SPARE_PAGES})")

    def _one(self, query: str) -> object:
        row = self._connection.execute(query).fetchone()
        return None if row is None else row[0]

    def _number(self, query: str) -> int:
        found = self._one(query)
        if not isinstance(found, int):
            raise JournalError("corrupt", str(self._path), f"{query} gave {found!r}")
        return found

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Values of the wrong type, text that is none: what was read is not what was written."""
        try:
            yield
        except (TypeError, ValueError, OverflowError) as error:
            raise JournalError("corrupt", str(self._path), f"{type(error).__name__}: {error}") from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            reason = "unwritable" if code is None else REASONS.get(code & 0xFF, "unwritable")
            raise JournalError(reason, str(self._path), str(error)) from error
        except OSError as error:
            raise JournalError("unwritable", str(self._path), error.strerror or str(error)) from error


def _numbered(row: Row) -> tuple[int, int, int, int, int, bytes, int]:
    kind, ts_received, data = row.frame
    return row.position, row.epoch, row.number, kind, ts_received, data, _sum(row.epoch, row.number, row.frame)


def _held(frame: Frame) -> tuple[int, int, bytes, int]:
    return frame.kind, frame.ts_received, frame.data, _sum(0, 0, frame)


def _sum(epoch: int, number: int, frame: Frame) -> int:
    """CRC-32 over everything that is published of a frame."""
    return crc32(frame.data, crc32(msgpack.encode((epoch, number, int(frame.kind), frame.ts_received))))
