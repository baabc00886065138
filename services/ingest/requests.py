"""REST requests on behalf of streams: coalesced, retried, their replies put where they belong."""

import asyncio
import random
from collections.abc import Callable

from shared.backoff import Backoff
from shared.envelope import RestReply
from shared.errors import RequestFailed
from shared.exchanges.base import Poll, Request
from shared.telemetry.tasks import TaskSet
from shared.transport.http import RestClient

__all__ = ["StreamRequests"]


class StreamRequests:
    """The requests of one epoch of a stream. Leaving the context cancels what is under way."""

    def __init__(
        self, client: RestClient, deliver: Callable[[RestReply], None], failed: Callable[[RequestFailed, float], None]
    ) -> None:
        self._client = client
        self._deliver = deliver
        self._failed = failed
        self._tasks = TaskSet()
        self._under_way: set[str] = set()

    def fetch(self, request: Request) -> None:
        """Make a request and deliver its reply; nothing happens if the same one is under way."""
        if request.url in self._under_way:
            return
        self._under_way.add(request.url)
        self._tasks.spawn(self._fetch(request), "fetch")

    def poll(self, poll: Poll) -> None:
        """Repeat a request until the epoch ends; the first comes within the interval, so that many polls spread out."""
        self._tasks.spawn(self._poll(poll), "poll")

    async def close(self) -> None:
        """Cancel everything."""
        await self._tasks.close()

    async def _fetch(self, request: Request) -> None:
        try:
            self._deliver(await self._client.get_until(request, Backoff(0.5, 30.0), self._failed))
        finally:
            self._under_way.discard(request.url)

    async def _poll(self, poll: Poll) -> None:
        await asyncio.sleep(random.random() * min(poll.interval_s, 5.0))
        while True:
            try:
                self._deliver(await self._client.get(poll.request))
            except RequestFailed as error:
                self._failed(error, poll.interval_s)
            await asyncio.sleep(poll.interval_s)
