"""How long synchronous code holds the event loop."""

import logging
from time import perf_counter_ns
from types import TracebackType
from typing import Final, Protocol, Self

from shared.telemetry.lines import micro_line

__all__ = ["Observer", "ProfileSyncBlock"]

LINE_INTERVAL: Final = 1_000_000_000


class Observer(Protocol):
    """What takes a duration in seconds: a child of a histogram (``metrics.block_seconds.labels(name)``)."""

    def observe(self, amount: float) -> None:
        """Take one duration in seconds."""
        ...


class ProfileSyncBlock:
    """Context manager around synchronous code: every run is observed, the slowest run of a second is a DEBUG line.

    Make one per block and use it again and again::

        parse = ProfileSyncBlock("raw_router:parse_batch_sync", metrics.block_seconds.labels("parse"), logger)
        with parse:
            ...

    Runs of one object may nest (recursion): each is measured from its own beginning. They must end in reverse order, as
    ``with`` sees to in code that doesn't await; a block that awaits, or another thread, needs an object of its own.
    An exception passes through and its run is measured too.
    """

    __slots__ = ("_logged", "_logger", "_observe", "_started", "_worst", "name")

    def __init__(self, name: str, observer: Observer, logger: logging.Logger) -> None:
        self.name: Final = name
        self._observe = observer.observe
        self._logger = logger
        self._started: list[int] = []
        self._worst = 0
        self._logged = -LINE_INTERVAL

    def __enter__(self) -> Self:
        self._started.append(perf_counter_ns())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        now = perf_counter_ns()
        elapsed = now - self._started.pop()
        self._observe(elapsed * 1e-9)
        if self._logger.isEnabledFor(logging.DEBUG):
            self._log(elapsed, now)

    def _log(self, elapsed: int, now: int) -> None:
        self._worst = max(self._worst, elapsed)
        if now - self._logged >= LINE_INTERVAL:
            self._logger.debug("%s", micro_line(self.name, self._worst))
            self._worst = 0
            self._logged = now
