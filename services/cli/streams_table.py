"""How ``tidegate streams`` shows who owns what: a table for a terminal, or a line for each stream."""

from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.cli.streams_board import Report, StreamRow

__all__ = ["lines", "view"]

NOBODY: Final = "nobody"
COLUMNS: Final = ("stream", "owner", "for", "frames/s", "lag", "waiting")
UNITS: Final = (("h", 3_600.0), ("m", 60.0), ("s", 1.0))
UNKNOWN: Final = "-"


def view(report: Report, now: int) -> RenderableType:
    """The table with a summary below; ``now`` is the wall clock (ns)."""
    table = Table(expand=False, pad_edge=False)
    for name in COLUMNS[:2]:
        table.add_column(name, no_wrap=True)
    for name in COLUMNS[2:]:
        table.add_column(name, no_wrap=True, justify="right")
    for row in report.streams:
        table.add_row(*_cells(row, now), style="red" if row.member is None else "")
    return Group(table, Text(_summary(report), style="bold red" if report.unowned else "bold"))


def lines(report: Report, now: int) -> list[str]:
    """The same for pipes and logs."""
    found = []
    for row in report.streams:
        stream, *cells = _cells(row, now)
        found.append(" ".join([stream, *(f"{name}={cell}" for name, cell in zip(COLUMNS[1:], cells, strict=True))]))
    return [*found, _summary(report)]


def _cells(row: StreamRow, now: int) -> tuple[str, ...]:
    return (
        row.stream,
        NOBODY if row.member is None else f"{row.host}:{row.pid}",
        UNKNOWN if row.since_ns is None else _age(max(0, now - row.since_ns) / 1e9),
        UNKNOWN if row.frames_per_s is None else f"{row.frames_per_s:.1f}",
        UNKNOWN if row.lag_ns is None else f"{row.lag_ns / 1e6:.1f}ms",
        UNKNOWN if row.waiting is None else str(row.waiting),
    )


def _age(seconds: float) -> str:
    """In its largest unit: ``2.5h``, ``12m``, ``3.1s``."""
    unit, size = next(((name, size) for name, size in UNITS if seconds >= size), UNITS[-1])
    value = seconds / size
    return f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"


def _summary(report: Report) -> str:
    normalizers = ", ".join(f"{one.host}:{one.pid} {one.streams}" for one in report.members) or "none"
    text = f"{len(report.streams)} streams, normalizers: {normalizers}"
    return f"{text}; without an owner: {len(report.unowned)}" if report.unowned else text
