"""The journal, whatever is put, whenever the process dies: what was committed is there, in order, under its number.

A crash is a copy of the files as they are at that moment, opened anew: nothing that only the process knew is in them.
"""

import shutil
import sqlite3
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from services.ingest.account.journal import Journal
from services.ingest.account.numbering import Begin, Cover, Learn, Operation, Push, Release, Row, Tell
from services.ingest.account.tail import Tail
from shared.envelope import Frame, FrameKind
from shared.errors import JournalError

STREAM = "bybit.main"
MAX_BYTES = 64 * 1024 * 1024
MARK = b"(mark)"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Thousands of synced commits; what is on trial here is not the disk."""


@dataclass
class Plain:
    """The same rules in the plainest way."""

    numbered: list[tuple[int, int, bytes]] = field(default_factory=list)
    held: list[bytes] = field(default_factory=list)
    epoch: int = 0
    holding: bool = False
    covered: int | None = None
    symbols: frozenset[str] = frozenset()
    forgotten: int = 0
    """So many of the numbered are not in the file any more."""

    def copy(self) -> "Plain":
        return Plain(
            list(self.numbered),
            list(self.held),
            self.epoch,
            self.holding,
            self.covered,
            self.symbols,
            self.forgotten,
        )

    def do(self, operation: Operation) -> None:
        match operation:
            case Push(frame) if self.holding:
                self.held.append(frame.data)
            case Push(frame) | Tell(frame):
                self.give(frame.data)
            case Release():
                self.release()
            case Begin(floor):
                self.release()
                self.epoch = max(self.epoch + 1, floor)
                self.give(MARK)
                self.holding = True
            case Cover(until):
                self.covered = until if self.covered is None else max(self.covered, until)
            case Learn(symbols):
                self.symbols |= set(symbols)

    def give(self, data: bytes) -> None:
        number = sum(1 for epoch, _, _ in self.numbered if epoch == self.epoch)
        self.numbered.append((self.epoch, number, data))

    def release(self) -> None:
        held, self.held, self.holding = self.held, [], False
        for data in held:
            self.give(data)


FRAMES = st.binary(max_size=40).map(lambda data: Frame(FrameKind.TEXT, 1, b"frame:" + data))
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    FRAMES.map(Push),
    FRAMES.map(Push),
    FRAMES.map(Tell),
    st.just(Release()),
    st.integers(1, 50).map(lambda floor: Begin(floor, "wss://venue.test", 1)),
    st.integers(1, 1000).map(Cover),
    st.lists(st.sampled_from("ABC"), max_size=2).map(lambda symbols: Learn(tuple(symbols))),
)


class JournalMachine(RuleBasedStateMachine):
    """Commits, confirms, clean ends, and crashes between and within transactions."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="journal-", dir=MEMORY))
        self.lives = 0
        self.path = self.directory / "0" / "j"
        self.journal = Journal(self.path, STREAM, MAX_BYTES)
        self.plain = Plain()
        self.confirmed = -1

    @initialize()
    def first_epoch(self) -> None:
        self.commit([Begin(1, "wss://venue.test", 1)])

    @rule(operations=st.lists(OPERATIONS, max_size=5))
    def commit(self, operations: list[Operation]) -> None:
        step = self.journal.commit(operations, self.confirmed)
        before = len(self.plain.numbered)
        self.apply(self.plain, operations)
        assert [(row.epoch, row.number, shown(row)) for row in step.rows] == self.plain.numbered[before:]

    @rule(share=st.floats(0, 1))
    def confirm(self, share: float) -> None:
        newest = len(self.plain.numbered) - 1
        self.confirmed += int((newest - self.confirmed) * share)

    @rule()
    def end_and_start_again(self) -> None:
        self.journal.close()
        self.journal = Journal(self.path, STREAM, MAX_BYTES)
        self.confirmed = self.plain.forgotten - 1

    @rule()
    def crash(self) -> None:
        self.reopen_a_copy()

    @precondition(lambda self: self.lives < 12)
    @rule(operations=st.lists(OPERATIONS, min_size=1, max_size=5), steps=st.integers(1, 400))
    def crash_within_a_commit(self, operations: list[Operation], steps: int) -> None:
        left = [steps]

        def interrupt() -> int:
            left[0] -= 1
            return left[0] <= 0

        commits = self.journal.commits
        self.journal._connection.set_progress_handler(interrupt, 1)
        with suppress(JournalError):
            self.journal.commit(operations, self.confirmed)
        self.journal._connection.set_progress_handler(None, 0)
        confirmed = self.confirmed
        self.reopen_a_copy()
        if self.journal.commits > commits:  # otherwise it is as if it had never been
            self.confirmed = confirmed
            self.apply(self.plain, operations)

    def apply(self, plain: Plain, operations: list[Operation]) -> None:
        for operation in operations:
            plain.do(operation)
        plain.forgotten = self.confirmed + 1

    def reopen_a_copy(self) -> None:
        self.lives += 1
        copy = self.directory / str(self.lives)
        shutil.copytree(self.path.parent, copy)
        self.journal.close()
        shutil.rmtree(self.path.parent)
        self.path = copy / "j"
        self.journal = Journal(self.path, STREAM, MAX_BYTES)
        self.confirmed = self.plain.forgotten - 1

    @invariant()
    def what_was_committed_is_there(self) -> None:
        rows = self.journal.read(-1, 10_000, MAX_BYTES)
        plain = self.plain
        assert [(row.epoch, row.number, shown(row)) for row in rows] == plain.numbered[plain.forgotten :]
        assert [row.position for row in rows] == list(range(plain.forgotten, len(plain.numbered)))
        head = self.journal.head
        assert [frame.data for frame in head.held] == plain.held
        assert (head.epoch, head.covered_ms, head.holding) == (plain.epoch, plain.covered, plain.holding)
        assert self.journal.symbols == plain.symbols
        assert self.journal.size()[:2] == (len(rows), len(plain.held))

    @invariant()
    def numbers_are_contiguous_and_epochs_grow(self) -> None:
        places = [(epoch, number) for epoch, number, _ in self.plain.numbered]
        assert places == sorted(set(places))
        for (epoch, number), (next_epoch, next_number) in pairwise(places):
            assert next_number == (number + 1 if next_epoch == epoch else 0)

    def teardown(self) -> None:
        self.journal.close()
        shutil.rmtree(self.directory)


