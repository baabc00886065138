"""Metrics bound to a place: hot code holds one of these and calls it once per batch. Durations are nanoseconds.

Not thread-safe beyond what Prometheus counters are: label limits belong to the event loop's thread.
"""

from collections.abc import Mapping
from typing import Final

from shared.telemetry.labels import NONE, Children
from shared.telemetry.metrics import Metrics

__all__ = ["IngestMetrics", "NormalizerMetrics", "PublisherMetrics", "RestMetrics", "StreamMetrics"]

INGEST: Final = "ingest"
NORMALIZER: Final = "normalizer"
NS: Final = 1e-9


class IngestMetrics:
    """One exchange, as ingest counts it. Shedding is an event: :meth:`shared.telemetry.events.Events.frames_shed`."""

    def __init__(self, metrics: Metrics, exchange: str) -> None:
        self._exchange = exchange
        self._symbols = metrics.symbols
        self._kinds = metrics.words("kind")
        self._received = metrics.frames_received.labels(INGEST, exchange)
        self._bytes = metrics.bytes_received.labels(exchange)
        self._published = metrics.frames_published.labels(INGEST, exchange)
        self._in_flight = metrics.frames_in_flight.labels(INGEST, exchange)
        self._queue_wait = metrics.queue_wait_seconds.labels(INGEST, exchange)
        self._conflated = Children(metrics.frames_conflated)
        self._control = Children(metrics.control_frames)

    def received(self, frames: int, size: int) -> None:
        """Frames (marks and REST replies too) that entered a stream, and the bytes of their payload."""
        self._received.inc(frames)
        self._bytes.inc(size)

    def published(self, frames: int) -> None:
        """Frames whose envelope the bus confirmed."""
        self._published.inc(frames)

    def conflated(self, feed: str | None, symbol: str | None, frames: int) -> None:
        """Frames that gave way to a newer one."""
        self._conflated[self._exchange, feed or NONE, self._symbols(symbol)].inc(frames)

    def in_flight(self, frames: int) -> None:
        """Frames that are in buffers or being published right now, over all streams of the exchange."""
        self._in_flight.set(frames)

    def control(self, kind: str, frames: int = 1) -> None:
        """Frames without data: ``ack``, ``heartbeat``, ``error``, ``closing``."""
        self._control[self._exchange, self._kinds(kind)].inc(frames)

    def queue_wait(self, duration: int) -> None:
        """How long the oldest frame of a batch waited in its buffer (ns)."""
        self._queue_wait.observe(duration * NS)


class StreamMetrics:
    """One stream, as ingest sees it. Connects and disconnects are events."""

    def __init__(self, metrics: Metrics, exchange: str, stream: str) -> None:
        labels = (exchange, metrics.streams(stream))
        self._last_frame = metrics.stream_last_frame.labels(*labels)
        self._frames = metrics.buffer_frames.labels(*labels)
        self._bytes = metrics.buffer_bytes.labels(*labels)
        self._frames_limit = metrics.buffer_frames_limit.labels(*labels)
        self._bytes_limit = metrics.buffer_bytes_limit.labels(*labels)
        self._received = metrics.stream_frames.labels(*labels)
        self._subscriptions = Children(metrics.subscriptions)
        self._labels = labels
        metrics.stream_up.labels(*labels).set(0)

    def received(self, frames: int) -> None:
        """Frames that entered the stream."""
        self._received.inc(frames)

    def last_frame(self, ts_received: int) -> None:
        """When the newest data frame arrived (ns UTC); once per batch is enough."""
        self._last_frame.set(ts_received * NS)

    def buffer(self, frames: int, size: int) -> None:
        """What waits in the buffer: frames, bytes."""
        self._frames.set(frames)
        self._bytes.set(size)

    def buffer_limits(self, frames: int, size: int) -> None:
        """What the buffer may hold: frames, bytes."""
        self._frames_limit.set(frames)
        self._bytes_limit.set(size)

    def subscriptions(self, states: Mapping[str, int]) -> None:
        """Topics by state; a state that is absent keeps its value, so name them all."""
        for state, count in states.items():
            self._subscriptions[*self._labels, str(state)].set(count)


