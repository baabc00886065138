"""Burst: the quantities that tell what a burst did, on one time axis."""

from typing import Final

from tools.dashboards.page import Dashboard, Row
from tools.dashboards.panels import lines, states, text
from tools.dashboards.parts import Panel, Query, Scale, Words, steps
from tools.dashboards.promql import INSTANCE, WINDOW, events, mean, quantile, rate, select
from tools.dashboards.runtime import CPU

__all__ = ["BURST"]

INGEST: Final = 'stage="ingest"'
SLOW_S: Final = 0.05
"""A wait, a write or a lag above this is one."""
BUSY: Final = 0.9
"""Cores of one process above which its thread is starved."""
MORE: Final = 1.5
"""So many times the mean rate of the time shown is a burst."""

GUIDE: Final = """\
| pattern | q_wait | batch_size | net_write | loop_lag | norm_time | CPU | shed |
|---|---|---|---|---|---|---|---|
| **healthy burst** | flat | **up** | flat | flat | a little up | up | 0 |
| **head-of-line blocking** | **up** | **1**, up when all permits wait | **up** | flat | flat | flat | if buffers fill |
| **internal stall** | up | up | up | **up** | **up** | up | if buffers fill |
| **thread starvation** | up | up | up | **up** | flat | **at 1 core** | if buffers fill |
| **machine overloaded** | up | up | up | **up in every process** | up | **low** | if buffers fill |

Head-of-line blocking: the broker or the way to it is slow. Internal stall: our own code holds the loop. Thread
starvation: the process gets no more of the processor. Machine overloaded: others use it up. net_write rises with
loop_lag because it is the same loop that reads the confirm. The first curve that rises with *Frames in* is the cause;
the others follow it.
"""

PATTERN: Final[Words] = {
    0: ("-", "transparent"),
    1: ("healthy", "green"),
    2: ("absorbed", "orange"),
    3: ("trouble", "red"),
}


def _late(name: str, *matchers: str) -> str:
    """1 while the p99 of a histogram is too high, else 0."""
    return f"({quantile(0.99, name, '', *matchers)} > bool {SLOW_S})"


def _fine(name: str, *matchers: str) -> str:
    return f"({quantile(0.99, name, '', *matchers)} <= bool {SLOW_S})"


WAITING, FLOWING = _late("queue_wait_seconds", INGEST), _fine("queue_wait_seconds", INGEST)
WRITING: Final = _late("publish_seconds", INGEST)
LAGGING, PROMPT = _late("event_loop_lag_seconds"), _fine("event_loop_lag_seconds")
PARSING, LIGHT = _late("normalize_seconds"), _fine("normalize_seconds")
LEAST_LAG: Final = f"min({quantile(0.99, 'event_loop_lag_seconds', INSTANCE)})"
EVERYWHERE, SOMEWHERE = f"({LEAST_LAG} > bool {SLOW_S})", f"({LEAST_LAG} <= bool {SLOW_S})"
"""Whether no process wakes in time, or only some of them don't."""
STARVED: Final = f"(max({CPU}) > bool {BUSY})"
RECEIVED: Final = select("frames_received_total", INGEST)
BURSTING: Final = f"(sum(rate({RECEIVED}{WINDOW})) > bool {MORE} * sum(rate({RECEIVED}[$__range])))"


def _band(panel: Panel) -> Panel:
    """As wide as the page, so that all have the same time axis."""
    return panel.wide(24)


_guide = Row("How to read it", [text("What a burst looks like", GUIDE).wide(24).high(6)])

