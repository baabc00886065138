"""The in-process bus: the whole pipeline in one process, without a broker.

Bounded and routed as RabbitMQ does it, with these differences: nothing survives the process, messages don't expire by
age, and an account queue, which RabbitMQ bounds by disk, refuses at its bound (PublishFailed ``nacked``).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from types import TracebackType
from typing import Final, Self

from shared.bus.base import MANDATORY, MOST_HELD, Delivery, RawConsumer, checked_key
from shared.bus.memory_consumer import MemoryRawConsumer
from shared.bus.memory_queue import DropHead, RawQueue, Stored
from shared.bus.routing import matches
from shared.bus.wakeup import Wakeup
from shared.control import StreamInfo
from shared.envelope import Plane
from shared.errors import BrokerUnavailable, PublishFailed
from shared.topology import AMQP_EXCHANGES, QUARANTINE, RAW, QueueLimits, quarantine_queue, raw_key

__all__ = ["SUBSCRIPTION_BYTES", "MemoryBus"]

SUBSCRIPTION_BYTES: Final = 64 * 1024 * 1024
"""A subscription holds at most so much, whatever its limit in messages."""

_KINDS: Final = {exchange.name: exchange.kind for exchange in AMQP_EXCHANGES}


class MemoryBus:
    """A bus for one process and one event loop; ``limits`` as RabbitMQ's queues have them (all but the TTL)."""

    def __init__(self, limits: QueueLimits | None = None) -> None:
        self._limits = limits or QueueLimits()
        self._raw: dict[str, RawQueue] = {}
        self._quarantine: dict[str, DropHead] = {}
        self._subscribers: set[_Subscriber] = set()
        self._consumers: set[MemoryRawConsumer] = set()
        self._members: dict[Plane, set[MemoryRawConsumer]] = {}
        self._open = False

    async def __aenter__(self) -> Self:
        """Open; nothing can fail."""
        self._open = True
        for plane in ("market", "account"):
            bounds = quarantine_queue(plane, self._limits).arguments
            self._quarantine.setdefault(plane, _bound(bounds))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close: consumers and subscribers get BrokerUnavailable, raw queues keep what they hold."""
        self._open = False
        for consumer in tuple(self._consumers):
            await consumer.close()
        for subscriber in tuple(self._subscribers):
            await subscriber.close()

    @property
    def connected(self) -> bool:
        """Whether the bus is open."""
        return self._open

    async def declare(self, stream: StreamInfo) -> None:
        """Make sure that the raw queue of a stream exists."""
        self._queue(stream)

    async def waiting(self, stream: StreamInfo) -> int:
        """How many messages of a stream's raw queue nobody was handed."""
        self._check()
        queue = self._raw.get(raw_key(stream))
        return 0 if queue is None else len(queue.ready.items)

    async def quarantined(self, plane: Plane, limit: int) -> "_Held":
        """The oldest messages in the quarantine of a plane."""
        self._check()
        return _Held(self._quarantine[plane], limit)

    async def publisher(self, session: RawConsumer | None = None) -> "_Publisher":
        """A new publisher; nothing in this process can be written in part, so that ``check`` is all of its life."""
        return _Publisher(self, None if session is None else session.check)

    async def consume_raw(self, member: str = "", plane: Plane = "market") -> MemoryRawConsumer:
        """A new consumer of raw queues."""
        self._check()
        members = self._members.setdefault(plane, set())
        consumer = MemoryRawConsumer(self._queue, member, members, self._consumers.discard)
        self._consumers.add(consumer)
        return consumer

    async def subscribe(self, exchange: str, patterns: Sequence[str], *, limit: int = 10_000) -> "_Subscriber":
        """A subscription; see ``Bus.subscribe``."""
        self._check()
        subscriber = _Subscriber(exchange, patterns, limit, self._subscribers)
        self._subscribers.add(subscriber)
        return subscriber

    def deliver(self, exchange: str, key: str, body: bytes) -> None:
        """Hand one message to every queue that is bound for it; raises as ``Publisher.publish`` does."""
        self._check()
        checked_key(exchange, key, body)
        routed = False
        if exchange == RAW and (queue := self._raw.get(key)) is not None:
            routed = True
            if not queue.put(key, body):
                raise PublishFailed("nacked", f"the queue of {key} is full")
        if exchange == QUARANTINE and (quarantine := self._quarantine.get(key)) is not None:
            routed = True
            quarantine.append(Stored(0, key, body, redelivered=False))
        for subscriber in self._subscribers:
            if subscriber.wants(exchange, key):
                routed = True
                subscriber.put(key, body)
        if not routed and exchange in MANDATORY:
            raise PublishFailed("returned", f"nobody is bound for {key} on {exchange}")

    def _queue(self, stream: StreamInfo) -> RawQueue:
        self._check()
        key = raw_key(stream)
        if key not in self._raw:
            bound = DropHead(self._limits.raw_messages, self._limits.raw_bytes)
            self._raw[key] = RawQueue(bound, refuses=stream.plane == "account")
        return self._raw[key]

    def _check(self) -> None:
        if not self._open:
            raise BrokerUnavailable("the in-process bus is not open")


