"""Ports that are handed out: to one process only, for as long as it runs."""

import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from services.cli import local_rabbit
from services.cli.local_rabbit import LocalRabbitError, free_ports
from tests.support.paths import ROOT

OTHER = """
import sys
from services.cli import local_rabbit
local_rabbit.PORTS = range(int(sys.argv[1]), int(sys.argv[2]))
print(*local_rabbit.free_ports(3), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Iterator[range]:
    """All the ports that there are."""
    first = free_ports(1)[0] + 1
    ports = range(first, first + 50)
    claims: deque[int] = deque()
    monkeypatch.setattr(local_rabbit, "PORTS", ports)
    monkeypatch.setattr(local_rabbit, "_claims", claims)
    yield ports
    for claim in claims:
        os.close(claim)


@contextmanager
def other_process(ports: range) -> Iterator[list[int]]:
    """The ports that it was given."""
    command = [sys.executable, "-c", OTHER, str(ports.start), str(ports.stop)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield [int(port) for port in process.stdout.readline().split()]


def all_that_are_free() -> set[int]:
    found: set[int] = set()
    while True:
        try:
            found.update(free_ports(1))
        except LocalRabbitError:
            return found


def test_a_port_is_given_to_one_process_and_no_longer_than_it_runs(few: range) -> None:
    with other_process(few) as theirs:
        ours = all_that_are_free()
    assert len(theirs) == 3
    assert len(ours) >= 20
    assert ours.isdisjoint(theirs)
    assert all_that_are_free() >= set(theirs)


def test_a_process_keeps_its_last_ports_only(few: range, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_rabbit, "CLAIMS", 2)
    for _ in range(2 * len(few)):
        assert free_ports(1)[0] in few