_axis = Row(
    "One time axis",
    [
        _band(
            states(
                "What it looks like",
                "nothing, or green while the market bursts: more frames than usual, and nothing waits. Orange: the "
                "broker is slow and the permits absorb it. Red: the patterns of the table, judged by p99 of 50 ms and "
                "0.9 cores.",
                PATTERN,
                Query(f"{BURSTING} * {FLOWING} * {PROMPT}", "healthy burst"),
                Query(f"2 * {WRITING} * {FLOWING} * {PROMPT}", "slow broker, absorbed"),
                Query(f"3 * {WAITING} * {WRITING} * {PROMPT}", "head-of-line blocking"),
                Query(f"3 * {LAGGING} * {SOMEWHERE} * {PARSING}", "internal stall"),
                Query(f"3 * {LAGGING} * {LIGHT} * {STARVED}", "thread starvation"),
                Query(f"3 * {EVERYWHERE}", "machine overloaded"),
            )
        ),
        _band(
            lines(
                "Frames in",
                "follows the market. The burst itself: everything below is to be read against it.",
                Scale("cps"),
                Query(rate("frames_received_total", "exchange", INGEST), "{{exchange}}"),
            ).pick("ingest")
        ),
        _band(
            lines(
                "q_wait",
                "p99 below 1 ms, flat through a burst. Up with net_write: head-of-line blocking. Up with loop_lag: a "
                "stall or starvation. How long the oldest frame of a batch waited in a stage's buffer.",
                Scale("s", steps("transparent", (SLOW_S, "red"))),
                Query(quantile(0.5, "queue_wait_seconds", "stage"), "p50 {{stage}}"),
                Query(quantile(0.99, "queue_wait_seconds", "stage"), "p99 {{stage}}"),
            )
        ),
        _band(
            lines(
                "batch_size",
                "1 when it is quiet, up in a burst: a healthy one shows here and nowhere else. Staying at 1 while "
                "q_wait rises: each frame waits for the one before it. Frames in one write.",
                Scale("short"),
                Query(mean("batch_frames", "stage"), "mean {{stage}}"),
                Query(quantile(0.99, "batch_frames", "stage"), "p99 {{stage}}"),
            )
        ),
        _band(
            lines(
                "net_write",
                "p99 of a few ms, flat through a burst. Up with q_wait while loop_lag is flat: the broker or the "
                "network. Socket write and broker confirm of one batch; pool_wait is the wait for a permit before it.",
                Scale("s", steps("transparent", (SLOW_S, "red"))),
                Query(quantile(0.5, "publish_seconds", "stage"), "p50 {{stage}}"),
                Query(quantile(0.99, "publish_seconds", "stage"), "p99 {{stage}}"),
                Query(quantile(0.99, "pool_wait_seconds", "stage"), "pool_wait p99 {{stage}}"),
            )
        ),
        _band(
            lines(
                "loop_lag",
                "p99 below 10 ms, flat through a burst. Up with norm_time: our own code holds the loop. Up while "
                "norm_time is flat: the process gets no processor. How late the event loop of each process woke.",
                Scale("s", steps("transparent", (SLOW_S, "red"))),
                Query(quantile(0.99, "event_loop_lag_seconds", INSTANCE), "p99 {{service}} {{instance}}"),
            )
        ),
        _band(
            lines(
                "norm_time and CPU",
                "norm_time p99 of a few ms, up a little with the batch; CPU (right) below 1 core. It tells a stall "
                "(both up) from starvation (norm_time flat, CPU at 1 core).",
                Scale("s"),
                Query(quantile(0.99, "normalize_seconds"), "norm_time p99"),
                Query(CPU, "CPU {{service}} {{instance}}", right="short"),
            )
        ),
        _band(
            lines(
                "shed",
                "nothing. Frames dropped on purpose in each window, by exchange and reason; conflated ones gave way "
                "to a newer value.",
                Scale("short"),
                Query(events("frames_shed_total", "exchange, reason"), "{{exchange}} {{reason}}"),
                Query(events("frames_conflated_total", "exchange"), "{{exchange}} conflated"),
            )
        ),
    ],
    height=6,
)

BURST: Final = Dashboard(
    "burst",
    "What a burst did, on one time axis: head-of-line blocking, a stall, starvation and a healthy burst look "
    "different.",
    [_guide, _axis],
)
