"""Where parsing runs: on the event loop in slices, or a whole batch at once in a thread.

Which is better is measured (``docs/performance.md``), and a setting.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol

from shared.clock import Clock
from shared.telemetry.profile import ProfileSyncBlock

__all__ = ["Executor", "Inline", "Threaded", "Work"]

Work = Callable[[Callable[[], bool]], Iterator[None]]
"""Takes ``due`` and makes the steps of a batch: they pause wherever ``due()`` says so."""

SLICE_NS: Final = 50_000
"""How long parsing holds the event loop before others get their turn."""


class Executor(Protocol):
    """Runs the work of one batch at a time; gives the nanoseconds that it took, without pauses."""

    async def run(self, work: Work) -> int:
        """Do all of it."""
        ...

    def close(self) -> None:
        """No more batches."""
        ...


class Inline:
    """On the loop, in slices of about 50 µs with a turn for others between them."""

    def __init__(self, clock: Clock, profile: ProfileSyncBlock) -> None:
        self._clock = clock.monotonic
        self._profile = profile

    async def run(self, work: Work) -> int:
        """See :class:`Executor`."""
        clock, profile = self._clock, self._profile
        spent, begun = 0, clock()

        def due() -> bool:
            return clock() - begun > SLICE_NS

        steps = work(due)
        while True:
            begun = clock()
            with profile:
                ended = next(steps, True)
            spent += clock() - begun
            if ended:
                return spent
            await asyncio.sleep(0)

    def close(self) -> None:
        """See :class:`Executor`."""


class Threaded:
    """In a thread of its own: a batch crosses once, whole, and the loop shares the interpreter with it."""

    def __init__(self, clock: Clock, profile: ProfileSyncBlock) -> None:
        self._clock = clock.monotonic
        self._profile = profile
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="normalizer")

    async def run(self, work: Work) -> int:
        """See :class:`Executor`."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._all, work)

    def _all(self, work: Work) -> int:
        begun = self._clock()
        with self._profile:
            for _ in work(_never):
                pass
        return self._clock() - begun

    def close(self) -> None:
        """See :class:`Executor`."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _never() -> bool:
    return False
