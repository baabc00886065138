"""The member list of a plane's normalizers, and one consumer's place on it."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from shared.bus.rabbit.detached import detached
from shared.bus.rabbit.errors import answered
from shared.bus.rabbit.link import Link, close_channel
from shared.clock import boot_ns
from shared.lease import Lease
from shared.topology import members_queue

if TYPE_CHECKING:
    import aiormq
    from aiormq.abc import DeliveredMessage

__all__ = ["Membership"]

DEADLINE_S: Final = 10.0


class Membership:
    """A consumer of the plane's list, on the connection that holds the locks: it goes with them.

    ``lost`` is called with the reason when the place is lost though nobody gave it up.
    """

    def __init__(self, link: Link, plane: str, member: str, lost: Callable[[str], None]) -> None:
        self.member = member
        self._link = link
        self._list = members_queue(plane)
        self._lost = lost
        self._lease = Lease(int(link.heartbeat_s * 1e9))
        self._joining = asyncio.Lock()
        self._channel: aiormq.Channel | None = None
        self._consuming: str | None = None
        self._closed = False

    def holds(self) -> bool:
        """Whether the broker has answered so lately that locks are held for sure; who never joined holds none."""
        return self._channel is None or self._lease.holds(boot_ns())

    async def join(self) -> "aiormq.Channel":
        """Onto the list, if it was not there before, by the channel that is returned; raises BrokerUnavailable."""
        if self._channel is None:
            async with self._joining, answered(f"join {self._list.name}", DEADLINE_S):
                if self._channel is None:
                    self._channel = await self._join()
        return self._channel

    async def count(self) -> int:
        """How many members there are; raises BrokerUnavailable."""
        channel = await self.join()
        async with answered(f"count {self._list.name}", DEADLINE_S):
            sent = boot_ns()
            found = await detached(channel.queue_declare(self._list.name, passive=True))
            self._lease.renew(sent)
        return found.consumer_count or 0

    async def leave(self) -> None:
        """Off the list for good; raises BrokerUnavailable."""
        channel = await self.join()
        consuming, self._consuming = self._consuming, None
        if consuming is not None:
            async with answered(f"leave {self._list.name}", DEADLINE_S):
                await detached(channel.basic_cancel(consuming))

    async def close(self) -> None:
        """Off the list, in bounded time."""
        self._closed = True
        if self._channel is not None:
            await close_channel(self._channel)

    async def _join(self) -> "aiormq.Channel":
        queue, sent = self._list, boot_ns()
        channel = await self._link.channel(confirms=False)
        try:
            await detached(channel.queue_declare(queue.name, durable=True, arguments=dict(queue.arguments)))
            consumed = await detached(
                channel.basic_consume(queue.name, _ignore, no_ack=True, consumer_tag=self.member or None)
            )
        except BaseException:
            await close_channel(channel)
            raise
        self._lease.renew(sent)
        self._consuming = consumed.consumer_tag
        channel.on_consumer_cancel_callbacks.add(lambda _: self._gone("RabbitMQ cancelled the member"))
        channel.closing.add_done_callback(lambda _: self._gone("the channel of the member was closed"))
        return channel

    def _gone(self, what: str) -> None:
        if not self._closed:
            self._lost(f"{what} of {self._list.name}")


async def _ignore(message: "DeliveredMessage") -> None:
    """Nothing is ever published to the list."""
    del message
