"""Notes that running commands leave for others on the same machine: which broker they use, where their metrics are.

They lie in ``$XDG_RUNTIME_DIR/tidegate``, else in ``tidegate-<uid>`` of the directory for temporary files: a place of
this user's own that nobody else may look into, for an address holds a password.
"""

import fcntl
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, json

__all__ = ["Note", "address", "leave", "left"]

PRIVATE: Final = 0o700


class Note(Struct, frozen=True):
    """What a command that runs says of itself."""

    command: str
    pid: int
    since_ns: int
    """Wall clock."""
    listening: Mapping[str, str]
    """Processes by the ``host:port`` where they serve HTTP."""
    broker: str | None = None
    """AMQP URL; None where there is no broker."""

    @property
    def told(self) -> str:
        """Who it is, for people."""
        return f"`tidegate {self.command}` (pid {self.pid})"


@contextmanager
def leave(command: str, listening: Mapping[str, str], broker: str | None = None) -> Iterator[None]:
    """A note for as long as the block lasts. Where it can't be left that is told, and the block runs all the same."""
    note = Note(command, os.getpid(), time.time_ns(), listening, broker)
    try:
        path, descriptor = _write(note)
    except OSError as error:
        sys.stderr.write(f"tidegate: other commands won't find this one: {error}\n")
        yield
        return
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def address(host: str, port: int) -> str:
    """``host:port`` as others on this machine reach who listens on ``host``."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - nothing is bound here
    return f"[{reached}]:{port}" if ":" in reached else f"{reached}:{port}"


def left() -> list[Note]:
    """The notes of all that runs, the newest first. What a command left that was killed is removed."""
    directory = _directory()
    if not _private(directory):
        return []
    notes = [note for path in directory.glob("*.json") if (note := _read(path)) is not None]
    return sorted(notes, key=lambda note: note.since_ns, reverse=True)


def _directory() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return Path(runtime, "tidegate") if runtime else Path(tempfile.gettempdir(), f"tidegate-{os.getuid()}")


def _private(directory: Path) -> bool:
    try:
        found = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _write(note: Note) -> tuple[Path, int]:
    """The file and its descriptor, which holds a lock while it is open: so others see that the note is true."""
    directory = _directory()
    directory.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    if not _private(directory):
        raise PermissionError(f"{directory} is not this user's own, or open to others")
    descriptor, name = tempfile.mkstemp(dir=directory)
    path = directory / f"{note.command}-{note.pid}.json"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.encode(note))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        os.close(descriptor)
        raise
    return path, descriptor


def _read(path: Path) -> Note | None:
    with suppress(OSError, DecodeError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return json.decode(file.read(), type=Note)
        path.unlink()
    return None