def shown(row: Row) -> bytes:
    return MARK if row.frame.kind == FrameKind.MARK else row.frame.data


TestJournal = JournalMachine.TestCase


@given(st.data())
def test_a_byte_that_changed_on_disk_is_found_before_it_is_published(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        path = Path(directory) / "j"
        journal = Journal(path, STREAM, MAX_BYTES)
        texts = [f"frame {number} ".encode() * 20 for number in range(5)]
        journal.commit([Begin(1, "wss://venue.test", 1), Release()], -1)
        journal.commit([Push(Frame(FrameKind.TEXT, 1, text)) for text in texts], -1)
        journal.close()
        content = bytearray(path.read_bytes())
        start = content.index(texts[data.draw(st.integers(0, 4))])
        content[start + data.draw(st.integers(0, 100))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(content)
        reopened = Journal(path, STREAM, MAX_BYTES)
        try:
            with pytest.raises(JournalError) as caught:
                reopened.read(-1, 100, MAX_BYTES)
        finally:
            reopened.close()
        assert caught.value.reason == "corrupt"


@given(st.integers(0, 40_000), st.binary(min_size=1, max_size=300))
def test_a_file_with_garbage_in_it_is_refused_or_read_right(offset: int, garbage: bytes) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY) as directory:
        path = Path(directory) / "j"
        journal = Journal(path, STREAM, MAX_BYTES)
        texts = [f"frame {number} ".encode() * 40 for number in range(50)]
        journal.commit([Push(Frame(FrameKind.TEXT, 1, text)) for text in texts], -1)
        journal.close()
        content = bytearray(path.read_bytes())
        offset %= len(content)
        content[offset : offset + len(garbage)] = garbage[: len(content) - offset]
        path.write_bytes(content)
        rows, reason = read_back(path)
        known = set(texts)
        assert reason in {None, "corrupt", "foreign"}
        assert all(row.frame.data in known for row in rows)


def read_back(path: Path) -> tuple[list[Row], str | None]:
    """What is in a journal, or why it is refused."""
    try:
        journal = Journal(path, STREAM, MAX_BYTES)
    except JournalError as error:
        return [], error.reason
    try:
        return journal.read(-1, 100, MAX_BYTES), None
    except JournalError as error:
        return [], error.reason
    finally:
        journal.close()


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 4), st.booleans()), max_size=30), st.integers(1, 4))
def test_any_interleaving_of_commits_and_reads_hands_out_every_row_once_in_order(
    steps: list[tuple[int, int, bool]], room: int
) -> None:
    """The disk is a list; a read sees what is committed, also what the tail has not been told yet."""
    tail, disk, out = Tail(max_rows=room), list[Row](), list[int]()
    tail.found(0, -1)

    def take() -> None:
        if tail.behind:
            newest = tail.newest
            tail.loaded([each for each in disk if each.position > tail.end][:3], newest)
        if (row := tail.take()) is not None:
            out.append(row.position)

    for count, takes, told_late in steps:
        new = [Row(position, 1, position, Frame(0, 0, b"x")) for position in range(len(disk), len(disk) + count)]
        disk += new
        if not told_late:
            tail.committed(new)
        for _ in range(takes):
            take()
        if told_late:
            tail.committed(new)
    for _ in range(len(disk) - len(out)):
        take()
    assert out == list(range(len(disk)))


def test_the_file_is_kept_as_the_promise_needs_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", STREAM, MAX_BYTES)
    one = journal._one
    assert (one("PRAGMA journal_mode"), one("PRAGMA synchronous")) == ("wal", 2)
    assert (one("PRAGMA auto_vacuum"), one("PRAGMA max_page_count")) == (2, MAX_BYTES // 4096)
    journal.close()
    with sqlite3.connect(tmp_path / "j") as plain:
        assert plain.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    plain.close()
