"""What ``bench journey`` knows of a design, as it stands in the files and on standard output."""

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["Block", "DesignReport", "DesignResult", "Distribution", "Row", "Second", "distribution"]


class Distribution(Struct):
    """Median and 99th percentile (µs)."""

    p50: float
    p99: float


class Second(Struct):
    """One second of the time line; latency is reception to broker confirm, None where nothing was confirmed."""

    second: int
    received: int
    published: int
    dropped: int
    latency_p50_ms: float | None
    latency_p99_ms: float | None


class Block(Struct):
    """A micro-metric: how often a step ran, how long it took, and its share of the wall clock."""

    name: str
    runs: int
    mean_us: float
    p99_us: float
    max_us: float
    share: float


class DesignReport(Struct):
    """What a design tells at its end."""

    frames_in: int
    published: int
    dropped: int
    """Given up by its buffer."""
    q_wait_us: Distribution
    norm_time_us: float
    """Mean per frame."""
    loop_lag_us: Distribution
    net_write_us: float
    """Mean of a write: socket and broker confirm."""
    active_tasks_peak: int
    rss_peak_mib: float
    cpu_s: float
    timeline: list[Second]
    notes: list[str]
    blocks: list[Block] = []
    permits_short: float = 0.0
    """Share of the writes that had to wait for a publish permit; q_wait holds that wait."""


class DesignResult(Struct):
    """A design's report beside what was offered to it. ``shed`` is every frame offered and not published at the end."""

    name: str
    offered: int
    shed: int
    report: DesignReport


class Row(Struct):
    """A line of the table: what standard output ends with, one per design."""

    name: str
    frames_in: int
    published: int
    shed: int
    q_wait_us: Distribution
    norm_time_us: float
    loop_lag_us: float
    """99th percentile; the median is in ``loop_lag_p50_us``."""
    loop_lag_p50_us: float
    net_write_us: float
    active_tasks_peak: int
    rss_peak_mib: float

    @classmethod
    def of(cls, result: DesignResult) -> "Row":
        """The line of a result."""
        report = result.report
        return cls(
            result.name,
            report.frames_in,
            report.published,
            result.shed,
            report.q_wait_us,
            report.norm_time_us,
            report.loop_lag_us.p99,
            report.loop_lag_us.p50,
            report.net_write_us,
            report.active_tasks_peak,
            report.rss_peak_mib,
        )


def distribution(values: Sequence[float]) -> Distribution:
    """Of values in µs; zeros where there are none."""
    if not values:
        return Distribution(0.0, 0.0)
    ordered = sorted(values)
    last = len(ordered) - 1
    return Distribution(ordered[round(0.5 * last)], ordered[round(0.99 * last)])
