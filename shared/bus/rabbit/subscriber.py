"""Control traffic and taps: a queue of one's own, made anew whenever the connection was lost."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from shared.bus.base import Delivery
from shared.bus.rabbit.deliveries import Deliveries, untaken
from shared.bus.rabbit.detached import detached
from shared.bus.rabbit.errors import EntityMissing, translate_errors
from shared.bus.rabbit.link import Link, close_channel
from shared.bus.rabbit.topology import Topology
from shared.bus.wakeup import Wakeup
from shared.errors import BrokerError, BrokerUnavailable

if TYPE_CHECKING:
    import aiormq
    from aiormq.abc import ArgumentsType

__all__ = ["RabbitSubscriber"]

MAX_BYTES: Final = 64 * 1024 * 1024
"""A subscription holds at most so much here, and as much again in the broker."""

DEADLINE_S: Final = 10.0
FIRST_DELAY_S: Final = 0.1
MAX_DELAY_S: Final = 2.0


class RabbitSubscriber:
    """See ``Subscriber``. Deliveries are taken as fast as they come and kept under a bound that counts what it drops.

    The queue in the broker has the same bounds, for the case that this process is too slow to even take them.
    """

    def __init__(self, link: Link, topology: Topology, exchange: str, patterns: Sequence[str], limit: int) -> None:
        self._link = link
        self._topology = topology
        self._exchange = exchange
        self._patterns = tuple(patterns)
        self._limit = limit
        self._ready: deque[Delivery] = deque()
        self._bytes = 0
        self._dropped = 0
        self._wakeup = Wakeup()
        self._channel: aiormq.Channel | None = None
        self._lost = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Subscribe; raises BrokerUnavailable."""
        await self._attach()
        self._task = asyncio.create_task(self._keep_attached(), name=f"subscription to {self._exchange}")

    async def receive(self) -> Delivery:
        """See ``Subscriber.receive``."""
        self._wakeup.check()
        while not self._ready:
            await self._wakeup.wait()
        delivery = self._ready.popleft()
        self._bytes -= len(delivery.body)
        return delivery

    @property
    def dropped(self) -> int:
        """What was dropped here because nobody received it; what the broker dropped, it does not tell."""
        return self._dropped

    async def close(self) -> None:
        """See ``Subscriber.close``."""
        self._wakeup.close("the subscription was closed")
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))
        if self._channel is not None:
            await close_channel(self._channel)

    async def _keep_attached(self) -> None:
        delay = FIRST_DELAY_S
        while True:
            await self._lost.wait()
            await self._link.ready()
            try:
                await self._attach()
                delay = FIRST_DELAY_S
            except BrokerError:
                await asyncio.sleep(delay)
                delay = min(2 * delay, MAX_DELAY_S)

    async def _attach(self) -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                await self._topology.ensure()
                channel = await self._link.channel(confirms=False)
                try:
                    with translate_errors(f"subscribe to {self._exchange}"):
                        await detached(self._consume(channel))
                except BaseException:
                    await close_channel(channel)
                    raise
        except TimeoutError as error:
            raise BrokerUnavailable(f"subscribe to {self._exchange}: no answer in {DEADLINE_S:g} s") from error
        except EntityMissing:
            self._topology.expire()
            raise
        self._channel = channel
        self._lost.clear()
        channel.on_consumer_cancel_callbacks.add(lambda _: self._lost.set())
        channel.closing.add_done_callback(lambda _: self._lost.set())

    async def _consume(self, channel: "aiormq.Channel") -> None:
        # A new name each time: the broker may still hold the old queue for a connection that it does not know is dead.
        queue = f"subscription.{self._exchange}.{uuid4().hex}"
        bounds: ArgumentsType = {
            "x-max-length": self._limit,
            "x-max-length-bytes": MAX_BYTES,
            "x-overflow": "drop-head",
        }
        await channel.queue_declare(queue, exclusive=True, auto_delete=True, arguments=bounds)
        for pattern in self._patterns:
            await channel.queue_bind(queue, self._exchange, routing_key=pattern)
        self._link.lane(channel).attach(channel, Deliveries(self._on_delivery))
        await channel.basic_consume(queue, untaken, no_ack=True)

    def _on_delivery(self, delivery: Delivery) -> None:
        if self._wakeup.closed is not None:
            return
        self._ready.append(delivery)
        self._bytes += len(delivery.body)
        while len(self._ready) > self._limit or self._bytes > MAX_BYTES:
            self._bytes -= len(self._ready.popleft().body)
            self._dropped += 1
        self._wakeup.notify()
