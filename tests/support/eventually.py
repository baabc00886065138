"""Wait for a condition instead of for a time."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

__all__ = ["eventually", "eventually_async", "eventually_sync"]

WITHIN: Final = 60.0
INTERVAL: Final = 0.02

T = TypeVar("T")


async def eventually(
    probe: Callable[[], T], what: str = "", *, within: float = WITHIN, interval: float = INTERVAL
) -> T:
    """Ask ``probe`` until its answer is true and return that; a failed assertion in it counts as not yet."""
    wait = _Wait(probe, what, within)
    while True:
        answer = wait.ask(probe)
        if answer:
            return answer
        wait.check()
        await asyncio.sleep(interval)


async def eventually_async(
    probe: Callable[[], Awaitable[T]], what: str = "", *, within: float = WITHIN, interval: float = INTERVAL
) -> T:
    """As ``eventually``, for a question that has to be awaited; one that hangs is cut off at the deadline."""
    wait = _Wait(probe, what, within)
    while True:
        try:
            async with asyncio.timeout(wait.left()):
                answer = await probe()
        except (AssertionError, TimeoutError) as error:
            wait.last = error
        else:
            wait.last = answer
            if answer:
                return answer
        wait.check()
        await asyncio.sleep(interval)


def eventually_sync(probe: Callable[[], T], what: str = "", *, within: float = WITHIN, interval: float = INTERVAL) -> T:
    """As ``eventually``, where no event loop runs."""
    wait = _Wait(probe, what, within)
    pause = threading.Event()
    while True:
        answer = wait.ask(probe)
        if answer:
            return answer
        wait.check()
        pause.wait(interval)


class _Wait:
    """The deadline and the last answer, for the message of the failure."""

    def __init__(self, probe: Callable[[], object], what: str, within: float) -> None:
        self.what = what or f"{probe.__module__}:{getattr(probe, '__qualname__', repr(probe))}"
        self.within = within
        self.deadline = time.monotonic() + within
        self.last: object = None

    def left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    def ask(self, probe: Callable[[], T]) -> T | None:
        try:
            answer = probe()
        except AssertionError as error:
            self.last = error
            return None
        self.last = answer
        return answer

    def check(self) -> None:
        if self.left() == 0.0:
            raise AssertionError(f"not so within {self.within:g} s: {self.what}; last answer was {self.last!r}")
