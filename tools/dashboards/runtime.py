"""Runtime: what the processes take of the machine, and how the broker is."""

from typing import Final

from tools.dashboards.normalizers import LAG
from tools.dashboards.page import Dashboard, Row
from tools.dashboards.panels import bars, heatmap, lines, states, table, tile
from tools.dashboards.parts import CALM, ZERO, Column, Query, Scale, Words, steps
from tools.dashboards.promql import INSTANCE, QUEUES, WINDOW, grown, heat, quantile, select

__all__ = ["CPU", "RUNTIME"]

OURS: Final = 'job!~"prometheus|rabbitmq.*"'
CPU: Final = f"sum by ({INSTANCE}) (rate(process_cpu_seconds_total{{{OURS}}}{WINDOW}))"
"""Cores that each process of Tidegate uses. Its work is on one thread, so that 1 is all there is."""

PROCESS: Final = "{{service}} {{instance}}"
MACHINE: Final[Words] = {0: ("no", "green"), 1: ("ALARM", "red")}
MARKET: Final = 'plane="market"'
FILL: Final = Scale("percentunit", steps("green", (0.25, "orange"), (0.75, "red")), low=0, high=1)


def _own(metric: str, by: str = INSTANCE) -> str:
    """A metric that every process has by itself."""
    return f"max by ({by}) ({metric}{{{OURS}}})"


def _queue(kind: str) -> str:
    return f"rabbitmq_detailed_queue_{kind}{{{QUEUES}}}"


def _limit(unit: str) -> str:
    """What one raw queue may hold, as a number."""
    return f"scalar(max({select(f'queue_{unit}_limit', MARKET)}))"


QUEUE_FILL: Final = (
    f"max by (queue) ({_queue('messages_ready')} / {_limit('envelopes')}"
    f" or {_queue('messages_ready_bytes')} / {_limit('bytes')})"
)

_processes = Row(
    "Processes",
    [
        lines(
            "CPU",
            "well below 1 core. A process works on one thread: at 1 it is starved, whatever the machine has left.",
            Scale("short", steps("transparent", (0.7, "orange"), (0.9, "red")), decimals=2),
            Query(CPU, PROCESS),
        ).to("burst"),
        lines(
            "Memory",
            "flat, below 300 MiB. Resident memory; a slope that goes on for hours is a leak.",
            Scale("bytes"),
            Query(_own("process_resident_memory_bytes"), PROCESS),
        ),
        lines(
            "Tasks",
            "flat, tens. Tasks on the event loop (active_tasks); a slope is a leak.",
            Scale("short", decimals=0),
            Query(f"max by ({INSTANCE}) ({select('active_tasks')})", PROCESS),
        ),
        lines(
            "Loop lag",
            "p99 below 10 ms. How late the event loop of each process woke (loop_lag).",
            LAG,
            Query(quantile(0.5, "event_loop_lag_seconds", INSTANCE), f"p50 {PROCESS}"),
            Query(quantile(0.99, "event_loop_lag_seconds", INSTANCE), f"p99 {PROCESS}"),
        ).to("burst"),
        heatmap(
            "Loop lag of all",
            "one band below 1 ms. What lies far above it held a loop while it lasted.",
            heat("event_loop_lag_seconds"),
        ),
        lines(
            "Synchronous blocks, p99",
            "below 0.1 ms. How long code holds the event loop in one go, by place.",
            Scale("s", steps("transparent", (0.001, "orange"), (0.01, "red"))),
            Query(quantile(0.99, "block_seconds", "block"), "{{block}}"),
        ),
        lines(
            "Open files",
            "flat, tens. Sockets count; the limit is the system's.",
            Scale("short", decimals=0),
            Query(_own("process_open_fds"), PROCESS),
        ),
        lines(
            "Garbage collections",
            "below one a second. Runs of the collector's oldest generation stop everything for tens of milliseconds.",
            Scale("cps"),
            Query(
                f"sum by (service, generation) (rate(python_gc_collections_total{{{OURS}}}{WINDOW}))",
                "{{service}} generation {{generation}}",
            ),
        ),
        lines(
            "Failures in a row",
            "0. What each breaker has counted (cb_failures); it opens at 5 unless the settings say otherwise.",
            Scale("short", steps("transparent", (1, "orange")), decimals=0),
            Query(f"max by (circuit) ({select('circuit_failures')})", "{{circuit}}"),
        ),
        table(
            "What runs",
            "the same version everywhere. Restarts show as a process that is younger than the others.",
            "service, instance, version, python",
            [
                Column(
                    "up for",
                    "max by (service, instance, version, python)"
                    f" (time() - process_start_time_seconds{{{OURS}}}"
                    f" + on (instance) group_left(version, python) 0 * {select('build_info')})",
                    Scale("s", decimals=0),
                )
            ],
            worst="up for",
        ).wide(12),
        tile(
            "Tasks crashed",
            "0. Background tasks that ended with an exception in the time shown; the log has the trace.",
            Query(f"{grown('task_crashes_total')} or vector(0)"),
            ZERO,
        )
        .wide(4)
        .high(8),
        tile(
            "Log records dropped",
            "0. The log queue was full: whatever takes the output is too slow.",
            Query(f"{grown('log_records_dropped_total')} or vector(0)"),
            CALM,
        )
        .wide(4)
        .high(8),
        tile(
            "Broker connections lost",
            "0. How often a process lost a connection to the broker, or got none at its start, in the time shown.",
            Query(f"({grown('broker_losses_total')} or vector(0)) + ({grown('broker_refusals_total')} or vector(0))"),
            CALM,
        )
        .wide(4)
        .high(8),
    ],
)

