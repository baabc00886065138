"""What ingest tells the outside: counters, events and log lines, bound to an exchange and a stream."""

from collections.abc import Mapping, Sequence

from shared.batching import Trigger
from shared.circuit import Circuit, CircuitState
from shared.envelope import Disconnected, FrameKind
from shared.errors import BrokerError, PublishFailed, RequestFailed, StreamClosed
from shared.exchanges.base import FrameClass, Subscription
from shared.overflow import Entry, FrameBuffer
from shared.subscriptions import SubscriptionState
from shared.telemetry.bundle import Telemetry
from shared.telemetry.stages import IngestMetrics, PublisherMetrics, RestMetrics, StreamMetrics

__all__ = ["IngestTelemetry", "StreamTelemetry"]

DATA_KINDS = frozenset({FrameKind.TEXT, FrameKind.BINARY})


class IngestTelemetry:
    """One exchange."""

    def __init__(self, telemetry: Telemetry, exchange: str, permits: int) -> None:
        self.telemetry = telemetry
        self.exchange = exchange
        self.metrics = IngestMetrics(telemetry.metrics, exchange)
        self.publisher = PublisherMetrics(telemetry.metrics, "ingest", "market")
        self.publisher.permits(permits)
        self._rest = RestMetrics(telemetry.metrics, exchange)
        self._waiting: dict[str, int] = {}
        self.symbols: dict[str, str] = {}
        """Unified by native symbol, for labels and lines."""
        telemetry.events.circuit_changed(exchange, CircuitState.CLOSED, 0)

    def stream(self, stream: str) -> "StreamTelemetry":
        """The part of one stream."""
        return StreamTelemetry(self, stream)

    def instruments(
        self, product: str, listed: int, problems: Sequence[tuple[str, str]], symbols: Mapping[str, str]
    ) -> None:
        """An instrument list was read and the wanted symbols were looked up in it."""
        self.symbols.update(symbols)
        self.instruments_loaded(product, listed)
        for symbol, problem in problems:
            self.telemetry.events.subscription_rejected(
                self.exchange, f"{self.exchange}.{product}", "all", symbol, problem
            )

    def instruments_loaded(self, product: str, listed: int) -> None:
        """An instrument list was read."""
        self.telemetry.events.instruments_loaded(self.exchange, product, listed)

    def queue_limits(self, envelopes: int, size: int) -> None:
        """What the broker's queue of each stream may hold: envelopes, bytes."""
        self.telemetry.metrics.queue_envelopes_limit.labels("market").set(envelopes)
        self.telemetry.metrics.queue_bytes_limit.labels("market").set(size)

    def rest(self, seconds: float) -> None:
        """A REST request was answered after so long."""
        self._rest.ok(int(seconds * 1e9))

    def request_failed(self, error: RequestFailed, delay_s: float) -> None:
        """A REST request failed and is tried again after a delay."""
        outcome = "timeout" if isinstance(error.__cause__, TimeoutError) else "failed"
        if error.status is not None:
            outcome = f"status_{error.status}"
        self.telemetry.events.rest_failed(self.exchange, outcome, error.url, f"{error}; again in {delay_s:.1f} s")

    def in_flight(self, stream: str, frames: int) -> None:
        """Frames of a stream that are waiting or being published."""
        self._waiting[stream] = frames
        self.metrics.in_flight(sum(self._waiting.values()))


