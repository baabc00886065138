"""One picture of a dashboard: its panels where the dashboard has them, with what was done to the plane marked."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from PIL import Image

from tools.pictures.data import Panel, Prometheus, Series, Span, answers
from tools.pictures.kinds import KINDS

__all__ = ["Drawn", "Happened", "draw"]

COLUMN_INCH: Final = 0.62
LINE_INCH: Final = 0.27
HEAD_INCH: Final = 0.75
NAMES_INCH: Final = 1.65
"""Right of what is drawn over time, for the names of series."""
MARGINS_INCH: Final = {"stat": 0.15, "table": 0.15, "bargauge": 1.35}
"""Left of the axes, for what stands there; 0.55 for everything over time."""
DPI: Final = 100
COLORS: Final = 128
"""Of the file: lines and plain areas need no more."""
DIGIT_INCH: Final = 0.06
"""Of the numbers of what happened."""
TIMED: Final = ("timeseries", "heatmap", "state-timeline", "status-history")


class Happened(Protocol):
    """Something that was done to the plane, at a Unix time."""

    @property
    def at(self) -> float:
        """When."""
        ...

    @property
    def what(self) -> str:
        """In a few words."""
        ...


class Drawn(NamedTuple):
    """What a picture holds: panels, and series in them."""

    panels: int
    curves: int


def draw(
    dashboard: dict[str, Any],
    prometheus: Prometheus,
    times: tuple[float, float],
    events: Sequence[Happened],
    path: Path,
) -> Drawn:
    """Draw a dashboard (its JSON) into a PNG file, between two Unix times. Panels of text are left out."""
    span = Span(*times)
    sheet = _Sheet(dashboard, span, events)
    curves = 0
    for panel in dashboard["panels"]:
        if panel["type"] in KINDS:
            series = answers(panel, prometheus, span)
            curves += len(series)
            sheet.panel(panel, series)
        elif panel["type"] == "row":
            sheet.row(panel)
    sheet.save(path)
    return Drawn(sum(panel["type"] in KINDS for panel in dashboard["panels"]), curves)


class _Sheet:
    """The figure, measured in inches from its top left corner."""

    def __init__(self, dashboard: dict[str, Any], span: Span, events: Sequence[Happened]) -> None:
        self._span = span
        self._events = events
        grids = [panel["gridPos"] for panel in dashboard["panels"] if panel["type"] in KINDS]
        self._skipped = min(grid["y"] for grid in grids) - 1
        bottom = max(grid["y"] + grid["h"] for grid in grids)
        self._width = 24 * COLUMN_INCH
        self._height = (bottom - self._skipped) * LINE_INCH + HEAD_INCH
        self._figure = Figure(figsize=(self._width, self._height))
        self._text(0.15, 0.25, dashboard["title"], fontsize=13, weight="bold")
        self._text(0.15, 0.6, self._caption(), fontsize=7)

    def row(self, row: Panel) -> None:
        """The title of a row."""
        if row["gridPos"]["y"] >= self._skipped:
            self._text(0.15, self._top(row) + 0.2, row["title"], fontsize=9, weight="bold", color="gray")

    def panel(self, panel: Panel, series: Sequence[Series]) -> None:
        """A panel with its title."""
        grid, timed = panel["gridPos"], panel["type"] in TIMED
        margin = MARGINS_INCH.get(panel["type"], 0.55)
        width = grid["w"] * COLUMN_INCH - margin - (NAMES_INCH if timed else 0.3)
        height = grid["h"] * LINE_INCH - 0.5
        left, bottom = grid["x"] * COLUMN_INCH + margin, self._height - self._top(panel) - 0.28 - height
        place = (left / self._width, bottom / self._height, width / self._width, height / self._height)
        axes = self._figure.add_axes(place)
        axes.set_title(panel["title"], fontsize=7.5, loc="left", pad=3)
        axes.tick_params(labelsize=6)
        KINDS[panel["type"]](axes, panel, series, self._span.end - self._span.start)
        if not any(one.values for one in series) and panel["type"] != "table":
            axes.text(0.5, 0.5, "nothing", ha="center", va="center", transform=axes.transAxes, color="gray", fontsize=6)
        if timed:
            axes.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g} s"))
            self._mark(axes, width)

    def save(self, path: Path) -> None:
        """Write a PNG of few colors: a tenth of the size."""
        whole = io.BytesIO()
        self._figure.savefig(whole, dpi=DPI, format="png")
        whole.seek(0)
        with Image.open(whole) as image:
            image.convert("RGB").quantize(COLORS).save(path, optimize=True)

    def _mark(self, axes: Axes, width: float) -> None:
        """Number what happened, in lines below each other where it came close together."""
        free: list[float] = []
        for number, event in enumerate(self._events, 1):
            at = event.at - self._span.start
            left = at / (self._span.end - self._span.start) * width
            line = next((line for line, end in enumerate(free) if end <= left), len(free))
            free[line : line + 1] = [left + DIGIT_INCH * len(str(number))]
            axes.axvline(at, color="gray", linewidth=0.5, linestyle=":")
            axes.annotate(
                str(number),
                (at, 1),
                (1, -1 - 5.5 * line),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                va="top",
                fontsize=5,
                color="gray",
            )

    def _caption(self) -> str:
        start, end = self._span
        numbered = enumerate(self._events, 1)
        return (
            "Drawn by `python -m tools.pictures` from a Prometheus that scraped RabbitMQ, three ingests, two to three "
            f"normalizers and an account on simulated venues for {end - start:.0f} s. "
            "Dotted curves belong to the axis on the right.\n"
            + "   ".join(f"{number} {event.what} ({event.at - start:.0f} s)" for number, event in numbered)
        )

    def _top(self, panel: Panel) -> float:
        return float(HEAD_INCH + (panel["gridPos"]["y"] - self._skipped) * LINE_INCH)

    def _text(self, left: float, top: float, text: str, **look: Any) -> None:  # noqa: ANN401 - matplotlib's own
        self._figure.text(left / self._width, 1 - top / self._height, text, **look)
