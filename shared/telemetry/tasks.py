"""Background tasks that cannot get lost: the loop itself holds tasks by weak references only."""

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

__all__ = ["TaskSet"]

CrashHandler = Callable[[str, BaseException], object]


class TaskSet:
    """Holds tasks by strong references until they end, and makes a crash known.

    ::

        async with TaskSet(events.task_crashed) as tasks:
            tasks.spawn(sampler.run(), "loop_sampler")
            await tasks.first(stop.wait())    # raises what the first crashed task raised

    A crash is handed to ``on_crash(name, error)`` at once and raised by :meth:`first`. Cancellation is no crash.
    """

    def __init__(self, on_crash: CrashHandler | None = None) -> None:
        self._tasks: set[asyncio.Task[object]] = set()
        self._on_crash = on_crash
        self._crash: BaseException | None = None
        self._crashed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._tasks)

    def spawn(self, work: Coroutine[Any, Any, object], name: str) -> asyncio.Task[object]:
        """Start a task. ``name`` should be a bounded word: it becomes a label when the task crashes."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    async def first(self, work: Coroutine[Any, Any, object]) -> None:
        """Until ``work`` is done, or a task crashes (or has): then ``work`` is cancelled and the crash raised."""
        waiting = asyncio.ensure_future(work)
        crashed = asyncio.ensure_future(self._crashed.wait())
        try:
            await asyncio.wait((waiting, crashed), return_when=asyncio.FIRST_COMPLETED)
            if self._crash is not None:
                raise self._crash
            await waiting
        finally:
            waiting.cancel()
            crashed.cancel()
            await asyncio.gather(waiting, crashed, return_exceptions=True)

    async def join(self, deadline_s: float) -> bool:
        """Wait until all tasks have ended, at most so long; whether they have. None is cancelled."""
        if self._tasks:
            await asyncio.wait(tuple(self._tasks), timeout=deadline_s)
        return not self._tasks

    async def close(self) -> None:
        """Cancel all tasks and wait for their end."""
        while self._tasks:
            for task in self._tasks:
                task.cancel()
            await asyncio.wait(tuple(self._tasks))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _done(self, task: asyncio.Task[object]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        if self._crash is None:
            self._crash = error
            self._crashed.set()
        if self._on_crash is not None:
            self._on_crash(task.get_name(), error)
