"""Ingest: streams and their ages, buffers against their bounds, batches, and the way to the broker."""

from typing import Final

from tools.dashboards.page import Dashboard, Row
from tools.dashboards.panels import bars, heatmap, history, lines, table
from tools.dashboards.parts import CALM, ZERO, Column, Query, Scale, Words, steps
from tools.dashboards.promql import events, grown, heat, quantile, rate, select

__all__ = ["INGEST"]

STAGE: Final = 'stage="ingest"'
CONNECTION: Final[Words] = {0: ("DOWN", "red"), 1: ("UP", "green")}
AGE: Final = steps("green", (10, "orange"), (30, "red"))
FILL: Final = Scale("percentunit", steps("green", (0.25, "orange"), (0.75, "red")), high=1)
SHARE: Final = Scale("percentunit", steps("transparent", (0.8, "red")), high=1)


def _fill(part: str) -> str:
    """How full a buffer is, 0 to 1: of frames, of bytes."""
    return f"{select(f'buffer_{part}')} / {select(f'buffer_{part}_limit')}"


FILLED: Final = f"max by (stream) ({_fill('frames')} or {_fill('bytes')})"
LAST_FRAME: Final = f"time() - ({select('stream_last_frame_timestamp_seconds')} > 0)"

_streams = Row(
    "Streams",
    [
        table(
            "Every stream",
            "up 1, age below 10 s, fill near 0 %, connected for hours. Every stream, the one that is silent longest "
            "on top.",
            "stream",
            [
                Column("up", f"max by (stream) ({select('stream_up')})", Scale("none", steps("red", (1, "green")))),
                Column("age", f"max by (stream) ({LAST_FRAME})", Scale("s", AGE, decimals=1)),
                Column("fill", FILLED, Scale("percentunit", FILL.steps, decimals=0)),
                Column(
                    "connected for",
                    f"max by (stream) (time() - {select('stream_connected_timestamp_seconds')})",
                    Scale("s", decimals=0),
                ),
                Column("ended", grown("reconnects_total", "stream"), CALM),
            ],
            worst="age",
        ).wide(12),
        history(
            "Connections",
            "UP, green, all the time. A cell per scrape; a gap means that the ingest could not be scraped.",
            CONNECTION,
            Query(f"max by (stream) ({select('stream_up')})", "{{stream}}"),
        ).wide(12),
        lines(
            "Age of the last frame",
            "a few seconds, more for quiet products. Heartbeats do not count; above 30 s the stream counts as silent.",
            Scale("s", AGE),
            Query(f"max by (stream) ({LAST_FRAME})", "{{stream}}"),
        ),
        lines(
            "Ends of connections",
            "0 most of the time. By reason: what the venue closed, what fell silent, what could not be opened at all.",
            Scale("short"),
            Query(events("reconnects_total", "stream, reason"), "{{stream}} {{reason}}"),
        ),
        lines(
            "Topics by state",
            "all of them accepted a few seconds after a connect. requested: the venue has not answered; waiting: not "
            "asked for yet, because it allows so many requests a second.",
            Scale("short"),
            Query(f"sum by (state) ({select('subscriptions')})", "{{state}}"),
            stacked="normal",
        ),
        lines(
            "Topics refused or silent",
            "0. refused: the venue said no; silent: it said yes and no first frame came within the deadline.",
            Scale("short"),
            Query(events("subscription_rejections_total", "stream, feed"), "refused: {{stream}} {{feed}}"),
            Query(events("subscriptions_silent_total", "stream, feed"), "silent: {{stream}} {{feed}}"),
        ),
        lines(
            "Instruments listed",
            "flat; it changes when a venue lists or delists something. What the last instrument list of each product "
            "held.",
            Scale("short"),
            Query(f"max by (exchange, product) ({select('instruments')})", "{{exchange}} {{product}}"),
        ),
        lines(
            "Snapshots asked for",
            "0, and a few at the start and after each gap. Requests to a venue for what restores a feed, by reason.",
            Scale("short"),
            Query(events("resyncs_total", "feed, reason"), "{{feed}} {{reason}}"),
        ),
    ],
)

