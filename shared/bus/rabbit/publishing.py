"""What both publishers on RabbitMQ have in common: deadlines, and which failure is whose."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

from shared.bus.rabbit.errors import EntityMissing
from shared.bus.rabbit.link import Link
from shared.bus.rabbit.topology import Topology
from shared.errors import PublishFailed, TopologyMismatch

__all__ = ["RabbitPublisher"]


class RabbitPublisher(ABC):
    """See ``Publisher``. Its channel is opened when it is needed: first, and after it or its connection was lost.

    Without a connection every publish fails at once with BrokerUnavailable. Writing is one publish at a time, in the
    order of the calls; waiting for confirms is not.
    """

    def __init__(self, link: Link, topology: Topology) -> None:
        self._link = link
        self._topology = topology

    @property
    def blocked(self) -> str | None:
        """Why RabbitMQ reads nothing from the publishing connection at the moment, or None."""
        return self._link.blocked

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        """See ``Publisher.publish``."""
        await self.publish_batch(exchange, ((key, body),), deadline_s=deadline_s)

    async def publish_batch(self, exchange: str, messages: Sequence[tuple[str, bytes]], *, deadline_s: float) -> None:
        """See ``Publisher.publish_batch``."""
        try:
            async with asyncio.timeout(deadline_s):
                await self._topology.ensure()
                await self._send(exchange, messages)
        except TimeoutError as error:
            state = f", the connection was blocked: {self.blocked}" if self.blocked else ""
            detail = f"{len(messages)} messages to {exchange} were not confirmed in {deadline_s:g} s{state}"
            raise PublishFailed("timeout", detail) from error
        except EntityMissing:
            self._topology.expire()
            raise
        except PublishFailed as error:
            if error.reason == "returned":  # the queue or its binding is gone: the next publish declares them again
                self._topology.expire()
            raise
        except TopologyMismatch as error:  # 406: over the broker's own limit of a message's size
            raise PublishFailed("refused", str(error)) from error

    @abstractmethod
    async def _send(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        """Check, write in order, wait for every confirm; raises the first failure as a BrokerError."""
