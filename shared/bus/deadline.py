"""A deadline that a loop which lags doesn't miss for others: what arrived in time counts, though nobody looked yet."""

import asyncio
from types import TracebackType
from typing import Final, Self

__all__ = ["Deadline"]

TURNS: Final = 64
"""Of the event loop. A confirm passes from the socket through a stream reader, the connection's reader and the
channel's before whoever waits for it is woken: some five turns, a few more where much arrived at once."""


class Deadline:
    """As ``asyncio.timeout``: raises TimeoutError when the block takes longer than ``seconds``.

    When the time is over the loop gets some turns first. One that was held up finds timers and arrivals due in one and
    the same turn, and the timers win: a publish would count as failed whose confirm is there.
    """

    def __init__(self, seconds: float, *, turns: int = TURNS) -> None:
        self._seconds = seconds
        self._turns = turns
        self._timeout = asyncio.timeout(None)
        self._handle: asyncio.Handle | None = None

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._handle = asyncio.get_running_loop().call_later(self._seconds, self._due, self._turns)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            self._handle.cancel()
        await self._timeout.__aexit__(kind, error, trace)

    def _due(self, turns: int) -> None:
        loop = asyncio.get_running_loop()
        if turns:
            self._handle = loop.call_soon(self._due, turns - 1)
        else:
            self._timeout.reschedule(loop.time())
