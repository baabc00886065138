"""Table, targets and picture of ``bench journey``."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from services.bench.journey_result import Block, DesignReport, DesignResult

__all__ = ["picture", "table", "targets"]

COLUMNS: Final = (
    ("design", 14),
    ("frames in", 10),
    ("published", 10),
    ("shed", 9),
    ("q_wait p50/p99", 21),
    ("norm_time", 10),
    ("loop_lag p50/p99", 21),
    ("net_write", 11),
    ("tasks", 8),
    ("RSS MiB", 8),
)


def table(results: Sequence[DesignResult]) -> str:
    """One line per design, then what there is to say about each."""
    head = "".join(f"{title:>{width}}" for title, width in COLUMNS)
    lines = [head, *(_line(result) for result in results)]
    for result in results:
        lines += ["", f"{result.name}:", *(f"  {note}" for note in _remarks(result))]
    return "\n".join(lines)


def _line(result: DesignResult) -> str:
    report = result.report
    q_wait, lag = report.q_wait_us, report.loop_lag_us
    cells = (
        result.name,
        str(report.frames_in),
        str(report.published),
        str(result.shed),
        f"{_time(q_wait.p50)} / {_time(q_wait.p99)}",
        _time(report.norm_time_us),
        f"{_time(lag.p50)} / {_time(lag.p99)}",
        _time(report.net_write_us),
        str(report.active_tasks_peak),
        f"{report.rss_peak_mib:.0f}",
    )
    return "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, COLUMNS, strict=True))


def _remarks(result: DesignResult) -> list[str]:
    report = result.report
    left = max(0, result.shed - report.dropped)
    share = result.shed / result.offered
    remarks = [
        f"{result.offered} frames were offered, {share:.1%} of them did not get through:",
        f"{report.dropped} were given up on the way, {left} never read, or still waiting at the end",
    ]
    return [*remarks, *report.notes, *(_block(block) for block in report.blocks)]


def _block(block: Block) -> str:
    return (
        f"[MICRO-METRIC] {block.name}: {block.runs} runs, mean {_time(block.mean_us)}, p99 {_time(block.p99_us)},"
        f" at most {_time(block.max_us)}, {block.share:.1%} of the wall clock"
    )


def targets(result: DesignResult, rate: float) -> str:
    """What the last design should reach, beside what it did."""
    if not result.name.endswith("tidegate"):
        return ""
    report = result.report
    slices = next((block.p99_us for block in report.blocks if "parse" in block.name), None)
    waited = f"{report.permits_short:.0%} of the writes waited for a permit"
    lines = [
        _target(f"sheds nothing at {rate:.0f} frames/s", "0", f"{result.shed}", met=result.shed == 0),
        _limit(f"q_wait p99 ({waited})", report.q_wait_us.p99, 1_000),
        _limit("norm_time (mean per frame)", report.norm_time_us, 300),
        "  parse slice: not measured by the normalizer" if slices is None else _limit("parse slice p99", slices, 71),
        _limit("loop_lag p99", report.loop_lag_us.p99, 1_000),
        _limit("loop_lag median", report.loop_lag_us.p50, 100),
        f"  active_tasks peak: {report.active_tasks_peak}",
    ]
    return "\n".join(["", "targets:", *lines, ""])


def _limit(what: str, value: float, bound: float) -> str:
    return _target(what, f"at most {_time(bound)}", _time(value), met=value <= bound)


def _target(what: str, wanted: str, found: str, *, met: bool) -> str:
    return f"  {what}: {found} ({wanted}: {'met' if met else 'MISSED'})"


def _time(value: float) -> str:
    """µs for a reader."""
    if value >= 1e6:
        return f"{value / 1e6:.2f} s"
    return f"{value / 1e3:.1f} ms" if value >= 1e3 else f"{value:.0f} µs"


def picture(results: Sequence[DesignResult], path: Path, rate: float, seconds: float) -> str:
    """Draw latency and drops over time, one row a design; returns what became of it."""
    if find_spec("matplotlib") is None:
        return f"not written: {path} (matplotlib is not installed; it is one of the development dependencies)"
    figure = import_module("matplotlib.figure").Figure(figsize=(10.0, 2.6 * len(results)), layout="constrained")
    both: tuple[Any, ...] = ()
    rows = figure.subplots(len(results), 1, sharex=True, squeeze=False)
    for axes, result in zip(rows[:, 0], results, strict=True):
        both = axes, _draw(axes, result.report, rate, seconds)
        axes.set_title(f"{result.name}: {result.report.published} published, {result.shed} lost", loc="left")
    for one, place in zip(both, ("lower right", "upper right"), strict=False):
        one.legend(loc=place, fontsize="small")
    rows[-1, 0].set_xlabel(f"seconds since the first frame, {rate:.0f} frames/s")
    figure.savefig(path, dpi=110)
    return f"written: {path}"


def _draw(axes: Any, report: DesignReport, rate: float, length: float) -> Any:  # noqa: ANN401 - may not be there
    """Draw into ``axes``; returns the axes of the losses."""
    timeline = report.timeline
    seconds = [one.second for one in timeline]
    axes.set_yscale("log")
    axes.set_ylim(1, 100_000)
    axes.set_ylabel("latency, ms")
    for name, values, style in (
        ("p50", [one.latency_p50_ms for one in timeline], ".-"),
        ("p99", [one.latency_p99_ms for one in timeline], ".--"),
    ):
        axes.plot(seconds, [float("nan") if value is None else value for value in values], style, label=name)
    losses = axes.twinx()
    dropped = [one.dropped for one in timeline]
    unread = [max(0.0, rate - one.received) if one.second < int(length) else 0.0 for one in timeline]
    losses.bar(seconds, dropped, color="tab:red", alpha=0.35, label="dropped by the buffer")
    losses.bar(seconds, unread, bottom=dropped, color="tab:gray", alpha=0.3, label="offered, not read in this second")
    losses.set_ylabel("frames / s")
    losses.set_ylim(bottom=0, top=max(1.3 * rate, *dropped))
    return losses
