"""The home page: which exchange, which step, since when, how bad, and whether anything was lost."""

from typing import Final

from tools.dashboards.page import Dashboard, Row
from tools.dashboards.panels import bars, heatmap, lines, states, tile
from tools.dashboards.parts import CALM, ZERO, Query, Scale, Words, steps
from tools.dashboards.promql import QUEUES, count, events, grown, heat, quantile, rate, select

__all__ = ["BREAKER", "OVERVIEW"]

LIVE: Final = 'exchange:tidegate_stream_health:min{exchange=~"$exchange"}'
UNACCOUNTED: Final = 'stage_exchange:tidegate_frames_unaccounted:sum{exchange=~"$exchange"}'
ALARMS: Final = "max(rabbitmq_alarms_memory_used_watermark + rabbitmq_alarms_free_disk_space_watermark)"

OPEN: Final = 'state="open"'
HALF_OPEN: Final = 'state="half_open"'

HEALTH: Final[Words] = {0: ("DOWN", "red"), 1: ("SILENT", "orange"), 2: ("LIVE", "green")}
BROKER: Final[Words] = {0: ("DOWN", "red"), 1: ("UP", "green"), 3: ("ALARM", "red")}
CONNECTION: Final[Words] = {0: ("DOWN", "red"), 1: ("UP", "green")}
BLOCKABLE: Final[Words] = {**CONNECTION, 3: ("BLOCKED", "orange")}
BREAKER: Final[Words] = {0: ("CLOSED", "green"), 1: ("HALF-OPEN", "orange"), 2: ("OPEN", "red")}

_health = Row(
    "Health",
    [
        tile(
            "Exchanges",
            "LIVE, green, for every exchange. DOWN: a stream of it has no connection, its instrument list cannot be "
            "had, or its ingest is gone; SILENT: a stream is open and brought no data for 30 s. An exchange stays "
            "here for an hour after it was last seen.",
            Query(f"{LIVE} or 0 * max by (exchange) (max_over_time({LIVE}[1h]))", "{{exchange}}"),
            Scale("none", steps("red", (1, "orange"), (2, "green")), decimals=0),
            HEALTH,
        )
        .wide(8)
        .pick("ingest")
        .to("ingest"),
        tile(
            "Targets down",
            "0. Processes that Prometheus knows and cannot scrape: gone, hanging or unreachable.",
            Query(count("up == 0")),
            ZERO,
        )
        .wide(3)
        .to("runtime"),
        tile(
            "Alerts firing",
            "0. Rules of Tidegate that fire now; Prometheus lists them under Alerts, each with its page in the "
            "runbooks.",
            Query(count('ALERTS{alertname=~"Tidegate.*", alertstate="firing"}')),
            ZERO,
        ).wide(3),
        tile(
            "RabbitMQ",
            "UP. ALARM: it is short of memory or disk and takes nothing from anybody until that is over.",
            Query(f'min(up{{service="rabbitmq"}}) + 2 * ({ALARMS} > bool 0 or vector(0))'),
            Scale("none", steps("red", (1, "green"), (2, "red")), decimals=0),
            BROKER,
        )
        .wide(3)
        .to("runtime"),
        tile(
            "End to end, p99",
            "below 50 ms. From the reception of a frame to the broker's confirm of its messages; this is the promise "
            "that a burst must not break.",
            Query(quantile(0.99, "end_to_end_seconds")),
            Scale("s", steps("green", (0.05, "orange"), (0.25, "red")), decimals=1),
        )
        .wide(4)
        .to("burst"),
        tile(
            "Unaccounted frames",
            "0. Frames of which a stage does not know what became of them; one scrape may catch a batch half way, "
            "anything that stays is a defect.",
            Query(f"max(abs({UNACCOUNTED}))"),
            ZERO,
        ).wide(3),
    ],
    height=4,
)

_losses = Row(
    "In the time shown",
    [
        tile(
            "Shed",
            "0. Frames dropped on purpose: the broker was too slow, or did not answer.",
            Query(f"{grown('frames_shed_total')} or vector(0)"),
            ZERO,
        ).to("ingest"),
        tile(
            "Lost",
            "0. Frame numbers that no normalizer saw: a queue ran over, or the broker was restarted.",
            Query(f"{grown('frames_lost_total')} or vector(0)"),
            ZERO,
        ).to("normalizers"),
        tile(
            "Rejected",
            "0. Frames that could not be normalized; they are in quarantine with the reason.",
            Query(f"{grown('frames_rejected_total')} or vector(0)"),
            ZERO,
        ).to("normalizers"),
        tile(
            "Gaps",
            "0 to a few. Breaks in a venue's own sequence; each is followed by a resync of that instrument.",
            Query(f"{grown('gaps_total')} or vector(0)"),
            CALM,
        ).to("normalizers"),
        tile(
            "Reconnects",
            "0 to a few. Connections that ended; venues close them once a day by rule.",
            Query(f"{grown('reconnects_total')} or vector(0)"),
            CALM,
        ).to("ingest"),
        tile(
            "Unconfirmed batches",
            "0. Batches that the broker did not confirm; ingest counts their frames as shed, a normalizer tries again.",
            Query(f"{grown('publish_failures_total')} or vector(0)"),
            ZERO,
        ).to("ingest"),
    ],
    height=4,
)

