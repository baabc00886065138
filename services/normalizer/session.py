"""One connection's worth of normalizing: consume, normalize, publish, and only then acknowledge."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

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
        stopping = asyncio.create_task(self._stop.wait(), name="session stop")
        try:
            while not self._stop.is_set():
                receiving = asyncio.create_task(
                    self._consumer.receive(self._settings.normalizer.batch_envelopes), name="receive"
                )
                await asyncio.wait({receiving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if not receiving.done():
                    receiving.cancel()
                    await asyncio.gather(receiving, return_exceptions=True)
                    return
                await self._batch(receiving.result())
        finally:
            stopping.cancel()

    def stop(self) -> None:
        """End after the batch in hand."""
        self._stop.set()

    async def _batch(self, deliveries: Sequence[Delivery]) -> None:
        batch = Batch()
        started = self._clock.monotonic()
        spent = await self._normalize(deliveries, batch)
        market = batch.market()
        full = len(deliveries) >= self._settings.normalizer.batch_envelopes
        trigger = Trigger.FRAMES if full else Trigger.IDLE
        self._telemetry.normalized(batch, deliveries, trigger, started, spent)
        published = self._clock.monotonic()
        await self._publish(batch, market)
        self._telemetry.published(batch, self._clock.monotonic() - published, self._clock.wall())
        await self._consumer.ack(deliveries)

    async def _normalize(self, deliveries: Sequence[Delivery], batch: Batch) -> int:
        """Nanoseconds spent normalizing, without the pauses."""
        clock = self._clock.monotonic
        spent, begun = 0, clock()

        def due() -> bool:
            return clock() - begun > SLICE_NS

        for delivery in deliveries:
            for _ in self._streams.handle(delivery, batch, due):
                spent += clock() - begun
                await asyncio.sleep(0)
                begun = clock()
        return spent + clock() - begun

    async def _publish(self, batch: Batch, market: Sequence[tuple[str, bytes]]) -> None:
        deadline = self._settings.broker.publish_deadline_s
        publisher = self._publisher
        if batch.quarantine:
            records = [(record.plane, encode_record(record)) for record in batch.quarantine]
            await self._insist(lambda: publisher.publish_batch(QUARANTINE, records, deadline_s=deadline))
        if market:
            await self._insist(lambda: publisher.publish_batch(MARKET, market, deadline_s=deadline))
            if self._settings.broker.firehose:
                wide = [(key, _joined(groups)) for key, groups in batch.firehose()]
                await self._insist(lambda: publisher.publish_batch(FIREHOSE, wide, deadline_s=deadline))
        for request in batch.resyncs:
            try:
                await publisher.publish(
                    CONTROL, resync_key(request.exchange), encode_control(request), deadline_s=deadline
                )
            except BrokerError as error:
                self._telemetry.resync_unsent(request, error)

    async def _insist(self, attempt: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Publish again what the broker refused or did not confirm: consumers deduplicate, but can't guess."""
        for _ in range(self._settings.normalizer.publish_retries):
            try:
                await attempt()
            except PublishFailed as error:
                self._telemetry.publish_failed(error)
            else:
                return
        await attempt()


def _joined(groups: Sequence[tuple[str, bytes]]) -> bytes:
    """One JSON array of the elements of several encoded ones."""
    return b"[" + b",".join(body[1:-1] for _, body in groups) + b"]"
