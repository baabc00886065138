"""Tables that fit a terminal's width: first with shorter heads, then with fewer columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import JustifyMethod

__all__ = ["Column", "Row", "duration", "fitted", "rate"]

UNKNOWN: Final = "-"


class Column(NamedTuple):
    """A column and how long it stays where there is no room: that with the lowest number goes first."""

    name: str
    stays: int
    left: bool = False
    short: str = ""
    """Its head where the other one is too wide; empty: the same."""


class Row(NamedTuple):
    """Cells in the order of the columns; ``name`` is the first one where there is nothing above it."""

    name: str
    cells: Sequence[str]
    style: str = ""


def fitted(columns: Sequence[Column], rows: Sequence[Row], width: int) -> Table:
    """The table, at most ``width`` columns of the terminal wide."""
    heads = [column.name for column in columns]
    shown = list(range(len(columns)))
    if _wide(heads, rows, shown) > width:
        heads = [column.short or column.name for column in columns]
    while len(shown) > 1 and _wide(heads, rows, shown) > width:
        shown.remove(min(shown, key=lambda index: columns[index].stays))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), expand=False, header_style="dim")
    for index in shown:
        justify: JustifyMethod = "left" if columns[index].left else "right"
        table.add_column(heads[index], justify=justify, no_wrap=True, overflow="ellipsis")
    for row in rows:
        table.add_row(*(Text(row.cells[index]) for index in shown), style=row.style)
    return table


def rate(value: float | None) -> str:
    """Per second, in whole numbers."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def duration(seconds: float | None) -> str:
    """In five characters: what is asked for has to fit into 80 columns."""
    if seconds is None:
        return UNKNOWN
    if seconds < 0.000_999_5:
        return f"{seconds * 1e6:.0f}µs"
    if seconds < 0.995:
        return f"{seconds * 1e3:.1f}ms" if seconds < 0.009_95 else f"{seconds * 1e3:.0f}ms"
    return f"{seconds:.1f}s"


def _wide(heads: Sequence[str], rows: Sequence[Row], shown: Sequence[int]) -> int:
    """With a space between columns."""
    return sum(max([len(heads[index]), *(cell_len(row.cells[index]) for row in rows)]) + 1 for index in shown) - 1
