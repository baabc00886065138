"""The Procfile: the processes that make up the plane, in the form that Heroku gave it (``name: command`` a line)."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

__all__ = ["PORT_STEP", "Process", "commands", "processes"]

PORT_STEP: Final = 100
"""Ports of one name; its replicas count up by one within them."""


class Process(NamedTuple):
    """One process to start: ``command`` is for the shell and finds ``port`` as PORT in its environment."""

    name: str
    command: str
    port: int


def commands(text: str) -> dict[str, str]:
    """Name and command of every line; a line without a colon, or with a hash in front, is none."""
    lines = (line.partition(":") for line in text.splitlines() if not line.startswith("#"))
    return {name.strip(): command.strip() for name, colon, command in lines if colon}


def processes(known: Mapping[str, str], counts: Mapping[str, int], port: int) -> Sequence[Process]:
    """So many of each name (default: one), named ``normalizer.1`` and so on, in the order of the file.

    The first name has ``port``, the next one a port that is :data:`PORT_STEP` higher, whatever their counts are.
    """
    return [
        Process(f"{name}.{number + 1}", command, port + PORT_STEP * index + number)
        for index, (name, command) in enumerate(known.items())
        for number in range(counts.get(name, 1))
    ]
