"""Every metric that Tidegate has: name, labels, meaning. ``docs/metrics.md`` is generated from this.

Frames obey a conservation law, per exchange and at any time between two batches:

- ingest: received = published + conflated + shed + in flight
- normalizer: received = published + rejected + repeated + returned + in flight
- between the two: published by ingest = received by normalizers - repeated - returned + lost + what the broker holds

Frames of every kind count: what came over the socket and is no control frame, REST replies, and lifecycle marks (these
are received when they are made). In the normalizer a frame with any rejection counts as rejected, once, even when other
elements of it became messages; every other frame is published when what came of it (maybe nothing) is confirmed.

``symbol`` is a label of counters and gauges only. Open labels are bounded by :mod:`shared.telemetry.labels`.
"""

import platform
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from shared.telemetry.build import version
from shared.telemetry.declare import (
    BYTE_BUCKETS,
    COUNT_BUCKETS,
    DeclaredCounter,
    DeclaredGauge,
    DeclaredHistogram,
    DeclaredMetrics,
    MetricDescription,
)
from shared.telemetry.labels import LabelLimit

__all__ = ["Metrics", "catalogue", "process_registry"]

SYMBOL_LIMIT: Final = 5_000
STREAM_LIMIT: Final = 1_000
WORD_LIMIT: Final = 64


class FlowMetrics(DeclaredMetrics):
    """Frames and messages: what came, what went, what did not."""

    frames_received = DeclaredCounter(
        "frames_received_total",
        "stage exchange",
        "Frames that entered a stage: at ingest what arrived on a stream, at a normalizer what its envelopes held.",
        shown="overview",
    )
    frames_published = DeclaredCounter(
        "frames_published_total",
        "stage exchange",
        "Frames that a stage is done with: the bus confirmed what came of them.",
        shown="overview",
    )
    frames_conflated = DeclaredCounter(
        "frames_conflated_total",
        "exchange feed symbol",
        "Quotes and tickers that gave way in a full buffer to a newer one of the same instrument.",
        shown="ingest",
    )
    frames_shed = DeclaredCounter(
        "frames_shed_total",
        "stage exchange feed symbol reason",
        "Frames dropped on purpose: overflow, expired, overload, circuit_open, publish_failed, shutdown.",
        shown="overview",
    )
    frames_rejected = DeclaredCounter(
        "frames_rejected_total",
        "exchange code",
        "Frames that could not be normalized, wholly or in part, by the first error in them.",
        shown="overview",
    )
    elements_rejected = DeclaredCounter(
        "elements_rejected_total",
        "exchange code",
        "Single errors found in frames; a frame may hold several elements and fail in some of them only.",
        shown="debug",
    )
    frames_lost = DeclaredCounter(
        "frames_lost_total",
        "exchange stream",
        "Frames that ingest numbered and no normalizer saw: holes in the frame numbers.",
        shown="overview",
    )
    frames_repeated = DeclaredCounter(
        "frames_repeated_total",
        "exchange",
        "Frames delivered again after they had been dealt with, and left alone.",
        shown="normalizers",
    )
    frames_returned = DeclaredCounter(
        "frames_returned_total",
        "exchange",
        "Frames that went back to the broker because the connection was lost before they were dealt with.",
        shown="normalizers",
    )
    frames_in_flight = DeclaredGauge(
        "frames_in_flight",
        "stage exchange",
        "Frames received of which it is not yet known what became of them.",
        shown="overview",
    )
    control_frames = DeclaredCounter(
        "control_frames_total",
        "exchange kind",
        "Frames that carry no data and go no further: ack, heartbeat, error, closing.",
        shown="debug",
    )
    bytes_received = DeclaredCounter(
        "bytes_received_total", "exchange", "Payload of the frames that ingest received.", shown="ingest"
    )
    messages_published = DeclaredCounter(
        "messages_published_total", "exchange feed", "Canonical messages that the bus confirmed.", shown="overview"
    )
    instrument_messages = DeclaredCounter(
        "instrument_messages_total",
        "exchange symbol",
        "Canonical messages that the bus confirmed, per instrument.",
        shown="normalizers",
    )
    duplicates = DeclaredCounter(
        "duplicates_total", "exchange", "Elements that a venue sent again and that were dropped.", shown="normalizers"
    )
    stale = DeclaredCounter(
        "stale_total", "exchange", "Book updates older than the book, dropped.", shown="normalizers"
    )
    gaps = DeclaredCounter("gaps_total", "exchange symbol", "Breaks in a venue's own sequence.", shown="overview")
    resync_requests = DeclaredCounter(
        "resync_requests_total",
        "exchange feed reason",
        "Snapshots that a normalizer asked ingest for.",
        shown="normalizers",
    )
    resyncs = DeclaredCounter(
        "resyncs_total", "exchange feed reason", "Snapshots that ingest asked a venue for.", shown="ingest"
    )
    quarantined = DeclaredCounter("quarantined_total", "plane code", "Frames put into quarantine.", shown="normalizers")
    instruments = DeclaredGauge(
        "instruments", "exchange product", "Instruments in a venue's list as last loaded.", shown="ingest"
    )


