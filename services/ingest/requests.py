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

POLL_SPREAD_S = 5.0


class StreamRequests:
    """The requests of one epoch of a stream; they end with ``tasks``, so that no late reply gets into the next one."""

    def __init__(
        self,
        client: RestClient,
        tasks: TaskSet,
        deliver: Callable[[RestReply], None],
        failed: Callable[[RequestFailed, float], None],
    ) -> None:
        self._client = client
        self._tasks = tasks
        self._deliver = deliver
        self._failed = failed
        self._under_way: dict[str, bool] = {}
        """By URL: whether it was asked for again meanwhile."""

    def fetch(self, request: Request) -> None:
        """Make a request and deliver its reply; if the same one is under way, once more when that is answered.

        The answer that is under way may tell of a time before whatever made this one necessary.
        """
        if request.url in self._under_way:
            self._under_way[request.url] = True
            return
        self._under_way[request.url] = False
        self._tasks.spawn(self._fetch(request), "fetch")

    def poll(self, poll: Poll) -> None:
        """Repeat a request until the epoch ends; the first comes within the interval, so that many polls spread out."""
        self._tasks.spawn(self._poll(poll), "poll")

    async def _fetch(self, request: Request) -> None:
        again = True
        while again:
            self._under_way[request.url] = False
            self._deliver(await self._client.get_until(request, Backoff(0.5, 30.0), self._failed))
            again = self._under_way[request.url]
        del self._under_way[request.url]

    async def _poll(self, poll: Poll) -> None:
        await asyncio.sleep(random.random() * min(poll.interval_s, POLL_SPREAD_S))
        while True:
            try:
                self._deliver(await self._client.get(poll.request))
            except RequestFailed as error:
                self._failed(error, poll.interval_s)
            await asyncio.sleep(poll.interval_s)