class PublisherMetrics:
    """Writes of one stage to one plane of the bus."""

    def __init__(self, metrics: Metrics, stage: str, plane: str) -> None:
        self._stage = stage
        self._batch_frames = metrics.batch_frames.labels(stage)
        self._bytes = metrics.envelope_bytes.labels(stage)
        self._triggers = Children(metrics.batches)
        self._pool_wait = metrics.pool_wait_seconds.labels(stage, plane)
        self._net_write = metrics.publish_seconds.labels(stage, plane)
        self._permits = metrics.permits.labels(stage, plane)
        self._in_use = metrics.permits_in_use.labels(stage, plane)

    def batch(self, frames: int, trigger: str) -> None:
        """A batch was closed: its frames, and why (a value of :class:`shared.batching.Trigger`)."""
        self._batch_frames.observe(frames)
        self._triggers[self._stage, str(trigger)].inc()

    def body(self, size: int) -> None:
        """One AMQP message body of so many bytes."""
        self._bytes.observe(size)

    def pool_wait(self, duration: int) -> None:
        """Wait for a permit or channel (ns)."""
        self._pool_wait.observe(duration * NS)

    def net_write(self, duration: int) -> None:
        """Socket write and confirm of one batch (ns), failed ones too."""
        self._net_write.observe(duration * NS)

    def permits(self, limit: int) -> None:
        """How many writes may be under way."""
        self._permits.set(limit)

    def in_use(self, permits: int) -> None:
        """How many are."""
        self._in_use.set(permits)


class NormalizerMetrics:
    """One exchange, as a normalizer counts it."""

    def __init__(self, metrics: Metrics, exchange: str) -> None:
        self._exchange = exchange
        self._symbols = metrics.symbols
        self._received = metrics.frames_received.labels(NORMALIZER, exchange)
        self._published = metrics.frames_published.labels(NORMALIZER, exchange)
        self._repeated = metrics.frames_repeated.labels(exchange)
        self._returned = metrics.frames_returned.labels(exchange)
        self._in_flight = metrics.frames_in_flight.labels(NORMALIZER, exchange)
        self._duplicates = metrics.duplicates.labels(exchange)
        self._stale = metrics.stale.labels(exchange)
        self._queue_wait = metrics.queue_wait_seconds.labels(NORMALIZER, exchange)
        self._normalize = metrics.normalize_seconds.labels(exchange)
        self._latency = metrics.feed_latency_seconds.labels(exchange)
        self._latency_negative = metrics.feed_latency_negative.labels(exchange)
        self._end_to_end = metrics.end_to_end_seconds.labels(exchange)
        self._messages = Children(metrics.messages_published)
        self._instruments = Children(metrics.instrument_messages)
        self._streams = metrics.streams
        self._stream_messages = Children(metrics.stream_messages)

    def received(self, frames: int) -> None:
        """Frames in the envelopes of a batch."""
        self._received.inc(frames)

    def published(self, frames: int) -> None:
        """Frames without rejection that are done with: their messages, if any, were confirmed."""
        self._published.inc(frames)

    def repeated(self, frames: int) -> None:
        """Frames that were dealt with before and came again."""
        self._repeated.inc(frames)

    def returned(self, frames: int) -> None:
        """Frames that were in flight when the connection was lost: the broker delivers them again."""
        self._returned.inc(frames)

    def in_flight(self, frames: int) -> None:
        """Frames received and not yet done with."""
        self._in_flight.set(frames)

    def messages(self, feed: str, symbol: str | None, count: int) -> None:
        """Confirmed messages of one routing key."""
        self._messages[self._exchange, feed].inc(count)
        self._instruments[self._exchange, self._symbols(symbol)].inc(count)

    def stream_messages(self, stream: str, count: int) -> None:
        """Confirmed messages of one stream."""
        self._stream_messages[self._exchange, self._streams(stream)].inc(count)

    def dropped(self, duplicates: int, stale: int) -> None:
        """Elements that were no news: sent again, or older than the book."""
        if duplicates:
            self._duplicates.inc(duplicates)
        if stale:
            self._stale.inc(stale)

    def queue_wait(self, duration: int) -> None:
        """How long the oldest delivery of a batch waited in this process (ns)."""
        self._queue_wait.observe(duration * NS)

    def normalize(self, duration: int) -> None:
        """Frames to canonical messages, one batch (ns)."""
        self._normalize.observe(duration * NS)

    def feed_latency(self, duration: int) -> None:
        """``ts_received - ts_exchange`` of the newest message of a batch that has both (ns, may be negative)."""
        if duration < 0:
            self._latency_negative.inc()
            duration = 0
        self._latency.observe(duration * NS)

    def end_to_end(self, duration: int) -> None:
        """Wall clock at the confirm minus ``ts_received`` of the oldest frame of a batch (ns)."""
        self._end_to_end.observe(max(duration, 0) * NS)


class RestMetrics:
    """REST requests to one exchange that worked; failures are events (``rest_failed``)."""

    def __init__(self, metrics: Metrics, exchange: str) -> None:
        self._requests = metrics.rest_requests.labels(exchange, "ok")
        self._seconds = metrics.rest_seconds.labels(exchange)

    def ok(self, duration: int) -> None:
        """A request got a usable reply; from request to the end of the reply (ns)."""
        self._requests.inc()
        self._seconds.observe(duration * NS)
