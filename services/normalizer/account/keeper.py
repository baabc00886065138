"""A store in a thread of its own: a synced transaction takes milliseconds that the event loop does not have."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, TypeVarTuple

from services.normalizer.account.store import Store
from shared.accounts.state_records import Changes, Header, Needs, Recalled, Snapshot

__all__ = ["Keeper"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Keeper:
    """Entering opens the file, leaving closes it, after what is under way. Everything raises StateError."""

    def __init__(self, path: Path, stream: str) -> None:
        self._path = path
        self._stream = stream
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=f"state {stream}")
        self._store: Store | None = None

    async def __aenter__(self) -> Self:
        """Open."""
        try:
            await self._run(self._open)
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        await self._end()

    async def load(self) -> Snapshot:
        """See :meth:`Store.load`."""
        return await self._run(self._opened.load)

    async def recall(self, needs: Needs) -> Recalled:
        """See :meth:`Store.recall`."""
        return await self._run(self._opened.recall, needs)

    async def commit(self, header: Header, changes: Changes) -> None:
        """See :meth:`Store.commit`. Nobody may touch what is given until this returns."""
        await self._run(self._opened.commit, header, changes)

    @property
    def _opened(self) -> Store:
        if self._store is None:
            raise RuntimeError("the store was used before it was opened")
        return self._store

    def _open(self) -> None:
        self._store = Store(self._path, self._stream)

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()

    async def _end(self) -> None:
        """Also when cancelled: whoever opens the file next must not find it locked."""
        try:
            await asyncio.shield(self._run(self._close))
        finally:
            self._pool.shutdown(wait=False)

    def _run(self, work: Callable[[*Ts], T], *arguments: *Ts) -> "asyncio.Future[T]":
        return asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
