"""One connection's worth of normalizing: consume, normalize, publish, and only then acknowledge."""

import asyncio
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from services.normalizer.batch import Batch, Streams
from services.normalizer.telemetry import NormalizerTelemetry
from shared.batching import Trigger
from shared.bus.base import Delivery, Publisher, RawConsumer
from shared.clock import Clock
from shared.control import encode_control
from shared.errors import BrokerError, PublishFailed
from shared.quarantine import encode_record
from shared.settings import Settings
from shared.topology import CONTROL, FIREHOSE, MARKET, QUARANTINE, resync_key

__all__ = ["Session"]

SLICE_NS: Final = 100_000
"""How long frames are normalized before the event loop gets its turn."""


class Session:
    """Holds the state of every stream it consumes; when a connection is lost, all of it goes."""

    def __init__(
        self,
        consumer: RawConsumer,
        publisher: Publisher,
        settings: Settings,
        clock: Clock,
        telemetry: NormalizerTelemetry,
    ) -> None:
        self._consumer = consumer
        self._publisher = publisher
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._streams = Streams(clock)
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Until :meth:`stop`; raises BrokerError when a connection is lost or a batch can't be published."""
        limit = self._settings.normalizer.batch_envelopes
        stopping = asyncio.create_task(self._stop.wait(), name="session stop")
        receiving: asyncio.Task[list[Delivery]] | None = None
        try:
            while not self._stop.is_set():
                receiving = asyncio.create_task(self._consumer.receive(limit), name="receive")
                await asyncio.wait({receiving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not receiving.done():
                    return
                await self._batch(receiving.result())
        finally:
            stopping.cancel()
            if receiving is not None:
                receiving.cancel()
                await asyncio.gather(receiving, return_exceptions=True)

    def stop(self) -> None:
        """End after the batch in hand."""
        self._stop.set()

    async def _batch(self, deliveries: Sequence[Delivery]) -> None:
        batch = Batch()
        started = self._clock.monotonic()
        spent = await self._normalize(deliveries, batch)
        full = len(deliveries) >= self._settings.normalizer.batch_envelopes
        trigger = Trigger.FRAMES if full else Trigger.IDLE
        self._telemetry.normalized(batch, deliveries, trigger, started, spent)
        published = self._clock.monotonic()
        await self._publish(batch)
        self._telemetry.published(batch, self._clock.monotonic() - published, self._clock.wall())
        await self._consumer.ack(deliveries)

    async def _normalize(self, deliveries: Sequence[Delivery], batch: Batch) -> int:
        """Nanoseconds spent normalizing and encoding, without the pauses."""
        clock = self._clock.monotonic
        spent, begun = 0, clock()

        def due() -> bool:
            return clock() - begun > SLICE_NS

        def work() -> Iterator[None]:
            yield from chain.from_iterable(self._streams.handle(delivery, batch, due) for delivery in deliveries)
            batch.gather()
            yield from batch.encode(due, firehose=self._settings.broker.firehose)

        for _ in work():
            spent += clock() - begun
            await asyncio.sleep(0)
            begun = clock()
        return spent + clock() - begun

    async def _publish(self, batch: Batch) -> None:
        records = [(record.plane, encode_record(record)) for record, _ in batch.failures]
        await self._insist(QUARANTINE, records)
        await self._insist(MARKET, batch.market)
        await self._insist(FIREHOSE, batch.firehose)
        for request in batch.resyncs:
            deadline = self._settings.broker.publish_deadline_s
            try:
                await self._publisher.publish(
                    CONTROL, resync_key(request.exchange), encode_control(request), deadline_s=deadline
                )
            except BrokerError as error:
                self._telemetry.resync_unsent(request, error)

    async def _insist(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        """Publish again what the broker refused or did not confirm: consumers deduplicate, but can't guess."""
        deadline = self._settings.broker.publish_deadline_s
        left = self._settings.normalizer.publish_retries
        while messages:
            try:
                await self._publisher.publish_batch(exchange, messages, deadline_s=deadline)
            except PublishFailed as error:
                self._telemetry.publish_failed(error)
                if error.reason == "refused":
                    return await self._without_refused(exchange, messages)
                if not left:
                    raise
                left -= 1
            else:
                return None
        return None

    async def _without_refused(self, exchange: str, messages: Sequence[tuple[str, bytes]]) -> None:
        """A message that no broker takes would hold up its stream for ever: it is counted and left out."""
        for message in messages if len(messages) > 1 else ():
            await self._insist(exchange, [message])
