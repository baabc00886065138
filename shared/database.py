"""One SQLite file of one process: locked while it is open, every transaction synced. Synchronous, one thread at a time.

WAL mode with ``synchronous=FULL``: when a transaction has ended, what it wrote survives the process and the machine.
The lock dies with the process.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

__all__ = ["Database", "FileError", "Form"]

WAL_BYTES: Final = 64 * 1024 * 1024
"""A longer write-ahead log is cut to this when it has been copied into the file."""

REASONS: Final = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_CORRUPT: "corrupt",
    sqlite3.SQLITE_NOTADB: "corrupt",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
}
"""By primary result code (https://www.sqlite.org/rescode.html); any other: ``unwritable``."""


class FileError(Protocol):
    """Makes the exception for a file that can't be used.

    ``reason``: ``full``, ``corrupt``, ``foreign`` (another kind or version of file), ``locked``, ``unwritable``.
    """

    def __call__(self, reason: str, path: str, detail: str) -> Exception:
        """The exception."""
        ...


class Form(NamedTuple):
    """What a file is: SQLite's ``application_id`` and ``user_version``, its tables, and the error that it raises."""

    name: str
    application: int
    version: int
    schema: tuple[str, ...]
    error: FileError


class Database:
    """An open file, made where there is none. Every method raises the form's error; then close it and open it anew."""

    def __init__(self, path: Path, form: Form) -> None:
        self._path = path
        self._form = form
        with self._translated():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._translated():
            return self._connection.execute(query, values).fetchall()

    def one(self, query: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """Its first row."""
        with self._translated():
            row: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
            return row

    def write(self, statement: str, values: Sequence[object] = ()) -> None:
        """One statement, within :meth:`transaction`."""
        with self._translated():
            self._connection.execute(statement, values)

    def write_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """One statement for each row, within :meth:`transaction`."""
        with self._translated():
            self._connection.executemany(statement, rows)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, synced at the end."""
        with self._translated():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file; what was committed is in it."""
        with self._translated():
            self._connection.close()

    def fail(self, reason: str, detail: str) -> Exception:
        """The form's error about this file."""
        return self._form.error(reason, str(self._path), detail)

    def _prepare(self) -> None:
        execute, form = self._connection.execute, self._form
        execute("PRAGMA locking_mode = EXCLUSIVE")
        application = self._value("PRAGMA application_id")
        fresh = application == 0 and self._value("SELECT count(*) FROM sqlite_master") == 0
        if not fresh and (application != form.application or self._value("PRAGMA user_version") != form.version):
            raise self.fail("foreign", f"it is no {form.name} of this version of Tidegate")
        mode = self._value("PRAGMA journal_mode = WAL")
        if mode != "wal":
            raise self.fail("unwritable", f"it can't be put into WAL mode, it stays in {mode}")
        execute("PRAGMA synchronous = FULL")
        execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        with self.transaction():  # takes the lock, also where there is nothing to be written
            found = self._value("PRAGMA quick_check(1)")
            if found != "ok":
                raise self.fail("corrupt", str(found))
            if fresh:
                for statement in form.schema:
                    execute(statement)
                execute(f"PRAGMA application_id = {form.application}")
            # Written even where it is the same: a file that can't be written shows now.
            execute(f"PRAGMA user_version = {form.version}")

    def _value(self, query: str) -> object:
        row = self._connection.execute(query).fetchone()
        return None if row is None else row[0]

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            reason = "unwritable" if code is None else REASONS.get(code & 0xFF, "unwritable")
            raise self.fail(reason, str(error)) from error
        except OSError as error:
            raise self.fail("unwritable", error.strerror or str(error)) from error
