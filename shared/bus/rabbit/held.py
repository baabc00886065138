"""Messages of a quarantine queue, looked at one by one on a channel of their own."""

from typing import TYPE_CHECKING, Final

from pamqp import commands

from shared.bus.rabbit.errors import answered
from shared.bus.rabbit.link import Link, close_channel

if TYPE_CHECKING:
    import aiormq

__all__ = ["RabbitHeld"]

DEADLINE_S: Final = 10.0
"""For each answer."""


class RabbitHeld:
    """See ``Held``. What is not acknowledged goes back to its place when the channel is closed, however it ends."""

    def __init__(self, channel: "aiormq.Channel", queue: str) -> None:
        self._channel = channel
        self._queue = queue
        self._last = 0
        self.bodies: list[bytes] = []

    @classmethod
    async def of(cls, link: Link, queue: str, limit: int, most_bytes: int) -> "RabbitHeld":
        """Fetch the oldest messages; raises BrokerUnavailable."""
        held = cls(await link.channel(confirms=False), queue)
        try:
            await held._fetch(limit, most_bytes)
        except BaseException:
            await held.close()
            raise
        return held

    async def discard(self) -> None:
        """See ``Held.discard``; returns when the broker has done it."""
        if not self._last:
            return
        async with answered(f"remove from {self._queue}", DEADLINE_S):
            await self._channel.basic_ack(self._last, multiple=True)
            await self._channel.queue_declare(self._queue, passive=True)  # answered after what came before it
        self._last = 0

    async def close(self) -> None:
        """See ``Held.close``."""
        await close_channel(self._channel)

    async def _fetch(self, limit: int, most_bytes: int) -> None:
        size = 0
        while len(self.bodies) < limit and size < most_bytes:
            async with answered(f"look into {self._queue}", DEADLINE_S):
                message = await self._channel.basic_get(self._queue)
            delivery = message.delivery
            if not isinstance(delivery, commands.Basic.GetOk) or delivery.delivery_tag is None:
                return
            self._last = delivery.delivery_tag
            self.bodies.append(message.body)
            size += len(message.body)
