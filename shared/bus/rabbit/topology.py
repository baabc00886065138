"""Declares what ``shared.topology`` names."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from shared.bus.rabbit.detached import detached, in_background
from shared.bus.rabbit.errors import AccessRefused, EntityMissing, translate_errors
from shared.bus.rabbit.link import Link, close_channel
from shared.control import StreamInfo
from shared.errors import BrokerUnavailable, TopologyMismatch
from shared.topology import AMQP_EXCHANGES, AmqpExchange, Queue, QueueLimits, quarantine_queue, raw_queue

if TYPE_CHECKING:
    import aiormq

__all__ = ["Topology"]

DEADLINE_S: Final = 10.0

Step = Callable[["aiormq.Channel"], Coroutine[Any, Any, int]]
"""Asks the broker for something; the number in the answer that is of interest, 0 where there is none."""


class _Thing(NamedTuple):
    """What is to be there: how to make sure of it, and how to look whether it is."""

    name: str
    declare: Step
    look: Step


class Topology:
    """Declares on a channel of its own on the consuming connection, which a memory alarm does not block.

    After a reconnect the broker may have lost everything; whoever opens a channel calls ``ensure`` first, and the
    first one to do so declares it all again. Who has no permission to declare looks whether it is there.
    """

    def __init__(self, link: Link, limits: QueueLimits) -> None:
        self._link = link
        self._limits = limits
        self._streams: dict[str, StreamInfo] = {}
        self._lock = asyncio.Lock()
        self._channel: aiormq.Channel | None = None
        self._stale = True

    def expire(self) -> None:
        """What was declared may be gone."""
        self._stale = True

    async def declare_all(self) -> None:
        """Declare everything; raises TopologyMismatch at the first thing that differs, or BrokerUnavailable."""
        async with self._lock:
            for thing in self._things():
                await self._declare(thing)
            self._stale = False

    async def declare(self, stream: StreamInfo) -> int:
        """Declare a stream's raw queue; how many consumers it has. Raises TopologyMismatch or BrokerUnavailable."""
        async with self._lock:
            queue = raw_queue(stream, self._limits)
            consumers = await self._declare(_queue(queue))
            self._streams[queue.name] = stream
        return consumers

    async def waiting(self, stream: StreamInfo) -> int:
        """Messages that are ready in a stream's raw queue, 0 where there is none; raises BrokerUnavailable."""
        queue = raw_queue(stream, self._limits).name

        async def count(channel: "aiormq.Channel") -> int:
            return (await channel.queue_declare(queue, passive=True)).message_count or 0

        async with self._lock:
            try:
                return await self._run(count, f"look at queue {queue}")
            except EntityMissing:
                return 0

    async def ensure(self) -> None:
        """Declare everything again if it may be gone; raises BrokerUnavailable.

        What exists with other arguments is used as it is: that was settled when it was declared first.
        """
        if self._stale:
            async with self._lock:
                await self._renew()

    async def _renew(self) -> None:
        if not self._stale:  # someone did it while we waited
            return
        self._stale = False  # set again when the connection is lost meanwhile
        try:
            for thing in self._things():
                with suppress(TopologyMismatch):
                    await self._declare(thing)
        except BaseException:
            self._stale = True
            raise

    def _things(self) -> list[_Thing]:
        queues = [quarantine_queue("market", self._limits), quarantine_queue("account", self._limits)]
        queues += [raw_queue(stream, self._limits) for stream in self._streams.values()]
        return [*map(_exchange, AMQP_EXCHANGES), *map(_queue, queues)]

    async def _declare(self, thing: _Thing) -> int:
        try:
            return await self._run(thing.declare, f"declare {thing.name}")
        except AccessRefused as refused:
            try:
                return await self._run(thing.look, f"look at {thing.name}")
            except EntityMissing as error:
                raise BrokerUnavailable(f"{thing.name} is not there, and may not be declared: {refused}") from error

    async def _run(self, step: Step, what: str) -> int:
        try:
            async with asyncio.timeout(DEADLINE_S):
                if self._channel is None or self._channel.is_closed:
                    self._channel = await self._link.channel(confirms=False)
                with translate_errors(what):
                    return await detached(step(self._channel))
        except TimeoutError as error:
            self._drop_channel()
            raise BrokerUnavailable(f"{what}: no answer in {DEADLINE_S:g} s") from error
        except BaseException:
            self._drop_channel()
            raise

    def _drop_channel(self) -> None:
        # A failed step takes its channel with it, and whatever a late one still gets is not for the next.
        channel, self._channel = self._channel, None
        if channel is not None:
            in_background(close_channel(channel))


def _exchange(exchange: AmqpExchange) -> _Thing:
    async def declare(channel: "aiormq.Channel") -> int:
        await channel.exchange_declare(exchange.name, exchange_type=exchange.kind, durable=True)
        return 0

    async def look(channel: "aiormq.Channel") -> int:
        await channel.exchange_declare(exchange.name, passive=True)
        return 0

    return _Thing(f"AMQP exchange {exchange.name}", declare, look)


def _queue(queue: Queue) -> _Thing:
    async def declare(channel: "aiormq.Channel") -> int:
        declared = await channel.queue_declare(queue.name, durable=True, arguments=dict(queue.arguments))
        await channel.queue_bind(queue.name, queue.exchange, routing_key=queue.key)
        return declared.consumer_count or 0

    async def look(channel: "aiormq.Channel") -> int:
        return (await channel.queue_declare(queue.name, passive=True)).consumer_count or 0

    return _Thing(f"queue {queue.name}", declare, look)
