"""Declares what ``shared.topology`` names."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from shared.bus.rabbit.detached import detached, in_background
from shared.bus.rabbit.errors import translate_errors
from shared.bus.rabbit.link import Link, close_channel
from shared.control import StreamInfo
from shared.errors import BrokerUnavailable, TopologyMismatch
from shared.topology import AMQP_EXCHANGES, AmqpExchange, Queue, QueueLimits, quarantine_queue, raw_queue

if TYPE_CHECKING:
    import aiormq

__all__ = ["Topology"]

DEADLINE_S: Final = 10.0

Step = Callable[["aiormq.Channel"], Awaitable[object]]


class Topology:
    """Declares on a channel of its own on the consuming connection, which a memory alarm does not block.

    After a reconnect the broker may have lost everything; whoever opens a channel calls ``ensure`` first, and the
    first one to do so declares it all again.
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
            for step, what in self._steps():
                await self._run(step, what)
            self._stale = False

    async def declare(self, stream: StreamInfo) -> None:
        """Declare a stream's raw queue; raises TopologyMismatch or BrokerUnavailable."""
        async with self._lock:
            queue = raw_queue(stream, self._limits)
            await self._run(_queue_step(queue), f"declare queue {queue.name}")
            self._streams[queue.name] = stream

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
            for step, what in self._steps():
                with suppress(TopologyMismatch):
                    await self._run(step, what)
        except BaseException:
            self._stale = True
            raise

    def _steps(self) -> list[tuple[Step, str]]:
        queues = [quarantine_queue("market", self._limits), quarantine_queue("account", self._limits)]
        queues += [raw_queue(stream, self._limits) for stream in self._streams.values()]
        exchanges = [
            (_exchange_step(exchange), f"declare AMQP exchange {exchange.name}") for exchange in AMQP_EXCHANGES
        ]
        return exchanges + [(_queue_step(queue), f"declare queue {queue.name}") for queue in queues]

    async def _run(self, step: Step, what: str) -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                if self._channel is None or self._channel.is_closed:
                    self._channel = await self._link.channel(confirms=False)
                with translate_errors(what):
                    await detached(_awaited(step(self._channel)))
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


async def _awaited(step: Awaitable[object]) -> None:
    await step


def _exchange_step(exchange: AmqpExchange) -> Step:
    return lambda channel: channel.exchange_declare(exchange.name, exchange_type=exchange.kind, durable=True)


def _queue_step(queue: Queue) -> Step:
    async def step(channel: "aiormq.Channel") -> None:
        await channel.queue_declare(queue.name, durable=True, arguments=dict(queue.arguments))
        await channel.queue_bind(queue.name, queue.exchange, routing_key=queue.key)

    return step
