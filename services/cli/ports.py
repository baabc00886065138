"""Ports that something is to listen on: whether they are free, and who has those that are not."""

import errno
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from services.cli.notes import Note, left

__all__ = ["Wanted", "clashes"]

LISTENING: Final = "0A"
SHOWN: Final = 60
"""Characters of a command line."""


class Wanted(NamedTuple):
    """A port that ``process`` is to have; ``setting`` chooses another one."""

    setting: str
    process: str
    host: str
    port: int


def clashes(wanted: Iterable[Wanted]) -> list[tuple[str, str]]:
    """``(setting, problem)`` of each port that can't be listened on."""
    notes = left()
    return [
        (one.setting, f"{one.host}:{one.port}, which {one.process} is to have, {problem}")
        for one in wanted
        if (problem := _problem(one.host, one.port, notes)) is not None
    ]


def _problem(host: str, port: int, notes: Sequence[Note]) -> str | None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return f"is taken by {_noted(port, notes) or _process(port) or 'another program'}"
        return f"can't be had: {error.strerror}"
    return None


def _noted(port: int, notes: Sequence[Note]) -> str | None:
    """Who of our own has it."""
    for note in notes:
        for address, name in note.listening.items():
            if address.endswith(f":{port}"):
                return f"{name} of {note.told}"
    return None


def _process(port: int) -> str | None:
    """The process that listens there, where the system (Linux) tells; of others' processes it does not."""
    links = {f"socket:[{inode}]" for inode in _inodes(port)}
    for process in Path("/proc").glob("[0-9]*") if links else ():
        with suppress(OSError):
            if any(str(link.readlink()) in links for link in process.joinpath("fd").iterdir()):
                command = process.joinpath("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                return f"pid {process.name} ({command.strip()[:SHOWN]})"
    return None


def _inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in Path("/proc/net", table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]
