"""Raw queues, owned and consumed by one member."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final
from weakref import WeakValueDictionary

from shared.bus.base import Delivery
from shared.bus.rabbit.claims import Claim, Claims
from shared.bus.rabbit.detached import detached
from shared.bus.rabbit.errors import answered, translate_errors
from shared.bus.rabbit.link import Link, close_channel
from shared.bus.rabbit.members import Membership
from shared.bus.wakeup import Wakeup
from shared.control import StreamInfo
from shared.errors import BrokerError, BrokerUnavailable

__all__ = ["RabbitRawConsumer"]

DEADLINE_S: Final = 10.0


class RabbitRawConsumer:
    """See ``RawConsumer``. A channel per stream: acknowledgements stay within it, a refusal costs nobody else.

    At most ``prefetch`` unacknowledged deliveries per stream. When one channel ends without having been closed, for
    whatever reason, all of the consumer does: a stream that silently has no consumer would be worse. So it does when
    either of the bus's connections is lost: what is published and what is owned have one fate.
    """

    def __init__(self, member: str, plane: str, links: Sequence[Link], claims: Claims) -> None:
        """The last of the links is the one that consumes."""
        self.member = member
        self._claims = claims
        self._owned: dict[str, Claim] = {}
        self._adding: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._ready: deque[Delivery] = deque()
        self._wakeup = Wakeup()
        self._membership = Membership(links[-1], plane, member, self._end)
        self._unwatch: list[Callable[[], None]] = []
        try:
            for link in links:
                self._unwatch.append(link.watch(lambda: self._end("a connection to the broker was lost")))
        except BrokerUnavailable as error:
            self._end(str(error))

    async def members(self) -> int:
        """See ``RawConsumer.members``."""
        self._wakeup.check()
        return await self._membership.count()

    async def leave(self) -> None:
        """See ``RawConsumer.leave``."""
        self._wakeup.check()
        await self._membership.leave()

    def check(self) -> None:
        """See ``RawConsumer.check``."""
        if not self._membership.holds():
            self._end("the broker has not answered for a heartbeat: what was owned may be someone else's")
        self._wakeup.check()

    async def add(self, stream: StreamInfo) -> None:
        """See ``RawConsumer.add``."""
        lock = self._adding.setdefault(stream.stream, asyncio.Lock())
        async with lock:
            self._wakeup.check()
            if stream.stream in self._owned:
                return
            await self._membership.join()
            claim = await self._claims.take(stream, self._on_delivery)
            if self._wakeup.closed is not None:
                await self._claims.abandon([claim])
                self._wakeup.check()
            self._own(claim)

    async def release(self, stream: StreamInfo) -> None:
        """See ``RawConsumer.release``."""
        self._wakeup.check()
        claim = self._owned.get(stream.stream)
        if claim is None or claim.released:
            return
        claim.released = True
        self._withhold(claim)
        try:
            async with answered(f"release {claim.queue}", DEADLINE_S):
                await detached(claim.channel.basic_cancel(claim.tag))
                await claim.settled()
                self._wakeup.check()
                await claim.give_back()
        except BrokerError as error:
            self._end(str(error))
            raise
        self._owned.pop(stream.stream, None)
        self._claims.released(claim)
        await close_channel(claim.channel)

    async def receive(self, limit: int) -> list[Delivery]:
        """See ``RawConsumer.receive``."""
        self._wakeup.check()
        while not self._ready:
            await self._wakeup.wait()
        return [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """See ``RawConsumer.ack``."""
        self._wakeup.check()
        tags: dict[str, list[int]] = {}
        for delivery in deliveries:
            tags.setdefault(delivery.key, []).append(delivery.tag)
        claims = [(claim, settled) for name, settled in tags.items() if (claim := self._owned.get(name)) is not None]
        if not claims:
            return
        if any(claim.channel.is_closed for claim, _ in claims):  # a frame on such a channel ends the connection
            raise BrokerUnavailable("acknowledge: a channel was closed")
        lane = claims[0][0].lane
        with translate_errors("acknowledge"):
            lane.write(b"".join(claim.acknowledgements(settled) for claim, settled in claims))
        if lane.congested:
            async with answered("acknowledge", DEADLINE_S):
                await lane.drain()
        for claim, _ in claims:
            claim.acknowledged()

    async def close(self) -> None:
        """See ``RawConsumer.close``."""
        self._end("the consumer was closed")
        owned, self._owned = self._owned, {}
        await asyncio.gather(self._claims.abandon(owned.values()), self._membership.close())

    def _own(self, claim: Claim) -> None:
        if claim.stream in self._owned:  # since its first delivery
            return

        def gone(what: str) -> None:
            if self._owned.get(claim.stream) is claim:
                self._end(f"{what} {claim.queue}")

        self._owned[claim.stream] = claim
        claim.channel.on_consumer_cancel_callbacks.add(lambda _: gone("RabbitMQ cancelled the consumer of"))
        claim.channel.closing.add_done_callback(lambda _: gone("the channel was closed that consumed"))

    def _on_delivery(self, claim: Claim, delivery: Delivery) -> None:
        if self._wakeup.closed is not None:
            return
        self._own(claim)
        claim.outstanding.add(delivery.tag)
        if claim.released:
            claim.withheld += 1
            return
        self._ready.append(delivery)
        self._wakeup.notify()

    def _withhold(self, claim: Claim) -> None:
        """Nothing more of it is handed out."""
        kept = [delivery for delivery in self._ready if delivery.key != claim.stream]
        claim.withheld = len(self._ready) - len(kept)
        self._ready.clear()
        self._ready.extend(kept)

    def _end(self, reason: str) -> None:
        self._wakeup.close(reason)
        self._ready.clear()
        for claim in self._owned.values():
            claim.wake()
        for end in self._unwatch:
            end()
        self._unwatch.clear()
