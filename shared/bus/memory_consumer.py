"""Raw queues of the in-process bus, consumed by one member."""

import asyncio
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Final

from shared.bus.base import Delivery, StreamBusy
from shared.bus.memory_queue import RawQueue
from shared.bus.wakeup import Wakeup
from shared.control import StreamInfo
from shared.errors import BrokerUnavailable

__all__ = ["MemoryRawConsumer"]

RELEASE_S: Final = 10.0
"""How long what was handed out may take to be acknowledged."""


class MemoryRawConsumer:
    """See ``RawConsumer``. Streams take turns, so that a busy one does not starve the others.

    ``members`` is the list of its plane, which all consumers of the plane share.
    """

    def __init__(
        self,
        queue_of: Callable[[StreamInfo], RawQueue],
        member: str,
        members: "set[MemoryRawConsumer]",
        ended: "Callable[[MemoryRawConsumer], None]",
    ) -> None:
        self.member = member
        self._queue_of = queue_of
        self._members = members
        self._ended = ended
        self._left = False
        self._queues: dict[str, RawQueue] = {}
        self._releasing: dict[str, tuple[RawQueue, asyncio.Event]] = {}
        self._wakeup = Wakeup()

    async def members(self) -> int:
        """See ``RawConsumer.members``."""
        self._join()
        return len(self._members)

    async def leave(self) -> None:
        """See ``RawConsumer.leave``."""
        self._wakeup.check()
        self._left = True
        self._members.discard(self)

    def check(self) -> None:
        """See ``RawConsumer.check``."""
        self._wakeup.check()

    async def add(self, stream: StreamInfo) -> None:
        """See ``RawConsumer.add``."""
        self._join()
        if stream.stream in self._queues:
            return
        queue = self._queue_of(stream)
        if queue.consumer is not None:
            raise StreamBusy(f"the raw queue of {stream.stream} has a consumer")
        queue.consumer = self._wakeup
        self._queues[stream.stream] = queue
        self._wakeup.notify()

    async def release(self, stream: StreamInfo) -> None:
        """See ``RawConsumer.release``."""
        self._wakeup.check()
        queue = self._queues.pop(stream.stream, None)
        if queue is None:
            return
        if queue.handed_out:
            settled = asyncio.Event()
            self._releasing[stream.stream] = queue, settled
            try:
                async with asyncio.timeout(RELEASE_S):
                    await settled.wait()
            except TimeoutError as error:
                await self.close()
                raise BrokerUnavailable(f"{stream.stream} was not dealt with in {RELEASE_S:g} s") from error
            finally:
                self._releasing.pop(stream.stream, None)
        self._wakeup.check()  # closed meanwhile: then the queue was released already
        queue.release()

    async def receive(self, limit: int) -> list[Delivery]:
        """See ``RawConsumer.receive``."""
        self._wakeup.check()
        while not (deliveries := self._take(limit)):
            await self._wakeup.wait()
        return deliveries

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """See ``RawConsumer.ack``."""
        self._wakeup.check()
        for delivery in deliveries:
            if (queue := self._queues.get(delivery.key)) is not None:
                queue.settle((delivery.tag,))
            elif (releasing := self._releasing.get(delivery.key)) is not None:
                queue, settled = releasing
                queue.settle((delivery.tag,))
                if not queue.handed_out:
                    settled.set()

    async def close(self) -> None:
        """See ``RawConsumer.close``."""
        self._wakeup.close("the consumer was closed")
        self._members.discard(self)
        self._ended(self)
        for queue in [*self._queues.values(), *(queue for queue, _ in self._releasing.values())]:
            queue.release()
        for _, settled in self._releasing.values():
            settled.set()
        self._queues.clear()

    def _join(self) -> None:
        self._wakeup.check()
        if not self._left:
            self._members.add(self)

    def _take(self, limit: int) -> list[Delivery]:
        now = perf_counter_ns()
        deliveries: list[Delivery] = []
        for name in tuple(self._queues):
            taken = self._queues[name].take(limit - len(deliveries))
            deliveries += (Delivery(name, item.body, item.position, item.redelivered, now) for item in taken)
            if taken:
                self._queues[name] = self._queues.pop(name)
            if len(deliveries) == limit:
                break
        return deliveries
