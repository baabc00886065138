"""Buses that are slow, fail, or hang: the port is real, and what is delivered goes through the in-process bus."""

import asyncio
from collections.abc import Sequence

from shared.bus.base import Publisher, RawConsumer
from shared.bus.memory import MemoryBus
from shared.errors import BrokerUnavailable, PublishFailed

__all__ = ["FaultyBus", "FaultyPublisher"]


class FaultyPublisher:
    """Delivers in the order of the calls, then waits for ``gate`` (and ``delay`` seconds) before it confirms.

    ``failing`` raises that instead of delivering; ``rude`` ignores the deadline.
    """

    blocked: str | None = None

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self.gate = asyncio.Event()
        self.gate.set()
        self.delay = 0.0
        self.failing: Exception | None = None
        self.rude = False
        self.calls = 0
        self.under_way = 0
        self.most_under_way = 0

    def down(self) -> None:
        """Every publish fails."""
        self.failing = BrokerUnavailable("the test says so")

    def up(self) -> None:
        """As if nothing had been."""
        self.failing = None
        self.delay = 0.0
        self.gate.set()

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        await self.publish_batch(exchange, ((key, body),), deadline_s=deadline_s)

    async def publish_batch(self, exchange: str, messages: Sequence[tuple[str, bytes]], *, deadline_s: float) -> None:
        self.calls += 1
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if self.failing is not None:
                raise self.failing
            await self._publisher.publish_batch(exchange, messages, deadline_s=deadline_s)
            async with asyncio.timeout(None if self.rude else deadline_s):
                await asyncio.sleep(self.delay)
                await self.gate.wait()
        except TimeoutError as error:
            raise PublishFailed("timeout", f"no confirm within {deadline_s:g} s") from error
        finally:
            self.under_way -= 1


class FaultyBus(MemoryBus):
    """An in-process bus whose publishers are as a test wants them."""

    def __init__(self) -> None:
        super().__init__()
        self.publishers: list[FaultyPublisher] = []

    async def publisher(self, session: RawConsumer | None = None) -> FaultyPublisher:  # type: ignore[override]
        """A new publisher, remembered."""
        publisher = FaultyPublisher(await super().publisher(session))
        self.publishers.append(publisher)
        return publisher