_broker = Row(
    "RabbitMQ",
    [
        bars(
            "Raw queues against their limit",
            "near 0 %. The fuller of messages and bytes of each stream's queue; at 100 % the oldest is dropped, which "
            "the normalizer sees as a hole in the frame numbers.",
            Query(f"sort_desc({QUEUE_FILL})", "{{queue}}"),
            FILL,
        ),
        lines(
            "Envelopes waiting",
            "below ten. Ready messages of each raw queue; a slope means that normalizers are too slow or too few.",
            Scale("short"),
            Query(f"max by (queue) ({_queue('messages_ready')})", "{{queue}}"),
        ).to("normalizers"),
        lines(
            "Envelopes delivered, not acknowledged",
            "below a hundred. They are in a normalizer's hands; at the prefetch (128) it takes no more.",
            Scale("short"),
            Query(f"max by (queue) ({_queue('messages_unacked')})", "{{queue}}"),
        ).to("normalizers"),
        lines(
            "Consumers per queue",
            "1 on each raw queue, 0 for a second or two while a stream changes hands.",
            Scale("short", decimals=0),
            Query(f"max by (queue) ({_queue('consumers')})", "{{queue}}"),
        ),
        lines(
            "Quarantine",
            "flat at 0. Frames that could not be normalized and wait to be looked at; at the bound the oldest goes.",
            Scale("short", decimals=0),
            Query('max by (queue) (rabbitmq_detailed_queue_messages_ready{queue=~"quarantine[.].+"})', "{{queue}}"),
        ),
        states(
            "Alarms",
            "green. memory or disk: RabbitMQ takes nothing from anybody until it is over; files: it accepts no more "
            "connections.",
            MACHINE,
            Query("max(rabbitmq_alarms_memory_used_watermark)", "memory"),
            Query("max(rabbitmq_alarms_free_disk_space_watermark)", "disk"),
            Query("max(rabbitmq_alarms_file_descriptor_limit)", "files"),
        ),
        lines(
            "Messages through the broker",
            "received and delivered alike. received: from ingests and normalizers; delivered: to normalizers and to "
            "you.",
            Scale("cps"),
            Query(f"sum(rate(rabbitmq_global_messages_received_total{WINDOW}))", "received"),
            Query(f"sum(rate(rabbitmq_global_messages_confirmed_total{WINDOW}))", "confirmed"),
            Query(f"sum(rate(rabbitmq_global_messages_delivered_total{WINDOW}))", "delivered"),
            Query(f"sum(rate(rabbitmq_global_messages_redelivered_total{WINDOW}))", "redelivered"),
        ),
        lines(
            "Memory against the limit",
            "below 60 %. At 100 % the alarm is set.",
            Scale("percentunit", steps("transparent", (0.8, "orange"), (1, "red")), high=1.2),
            Query("max(rabbitmq_process_resident_memory_bytes / rabbitmq_resident_memory_limit_bytes)", "memory"),
        ),
        lines(
            "Disk left",
            "far above the limit, below which the alarm is set.",
            Scale("bytes"),
            Query("min(rabbitmq_disk_space_available_bytes)", "left"),
            Query("max(rabbitmq_disk_space_available_limit_bytes)", "limit"),
        ),
        lines(
            "Connections and channels",
            "flat: two connections per process and your own. Steps are restarts; a slope is a leak.",
            Scale("short", decimals=0),
            Query("sum(rabbitmq_connections)", "connections"),
            Query("sum(rabbitmq_channels)", "channels"),
            Query("sum(rabbitmq_consumers)", "consumers"),
        ).wide(24),
    ],
)

RUNTIME: Final = Dashboard(
    "runtime",
    "What the processes take of the machine, and how the broker is.",
    [_processes, _broker],
)
