"""Waiting for something to be there, in both buses."""

import asyncio

from shared.errors import BrokerUnavailable

__all__ = ["Wakeup"]


class Wakeup:
    """Lets one coroutine wait until something is there, or until it never will be."""

    def __init__(self) -> None:
        self._waiter: asyncio.Future[None] | None = None
        self.closed: str | None = None

    def notify(self) -> None:
        """Something is there."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def close(self, reason: str) -> None:
        """Nothing more will come; whoever waits, now or later, gets BrokerUnavailable with the reason."""
        self.closed = self.closed or reason
        self.notify()

    def check(self) -> None:
        """Raise BrokerUnavailable when closed."""
        if self.closed is not None:
            raise BrokerUnavailable(self.closed)

    async def wait(self) -> None:
        """Until the next ``notify``; one waiter at a time."""
        self.check()
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter
        self.check()
