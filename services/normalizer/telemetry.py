"""What a normalizer tells the outside."""

from collections.abc import Sequence

from services.normalizer.batch import Batch
from shared.batching import Trigger
from shared.bus.base import Delivery
from shared.control import ResyncRequest, StreamInfo
from shared.errors import BrokerError, PublishFailed
from shared.messages import Message, StreamStatus
from shared.telemetry.bundle import Telemetry
from shared.telemetry.stages import NormalizerMetrics, PublisherMetrics

__all__ = ["NormalizerTelemetry"]


class NormalizerTelemetry:
    """One normalizer process."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._events = telemetry.events
        self._aggregator = telemetry.aggregator
        self._publisher = PublisherMetrics(telemetry.metrics, "normalizer", "market")
        self._exchanges: dict[str, NormalizerMetrics] = {}
        self._in_flight: dict[str, int] = {}

    def normalized(
        self, batch: Batch, deliveries: Sequence[Delivery], trigger: Trigger, started: int, spent: int
    ) -> None:
        """A batch was normalized, nothing of it published: times are monotonic (ns)."""
        waited = started - min(delivery.ts_delivered for delivery in deliveries)
        frames = sum(batch.frames.values())
        self._publisher.batch(frames, trigger)
        for exchange, count in batch.frames.items():
            metrics = self._metrics(exchange)
            metrics.received(count)
            metrics.in_flight(count)
            self._in_flight[exchange] = count
            metrics.queue_wait(waited)
            metrics.normalize(spent)
        for (exchange, _), messages in batch.messages.items():
            self._look(exchange, messages, waited, spent // max(frames, 1))
        for record in batch.quarantine:
            rejections = ((record.code, record.detail),)
            self._events.frame_rejected(record.exchange, record.stream, record.epoch, record.frame, rejections)
            self._events.quarantined(record.plane, record.stream, record.code)
        for (exchange, stream), count in batch.lost.items():
            self._events.frames_lost(exchange, stream, count)
        for request in batch.resyncs:
            self._events.resync_requested(
                request.exchange, request.stream, request.feed, request.native_symbol, request.reason
            )

    def published(self, batch: Batch, duration: int, now: int) -> None:
        """What came of a batch was confirmed after so long (ns); ``now`` is the wall clock."""
        self._publisher.net_write(duration)
        for exchange, count in batch.frames.items():
            metrics = self._metrics(exchange)
            repeated, rejected = batch.repeated.get(exchange, 0), batch.rejected.get(exchange, 0)
            metrics.published(count - repeated - rejected)
            metrics.repeated(repeated)
            metrics.in_flight(0)
            self._in_flight.pop(exchange, None)
            metrics.dropped(batch.duplicates.get(exchange, 0), batch.stale.get(exchange, 0))
            if exchange in batch.oldest_received:
                metrics.end_to_end(now - batch.oldest_received[exchange])
        for (exchange, feed, symbol), count in batch.counts().items():
            self._metrics(exchange).messages(feed, symbol, count)

    def publish_failed(self, error: PublishFailed) -> None:
        """The broker refused or did not confirm; it is tried again."""
        self._events.publish_failed("normalizer", "market", error.reason, str(error))

    def resync_unsent(self, request: ResyncRequest, error: BrokerError) -> None:
        """A wish could not be told to ingest; the parser repeats it while its state stays broken."""
        self._events.publish_failed("normalizer", "control", "unavailable", f"{request.stream}: {error}")

    def session_lost(self, error: BrokerError) -> None:
        """The connection is gone, and with it all state; a new session follows."""
        self._events.broker_lost("consume", str(error))
        for exchange, count in self._in_flight.items():
            metrics = self._metrics(exchange)
            metrics.in_flight(0)
            metrics.returned(count)
        self._in_flight.clear()

    def consuming(self, stream: StreamInfo) -> None:
        """A stream's queue is consumed from now on."""
        self._events.stream_taken(stream.exchange, stream.stream)

    def released(self, stream: StreamInfo) -> None:
        """It is consumed no longer."""
        self._events.stream_released(stream.exchange, stream.stream)

    def _look(self, exchange: str, messages: Sequence[Message], waited: int, per_frame: int) -> None:
        metrics = self._metrics(exchange)
        latency: int | None = None
        counts: dict[str | None, int] = {}
        for message in messages:
            symbol = message.symbol
            counts[symbol] = counts.get(symbol, 0) + 1
            if isinstance(message, StreamStatus) and message.status == "gap":
                self._events.gap(exchange, message.stream, message.symbol)
            if message.ts_exchange is not None:
                latency = message.ts_received - message.ts_exchange
        if latency is not None:
            metrics.feed_latency(latency)
        for symbol, count in counts.items():
            self._aggregator.worker(exchange, symbol or "*", count, waited, per_frame)

    def _metrics(self, exchange: str) -> NormalizerMetrics:
        metrics = self._exchanges.get(exchange)
        if metrics is None:
            metrics = self._exchanges[exchange] = NormalizerMetrics(self._telemetry.metrics, exchange)
        return metrics
