"""How ``tidegate top`` shows a report: tables that fit the terminal, or plain lines."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text

from services.cli.fitting import Column, Row, duration, fitted, rate
from services.cli.top_report import Balance, ExchangeRow, ProcessRow, Report, StreamRow

__all__ = ["lines", "view"]

LOCAL: Final = "127.0.0.1"
OVERHEAD: Final = 5
"""Lines of a view that are neither rows of the tables nor totals: two heads, a space, two notes."""
LAGGING_S: Final = 0.05
OLD_S: Final = 10.0

FLOW: Final = (
    Column("stream", 99, left=True), Column("frames/s", 98), Column("msgs/s", 90), Column("q_wait", 80),
    Column("norm", 70), Column("write", 60), Column("lag", 55), Column("qsize", 50), Column("shed", 85),
    Column("lost", 30), Column("breaker", 75), Column("age", 10), Column("owner", 65),
)  # fmt: skip
PROCESSES: Final = (
    Column("process", 99, left=True), Column("is", 98, left=True), Column("cpu", 80), Column("memory", 50),
    Column("lag", 90), Column("write", 70), Column("tasks", 40), Column("owns", 60),
)  # fmt: skip


def view(report: Report, width: int, height: int | None, not_asked: int) -> RenderableType:
    """Everything, at most ``width`` columns wide and ``height`` lines high (None: as high as it is).

    ``not_asked`` processes are too many to be asked.
    """
    flow, processes = list(_flow(report)), [_process(row) for row in report.processes]
    totals = Text(_totals(report.frames), style="bold red" if report.frames.balance else "bold")
    rows = len(flow) + len(processes)
    if height is not None:
        room = max(2, height - OVERHEAD - len(totals.wrap(Console(width=width), width)))
        if rows > room:
            processes = _keep(processes, max(1, room // 3))
            flow = _keep(flow, max(1, room - len(processes)))
    parts: list[RenderableType] = [fitted(FLOW, flow, width), "", fitted(PROCESSES, processes, width), totals]
    if left_out := rows - len(flow) - len(processes):
        parts.append(Text(f"{left_out} rows are left out: the window is too low", style="yellow"))
    if not_asked:
        parts.append(Text(f"{not_asked} more processes are not asked", style="yellow"))
    return Group(*parts)


def lines(report: Report) -> list[str]:
    """The same, one line for each row, for pipes and logs."""
    found = []
    for columns, rows in ((FLOW, _flow(report)), (PROCESSES, map(_process, report.processes))):
        for row in rows:
            named = zip(columns[1:], row.cells[1:], strict=True)
            found.append(" ".join([row.name, *(f"{column.name}={cell}" for column, cell in named if cell)]))
    return [*found, _totals(report.frames)]


def _flow(report: Report) -> Iterator[Row]:
    for exchange in report.exchanges:
        yield _exchange(exchange)
        for stream in report.streams:
            if stream.exchange == exchange.exchange:
                yield _stream(stream)


def _exchange(row: ExchangeRow) -> Row:
    waits = [wait for wait in row.q_wait_s.values() if wait is not None]
    cells = (
        row.exchange,
        rate(row.frames_per_s),
        rate(row.messages_per_s),
        duration(max(waits, default=None)),
        duration(row.norm_time_s),
        duration(row.net_write_s),
        duration(row.loop_lag_s),
        f"{row.qsize}",
        f"{row.shed}",
        f"{row.lost}",
        (row.breaker or "-").replace("_open", ""),
        "",
        "",
    )
    bad = row.shed_per_s or row.breaker in {"open", "half_open"} or (row.loop_lag_s or 0.0) > LAGGING_S
    return Row(row.exchange, cells, "bold red" if bad else "bold")


def _stream(row: StreamRow) -> Row:
    owners = ",".join(_short(owner) for owner in row.owners)
    cells = (
        f" {row.stream.removeprefix(f'{row.exchange}.')}",
        "down" if row.up is False else rate(row.frames_per_s),
        rate(row.messages_per_s),
        "",
        "",
        "",
        "",
        f"{row.qsize}",
        "",
        f"{row.lost}",
        "",
        "-" if row.age_s is None else f"{row.age_s:.0f}s",
        owners or "none",
    )
    bad = row.up is False or len(row.owners) != 1 or (row.age_s or 0.0) > OLD_S
    return Row(row.stream, cells, "red" if bad else "")


def _process(row: ProcessRow) -> Row:
    name = _short(row.target)
    if not row.up:
        problem = f"down: {(row.problem or '').removeprefix('failed: ')}"
        return Row(row.target, (name, problem, *[""] * (len(PROCESSES) - 2)), "red")
    cells = (
        name,
        row.role or "-",
        "-" if row.cpu is None else f"{row.cpu:.0%}",
        f"{row.memory_bytes / 1024**2:.0f}M",
        duration(row.loop_lag_s),
        duration(row.net_write_s),
        f"{row.active_tasks}",
        f"{row.streams_owned}",
    )
    return Row(row.target, cells, "red" if (row.loop_lag_s or 0.0) > LAGGING_S else "")


def _totals(frames: Balance) -> str:
    between = "" if frames.between is None else f" + on the broker {frames.between:,}"
    return (
        f"frames {frames.received:,} = published {frames.published:,} + conflated {frames.conflated:,} + "
        f"shed {frames.shed:,} + rejected {frames.rejected:,} + lost {frames.lost:,} + in flight {frames.in_flight:,}"
        f"{between}; unaccounted {frames.balance:,}; messages {frames.messages:,}"
    )


def _keep(rows: Sequence[Row], count: int) -> list[Row]:
    """So many of the rows, in their order; what is wrong stays."""
    bad = [index for index, row in enumerate(rows) if "red" in row.style][:count]
    good = [index for index, row in enumerate(rows) if "red" not in row.style][: count - len(bad)]
    return [rows[index] for index in sorted(bad + good)]


def _short(target: str) -> str:
    return target.removeprefix(LOCAL)