_reading = Row(
    "What comes",
    [
        lines(
            "Frames in",
            "follows the market and is never 0. Frames that arrived, per second; REST replies and marks count too.",
            Scale("cps"),
            Query(rate("frames_received_total", "exchange", STAGE), "{{exchange}}"),
        ).pick("ingest"),
        lines(
            "Frames in, by stream",
            "each its share. One that is far above the others is split with `streams = 4` in the settings.",
            Scale("cps"),
            Query(rate("stream_frames_total", "stream"), "{{stream}}"),
        ),
        lines(
            "Payload in",
            "follows frames in. Bytes that the frames held.",
            Scale("Bps"),
            Query(rate("bytes_received_total", "exchange"), "{{exchange}}"),
        ),
        lines(
            "REST requests",
            "a few now and then, all ok. status_429: the venue says that it is asked too often.",
            Scale("short"),
            Query(events("rest_requests_total", "exchange, outcome"), "{{exchange}} {{outcome}}"),
        ).wide(12),
        lines(
            "REST time, p99",
            "below 1 s. From a request to the end of its reply; waiting for the venue's weight is not in it.",
            Scale("s"),
            Query(quantile(0.99, "rest_seconds", "exchange"), "{{exchange}}"),
        ).wide(12),
    ],
)

_buffers = Row(
    "Buffers",
    [
        bars(
            "Buffer fill",
            "near 0 %. The fuller of frames and bytes against the bound; at 100 % quotes and tickers conflate to the "
            "newest and the oldest of everything else is shed.",
            Query(f"sort_desc({FILLED})", "{{stream}}"),
            FILL,
        ),
        lines(
            "Frames in buffers",
            "near 0. What waits per stream (qsize); a slope means that the broker is slower than the market.",
            Scale("short"),
            Query(f"max by (stream) ({select('buffer_frames')})", "{{stream}}"),
        ),
        heatmap(
            "Queue wait",
            "below 1 ms. How long the oldest frame of a batch sat in its buffer before it was taken (q_wait).",
            heat("queue_wait_seconds", STAGE),
        ).to("burst"),
        lines(
            "Conflated",
            "nothing. Quotes and tickers that gave way in a full buffer to a newer one of the same instrument.",
            Scale("short"),
            Query(events("frames_conflated_total", "exchange, feed"), "{{exchange}} {{feed}}"),
            stacked="normal",
        ),
        lines(
            "Shed",
            "nothing. Frames dropped on purpose. overflow, expired, overload: more comes than gets out; circuit_open, "
            "publish_failed: it does not answer; shutdown: the process was told to end.",
            Scale("short"),
            Query(events("frames_shed_total", "exchange, reason"), "{{exchange}} {{reason}}"),
            stacked="normal",
        ),
        table(
            "Shed most",
            "empty. Where frames were dropped in the time shown, the worst on top.",
            "exchange, symbol, reason",
            [Column("frames", f"topk(20, {grown('frames_shed_total', 'exchange, symbol, reason')} > 0)", ZERO)],
            worst="frames",
        ),
    ],
)

_publishing = Row(
    "Batches and the broker",
    [
        heatmap(
            "Batch size",
            "1 when it is quiet, growing with the load: that is how a burst costs throughput and not latency. Frames "
            "in one write (batch_size).",
            heat("batch_frames", STAGE),
            unit="short",
        ).to("burst"),
        lines(
            "What closed a batch",
            "idle when it is quiet, age under load. frames or bytes near 100 %: batches are as large as they may be, "
            "and the writer is at its limit.",
            Scale("percentunit", high=1),
            Query(
                f"{rate('batches_total', 'trigger', STAGE)} / scalar({rate('batches_total', '', STAGE)})", "{{trigger}}"
            ),
            stacked="normal",
        ),
        lines(
            "Envelope size",
            "hundreds of bytes to 256 KiB, growing with the load. One AMQP message body.",
            Scale("bytes"),
            Query(quantile(0.5, "envelope_bytes", "stage"), "p50 {{stage}}"),
            Query(quantile(0.99, "envelope_bytes", "stage"), "p99 {{stage}}"),
        ),
        heatmap(
            "Pool wait",
            "below 0.1 ms. The wait for a permit to write (pool_wait); it grows when all permits wait for the broker.",
            heat("pool_wait_seconds", STAGE),
        ),
        lines(
            "Permits in use",
            "far below 100 %. Writes under way of those that may be; at 100 % batches wait for the broker.",
            SHARE,
            Query(
                f"max by (service, stage) ({select('permits_in_use')} / {select('permits')})",
                "{{service}} {{stage}}",
            ),
        ),
        heatmap(
            "Net write",
            "a few ms. Socket write and broker confirm of one batch (net_write).",
            heat("publish_seconds", STAGE),
        ).to("burst"),
        lines(
            "Unconfirmed batches",
            "0. Batches that the broker did not confirm, by reason; their frames count as shed.",
            Scale("short"),
            Query(events("publish_failures_total", "stage, reason"), "{{stage}} {{reason}}"),
        ).wide(24),
    ],
)

INGEST: Final = Dashboard(
    "ingest",
    "From the venues' sockets to the broker: what comes, what waits, what leaves, what does not.",
    [_streams, _reading, _buffers, _publishing],
)
