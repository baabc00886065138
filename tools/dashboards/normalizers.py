"""Normalizers: who owns which stream, how long frames wait and take, what a message costs."""

from typing import Final

from tools.dashboards.page import Dashboard, Row
from tools.dashboards.panels import heatmap, lines, states, table, tile
from tools.dashboards.parts import ZERO, Column, Query, Scale, Words, steps
from tools.dashboards.promql import INSTANCE, events, heat, mean, quantile, quantile_of_few, rate, select

__all__ = ["LAG", "NORMALIZERS"]

STAGE: Final = 'stage="normalizer"'
JOB: Final = 'job="normalizer"'
FULL: Final = 'trigger="frames"'
LAG: Final = Scale("s", steps("transparent", (0.01, "yellow"), (0.05, "orange"), (0.25, "red")))
OWNED: Final[Words] = {0: ("-", "transparent"), 1: ("OWNER", "green")}
HELD: Final = f"max by (stream) ({select('stream_up')})"
OWNERS: Final = f"sum by (stream) ({select('stream_owned')})"

_ownership = Row(
    "Ownership",
    [
        tile(
            "Normalizers",
            "as many as were started. Members that the normalizers themselves see; they share the streams out evenly.",
            Query(f"max({select('members')}) or vector(0)"),
            Scale("short", steps("red", (1, "green")), decimals=0),
        )
        .wide(4)
        .high(4),
        tile(
            "Streams without an owner",
            "0, and for a second or two while one changes hands. Streams that ingest holds and no normalizer consumes.",
            Query(f"count({HELD}) - (count({HELD} and on (stream) ({select('stream_owned')} == 1)) or vector(0))"),
            ZERO,
        )
        .wide(4)
        .high(4),
        tile(
            "Streams with two owners",
            "0. Scrapes are seconds apart, so that a hand-over may look like two; two that stay would break the order.",
            Query(f"sum(({OWNERS}) > bool 1)"),
            ZERO,
        )
        .wide(4)
        .high(4),
        lines(
            "Streams per normalizer",
            "level: each has its share, rounded up. Streams that each process consumes.",
            Scale("short", decimals=0),
            Query(f"sum by ({INSTANCE}) ({select('streams_owned')})", "{{service}} {{instance}}"),
        )
        .wide(12)
        .high(4),
        states(
            "Who owns what",
            "one green band per stream, which goes on in another process's line when it is handed over.",
            OWNED,
            Query(f"max by (stream, instance) ({select('stream_owned')})", "{{stream}} {{instance}}"),
        ),
        lines(
            "Hand-overs",
            "0 but when normalizers come, go or die. Streams claimed and released, by reason, in the window.",
            Scale("short"),
            Query(events("handovers_total", "exchange, reason"), "{{exchange}} {{reason}}"),
        ),
        lines(
            "Take-over time",
            "below 2 s. Of all in the time shown. take: from the claim of a stream to its first confirmed message; "
            "release: from the decision to let it go until its lock is free.",
            Scale("s"),
            Query(quantile_of_few(0.5, "takeover_seconds"), "take p50"),
            Query(quantile_of_few(0.99, "takeover_seconds"), "take p99"),
            Query(quantile_of_few(0.5, "release_seconds"), "release p50"),
            Query(quantile_of_few(0.99, "release_seconds"), "release p99"),
        ),
    ],
)

