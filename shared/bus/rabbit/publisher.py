"""Confirmed publishing that comes back by itself."""

import asyncio
from collections.abc import Sequence
from itertools import count

from shared.bus.base import MANDATORY, checked_key
from shared.bus.rabbit.confirms import ConfirmedChannel
from shared.bus.rabbit.errors import EntityMissing, translate_errors
from shared.bus.rabbit.link import Link
from shared.bus.rabbit.topology import Topology
from shared.bus.rabbit.wire import Outgoing
from shared.errors import PublishFailed, TopologyMismatch

__all__ = ["RabbitPublisher"]


class RabbitPublisher:
    """See ``Publisher``. Its channel is opened when it is needed: first, and after it or its connection was lost.

    Without a connection every publish fails at once with BrokerUnavailable. Writing is one publish at a time, in the
    order of the calls; waiting for confirms is not.
    """

    def __init__(self, link: Link, topology: Topology) -> None:
        self._link = link
        self._topology = topology
        self._channel: ConfirmedChannel | None = None
        self._turn = asyncio.Lock()
        self._ids = count()

    @property
    def blocked(self) -> str | None:
        """Why RabbitMQ reads nothing from the publishing connection at the moment, or None."""
        return self._link.blocked

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        """See ``Publisher.publish``."""
        await self.publish_batch(exchange, ((key, body),), deadline_s=deadline_s)

    async def publish_batch(self, exchange: str, messages: Sequence[tuple[str, bytes]], *, deadline_s: float) -> None:
        """See ``Publisher.publish_batch``."""
        outgoing = [self._outgoing(exchange, key, body) for key, body in messages]
        try:
            async with asyncio.timeout(deadline_s):
                await self._publish(exchange, outgoing)
        except TimeoutError as error:
            state = f", the connection was blocked: {self.blocked}" if self.blocked else ""
            detail = f"{len(outgoing)} messages to {exchange} were not confirmed in {deadline_s:g} s{state}"
            raise PublishFailed("timeout", detail) from error
        except EntityMissing:
            self._topology.expire()
            raise
        except TopologyMismatch as error:  # 406: over the broker's own limit of a message's size
            raise PublishFailed("refused", str(error)) from error

    async def _publish(self, exchange: str, messages: Sequence[Outgoing]) -> None:
        async with self._turn:
            channel = await self._open()
            with translate_errors(f"publish to {exchange}"):
                confirmations = await channel.write(messages)
        with translate_errors(f"publish to {exchange}"):
            await channel.confirmed(confirmations)

    async def _open(self) -> ConfirmedChannel:
        if self._channel is None or self._channel.is_closed:
            await self._topology.ensure()
            self._channel = ConfirmedChannel(await self._link.channel(confirms=True))
        return self._channel

    def _outgoing(self, exchange: str, key: str, body: bytes) -> Outgoing:
        encoded = checked_key(exchange, key, body)
        return Outgoing(exchange, encoded, body, str(next(self._ids)) if exchange in MANDATORY else None)
