"""Raw queues, consumed by one process."""

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shared.bus.base import Delivery
from shared.bus.rabbit.acks import Outstanding
from shared.bus.rabbit.deliveries import delivery_of
from shared.bus.rabbit.detached import detached
from shared.bus.rabbit.errors import translate_errors
from shared.bus.rabbit.link import Link, close_channel
from shared.bus.rabbit.topology import Topology
from shared.bus.wakeup import Wakeup
from shared.control import StreamInfo
from shared.errors import BrokerUnavailable
from shared.topology import QueueLimits, raw_queue

if TYPE_CHECKING:
    import aiormq
    from aiormq.abc import DeliveredMessage

__all__ = ["RabbitRawConsumer"]

DEADLINE_S: Final = 10.0


class RabbitRawConsumer:
    """See ``RawConsumer``. A channel per stream: acknowledgements stay within it, a refusal costs nobody else.

    At most ``prefetch`` unacknowledged deliveries per stream. When one channel ends without having been closed, for
    whatever reason, all of the consumer does: a stream that silently has no consumer would be worse.
    """

    def __init__(self, link: Link, topology: Topology, limits: QueueLimits, prefetch: int) -> None:
        self._link = link
        self._topology = topology
        self._limits = limits
        self._prefetch = prefetch
        self._streams: dict[str, _Stream] = {}
        self._adding = asyncio.Lock()
        self._ready: deque[Delivery] = deque()
        self._wakeup = Wakeup()

    async def add(self, stream: StreamInfo) -> None:
        """See ``RawConsumer.add``."""
        async with self._adding:
            self._wakeup.check()
            if stream.stream in self._streams:
                return
            queue = raw_queue(stream, self._limits).name
            try:
                async with asyncio.timeout(DEADLINE_S):
                    await self._topology.declare(stream)
                    await self._consume(stream.stream, queue)
            except TimeoutError as error:
                raise BrokerUnavailable(f"consume {queue}: no answer in {DEADLINE_S:g} s") from error

    async def receive(self, limit: int) -> list[Delivery]:
        """See ``RawConsumer.receive``."""
        self._wakeup.check()
        while not self._ready:
            await self._wakeup.wait()
        return [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """See ``RawConsumer.ack``."""
        self._wakeup.check()
        tags: dict[str, list[int]] = {}
        for delivery in deliveries:
            tags.setdefault(delivery.key, []).append(delivery.tag)
        try:
            async with asyncio.timeout(DEADLINE_S):
                for name, settled in tags.items():
                    with translate_errors(f"acknowledge {name}"):
                        await self._streams[name].ack(settled)
        except TimeoutError as error:
            raise BrokerUnavailable(f"acknowledge: the socket took nothing for {DEADLINE_S:g} s") from error

    async def close(self) -> None:
        """See ``RawConsumer.close``."""
        self._end("the consumer was closed")
        streams, self._streams = self._streams, {}
        await asyncio.gather(*(close_channel(stream.channel) for stream in streams.values()))

    async def _consume(self, name: str, queue: str) -> None:
        channel = await self._link.channel(confirms=False)
        stream = _Stream(name, channel, self._ready, self._wakeup)
        try:
            with translate_errors(f"consume {queue}"):
                await detached(channel.basic_qos(prefetch_count=self._prefetch))
                await detached(channel.basic_consume(queue, stream.on_message, exclusive=True))
            self._wakeup.check()  # closed meanwhile?
        except BaseException:
            await close_channel(channel)
            raise
        self._streams[name] = stream
        channel.on_consumer_cancel_callbacks.add(lambda _: self._end(f"RabbitMQ cancelled the consumer of {queue}"))
        channel.closing.add_done_callback(lambda _: self._end(f"the channel that consumed {queue} was closed"))

    def _end(self, reason: str) -> None:
        self._wakeup.close(reason)
        self._ready.clear()


class _Stream:
    """One channel with one consumer."""

    def __init__(self, name: str, channel: "aiormq.Channel", ready: deque[Delivery], wakeup: Wakeup) -> None:
        self.channel = channel
        self._name = name
        self._ready = ready
        self._wakeup = wakeup
        self._outstanding = Outstanding()

    async def on_message(self, message: "DeliveredMessage") -> None:
        # Runs as a task of its own per delivery, in order; that holds only as long as nothing is awaited here.
        if self._wakeup.closed is not None:
            return
        delivery = delivery_of(message, self._name)
        self._outstanding.add(delivery.tag)
        self._ready.append(delivery)
        self._wakeup.notify()

    async def ack(self, tags: Sequence[int]) -> None:
        acks = self._outstanding.settle(tags)
        for ack in acks[:-1]:
            await self.channel.basic_ack(ack.tag, multiple=ack.multiple, wait=False)
        if acks:
            await self.channel.basic_ack(acks[-1].tag, multiple=acks[-1].multiple, wait=True)
