"""The journal's shell: what arrives while one commit runs goes into the next; a journal that fails is opened again."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, ParamSpec, TypeVar

from services.ingest.account.journal import Journal, Size
from services.ingest.account.numbering import Advance, Head, Operation, Push, Release, Row, Tell
from services.ingest.account.tail import Tail
from services.ingest.account.telemetry import StreamTelemetry
from shared.clock import Clock
from shared.errors import JournalError

__all__ = ["JournalWriter"]

MAX_PENDING_BYTES: Final = 32 * 1024 * 1024
"""What may wait for a commit: a disk that takes seconds for one does not fill the memory."""

FORGET_S: Final = 0.2
"""How long a confirmed frame may stay on disk when nothing else is to be written."""

REOPEN_S: Final = 2.0
FULL: Final = "full"
READ_FRAMES: Final = 256
READ_BYTES: Final = 4 * 1024 * 1024

P = ParamSpec("P")
T = TypeVar("T")


class _Doubt(NamedTuple):
    """A commit that failed: it is in the file all the same if the file has counted it."""

    operations: Sequence[Operation] = ()
    commit: int = 0


class JournalWriter:
    """One stream's journal in a thread of its own, and the source that its outlet publishes from.

    ``failed`` is called when the journal can't be written any more: whoever feeds it is to stop. What was put by then
    is kept and written first when the journal is back; ``usable`` says whether it is.
    """

    def __init__(self, path: Path, stream: str, max_bytes: int, clock: Clock, telemetry: StreamTelemetry) -> None:
        self._path = path
        self._stream = stream
        self._max_bytes = max_bytes
        self._clock = clock
        self._telemetry = telemetry
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._journal: Journal | None = None
        self._known: Head | None = None
        self._pending: list[Operation] = [Release()]  # what an earlier process still held is older than all that comes
        self._pending_bytes = 0
        self._doubt = _Doubt()
        self._fault: JournalError | None = None
        self._written = asyncio.Event()
        self._wake = asyncio.Event()
        self._readable = asyncio.Event()
        self._closing = asyncio.Event()
        self._tail = Tail()
        self._in_hand: Row | None = None
        self._confirmed = -1
        self._forgotten = -1
        self.problem: JournalError | None = None
        """Why the journal can't be used at the moment; None while it can, or was not opened yet."""
        self.usable = asyncio.Event()
        self.failed: Callable[[], None] | None = None

    # What the stream's side calls

    def put(self, *operations: Operation) -> bool:
        """To be written in one transaction, after all that was put before.

        False: too much waits for the disk, and what the venue pushed was not taken.
        """
        size = sum(len(one.frame.data) for one in operations if isinstance(one, Push | Tell))
        if self._pending_bytes + size > MAX_PENDING_BYTES and isinstance(operations[0], Push):
            return False
        self._pending += operations
        self._pending_bytes += size
        self._written.clear()
        self._wake.set()
        return True

    async def written(self) -> None:
        """Wait until everything that was put is on disk."""
        await self._written.wait()

    @property
    def covered_ms(self) -> int | None:
        """Up to when reconciliations told everything (ms, the venue's clock); None: there was none yet."""
        return None if self._known is None else self._known.covered_ms

    @property
    def epoch(self) -> int:
        """The newest epoch on disk, 0 before there is one."""
        return 0 if self._known is None else self._known.epoch

    @property
    def symbols(self) -> frozenset[str]:
        """Native symbols that the account had to do with, over all its time."""
        return frozenset() if self._journal is None else self._journal.symbols

    # What the outlet calls

    async def next(self) -> Row:
        """The oldest frame that was not handed out yet, from memory or from disk."""
        while (row := self._tail.take()) is None:
            journal = self._journal
            if journal is None or self._fault is not None or not self._tail.behind:
                self._readable.clear()
                await self._readable.wait()
                continue
            newest = self._tail.newest
            try:
                rows = await self._in_thread(journal.read, self._tail.end, READ_FRAMES, READ_BYTES)
            except JournalError as error:
                self._fault = error
                self._wake.set()
            else:
                self._tail.loaded(rows, newest)
        self._in_hand = row
        return row

    def confirmed(self, row: Row) -> None:
        """The frame is in the broker; its place on disk is free with one of the next commits."""
        self._in_hand = None
        if self._confirmed == self._forgotten:
            self._wake.set()
        self._confirmed = row.position

    @property
    def empty(self) -> bool:
        """Whether everything is on disk, and everything on disk was confirmed."""
        return self._written.is_set() and self._confirmed >= self._tail.newest

    # The thread's side

    async def run(self) -> None:
        """Until :meth:`close`; whatever happens to the journal, it is tried again."""
        try:
            while True:
                try:
                    await self._open()
                    await self._serve()
                    break
                except JournalError as error:
                    await self._break(error)
                if await self._closes_within(REOPEN_S):
                    self._telemetry.journal_abandoned(len(self._pending) + len(self._doubt.operations))
                    break
        finally:
            await self._shut()
            self._executor.shutdown(wait=False)

    def close(self) -> None:
        """Write what waits, then end :meth:`run`."""
        self._closing.set()
        self._wake.set()

    async def _open(self) -> None:
        self._fault = None
        journal, (first, newest), size = await self._in_thread(self._open_file)
        if self._known is None:
            self._confirmed = self._forgotten = first - 1
            self._telemetry.resumed(newest - first + 1)
        self._known = journal.head
        if journal.commits < self._doubt.commit:
            self._pending[:0] = self._doubt.operations
        self._doubt = _Doubt()
        self._tail.found(first, newest)
        self._telemetry.journal_opened(str(self._path), size.frames + size.held)
        self._report(size)
        self._readable.set()

    async def _serve(self) -> None:
        """Commit after commit, until closing. The first one proves that it can be written."""
        await self._commit()
        while True:
            self._wake.clear()
            if self._fault is not None:
                raise self._fault
            if self._pending:
                await self._commit()
            elif self._closing.is_set():
                if self._forgotten != self._confirmed:
                    await self._commit()
                return
            else:
                await self._idle()

    async def _idle(self) -> None:
        """Until there is something to write; what was confirmed is forgotten when nothing comes for a moment."""
        try:
            async with asyncio.timeout(None if self._forgotten == self._confirmed else FORGET_S):
                await self._wake.wait()
        except TimeoutError:
            await self._commit()

    async def _commit(self) -> None:
        journal = self._journal
        if journal is None:
            raise RuntimeError("a commit without a journal")
        operations, self._pending, self._pending_bytes = self._pending, [], 0
        confirmed = self._confirmed
        started = self._clock.monotonic()
        self._doubt = _Doubt(operations, journal.commits + 1)
        step, size = await self._in_thread(_write, journal, operations, confirmed)
        self._doubt = _Doubt()
        self._forgotten = confirmed
        self._known = step.head
        self._tail.committed(step.rows)
        self._telemetry.committed(len(step.rows), self._clock.monotonic() - started)
        self._report(size)
        if not self.usable.is_set():
            self.problem = None
            self._telemetry.journal_usable()
            self.usable.set()
        if step.rows:
            self._readable.set()
        if not self._pending:
            self._written.set()

    async def _break(self, error: JournalError) -> None:
        self.problem = error
        self.usable.clear()
        self._telemetry.journal_failed(error)
        if self.failed is not None:
            self.failed()
        if error.reason != FULL:  # what is in a full one can still leave, and makes room
            await self._shut()

    async def _closes_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._closing.wait()
        except TimeoutError:
            return False

    async def _shut(self) -> None:
        try:
            await self._in_thread(self._close_file)
        except JournalError as error:
            self._telemetry.journal_failed(error)

    def _open_file(self) -> tuple[Journal, tuple[int, int], Size]:
        if self._journal is None:
            self._journal = Journal(self._path, self._stream, self._max_bytes, self._known)
        journal = self._journal
        return journal, journal.positions(), journal.size()

    def _close_file(self) -> None:
        journal, self._journal = self._journal, None
        if journal is not None:
            journal.close()

    def _report(self, size: Size) -> None:
        head = self._known
        row = self._in_hand or self._tail.oldest
        oldest = row.frame if row is not None else head.held[0] if head is not None and head.held else None
        self._telemetry.journal(size, 0 if oldest is None else oldest.ts_received)

    async def _in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.wrap_future(self._executor.submit(work, *args, **kwargs))


def _write(journal: Journal, operations: Sequence[Operation], confirmed: int) -> tuple[Advance, Size]:
    return journal.commit(operations, confirmed), journal.size()
