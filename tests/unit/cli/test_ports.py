"""Ports that are taken, and who has them."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from services.cli.local_rabbit import free_ports
from services.cli.notes import leave
from services.cli.ports import Wanted, clashes


@pytest.fixture(autouse=True)
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


@pytest.fixture
def taken() -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


def test_what_is_free_is_no_clash() -> None:
    (port,) = free_ports(1)
    assert clashes([Wanted("--port", "normalizer.1", "127.0.0.1", port)]) == []


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells who listens")
def test_the_process_that_has_it_is_named(taken: int) -> None:
    (found,) = clashes([Wanted("--port", "normalizer.1", "127.0.0.1", taken)])
    setting, problem = found
    assert setting == "--port"
    head = f"127.0.0.1:{taken}, which normalizer.1 is to have, is taken by pid {os.getpid()} ("
    assert problem.startswith(head)
    assert sys.executable.rpartition("/")[2] in problem or "pytest" in problem


def test_one_of_our_own_is_named_by_its_note(taken: int) -> None:
    with leave("up", {f"127.0.0.1:{taken}": "bybit.1"}):
        (found,) = clashes([Wanted("simulator.port", "simulator", "127.0.0.1", taken)])
    assert found == (
        "simulator.port",
        f"127.0.0.1:{taken}, which simulator is to have, is taken by bybit.1 of `tidegate up` (pid {os.getpid()})",
    )


def test_an_address_that_this_machine_does_not_have_is_a_clash() -> None:
    (found,) = clashes([Wanted("--port", "normalizer.1", "192.0.2.1", 9210)])
    assert "can't be had: Cannot assign requested address" in found[1]
