"""The journal when the process is killed, the disk is full, the file is broken or another process has it."""

import asyncio
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from services.ingest.account.journal import Journal
from services.ingest.account.numbering import Begin, Push, Release, Row
from services.ingest.account.telemetry import AccountTelemetry
from services.ingest.account.writer import MAX_PENDING_BYTES, JournalWriter
from shared.clock import SystemClock
from shared.envelope import Frame, FrameKind
from shared.errors import JournalError
from shared.telemetry.bundle import Telemetry
from tests.support.eventually import eventually
from tests.support.journal_child import STREAM
from tests.support.paths import ROOT

pytestmark = pytest.mark.fault

LARGE = 1 << 30


class Writing:
    """A journal that is written, and what it told."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.telemetry = Telemetry()
        account = AccountTelemetry(self.telemetry, "bybit", "main")
        self.writer = JournalWriter(path, STREAM, max_bytes, SystemClock(), account.stream(STREAM))
        self.failures = 0
        self.writer.failed = self.failed

    def failed(self) -> None:
        self.failures += 1

    def push(self, *numbers: int, size: int = 100) -> None:
        for number in numbers:
            assert self.writer.put(Push(Frame(FrameKind.TEXT, number, f"{number}:".encode().ljust(size, b"."))))

    async def out(self, count: int) -> list[int]:
        """Publish so many frames."""
        found: list[int] = []
        while len(found) < count:
            row = await self.writer.next()
            self.writer.confirmed(row)
            if row.frame.kind == FrameKind.TEXT:
                found.append(number_of(row))
        return found

    def counted(self, reason: str) -> float:
        return self.telemetry.total("tidegate_account_failures_total", {"account": "main", "reason": reason})

    @property
    def reason(self) -> str | None:
        return None if self.writer.problem is None else self.writer.problem.reason


def number_of(row: Row) -> int:
    return int(row.frame.data.partition(b":")[0])


@asynccontextmanager
async def writing(path: Path, max_bytes: int = LARGE) -> AsyncIterator[Writing]:
    one = Writing(path, max_bytes)
    task = asyncio.create_task(one.writer.run())
    try:
        yield one
        one.writer.close()
        async with asyncio.timeout(60):
            await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def begun(one: Writing) -> None:
    await one.writer.usable.wait()
    one.writer.put(Begin(1, "wss://venue.test", 1), Release())


def test_kill_minus_nine_loses_nothing_that_was_written_and_keeps_the_order(tmp_path: Path) -> None:
    path, chance = tmp_path / "j", random.Random(5)
    first = confirmed = 0
    texts: dict[int, bytes] = {}
    for _ in range(6):
        command = [sys.executable, "-m", "tests.support.journal_child", str(path), str(first)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
            assert child.stdout is not None
            said = [child.stdout.readline() for _ in range(chance.randrange(200, 600))]
            child.kill()
            said += child.stdout.readlines()
        whole = [line.split() for line in said if line.endswith(b"\n")]
        written = max(int(number) for word, number in whole if word == b"written")
        confirmed = max(int(position) for word, position in whole if word == b"confirmed")
        journal = Journal(path, STREAM, LARGE)
        rows = journal.read(-1, 1_000_000, LARGE)
        journal.close()
        positions = [row.position for row in rows]
        assert positions == list(range(positions[0], positions[0] + len(rows)))
        assert positions[0] <= confirmed + 1
        data = [(row, int(row.frame.ts_received)) for row in rows if row.frame.kind == FrameKind.TEXT]
        assert [row.frame.data for row, number in data] == [str(number).encode() * 50 for _, number in data]
        numbers = [number for _, number in data]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        assert numbers[-1] >= written
        assert all(texts.setdefault(row.position, row.frame.data) == row.frame.data for row in rows)
        first = numbers[-1] + 1
    assert first > 500


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mounted)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield mounted
    subprocess.run(["umount", "--lazy", str(mounted)], check=True)


async def test_a_full_disk_stops_reading_and_nothing_put_by_then_is_lost(small_disk: Path) -> None:
    filler = small_disk / "filler"
    async with writing(small_disk / "j") as one:
        await begun(one)
        one.push(*range(10), size=1000)
        await one.writer.written()
        with suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(bytes(4096))
                file.flush()
        one.push(*range(10, 300), size=1000)
        await eventually(lambda: one.failures > 0, "it is told")
        assert one.reason == "full"
        assert not one.writer.usable.is_set()
        assert one.counted("journal_full") >= 1
        assert await one.out(10) == list(range(10))
        filler.unlink()
        await one.writer.usable.wait()
        assert await one.out(290) == list(range(10, 300))
        assert one.reason is None


async def test_the_bound_on_the_file_acts_as_a_full_disk_and_publishing_makes_room(tmp_path: Path) -> None:
    async with writing(tmp_path / "j", max_bytes=1024 * 1024) as one:
        await begun(one)
        one.push(*range(400), size=2000)
        await one.writer.written()
        one.push(*range(400, 700), size=2000)
        await eventually(lambda: one.reason == "full")
        assert (tmp_path / "j").stat().st_size <= 1024 * 1024
        assert await one.out(400) == list(range(400))
        await one.writer.usable.wait()
        assert await one.out(300) == list(range(400, 700))
        await one.writer.written()
    assert (tmp_path / "j").stat().st_size <= 1024 * 1024


async def test_an_outage_leaves_no_large_file_behind(tmp_path: Path) -> None:
    async with writing(tmp_path / "j") as one:
        await begun(one)
        for start in range(0, 20_000, 1000):
            one.push(*range(start, start + 1000), size=2000)
            await one.writer.written()
        assert one.writer.covered_ms is None
        await one.out(20_000)
        number = 20_000

        async def shrunk() -> bool:
            nonlocal number
            one.push(number)
            number += 1
            await one.out(1)
            return (tmp_path / "j").stat().st_size < 8 * 1024 * 1024

        while not await shrunk():
            assert number < 20_200


async def test_a_file_that_is_no_journal_is_kept_as_it_is_and_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "j"
    path.write_bytes(b"this is no database at all" * 1000)
    before = path.read_bytes()
    async with writing(path) as one:
        await eventually(lambda: one.failures > 0)
        assert one.reason == "corrupt"
        assert path.read_bytes() == before
        assert "tidegate journal bybit --account main --set-aside" in caplog.text
        one.push(1, 2)
        path.rename(tmp_path / "aside")
        await one.writer.usable.wait()
        assert await one.out(2) == [1, 2]
    assert one.counted("journal_corrupt") >= 1


@pytest.mark.parametrize("other", ["stream", "program"])
async def test_another_stream_s_journal_and_another_program_s_database_are_refused(tmp_path: Path, other: str) -> None:
    path = tmp_path / "j"
    if other == "stream":
        Journal(path, "mexc.main.spot", LARGE).close()
    else:
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE things (a)")
        database.close()
    before = path.read_bytes()
    async with writing(path) as one:
        await eventually(lambda: one.reason == "foreign")
    assert path.read_bytes() == before


async def test_a_frame_that_was_changed_on_disk_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "j"
    journal = Journal(path, STREAM, LARGE)
    journal.commit([Begin(1, "wss://venue.test", 1), Release()], -1)
    journal.commit([Push(Frame(FrameKind.TEXT, 1, b"7:" + b"a" * 500))], -1)
    journal.close()
    content = path.read_bytes()
    path.write_bytes(content.replace(b"7:aaaa", b"8:aaaa"))
    async with writing(path) as one:
        coming = asyncio.create_task(one.out(1))
        await eventually(lambda: one.reason == "corrupt")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(coming, 0.2)


@pytest.fixture
def other_process(tmp_path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """One that has the journal ``j``."""
    command = [sys.executable, "-m", "tests.support.journal_child", str(tmp_path / "j"), "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        child.kill()


async def test_only_one_process_has_a_journal_and_the_next_gets_it_when_that_is_gone(
    tmp_path: Path, other_process: "subprocess.Popen[bytes]"
) -> None:
    async with writing(tmp_path / "j") as one:
        await eventually(lambda: one.failures > 0)
        assert one.reason == "locked"
        other_process.kill()
        await one.writer.usable.wait()
        assert one.reason is None


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    async with writing(tmp_path / "file" / "j") as one:
        await eventually(lambda: one.failures > 0)
        assert one.reason == "unwritable"
        assert str(tmp_path / "file" / "j") in str(one.writer.problem)
        (tmp_path / "file").unlink()
        await one.writer.usable.wait()


async def test_what_waits_for_a_slow_disk_is_bounded(tmp_path: Path) -> None:
    one = Writing(tmp_path / "j", LARGE)
    frame = Frame(FrameKind.TEXT, 1, bytes(MAX_PENDING_BYTES // 4))
    assert [one.writer.put(Push(frame)) for _ in range(6)] == [True, True, True, True, False, False]
    assert one.writer.put(Release())


async def test_a_commit_in_doubt_is_not_written_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit reaches the file, and the answer is an error: what is there is looked at when it is opened again."""
    real, failing = Journal.size, [False]

    def size(journal: Journal) -> object:
        if failing[0]:
            failing[0] = False
            raise JournalError("unwritable", "j", "an error behind the commit")
        return real(journal)

    monkeypatch.setattr(Journal, "size", size)
    async with writing(tmp_path / "j") as one:
        await begun(one)
        one.push(1, 2)
        await one.writer.written()
        failing[0] = True
        one.push(3, 4)
        await eventually(lambda: one.failures == 1)
        one.push(5)
        assert await one.out(5) == [1, 2, 3, 4, 5]
        await one.writer.usable.wait()
    journal = Journal(tmp_path / "j", STREAM, LARGE)
    assert (journal.head.number, journal.read(-1, 10, LARGE)) == (6, [])
    journal.close()


def test_the_child_says_what_it_does(tmp_path: Path) -> None:
    """The other tests stand on these words."""
    command = [sys.executable, "-m", "tests.support.journal_child", str(tmp_path / "j"), "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline().decode() for _ in range(20)]
        child.kill()
    assert all(re.fullmatch(r"(written|confirmed) \d+\n", line) for line in lines)
