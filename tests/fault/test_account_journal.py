"""An account whose journal can't be written: it stops listening, says why, and makes good what it missed."""

import asyncio
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from services.ingest.account.main import journal_path
from shared.envelope import Disconnected
from tests.support.accounting import STREAM, account_running, account_settings
from tests.support.eventually import eventually
from tests.support.private_bybit import PrivateBybit

pytestmark = pytest.mark.fault


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mounted)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield mounted
    subprocess.run(["umount", "--lazy", str(mounted)], check=True)


def fill(file: Path) -> None:
    with suppress(OSError), file.open("wb") as opened:
        while True:
            opened.write(bytes(4096))
            opened.flush()


async def test_a_full_disk_closes_the_connection_and_what_is_missed_is_caught_up_with(small_disk: Path) -> None:
    filler = small_disk / "filler"
    async with PrivateBybit() as venue, account_running(venue, account_settings(small_disk)) as one:
        await one.reconciled()
        await asyncio.to_thread(fill, filler)
        number = 0
        while one.count("journal_usable"):
            number += 1
            await venue.push("execution.linear", venue.execution(number))
            await asyncio.sleep(0)
        await eventually(lambda: not venue.sockets, "it does not listen any more")
        assert "full" in str(one.ingest.problem())
        assert one.count("account_failures_total", reason="journal_full") >= 1
        opened = venue.opened
        missed = venue.execution(number + 1)
        await asyncio.to_thread(filler.unlink)
        await one.reconciled(2)
        assert venue.opened == opened + 1, "and it did not try meanwhile"
        await eventually(lambda: one.ingest.problem() is None)
        assert one.raw.marks(Disconnected)[0].reason == "journal_failed"
        assert len(one.texts()) == number, "what came before it stopped to listen is not lost either"
        bodies = b"".join(reply.body for reply in one.reconciliations()[1].replies)
        assert f'"{missed["execId"]}"'.encode() in bodies
        one.raw.assert_complete()


async def test_a_journal_that_another_process_has_is_waited_for(tmp_path: Path) -> None:
    path = journal_path(tmp_path, STREAM.stream)
    async with PrivateBybit() as venue:
        async with account_running(venue, account_settings(tmp_path)) as one:
            await one.reconciled()
        other = sqlite3.connect(path)
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        async with account_running(venue, account_settings(tmp_path)) as two:
            await eventually(lambda: "locked" in str(two.ingest.problem()))
            logins = venue.logins
            assert logins == 1
            other.rollback()
            other.close()
            await two.reconciled()
            assert venue.logins == 2


async def test_a_journal_that_is_set_aside_while_it_runs_costs_what_was_in_it_and_shows_as_a_hole(
    tmp_path: Path,
) -> None:
    """Numbers go on above those that were given, so that whoever consumes sees what is missing."""
    path = journal_path(tmp_path, STREAM.stream)
    async with PrivateBybit() as venue, account_running(venue, account_settings(tmp_path)) as one:
        await one.reconciled()
        last = one.raw.only()[-1]
        writer = one.ingest._journals[STREAM.stream]
        await asyncio.to_thread(path.rename, tmp_path / "aside")
        await asyncio.to_thread(Path(f"{path}-wal").unlink, missing_ok=True)
        assert writer._journal is not None
        await asyncio.to_thread(writer._journal._connection.close)
        await venue.push("execution.linear", venue.execution(1))
        await one.reconciled(2)
        again = one.raw.only()[one.raw.only().index(last) + 1]
        assert (again.epoch, again.number) == (last.epoch, last.number + 1)
        assert len(one.texts()) == 1
        assert one.reconciliations()[1].since_ms >= one.reconciliations()[0].since_ms - 60_000
        one.raw.assert_in_order()
