"""One connection's worth of normalizing: consume, normalize, publish, and only then acknowledge."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Protocol

from services.normalizer.batch import Batch, Seed, Streams
from services.normalizer.executing import Executor, Inline, Threaded
from services.normalizer.holding import Owned
from services.normalizer.telemetry import NormalizerTelemetry
from shared.batching import Pace, Trigger
from shared.bus.base import Delivery, Publisher
from shared.clock import Clock
from shared.control import StreamInfo, encode_control
from shared.errors import BrokerError, PublishFailed
from shared.settings import Settings
from shared.topology import CONTROL, FIREHOSE, MARKET, QUARANTINE, resync_key

__all__ = ["Session", "Source"]


class Source(Protocol):
    """Where envelopes come from; see ``RawConsumer`` for both."""

    async def receive(self, limit: int) -> list[Delivery]:
        """The next deliveries."""
        ...

    async def ack(self, deliveries: Sequence[Delivery]) -> None:
        """What came of these is confirmed."""
        ...


class Session:
    """Holds the state of every stream it consumes; when a connection is lost, all of it goes.

    While one batch's confirms are under way the next ones are normalized and written, a bounded number of them, so that
    a distant broker costs latency and not throughput. Batches are written and acknowledged in order.
    """

    def __init__(
        self,
        consumer: Source,
        publisher: Publisher,
        settings: Settings,
        clock: Clock,
        telemetry: NormalizerTelemetry,
        owned: Owned,
        seed: Seed,
    ) -> None:
        self._consumer = consumer
        self._publisher = publisher
        self._settings = settings
        self._clock = clock
        self._telemetry = telemetry
        self._owned = owned
        self._streams = Streams(clock, seed)
        executor = Threaded if settings.normalizer.executor == "thread" else Inline
        self._executor: Executor = executor(clock, telemetry.parsing)
        self._stop = asyncio.Event()
        self._flight: deque[asyncio.Task[None]] = deque()
        self._launched = 0

    async def run(self) -> None:
        """Until :meth:`stop`; raises BrokerError when a connection is lost or a batch can't be published."""
        normalizer = self._settings.normalizer
        pace = Pace(int(normalizer.linger_ms * 1e6))
        stopping = asyncio.create_task(self._stop.wait(), name="session stop")
        receiving: asyncio.Task[list[Delivery]] | None = None
        try:
            while not self._stop.is_set():
                if receiving is None:
                    receiving = asyncio.create_task(self._consumer.receive(normalizer.batch_envelopes), name="receive")
                room = len(self._flight) < normalizer.batches_in_flight
                waited = {stopping, *([receiving] if room else []), *([self._flight[0]] if self._flight else [])}
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                self._land()
                if room and receiving.done():
                    deliveries, receiving = receiving.result(), None
                    begun = self._clock.monotonic()
                    await self._batch(deliveries)
                    if wait := pace.wait(begun, self._clock.monotonic()):
                        await asyncio.sleep(wait / 1e9)
            await self._land_all()
        except BrokerError:
            # What is under way may still be confirmed, or fails at once with the connection.
            await asyncio.gather(*self._flight, return_exceptions=True)
            raise
        finally:
            tasks = [stopping, *([] if receiving is None else [receiving]), *self._flight]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._executor.close()

    def stop(self) -> None:
        """End after the batches in hand."""
        self._stop.set()

    def forget(self, stream: StreamInfo) -> None:
        """A stream is owned no longer, and nothing of it is in hand."""
        self._streams.forget(stream)

    def _land(self) -> None:
        """Forget the oldest batches that are confirmed and acknowledged; raises what went wrong with one."""
        while self._flight and self._flight[0].done():
            self._flight.popleft().result()

    async def _land_all(self) -> None:
        while self._flight:
            await self._flight[0]
            self._land()

    async def _batch(self, deliveries: Sequence[Delivery]) -> None:
        """Normalize a batch and start to publish it."""
        batch = Batch()
        started = self._clock.monotonic()
        spent = await self._normalize(deliveries, batch)
        full = len(deliveries) >= self._settings.normalizer.batch_envelopes
        trigger = Trigger.FRAMES if full else Trigger.IDLE
        self._telemetry.normalized(batch, deliveries, trigger, started, spent)
        before = self._flight[-1] if self._flight else None
        self._launched += 1
        work = self._finish(batch, deliveries, self._launched, before)
        self._flight.append(asyncio.create_task(work, name="publish batch"))

    async def _finish(
        self, batch: Batch, deliveries: Sequence[Delivery], number: int, before: asyncio.Task[None] | None
    ) -> None:
        """Publish a batch; acknowledge it when that and everything before it is confirmed."""
        published = self._clock.monotonic()
        await self._publish(batch, number)
        if before is not None:
            if not before.done():
                await asyncio.wait({before})
            before.result()
        self._telemetry.published(batch, self._clock.monotonic() - published, self._clock.wall())
        self._note(batch)
        await self._consumer.ack(deliveries)

    def _note(self, batch: Batch) -> None:
        """What of the owned streams is confirmed by now."""
        self._owned.dealt_with(batch.counts.newest, self._clock.wall())
        for (_, stream), groups in batch.groups.items():
            held = self._owned.streams.get(stream)
            if held is not None and held.first and any(messages for _, messages in groups):
                held.first = False
                self._telemetry.first_message(held.info, self._clock.monotonic() - held.begun)

    async def _normalize(self, deliveries: Sequence[Delivery], batch: Batch) -> int:
        """Nanoseconds spent normalizing and encoding, without the pauses."""

        def work(due: Callable[[], bool]) -> Iterator[None]:
            yield from chain.from_iterable(self._streams.handle(delivery, batch, due) for delivery in deliveries)
            batch.gather()
            yield from batch.encode(due, firehose=self._settings.broker.firehose)

        return await self._executor.run(work)

    async def _publish(self, batch: Batch, number: int) -> None:
        """Write everything of a batch at once, then wait for all confirms."""
        every = ((QUARANTINE, batch.quarantine), (MARKET, batch.market), (FIREHOSE, batch.firehose))
        parts = [(exchange, messages) for exchange, messages in every if messages]
        if len(parts) == 1:
            await self._insist(*parts[0], number)
        else:
            await asyncio.gather(*(self._insist(exchange, messages, number) for exchange, messages in parts))
        for request in batch.resyncs:
            deadline = self._settings.broker.publish_deadline_s
            try:
                await self._publisher.publish(
                    CONTROL, resync_key(request.exchange), encode_control(request), deadline_s=deadline
                )
            except BrokerError as error:
                self._telemetry.resync_unsent(request, error)

    async def _insist(self, exchange: str, messages: Sequence[tuple[str, bytes]], number: int) -> None:
        """Publish again what the broker refused or did not confirm: consumers deduplicate, but can't guess.

        Not once a later batch is under way: what comes again must not come behind it. Then the session ends, and all
        that is not acknowledged is delivered again in order. That nothing goes out behind a batch that was not written
        is the publisher's doing: a session's has one life.
        """
        deadline = self._settings.broker.publish_deadline_s
        left = self._settings.normalizer.publish_retries
        while messages:
            try:
                await self._publisher.publish_batch(exchange, messages, deadline_s=deadline)
            except PublishFailed as error:
                self._telemetry.publish_failed(error)
                if error.reason == "refused":
                    return await self._without_refused(exchange, messages, number)
                if not left or self._launched > number:
                    if error.reason == "nacked" and exchange in {MARKET, FIREHOSE}:
                        return None  # some consumer's queue refuses; the others have it, and must not wait for that one
                    raise
                left -= 1
            else:
                return None
        return None

    async def _without_refused(self, exchange: str, messages: Sequence[tuple[str, bytes]], number: int) -> None:
        """A message that no broker takes would hold up its stream for ever: it is counted and left out."""
        for message in messages if len(messages) > 1 else ():
            await self._insist(exchange, [message], number)
