"""What a normalizer tells the outside."""

import logging
from collections.abc import Sequence
from typing import Final

from services.normalizer.batch import Batch, Groups
from shared.batching import Trigger
from shared.bus.base import Delivery
from shared.control import ResyncRequest, StreamInfo
from shared.envelope import Plane
from shared.errors import BrokerError, PublishFailed
from shared.messages import Message, StreamStatus
from shared.telemetry.bundle import Telemetry
from shared.telemetry.profile import ProfileSyncBlock
from shared.telemetry.stages import NormalizerMetrics, PublisherMetrics

__all__ = ["NormalizerTelemetry"]

log = logging.getLogger(__name__)

PERFORMANCE = logging.getLogger("performance_metrics")
SLICE: Final = "normalizer:parse_batch_sync"


class NormalizerTelemetry:
    """One normalizer process."""

    def __init__(self, telemetry: Telemetry, plane: Plane = "market") -> None:
        self._telemetry = telemetry
        self._events = telemetry.events
        self._aggregator = telemetry.aggregator
        self._publisher = PublisherMetrics(telemetry.metrics, "normalizer", plane)
        self.parsing = ProfileSyncBlock(SLICE, telemetry.metrics.block_seconds.labels(SLICE), PERFORMANCE)
        """Around each run of parsing that holds the loop."""
        self._exchanges: dict[str, NormalizerMetrics] = {}
        self._in_flight: dict[str, int] = {}

    def normalized(
        self, batch: Batch, deliveries: Sequence[Delivery], trigger: Trigger, started: int, spent: int
    ) -> None:
        """A batch was normalized, nothing of it published: times are monotonic (ns)."""
        waited = started - min(delivery.ts_delivered for delivery in deliveries)
        counts = batch.counts
        frames = max(1, sum(counts.frames.values()))
        self._publisher.batch(frames, trigger)
        for exchange, count in counts.frames.items():
            metrics = self._metrics(exchange)
            metrics.received(count)
            self._in_flight[exchange] = self._in_flight.get(exchange, 0) + count
            metrics.in_flight(self._in_flight[exchange])
            metrics.queue_wait(waited)
            metrics.normalize(spent * count // frames)
        # Of a batch that has to be normalized again the next session sees no hole before it: what is lost counts now,
        # everything else when it is confirmed.
        for (exchange, stream), count in counts.lost.items():
            self._events.frames_lost(exchange, stream, count)
        for (exchange, _), groups in batch.groups.items():
            self._look(exchange, groups, waited, spent // frames)

    def published(self, batch: Batch, duration: int, now: int) -> None:
        """What came of a batch was confirmed after so long (ns); ``now`` is the wall clock."""
        self._publisher.net_write(duration)
        counts = batch.counts
        for exchange, count in counts.frames.items():
            metrics = self._metrics(exchange)
            repeated, rejected = counts.repeated.get(exchange, 0), counts.rejected.get(exchange, 0)
            metrics.published(count - repeated - rejected)
            metrics.repeated(repeated)
            self._in_flight[exchange] = self._in_flight.get(exchange, 0) - count
            metrics.in_flight(self._in_flight[exchange])
            metrics.dropped(counts.duplicates.get(exchange, 0), counts.stale.get(exchange, 0))
            if exchange in counts.oldest_received:
                metrics.end_to_end(now - counts.oldest_received[exchange])
        for record, failure in batch.failures:
            rejections = ((record.code, record.detail),) if failure is None else failure.rejections
            self._events.frame_rejected(record.exchange, record.stream, record.epoch, record.frame, rejections)
            self._events.quarantined(record.plane, record.stream, record.code)
        for request in batch.resyncs:
            self._events.resync_requested(
                request.exchange, request.stream, request.feed, request.native_symbol, request.reason
            )
        for (exchange, stream), groups in batch.groups.items():
            metrics = self._metrics(exchange)
            metrics.stream_messages(stream, sum(len(messages) for _, messages in groups))
            for group, messages in groups:
                metrics.messages(group.feed, group.symbol, len(messages))
                if group.feed == StreamStatus.feed:
                    self._gaps(exchange, messages)

    def publish_failed(self, error: PublishFailed) -> None:
        """The broker refused or did not confirm; it is tried again."""
        self._events.publish_failed("normalizer", "market", error.reason, str(error))

    def resync_unsent(self, request: ResyncRequest, error: BrokerError) -> None:
        """A wish could not be told to ingest; the parser repeats it while its state stays broken."""
        self._events.publish_failed("normalizer", "control", "unavailable", f"{request.stream}: {error}")

    def session_lost(self, error: BrokerError) -> None:
        """The connection is gone, and with it all state; a new session follows."""
        log.warning("a session ended: %s", error)
        self._return()

    def session_crashed(self, error: Exception) -> None:
        """A defect ended the session; a new one follows."""
        self._events.task_crashed("normalizer", error)
        self._return()

    def taken(self, stream: StreamInfo, reason: str) -> None:
        """A stream is owned from now on; why it was to be had."""
        self._events.stream_taken(stream.exchange, stream.stream, reason)

    def first_message(self, stream: StreamInfo, duration: int) -> None:
        """The first message of a stream was confirmed, so long after its claim began (ns)."""
        self._telemetry.metrics.takeover_seconds.labels(stream.exchange).observe(duration * 1e-9)

    def released(self, stream: StreamInfo, reason: str, duration: int | None) -> None:
        """It is owned no longer; how long it took to let it go (ns), None where it was lost."""
        self._events.stream_released(stream.exchange, stream.stream, reason)
        if duration is not None:
            self._telemetry.metrics.release_seconds.labels(stream.exchange).observe(duration * 1e-9)

    def members(self, members: int) -> None:
        """How many normalizers share the streams."""
        self._events.members_changed(members)

    def _return(self) -> None:
        for exchange, count in self._in_flight.items():
            metrics = self._metrics(exchange)
            metrics.in_flight(0)
            metrics.returned(count)
        self._in_flight.clear()

    def _look(self, exchange: str, groups: Groups, waited: int, per_frame: int) -> None:
        latency: int | None = None
        counts: dict[str, int] = {}
        for group, messages in groups:
            if not messages:
                continue
            symbol = group.symbol or "*"
            counts[symbol] = counts.get(symbol, 0) + len(messages)
            last = messages[-1]
            if last.ts_exchange is not None:
                latency = last.ts_received - last.ts_exchange
        if latency is not None:
            self._metrics(exchange).feed_latency(latency)
        for symbol, count in counts.items():
            self._aggregator.worker(exchange, symbol, count, waited, per_frame)

    def _gaps(self, exchange: str, messages: Sequence[Message]) -> None:
        for message in messages:
            if isinstance(message, StreamStatus) and message.status == "gap":
                self._events.gap(exchange, message.stream, message.symbol)

    def _metrics(self, exchange: str) -> NormalizerMetrics:
        metrics = self._exchanges.get(exchange)
        if metrics is None:
            metrics = self._exchanges[exchange] = NormalizerMetrics(self._telemetry.metrics, exchange)
        return metrics