class StreamGauges(DeclaredMetrics):
    """Streams and their subscriptions, seen by ingest."""

    stream_up = DeclaredGauge(
        "stream_up", "exchange stream", "1 while the stream's WebSocket is open, else 0.", shown="overview"
    )
    stream_epoch = DeclaredGauge("stream_epoch", "exchange stream", "The stream's epoch.", shown="debug")
    stream_connected = DeclaredGauge(
        "stream_connected_timestamp_seconds", "exchange stream", "When the epoch began (Unix time).", shown="ingest"
    )
    stream_last_frame = DeclaredGauge(
        "stream_last_frame_timestamp_seconds",
        "exchange stream",
        "When the last data frame arrived (Unix time); heartbeats don't count.",
        shown="overview",
    )
    reconnects = DeclaredCounter(
        "reconnects_total", "exchange stream reason", "Ends of a stream's connection.", shown="overview"
    )
    subscriptions = DeclaredGauge(
        "subscriptions",
        "exchange stream state",
        "Topics of a stream by state: waiting, requested, accepted, rejected.",
        shown="ingest",
    )
    subscription_rejections = DeclaredCounter(
        "subscription_rejections_total", "exchange stream feed", "Topics that the venue refused.", shown="ingest"
    )
    subscriptions_silent = DeclaredCounter(
        "subscriptions_silent_total",
        "exchange stream feed",
        "Topics accepted that had no first frame within the deadline.",
        shown="ingest",
    )
    buffer_frames = DeclaredGauge(
        "buffer_frames", "exchange stream", "Frames that wait in the stream's buffer (qsize).", shown="ingest"
    )
    buffer_bytes = DeclaredGauge("buffer_bytes", "exchange stream", "Their payload.", shown="ingest")
    buffer_frames_limit = DeclaredGauge(
        "buffer_frames_limit", "exchange stream", "Frames that the buffer may hold.", shown="ingest"
    )
    buffer_bytes_limit = DeclaredGauge(
        "buffer_bytes_limit", "exchange stream", "Payload that the buffer may hold.", shown="ingest"
    )
    streams_owned = DeclaredGauge(
        "streams_owned", "exchange", "Streams that this normalizer consumes at the moment.", shown="normalizers"
    )
    stream_owned = DeclaredGauge(
        "stream_owned", "exchange stream", "1 while this normalizer consumes the stream, else 0.", shown="normalizers"
    )
    members = DeclaredGauge(
        "members", "", "Normalizers that share the streams, as this one last counted them.", shown="normalizers"
    )
    handovers = DeclaredCounter(
        "handovers_total",
        "exchange reason",
        "Streams taken (started, orphaned, rebalanced) and let go (yielded, stopping, unannounced, lost).",
        shown="normalizers",
    )
    takeover_seconds = DeclaredHistogram(
        "takeover_seconds",
        "exchange",
        "From the claim of a stream to the confirm of the first message that came of it.",
        shown="normalizers",
    )
    release_seconds = DeclaredHistogram(
        "release_seconds",
        "exchange",
        "From the decision to let a stream go until its lock is free.",
        shown="normalizers",
    )
    stream_frames = DeclaredCounter(
        "stream_frames_total",
        "exchange stream",
        "Frames that entered a stream, marks and REST replies too.",
        shown="ingest",
    )
    stream_messages = DeclaredCounter(
        "stream_messages_total",
        "exchange stream",
        "Canonical messages of a stream that the bus confirmed.",
        shown="normalizers",
    )
    queue_envelopes_limit = DeclaredGauge(
        "queue_envelopes_limit", "plane", "Envelopes that the broker's queue of one stream may hold.", shown="runtime"
    )
    queue_bytes_limit = DeclaredGauge(
        "queue_bytes_limit",
        "plane",
        "Bytes of envelopes that the broker's queue of one stream may hold.",
        shown="runtime",
    )
    rest_requests = DeclaredCounter(
        "rest_requests_total",
        "exchange outcome",
        "REST requests to a venue: ok, or how they failed.",
        shown="ingest",
    )
    rest_seconds = DeclaredHistogram(
        "rest_seconds",
        "exchange",
        "From a REST request to the end of its reply, waiting for weight excluded.",
        shown="ingest",
    )


