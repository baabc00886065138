"""One connection's worth of the account plane: hands deliveries to the workers of their streams."""

import asyncio
from typing import Final

from services.normalizer.account.plans import plan_of
from services.normalizer.account.telemetry import AccountTelemetry
from services.normalizer.account.worker import StreamWorker
from services.normalizer.holding import Owned
from services.normalizer.known import Known
from shared.bus.base import Delivery, Publisher, RawConsumer
from shared.clock import Clock
from shared.control import StreamInfo
from shared.errors import BrokerUnavailable
from shared.settings import Settings

__all__ = ["AccountSession"]

BATCH: Final = 64


class AccountSession:
    """A worker for each stream; streams don't wait for each other. What is in hand is bounded by the prefetch."""

    def __init__(
        self,
        consumer: RawConsumer,
        publisher: Publisher,
        settings: Settings,
        clock: Clock,
        telemetry: AccountTelemetry,
        owned: Owned,
        known: Known,
    ) -> None:
        self._consumer = consumer
        self._publisher = publisher
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._owned = owned
        self._known = known
        self._stop = asyncio.Event()
        self._workers: dict[str, StreamWorker] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._ended: dict[str, asyncio.Task[None]] = {}
        """Workers of streams that were let go, until their files are closed."""

    async def run(self) -> None:
        """Until :meth:`stop`; raises BrokerError when a connection is lost."""
        stopping = asyncio.create_task(self._stop.wait(), name="session stop")
        receiving = asyncio.create_task(self._consumer.receive(BATCH), name="receive")
        try:
            while not self._stop.is_set():
                await asyncio.wait({stopping, receiving, *self._tasks.values()}, return_when=asyncio.FIRST_COMPLETED)
                for task in self._tasks.values():
                    if task.done():
                        task.result()
                if receiving.done():
                    for delivery in receiving.result():
                        await self._put(delivery)
                    receiving = asyncio.create_task(self._consumer.receive(BATCH), name="receive")
        finally:
            ending = [stopping, receiving, *self._tasks.values()]
            for each in ending:
                each.cancel()
            await asyncio.gather(*ending, *self._ended.values(), return_exceptions=True)

    def stop(self) -> None:
        """End: what is not acknowledged comes again."""
        self._stop.set()

    def forget(self, stream: StreamInfo) -> None:
        """A stream is owned no longer, and nothing of it is in hand."""
        self._workers.pop(stream.stream, None)
        task = self._tasks.pop(stream.stream, None)
        if task is not None:
            task.cancel()
            self._ended[stream.stream] = task

    async def _put(self, delivery: Delivery) -> None:
        worker = self._workers.get(delivery.key)
        if worker is None:
            ended = self._ended.pop(delivery.key, None)
            if ended is not None:
                await asyncio.wait({ended})
            worker = self._workers[delivery.key] = self._worker(self._known.streams[delivery.key])
            self._tasks[delivery.key] = asyncio.create_task(worker.run(), name=f"account {delivery.key}")
        worker.put(delivery)

    def _worker(self, info: StreamInfo) -> StreamWorker:
        plan = plan_of(info)
        if plan is None:
            raise BrokerUnavailable(f"{info.exchange} has no account stream {info.stream}")
        telemetry = self._telemetry.stream(info, self._owned)
        return StreamWorker(info, plan, self._consumer, self._publisher, self._settings, self._clock, telemetry)
