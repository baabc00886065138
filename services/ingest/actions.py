"""What is to be said to the venue on one connection: in order, paced."""

import asyncio
from collections.abc import Sequence

from aiolimiter import AsyncLimiter

from services.ingest.requests import StreamRequests
from shared.clock import Clock
from shared.errors import StreamClosed
from shared.exchanges.base import Action, Limits, Send
from shared.subscriptions import SubscriptionTracker
from shared.transport.websocket import WebSocketStream

__all__ = ["Actions"]


class Actions:
    """The way out of one connection.

    Bounded by what is asked of it: an epoch's subscriptions and their retries, one seed per topic, and for each topic
    at most one resync that waits.
    """

    def __init__(self, limits: Limits, tracker: SubscriptionTracker, clock: Clock) -> None:
        self._pace = AsyncLimiter(1, 1 / limits.requests_per_second)
        self._tracker = tracker
        self._clock = clock
        self._jobs: asyncio.Queue[tuple[Sequence[Action], str | None]] = asyncio.Queue()
        self._resyncs: set[str] = set()

    def put(self, actions: Sequence[Action]) -> None:
        """To be done after what waits already."""
        if actions:
            self._jobs.put_nowait((actions, None))

    def resync(self, topic: str, actions: Sequence[Action]) -> None:
        """The same for a resync; one that waits still is one for both."""
        if actions and topic not in self._resyncs:
            self._resyncs.add(topic)
            self._jobs.put_nowait((actions, topic))

    async def run(self, socket: WebSocketStream, requests: StreamRequests) -> None:
        """Until cancelled, or the connection has ended."""
        try:
            while True:
                actions, topic = await self._jobs.get()
                if topic is not None:
                    self._resyncs.discard(topic)
                for action in actions:
                    if isinstance(action, Send):
                        await self._send(socket, action)
                    else:
                        requests.fetch(action.request)
        except StreamClosed:
            return  # whoever waits for the end of the connection learns why it ended

    async def _send(self, socket: WebSocketStream, send: Send) -> None:
        await self._pace.acquire()
        self._tracker.sent(send, self._clock.monotonic())
        await socket.send(send.payload)