_flow = Row(
    "Flow",
    [
        lines(
            "Frames in",
            "follows the market and is never 0. Frames that arrived on the streams of each exchange, per second.",
            Scale("cps"),
            Query(rate("frames_received_total", "exchange", 'stage="ingest"'), "{{exchange}}"),
        )
        .pick("ingest")
        .to("ingest"),
        lines(
            "Messages out",
            "follows frames in. Canonical messages that the broker confirmed, per second, by feed.",
            Scale("cps"),
            Query(rate("messages_published_total", "feed"), "{{feed}}"),
            stacked="normal",
        ).to("normalizers"),
        lines(
            "Conservation: frames unaccounted",
            "a line at 0. received less published, conflated, shed, rejected, repeated, returned and in flight, per "
            "stage and exchange. Above 0 frames vanished, below 0 they were counted twice; a single scrape may catch "
            "a batch half way.",
            Scale("short", steps("red", (-1, "transparent"), (1, "red")), low=-10, high=10),
            Query(UNACCOUNTED, "{{stage}} {{exchange}}"),
        ),
        lines(
            "Shed, conflated, rejected, lost",
            "nothing. Frames in each window that did not become messages, by reason. Conflated quotes and tickers "
            "gave way to a newer one and are no loss of the last value.",
            Scale("short"),
            Query(events("frames_shed_total", "reason"), "shed: {{reason}}"),
            Query(events("frames_conflated_total", "exchange"), "conflated: {{exchange}}"),
            Query(events("frames_rejected_total", "code"), "rejected: {{code}}"),
            Query(events("frames_lost_total", "exchange"), "lost: {{exchange}}"),
        ).to("burst"),
        lines(
            "Gaps and reconnects",
            "0 most of the time. Breaks of a venue's own sequence, and ends of connections by reason, per second.",
            Scale("short"),
            Query(events("gaps_total", "exchange"), "gap: {{exchange}}"),
            Query(events("reconnects_total", "exchange, reason"), "reconnect: {{exchange}} {{reason}}"),
        ).to("ingest"),
        lines(
            "In flight and waiting",
            "tens. Frames that a stage has received and not yet dealt with, and envelopes that wait in the raw queues "
            "for a normalizer; a slope means that what follows is too slow.",
            Scale("short"),
            Query(f"sum by (stage) ({select('frames_in_flight')})", "frames: {{stage}}"),
            Query(f"sum(rabbitmq_detailed_queue_messages_ready{{{QUEUES}}})", "envelopes: RabbitMQ"),
        ).to("runtime"),
    ],
)

_latency = Row(
    "Latency",
    [
        heatmap(
            "End to end",
            "one dark band below 10 ms that a burst does not lift. From reception of the oldest frame of a batch to "
            "the broker's confirm of its messages.",
            heat("end_to_end_seconds"),
        )
        .wide(12)
        .to("burst"),
        lines(
            "Where the time goes, p99",
            "a few ms each. q_wait: in a stage's buffer; norm_time: frames to messages, per batch; net_write: socket "
            "write and broker confirm; pool_wait: for a permit to write. The step that grew first is the one to look "
            "at.",
            Scale("s"),
            Query(quantile(0.99, "queue_wait_seconds", "stage"), "q_wait: {{stage}}"),
            Query(quantile(0.99, "pool_wait_seconds", "stage"), "pool_wait: {{stage}}"),
            Query(quantile(0.99, "publish_seconds", "stage"), "net_write: {{stage}}"),
            Query(quantile(0.99, "normalize_seconds"), "norm_time"),
        )
        .wide(12)
        .to("burst"),
    ],
)

_states = Row(
    "Breaker, streams, broker",
    [
        states(
            "Circuit breaker",
            "CLOSED, green, all the time. OPEN: the broker did not confirm several times in a row and market frames "
            "are shed at once; HALF-OPEN: one batch probes it.",
            BREAKER,
            Query(
                f"sum by (circuit) ({select('circuit_state', HALF_OPEN)})"
                f" + 2 * sum by (circuit) ({select('circuit_state', OPEN)})",
                "{{circuit}}",
            ),
        )
        .wide(6)
        .to("burst"),
        states(
            "Stream connections",
            "UP, green, all the time. One line per stream; a gap means that its ingest could not be scraped.",
            CONNECTION,
            Query(f"max by (stream) ({select('stream_up')})", "{{stream}}"),
        )
        .wide(6)
        .to("ingest"),
        bars(
            "Stream age",
            "below 10 s, green; quiet products may take longer. Time since the last data frame of each stream; "
            "heartbeats do not count, and a scrape may be 5 s old.",
            Query(
                f"sort_desc(max by (stream) (time() - ({select('stream_last_frame_timestamp_seconds')} > 0)))",
                "{{stream}}",
            ),
            Scale("s", steps("green", (10, "orange"), (30, "red")), high=60),
        )
        .wide(6)
        .to("ingest"),
        states(
            "Broker connections",
            "UP, green, all the time. BLOCKED: RabbitMQ has an alarm and takes nothing from this connection.",
            BLOCKABLE,
            Query(
                f"min by (service, connection) ({select('broker_connected')})"
                f" + 2 * max by (service, connection) ({select('broker_blocked')})",
                "{{service}} {{connection}}",
            ),
        )
        .wide(6)
        .to("runtime"),
    ],
)

OVERVIEW: Final = Dashboard(
    "overview",
    "The market plane at a glance: is every exchange live, is anything lost, is latency flat.",
    [_health, _losses, _flow, _latency, _states],
)