_time = Row(
    "Where the time goes",
    [
        heatmap(
            "Queue wait",
            "below 1 ms. How long the oldest delivery of a batch waited in the process (q_wait).",
            heat("queue_wait_seconds", STAGE),
        ).to("burst"),
        heatmap(
            "Normalizing",
            "below 1 ms. Frames to canonical messages, per batch (norm_time); a batch grows with the load.",
            heat("normalize_seconds"),
        ).to("burst"),
        lines(
            "Cost per message",
            "tens of microseconds, flat. norm_time divided by messages; it rises with books of many levels.",
            Scale("s"),
            Query(
                f"{rate('normalize_seconds_sum', 'exchange')} / {rate('messages_published_total', 'exchange')}",
                "{{exchange}}",
            ),
        ),
        lines(
            "Loop lag",
            "p99 below 10 ms. How late the event loop of each normalizer woke (loop_lag).",
            LAG,
            Query(quantile(0.5, "event_loop_lag_seconds", INSTANCE, JOB), "p50 {{service}} {{instance}}"),
            Query(quantile(0.99, "event_loop_lag_seconds", INSTANCE, JOB), "p99 {{service}} {{instance}}"),
        ).to("runtime"),
        lines(
            "Batch size and full batches",
            "tens of frames, 0 % full. Mean frames in a batch, and the share of batches that took as many envelopes "
            "as they may (right): near 100 % the normalizers are saturated and more of them are needed.",
            Scale("short"),
            Query(mean("batch_frames", "service", STAGE), "frames: {{service}}"),
            Query(
                f"{rate('batches_total', 'service', STAGE, FULL)} / {rate('batches_total', 'service', STAGE)}",
                "full: {{service}}",
                right="percentunit",
            ),
        ),
        heatmap(
            "Net write",
            "a few ms. Socket write and broker confirm of what came of one batch (net_write).",
            heat("publish_seconds", STAGE),
        ),
        heatmap(
            "Feed latency",
            "a steady band: the way from the venue plus the difference of two clocks. The venue's time stamp to "
            "reception; when a clock is off it moves as a whole.",
            heat("feed_latency_seconds"),
        )
        .each("exchange")
        .wide(24),
    ],
)

_flow = Row(
    "What comes of it",
    [
        lines(
            "Messages out",
            "follows frames in. Canonical messages that the broker confirmed, per second, by feed.",
            Scale("cps"),
            Query(rate("messages_published_total", "feed"), "{{feed}}"),
            stacked="normal",
        ),
        lines(
            "Messages out, by stream",
            "follows the frames of the stream.",
            Scale("cps"),
            Query(rate("stream_messages_total", "stream"), "{{stream}}"),
        ),
        table(
            "Busiest instruments",
            "the majors. Messages per second of each instrument, the most on top.",
            "exchange, symbol",
            [
                Column(
                    "messages/s",
                    f"topk(20, {rate('instrument_messages_total', 'exchange, symbol')})",
                    Scale("cps", decimals=1),
                )
            ],
            worst="messages/s",
        ),
        lines(
            "Gaps, duplicates, stale",
            "gaps 0; duplicates and stale a few: venues repeat themselves, most of all around a snapshot.",
            Scale("short"),
            Query(events("gaps_total", "exchange, symbol"), "gap: {{exchange}} {{symbol}}"),
            Query(events("duplicates_total", "exchange"), "duplicate: {{exchange}}"),
            Query(events("stale_total", "exchange"), "stale: {{exchange}}"),
        ),
        lines(
            "Resyncs asked for",
            "0, and a few when a stream begins, changes hands or has a gap. What ingest is asked to fetch, by reason.",
            Scale("short"),
            Query(events("resync_requests_total", "feed, reason"), "{{feed}} {{reason}}"),
        ),
        lines(
            "Rejected and quarantined",
            "nothing. Frames that could not be normalized, by the first error in them, and frames put into quarantine.",
            Scale("short"),
            Query(events("frames_rejected_total", "exchange, code"), "rejected: {{exchange}} {{code}}"),
            Query(events("quarantined_total", "plane, code"), "quarantined: {{plane}} {{code}}"),
        ),
        lines(
            "Lost, repeated, returned",
            "nothing. lost: frame numbers that never came; repeated: delivered again after they were dealt with; "
            "returned: gone back to the broker when a connection was lost.",
            Scale("short"),
            Query(events("frames_lost_total", "stream"), "lost: {{stream}}"),
            Query(events("frames_repeated_total", "exchange"), "repeated: {{exchange}}"),
            Query(events("frames_returned_total", "exchange"), "returned: {{exchange}}"),
        ),
        lines(
            "Feed latency below 0",
            "0. Observations that say a frame came before it was sent: this machine's clock or the venue's is off.",
            Scale("short"),
            Query(events("feed_latency_negative_total", "exchange"), "{{exchange}}"),
        ),
    ],
)

NORMALIZERS: Final = Dashboard(
    "normalizers",
    "From raw frames to canonical messages: who owns which stream, how long it takes, what comes of it.",
    [_ownership, _time, _flow],
)