class StreamTelemetry:
    """One stream."""

    def __init__(self, ingest: IngestTelemetry, stream: str) -> None:
        self._ingest = ingest
        self._exchange = ingest.exchange
        self._stream = stream
        self._events = ingest.telemetry.events
        self._aggregator = ingest.telemetry.aggregator
        self._metrics = StreamMetrics(ingest.telemetry.metrics, ingest.exchange, stream)
        self._publishing = 0
        self._pool_wait = 0

    def received(self, frames: int, size: int) -> None:
        """Frames that entered the buffer since the last call."""
        if frames:
            self._ingest.metrics.received(frames, size)
            self._metrics.received(frames)

    def pool_wait(self, duration: int) -> None:
        """Wait for a publish permit (ns)."""
        self._pool_wait = duration
        self._ingest.publisher.pool_wait(duration)

    def batch(self, entries: Sequence[Entry], trigger: Trigger, size: int, now: int) -> None:
        """An envelope was closed."""
        publisher = self._ingest.publisher
        publisher.batch(len(entries), trigger)
        publisher.body(size)
        self._ingest.metrics.queue_wait(now - entries[0].queued)
        newest = next((one.frame for one in reversed(entries) if one.frame.kind in DATA_KINDS), None)
        if newest is not None:
            self._metrics.last_frame(newest.ts_received)
        self._publishing += len(entries)

    def announced(self, frames: int) -> None:
        """Frames that the buffer itself made (the mark that tells what was shed)."""
        if frames:
            self._ingest.metrics.received(frames, 0)
            self._metrics.received(frames)

    def permits_in_use(self, permits: int) -> None:
        """Envelopes of all streams that are being published."""
        self._ingest.publisher.in_use(permits)

    def published(self, frames: int, duration: int) -> None:
        """An envelope was confirmed after so long (ns)."""
        self._publishing -= frames
        self._ingest.metrics.published(frames)
        self._ingest.publisher.net_write(duration)
        self._aggregator.publisher(frames, self._pool_wait, duration)
        self._aggregator.pipeline("market", "publish", self._publishing, frames)

    def publish_failed(self, error: Exception, frames: int, duration: int) -> None:
        """An envelope was not confirmed, which was known after so long (ns): its frames are lost."""
        self._publishing -= frames
        self._ingest.publisher.net_write(duration)
        reason = "unavailable" if isinstance(error, BrokerError) else "defect"
        if isinstance(error, PublishFailed):
            reason = error.reason
        self._events.publish_failed("ingest", "market", reason, str(error))

    def abandoned(self, frames: int) -> None:
        """The publish of an envelope was cancelled: its frames are lost."""
        self._publishing -= frames

    def circuit_changed(self, circuit: Circuit) -> None:
        """The breaker is in another state, or its count of failures is another."""
        self._events.circuit_changed(self._exchange, circuit.state, circuit.failures)
        self._aggregator.circuit(self._exchange, circuit.state, circuit.failures)

    def crashed(self, task: str, error: BaseException) -> None:
        """A task ended with a defect."""
        self._events.task_crashed(task, error)

    def buffer(self, buffer: FrameBuffer) -> None:
        """What waits, and what was given up since the last call."""
        self._metrics.buffer(buffer.frames, buffer.bytes)
        self._ingest.in_flight(self._stream, buffer.frames + self._publishing)
        self._aggregator.buffer(self._exchange, "*", buffer.frames)
        for (feed, native_symbol, reason), count in buffer.collect().items():
            symbol = None if native_symbol is None else self._ingest.symbols.get(native_symbol, native_symbol)
            if reason == "conflated":
                self._ingest.metrics.conflated(feed, symbol, count)
            else:
                self._events.frames_shed(self._exchange, self._stream, feed, symbol, reason, count)
                self._aggregator.buffer(self._exchange, symbol or "*", buffer.frames, count)

    def limits(self, frames: int, size: int) -> None:
        """What the buffer may hold."""
        self._metrics.buffer_limits(frames, size)

    def control(self, frame_class: FrameClass) -> None:
        """A frame without data."""
        self._ingest.metrics.control(frame_class.name.lower())

    def venue_error(self, detail: str) -> None:
        """The venue complained about nothing that can be told."""
        self._events.venue_error(self._exchange, self._stream, detail)

    def connected(self, epoch: int, url: str) -> None:
        """An epoch began."""
        self._events.stream_connected(self._exchange, self._stream, epoch, url)

    def disconnected(self, ended: Disconnected) -> None:
        """An epoch ended."""
        self._events.stream_disconnected(
            self._exchange, self._stream, ended.reason, code=ended.code, detail=ended.detail
        )

    def connect_failed(self, error: StreamClosed) -> None:
        """There was no connection to be had."""
        self._events.connect_failed(self._exchange, self._stream, "connect_failed", error.reason)

    def request_failed(self, error: RequestFailed, delay_s: float) -> None:
        """A REST request of this stream failed."""
        self._ingest.request_failed(error, delay_s)

    def subscriptions(self, states: Mapping[SubscriptionState, int]) -> None:
        """Topics by state."""
        self._metrics.subscriptions({str(state): count for state, count in states.items()})

    def subscription_rejected(self, subscription: Subscription, reason: str) -> None:
        """The venue refused a topic."""
        feed, symbol = subscription.feed, subscription.native_symbol
        self._events.subscription_rejected(
            self._exchange, self._stream, feed, symbol, f"{subscription.topic}: {reason}"
        )

    def subscription_silent(self, subscription: Subscription, seconds: float) -> None:
        """A topic never had a first frame."""
        feed, symbol = subscription.feed, subscription.native_symbol
        self._events.subscription_silent(self._exchange, self._stream, feed, symbol, seconds)

    def resync_started(self, feed: str, native_symbol: str | None, reason: str) -> None:
        """The venue is asked for a fresh snapshot."""
        self._events.resync_started(self._exchange, self._stream, feed, native_symbol, reason)