class _Publisher:
    """See ``Publisher``. Routing is done before anything else runs, so order is that of the calls."""

    blocked: str | None = None

    def __init__(self, bus: MemoryBus, guard: Callable[[], None] | None) -> None:
        self._bus = bus
        self._guard = guard

    async def publish(self, exchange: str, key: str, body: bytes, *, deadline_s: float) -> None:
        await self.publish_batch(exchange, ((key, body),), deadline_s=deadline_s)

    async def publish_batch(
        self,
        exchange: str,
        messages: Sequence[tuple[str, bytes]],
        *,
        deadline_s: float,  # noqa: ARG002 - nothing here takes time
    ) -> None:
        if self._guard is not None:
            self._guard()
        failure: PublishFailed | None = None
        for key, body in messages:
            try:
                self._bus.deliver(exchange, key, body)
            except PublishFailed as error:
                failure = failure or error
        if failure is not None:
            raise failure
        await asyncio.sleep(0)  # or a publisher that is never short of frames would starve who consumes them


class _Held:
    """See ``Held``."""

    def __init__(self, queue: DropHead, limit: int) -> None:
        self._queue = queue
        self._items: list[Stored] = []
        size = 0
        while len(self._items) < limit and size < MOST_HELD and (taken := queue.take(1)):
            self._items += taken
            size += len(taken[0].body)
        self.bodies = [item.body for item in self._items]

    async def discard(self) -> None:
        """Remove them for good."""
        self._items.clear()

    async def close(self) -> None:
        """Those that were not discarded go back to where they were."""
        items, self._items = self._items, []
        self._queue.restore(items)


class _Subscriber:
    """See ``Subscriber``."""

    def __init__(self, exchange: str, patterns: Sequence[str], limit: int, registry: "set[_Subscriber]") -> None:
        self._exchange = exchange
        self._kind = _KINDS[exchange]
        self._patterns = tuple(patterns)
        self._registry = registry
        self._messages = DropHead(limit, SUBSCRIPTION_BYTES)
        self._wakeup = Wakeup()
        self._count = 0

    @property
    def dropped(self) -> int:
        return self._messages.dropped

    def wants(self, exchange: str, key: str) -> bool:
        return exchange == self._exchange and any(matches(self._kind, pattern, key) for pattern in self._patterns)

    def put(self, key: str, body: bytes) -> None:
        self._count += 1
        self._messages.append(Stored(self._count, key, body, redelivered=False))
        self._wakeup.notify()

    async def receive(self) -> Delivery:
        self._wakeup.check()
        while not (taken := self._messages.take(1)):
            await self._wakeup.wait()
        item = taken[0]
        return Delivery(item.key, item.body, item.position, item.redelivered, perf_counter_ns())

    async def close(self) -> None:
        self._registry.discard(self)
        self._wakeup.close("the subscription was closed")


def _bound(arguments: Mapping[str, str | int | bool]) -> DropHead:
    return DropHead(int(arguments["x-max-length"]), int(arguments["x-max-length-bytes"]))
