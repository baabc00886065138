"""Owning streams on RabbitMQ: an exclusive queue is the lock, an exclusive consumer the ownership.

To claim: nobody consumes the raw queue, then the lock is had, then a pause (an owner that crashed while it released has
its lock freed before its deliveries are back), then it is consumed. To release: the other way round.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from aiormq.exceptions import ChannelLockedResource

from shared.bus.base import Delivery, StreamBusy
from shared.bus.rabbit.acks import Outstanding
from shared.bus.rabbit.deliveries import Deliveries, untaken
from shared.bus.rabbit.detached import detached, in_background
from shared.bus.rabbit.errors import answered
from shared.bus.rabbit.lane import Lane
from shared.bus.rabbit.link import Link, close_channel, in_time
from shared.bus.rabbit.topology import Topology
from shared.bus.rabbit.wire import acknowledgement
from shared.control import StreamInfo
from shared.errors import BrokerUnavailable
from shared.topology import QueueLimits, lock_queue, raw_queue

if TYPE_CHECKING:
    import aiormq
    from aiormq.abc import AbstractConnection

__all__ = ["Claim", "Claims", "Locks"]

DEADLINE_S: Final = 10.0
SETTLE_S: Final = 0.1
FREE_S: Final = 2.0
"""What the broker may take to free a lock before its connection is ended."""

OnDelivery = Callable[["Claim", Delivery], None]
Locks = dict[str, "AbstractConnection"]


class Claim:
    """An owned stream: its channel, and what of it is not acknowledged."""

    def __init__(self, stream: str, queue: str, lock: str, channel: "aiormq.Channel", lane: Lane) -> None:
        self.stream = stream
        self.queue = queue
        self.lock = lock
        self.channel = channel
        self.lane = lane
        self.outstanding = Outstanding()
        self.locked = False
        self.tag = ""
        self.released = False
        self.withheld = 0
        """How many of the newest deliveries are not handed out any more."""
        self._settled = asyncio.Event()

    def acknowledgements(self, tags: Sequence[int]) -> bytes:
        """The frames that acknowledge these; what was handed out is settled with them."""
        number = self.channel.number
        acks = self.outstanding.settle(tags)
        return b"".join(acknowledgement(number, ack.tag, multiple=ack.multiple) for ack in acks)

    def acknowledged(self) -> None:
        """They were written."""
        if self.released and len(self.outstanding) <= self.withheld:
            self._settled.set()

    async def settled(self) -> None:
        """Until all that was handed out is acknowledged, or :meth:`wake`."""
        if len(self.outstanding) > self.withheld:
            await self._settled.wait()

    def wake(self) -> None:
        """Nothing is acknowledged any more."""
        self._settled.set()

    async def leave(self) -> None:
        """Close the channel; a quorum queue would count its consumer on for a while if it were not cancelled first."""
        if self.tag:
            await self.channel.basic_cancel(self.tag)
        await self.channel.close()

    async def give_back(self) -> None:
        """What is left of the deliveries goes back, then the lock is free; exceptions are the library's."""
        channel, outstanding = self.channel, self.outstanding
        if outstanding:
            await detached(channel.basic_nack(outstanding.newest, multiple=True, requeue=True))
        # The queue's process has acknowledged and put back everything when it answers this.
        await detached(channel.queue_declare(self.queue, passive=True))
        await detached(channel.queue_delete(self.lock))


class Claims:
    """Makes claims.

    ``locks``: what this process holds by which connection, since a lock is no hurdle on the connection that has it.
    """

    def __init__(
        self, link: Link, topology: Topology, limits: QueueLimits, prefetch: int, member: str, locks: "Locks"
    ) -> None:
        self._link = link
        self._topology = topology
        self._limits = limits
        self._prefetch = prefetch
        self._member = member
        self._locks = locks

    async def take(self, stream: StreamInfo, on_delivery: OnDelivery) -> Claim:
        """Own a stream; raises StreamBusy, BrokerUnavailable or TopologyMismatch, and then nothing is held."""
        queue, lock = raw_queue(stream, self._limits).name, lock_queue(stream)
        connection = self._link.standing()
        if (held := self._locks.get(lock)) is not None and not held.is_closed:
            raise StreamBusy(f"{queue} has an owner in this process")
        self._locks[lock] = connection
        claim: Claim | None = None
        try:
            async with answered(f"claim {queue}", DEADLINE_S):
                _nobody_consumes(queue, await self._topology.declare(stream))
                channel = await self._link.channel(confirms=False)
                claim = Claim(stream.stream, queue, lock, channel, self._link.lane(channel))
                await self._consume(claim, on_delivery)
        except BaseException:
            if claim is None:
                self._forget(lock, connection)
            else:
                in_background(self._undo(claim))
            raise
        return claim

    def released(self, claim: Claim) -> None:
        """A claim was given back."""
        self._forget(claim.lock, claim.channel.connection)

    async def abandon(self, claims: Iterable[Claim]) -> None:
        """Give up claims as they are, in bounded time: what is not acknowledged goes back, then the locks are free."""
        await asyncio.gather(*(self._undo(claim) for claim in claims))

    async def _consume(self, claim: Claim, on_delivery: OnDelivery) -> None:
        channel = claim.channel

        def arrived(delivery: Delivery) -> None:
            on_delivery(claim, delivery)

        await detached(channel.basic_qos(prefetch_count=self._prefetch))
        claim.locked = True  # or maybe so, while nobody has answered
        try:
            await detached(channel.queue_declare(claim.lock, exclusive=True, arguments={"x-queue-type": "classic"}))
        except ChannelLockedResource:
            claim.locked = False
            raise
        await asyncio.sleep(SETTLE_S)
        claim.lane.attach(channel, Deliveries(arrived, claim.stream))
        consumed = await detached(
            channel.basic_consume(claim.queue, untaken, exclusive=True, consumer_tag=self._member or None)
        )
        claim.tag = consumed.consumer_tag or ""

    async def _undo(self, claim: Claim) -> None:
        """The channel first, so that the queue has everything back before the lock is free."""
        closed = claim.channel.is_closed or await in_time(claim.leave())
        connection = claim.channel.connection
        # A lock that is held on to without being used would leave the stream without an owner.
        if claim.locked and not connection.is_closed and not (closed and await _freed(connection, claim.lock)):
            self._link.drop(claim.channel)
        self._forget(claim.lock, connection)

    def _forget(self, lock: str, connection: "AbstractConnection") -> None:
        if self._locks.get(lock) is connection:
            del self._locks[lock]


def _nobody_consumes(queue: str, consumers: int) -> None:
    if consumers:
        raise StreamBusy(f"{queue} has a consumer")


async def _freed(connection: "AbstractConnection", lock: str) -> bool:
    try:
        async with answered(f"free {lock}", FREE_S):
            channel = await detached(connection.channel(publisher_confirms=False), close_channel)
            await detached(channel.queue_delete(lock))
    except StreamBusy:  # it was never ours
        return True
    except BrokerUnavailable:
        return False
    await close_channel(channel)
    return True