class PublishMetrics(DeclaredMetrics):
    """Batches, permits, breaker, broker."""

    batch_frames = DeclaredHistogram(
        "batch_frames", "stage", "Frames in one write (batch_size).", shown="burst", buckets=COUNT_BUCKETS
    )
    batches = DeclaredCounter(
        "batches_total",
        "stage trigger",
        "Writes by what closed the batch: idle, frames, bytes, age, drain.",
        shown="ingest",
    )
    envelope_bytes = DeclaredHistogram(
        "envelope_bytes", "stage", "Size of one AMQP message body.", shown="ingest", buckets=BYTE_BUCKETS
    )
    pool_wait_seconds = DeclaredHistogram(
        "pool_wait_seconds", "stage plane", "Wait for a publish permit or channel (pool_wait).", shown="overview"
    )
    publish_seconds = DeclaredHistogram(
        "publish_seconds", "stage plane", "Socket write and broker confirm of one batch (net_write).", shown="overview"
    )
    publish_failures = DeclaredCounter(
        "publish_failures_total", "stage plane reason", "Batches that the bus did not confirm.", shown="overview"
    )
    permits = DeclaredGauge("permits", "stage plane", "Writes that may be under way at once.", shown="ingest")
    permits_in_use = DeclaredGauge("permits_in_use", "stage plane", "Writes under way.", shown="ingest")
    circuit_state = DeclaredGauge(
        "circuit_state",
        "circuit state",
        "1 for the breaker's state (closed, open, half_open), 0 for the others.",
        shown="overview",
    )
    circuit_transitions = DeclaredCounter(
        "circuit_transitions_total", "circuit state", "Changes of a breaker, by the state it went to.", shown="overview"
    )
    circuit_failures = DeclaredGauge(
        "circuit_failures", "circuit", "Failures in a row that the breaker has counted (cb_failures).", shown="runtime"
    )
    broker_connected = DeclaredGauge(
        "broker_connected", "connection", "1 while the connection to the broker stands, else 0.", shown="overview"
    )
    broker_blocked = DeclaredGauge(
        "broker_blocked",
        "connection",
        "1 while the broker accepts nothing from the connection (alarm).",
        shown="overview",
    )
    broker_losses = DeclaredCounter(
        "broker_losses_total", "connection", "Times that the connection to the broker was lost.", shown="runtime"
    )
    broker_refusals = DeclaredCounter(
        "broker_refusals_total", "", "Tries to get to the broker that came to nothing, at the start.", shown="runtime"
    )


class AccountMetrics(DeclaredMetrics):
    """The account plane. Frames: received = published + what the journal holds."""

    account_frames_received = DeclaredCounter(
        "account_frames_received_total",
        "exchange account",
        "Private frames that are on disk, those included that an earlier process left there.",
        shown="accounts",
    )
    account_frames_published = DeclaredCounter(
        "account_frames_published_total",
        "exchange account",
        "Private frames that the broker confirmed.",
        shown="accounts",
    )
    journal_frames = DeclaredGauge(
        "journal_frames",
        "exchange account",
        "Private frames on disk that the broker has not confirmed.",
        shown="accounts",
    )
    journal_bytes = DeclaredGauge(
        "journal_bytes", "exchange account", "Bytes of the journals' files that are in use.", shown="accounts"
    )
    journal_oldest = DeclaredGauge(
        "journal_oldest_timestamp_seconds",
        "exchange account",
        "When the oldest frame that waits in a journal arrived (Unix time); 0 while none waits.",
        shown="accounts",
    )
    journal_usable = DeclaredGauge(
        "journal_usable",
        "exchange account",
        "1 while every journal of the account can be written, else 0.",
        shown="accounts",
    )
    journal_write_seconds = DeclaredHistogram(
        "journal_write_seconds",
        "exchange account",
        "One commit of a journal, synced to disk; frames that arrived meanwhile share the next one.",
        shown="accounts",
    )
    account_confirm_seconds = DeclaredHistogram(
        "account_confirm_seconds",
        "exchange account",
        "From the first attempt to publish a private frame to its confirm, attempts that failed included.",
        shown="accounts",
    )
    reconciliations = DeclaredCounter(
        "reconciliations_total",
        "exchange account outcome",
        "Reconciliations over REST: complete, partial (more to ask), failed, too_large, stuck, refused.",
        shown="accounts",
    )
    reconciled = DeclaredGauge(
        "reconciled_timestamp_seconds",
        "exchange account",
        "Up to when reconciliations told everything (Unix time, the venue's clock); of the stream furthest behind.",
        shown="accounts",
    )
    account_clock_offset = DeclaredGauge(
        "account_clock_offset_seconds",
        "exchange account",
        "The venue's clock minus this machine's when it was last measured.",
        shown="accounts",
    )
    account_failures = DeclaredCounter(
        "account_failures_total",
        "exchange account reason",
        "What needs somebody: the venue refused the account (key, signature, clock, …), or its journal failed.",
        shown="accounts",
    )
    account_status = DeclaredGauge(
        "account_status",
        "exchange account status",
        "1 for how the account stands, 0 for the others: connecting, authenticated, reconciled, stale, failed; as the"
        " worst of its streams that this normalizer owns was last told.",
        shown="accounts",
    )
    fills_deduplicated = DeclaredCounter(
        "fills_deduplicated_total",
        "exchange account",
        "Executions that came again, by the stream or by a reconciliation, and were not told again.",
        shown="accounts",
    )
    account_state_usable = DeclaredGauge(
        "account_state_usable",
        "exchange account",
        "1 while what a normalizer remembers of the account can be written, else 0: then its stream stands still.",
        shown="accounts",
    )
    account_state_write_seconds = DeclaredHistogram(
        "account_state_write_seconds",
        "exchange account",
        "One commit of what a normalizer remembers, synced to disk; frames of a backlog share one.",
        shown="accounts",
    )


