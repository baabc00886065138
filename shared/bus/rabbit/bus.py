"""The bus on RabbitMQ, as the port has it."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Literal, Self
from weakref import WeakSet

from shared.bus.base import MOST_HELD, RawConsumer
from shared.bus.rabbit.claims import Claims, Locks
from shared.bus.rabbit.consumer import RabbitRawConsumer
from shared.bus.rabbit.held import RabbitHeld
from shared.bus.rabbit.link import Link, LinkBroker, LinkState
from shared.bus.rabbit.plain import PlainPublisher
from shared.bus.rabbit.publisher import LeanPublisher
from shared.bus.rabbit.publishing import BodyLimit, RabbitPublisher
from shared.bus.rabbit.subscriber import RabbitSubscriber
from shared.bus.rabbit.topology import Topology
from shared.control import StreamInfo
from shared.envelope import Plane
from shared.topology import QueueLimits, quarantine_queue

__all__ = ["PublisherKind", "RabbitBus"]

PublisherKind = Literal["lean", "plain"]
"""How it publishes: with frames of its own making, or as aio-pika does."""

PREFETCH: Final = 32
"""Envelopes per stream that are handed out and not acknowledged; each may hold 200 frames."""

HEARTBEAT_S: Final = 10
"""RabbitMQ recommends 5 to 20."""

CLOSE_S: Final = 5.0


class RabbitBus:
    """A bus on the broker at ``url`` (``amqp://`` or ``amqps://``).

    ``name`` is how its connections show in RabbitMQ (with ``publish`` and ``consume`` behind it). ``limits`` are those
    of the queues it declares; everyone on the same broker has to have the same. Nobody owns a stream for longer than
    one ``heartbeat_s`` without a word from the broker, which frees the locks of a silent process after two to three.
    """

    def __init__(
        self,
        url: str,
        name: str,
        limits: QueueLimits | None = None,
        *,
        prefetch: int = PREFETCH,
        publisher: PublisherKind = "lean",
        heartbeat_s: int = HEARTBEAT_S,
    ) -> None:
        self._limits = limits or QueueLimits()
        self._prefetch = prefetch
        self._publisher = PlainPublisher if publisher == "plain" else LeanPublisher
        self._publishing = Link(url, f"{name} publish", heartbeat_s)
        self._consuming = Link(url, f"{name} consume", heartbeat_s)
        self._topology = Topology(self._consuming, self._limits)
        self._body_limit = BodyLimit()
        self._locks: Locks = {}
        self._consumers: WeakSet[RabbitRawConsumer] = WeakSet()
        self._subscribers: WeakSet[RabbitSubscriber] = WeakSet()

    async def __aenter__(self) -> Self:
        """Connect and declare; raises BrokerUnavailable or TopologyMismatch. May be entered again after leaving."""
        try:
            await self._consuming.open(self._topology.expire)
            await self._publishing.open(self._topology.expire)
            await self._topology.declare_all()
        except BaseException:
            with suppress(TimeoutError):
                async with asyncio.timeout(CLOSE_S):
                    await self._close_links()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close consumers, subscriptions and connections: within 5 s, whatever the broker does."""
        users: list[RabbitRawConsumer | RabbitSubscriber] = [*self._consumers, *self._subscribers]
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                with suppress(TimeoutError):
                    async with asyncio.timeout(CLOSE_S / 2):
                        await asyncio.gather(*(user.close() for user in users))
                await self._close_links()

    @property
    def brokers(self) -> tuple[LinkBroker, LinkBroker]:
        """FastStream's brokers: the one that publishes and the one that consumes."""
        return self._publishing.broker, self._consuming.broker

    @property
    def connected(self) -> bool:
        """Whether both connections are up; a broker that froze shows after three heartbeats."""
        return self._publishing.connected and self._consuming.connected

    @property
    def connections(self) -> dict[str, LinkState]:
        """How the connections stand, by purpose; what consumes is never blocked."""
        return {"publish": self._publishing.state, "consume": self._consuming.state._replace(blocked=None)}

    async def declare(self, stream: StreamInfo) -> None:
        """See ``Bus.declare``; from now on the queue is declared again after every reconnect."""
        await self._topology.declare(stream)

    async def waiting(self, stream: StreamInfo) -> int:
        """See ``Bus.waiting``."""
        return await self._topology.waiting(stream)

    async def quarantined(self, plane: Plane, limit: int) -> RabbitHeld:
        """See ``Bus.quarantined``."""
        queue = quarantine_queue(plane, self._limits).name
        return await RabbitHeld.of(self._consuming, queue, limit, MOST_HELD)

    async def publisher(self, session: RawConsumer | None = None) -> RabbitPublisher:
        """See ``Bus.publisher``; its channel is opened by the first publish."""
        return self._publisher(self._publishing, self._topology, self._body_limit, session)

    async def consume_raw(self, member: str = "", plane: Plane = "market") -> RabbitRawConsumer:
        """See ``Bus.consume_raw``; without a connection it has ended already."""
        claims = Claims(self._consuming, self._topology, self._limits, self._prefetch, member, self._locks)
        consumer = RabbitRawConsumer(member, plane, (self._publishing, self._consuming), claims)
        self._consumers.add(consumer)
        return consumer

    async def subscribe(self, exchange: str, patterns: Sequence[str], *, limit: int = 10_000) -> RabbitSubscriber:
        """See ``Bus.subscribe``."""
        subscriber = RabbitSubscriber(self._consuming, self._topology, exchange, patterns, limit)
        await subscriber.open()
        self._subscribers.add(subscriber)
        return subscriber

    async def _close_links(self) -> None:
        await asyncio.gather(self._publishing.close(), self._consuming.close())