class TimingMetrics(DeclaredMetrics):
    """Where time goes; every duration is observed once per batch."""

    queue_wait_seconds = DeclaredHistogram(
        "queue_wait_seconds",
        "stage exchange",
        "How long the oldest frame of a batch sat in the buffer before a worker took it (q_wait).",
        shown="overview",
    )
    normalize_seconds = DeclaredHistogram(
        "normalize_seconds", "exchange", "Frames to canonical messages, per batch (norm_time).", shown="overview"
    )
    block_seconds = DeclaredHistogram(
        "block_seconds", "block", "Synchronous blocks that hold the event loop (ProfileSyncBlock).", shown="runtime"
    )
    feed_latency_seconds = DeclaredHistogram(
        "feed_latency_seconds",
        "exchange",
        "Venue's time stamp to reception. Includes the difference of two clocks; negative values count as 0.",
        shown="normalizers",
    )
    feed_latency_negative = DeclaredCounter(
        "feed_latency_negative_total",
        "exchange",
        "Observations of feed latency below 0: a clock is off.",
        shown="normalizers",
    )
    end_to_end_seconds = DeclaredHistogram(
        "end_to_end_seconds",
        "exchange",
        "Reception of the oldest frame of a batch to the confirm of its messages; below 0 counts as 0.",
        shown="overview",
    )
    event_loop_lag_seconds = DeclaredHistogram(
        "event_loop_lag_seconds", "", "How late the event loop woke (loop_lag), ten samples a second.", shown="runtime"
    )
    active_tasks = DeclaredGauge("active_tasks", "", "Tasks on the event loop.", shown="runtime")
    task_crashes = DeclaredCounter(
        "task_crashes_total", "task", "Background tasks that ended with an exception.", shown="runtime"
    )
    recording_failures = DeclaredCounter(
        "recording_failures_total", "", "Recordings that ended because their file could not be written.", shown="debug"
    )
    log_records_dropped = DeclaredCounter(
        "log_records_dropped_total", "", "Log records dropped because the log queue was full.", shown="runtime"
    )
    log_errors = DeclaredCounter(
        "log_errors_total", "", "Log records that could not be formatted or written.", shown="debug"
    )
    log_lines_suppressed = DeclaredCounter(
        "log_lines_suppressed_total", "event", "Log lines that the rate limit held back.", shown="debug"
    )
    build_info = DeclaredGauge("build_info", "version python", "Always 1; what is running.", shown="runtime")


class Metrics(FlowMetrics, StreamGauges, PublishMetrics, AccountMetrics, TimingMetrics):
    """All metric objects, made in ``registry``, passed around. A second one in the same registry raises ValueError.

    Also holds the limits of open labels: ``symbols``, ``streams`` and ``words`` (reasons, kinds, tasks; by label name).
    """

    def __init__(self, registry: CollectorRegistry, *, symbol_limit: int = SYMBOL_LIMIT) -> None:
        super().__init__(registry)
        self.registry: Final = registry
        self.symbols: Final = LabelLimit(symbol_limit)
        self.streams: Final = LabelLimit(STREAM_LIMIT)
        self._words: dict[str, LabelLimit] = {}
        self.build_info.labels(version(), platform.python_version()).set(1)

    def words(self, label: str) -> LabelLimit:
        """The limit (64 distinct values) of a label whose values are words of the program or of a venue."""
        return self._words.setdefault(label, LabelLimit(WORD_LIMIT))


def catalogue() -> list[MetricDescription]:
    """Every metric of Tidegate's own, in the order of the documentation."""
    return [declared.description for declared in Metrics.declarations()]


def process_registry() -> CollectorRegistry:
    """A registry with the process's own metrics (``process_*``, ``python_info``, ``python_gc_*``) in it."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry
