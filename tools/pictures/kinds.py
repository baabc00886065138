"""How each kind of panel is drawn into axes of matplotlib."""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tools.pictures.data import Panel, Series, unit_text

__all__ = ["KINDS"]

COLORS: Final = {
    "green": "#56a64b",
    "orange": "#ff780a",
    "red": "#e02f44",
    "yellow": "#f2cc0c",
    "transparent": "#f4f5f5",
}
NAMES: Final = 8
"""Names that a legend has room for."""
LONGEST: Final = 28
SHORTER: Final = 20
"""Letters of a name; beside an axis on the right there is less room."""
ROWS: Final = 9
"""Lines that a table or a list of bars has room for."""
SMALL: Final = 6.0


def lines(axes: Axes, panel: Panel, series: Sequence[Series], span: float) -> None:
    """Curves; those with an axis of their own are dotted, and it is on the right."""
    series = _largest_first(series)
    defaults = panel["fieldConfig"]["defaults"]
    right = {one["matcher"]["options"]: one["properties"][0]["value"] for one in panel["fieldConfig"]["overrides"]}
    left = [one for one in series if one.reference not in right]
    if defaults["custom"]["stacking"]["mode"] == "none":
        for one in left:
            axes.plot(one.times, one.values, linewidth=1.0, label=one.name, marker="." if len(one.times) == 1 else None)
    elif left:
        _stack(axes, left)
    _axis(axes, defaults["unit"], defaults.get("min"), defaults.get("max"))
    for step in defaults.get("thresholds", {}).get("steps", []):
        low, high = axes.get_ylim()
        if step["value"] is not None and low < step["value"] < high:
            axes.axhline(step["value"], color=COLORS.get(step["color"], "gray"), linewidth=0.8, linestyle="--")
    axes.set_xlim(0, span)
    if right:
        other = axes.twinx()
        for one in (one for one in series if one.reference in right):
            other.plot(one.times, one.values, linewidth=1.0, linestyle=":", label=one.name)
        _axis(other, next(iter(right.values())), 0, None)
        _legend(axes, other)
    else:
        _legend(axes)


def heatmap(axes: Axes, panel: Panel, series: Sequence[Series], span: float) -> None:
    """Observations per second and bucket: the buckets of Prometheus hold all that is smaller, too."""
    rising = sorted(series, key=lambda one: _bound(one.labels["le"]))
    axes.set_xlim(0, span)
    if not rising:
        return
    times = sorted({at for one in rising for at in one.times})
    below = dict.fromkeys(times, 0.0)
    rows = []
    for one in rising:
        counts = dict(zip(one.times, one.values, strict=True))
        rows.append([max(counts.get(at, 0.0) - below[at], 0.0) or float("nan") for at in times])
        below = {at: counts.get(at, below[at]) for at in times}
    most = max((value for row in rows for value in row if value == value), default=1.0)  # noqa: PLR0124 - NaN is no value
    axes.pcolormesh(times, range(len(rows)), rows, cmap="YlOrRd", norm=LogNorm(most / 1e3, most), shading="nearest")
    axes.set_xlim(0, span)
    places = range(0, len(rows), 3)
    texts = [unit_text(_bound(rising[at].labels["le"]), panel["fieldConfig"]["defaults"]["unit"]) for at in places]
    axes.set_yticks(list(places), texts, fontsize=SMALL)


def states(axes: Axes, panel: Panel, series: Sequence[Series], span: float) -> None:
    """A band per series, colored by what the value stands for."""
    steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
    shown = series[: 3 * ROWS]
    for row, one in enumerate(shown):
        for at, value in zip(one.times, one.values, strict=True):
            axes.add_patch(Rectangle((at, row + 0.1), 5.0, 0.8, color=_color(steps, value), linewidth=0))
    axes.set_xlim(0, span)
    axes.set_ylim(max(len(shown), 1), 0)
    axes.yaxis.tick_right()
    axes.set_yticks([row + 0.5 for row in range(len(shown))], [_short(one.name) for one in shown])
    axes.tick_params(axis="y", length=0, labelsize=min(SMALL, _points(axes) / max(len(shown), 1)))


def tile(axes: Axes, panel: Panel, series: Sequence[Series], span: float) -> None:
    """The newest value of each series, large."""
    del span
    defaults = panel["fieldConfig"]["defaults"]
    words = _words(panel)
    shown = [one for one in series if one.values]
    for at, one in enumerate(shown):
        value = one.values[-1]
        color = _color(defaults["thresholds"]["steps"], value)
        axes.add_patch(Rectangle((at / len(shown), 0), 0.98 / len(shown), 1, color=color, linewidth=0))
        text = words.get(f"{value:g}", unit_text(value, defaults["unit"]))
        ink = "black" if color == COLORS["transparent"] else "white"
        name = f"{one.name}\n" if one.name else ""
        axes.text((at + 0.49) / len(shown), 0.5, f"{name}{text}", ha="center", va="center", color=ink, fontsize=9)
    _bare(axes)


def bars(axes: Axes, panel: Panel, series: Sequence[Series], span: float) -> None:
    """The newest value of each series, the largest on top."""
    del span
    defaults = panel["fieldConfig"]["defaults"]
    newest = sorted(((one.values[-1], one.name) for one in series if one.values), reverse=True)[: 2 * ROWS]
    for row, (value, _) in enumerate(newest):
        axes.barh(row, value, height=0.7, color=_color(defaults["thresholds"]["steps"], value))
        axes.text(value, row, f" {unit_text(value, defaults['unit'])}", va="center", fontsize=SMALL)
    axes.set_xlim(0, defaults.get("max"))
    axes.set_ylim(max(len(newest), 1) - 0.5, -0.5)
    axes.set_yticks(range(len(newest)), [_short(name) for _, name in newest], fontsize=SMALL)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: unit_text(value, defaults["unit"])))


def table(axes: Axes, panel: Panel, series: Sequence[Series], span: float) -> None:
    """The newest values, a line per labels; the largest of the column that the panel sorts by on top."""
    del span
    names = [one["matcher"]["options"] for one in panel["fieldConfig"]["overrides"]]
    units = [one["properties"][0]["value"] for one in panel["fieldConfig"]["overrides"]]
    worst = names.index(panel["options"]["sortBy"][0]["displayName"])
    found: dict[tuple[str, ...], dict[int, float]] = {}
    for one in series:
        key = tuple(value for _, value in sorted(one.labels.items()))
        if one.values:
            found.setdefault(key, {})["ABCDEFGHIJ".index(one.reference)] = one.values[-1]
    _bare(axes)
    if not found:
        axes.text(0.5, 0.5, "empty", ha="center", va="center", color="gray", fontsize=SMALL)
        return
    keys = sorted(found, key=lambda key: found[key].get(worst, -inf), reverse=True)[:ROWS]
    cells = [
        [" ".join(key), *(unit_text(found[key][at], unit) if at in found[key] else "" for at, unit in enumerate(units))]
        for key in keys
    ]
    widths = [0.5, *(0.5 / len(names) for _ in names)]
    drawn = axes.table(
        cells, colWidths=widths, colLabels=["", *names], cellLoc="left", loc="upper left", edges="horizontal"
    )
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(SMALL)


Draw = Callable[[Axes, Panel, Sequence[Series], float], None]

KINDS: Final[Mapping[str, Draw]] = {
    "timeseries": lines,
    "heatmap": heatmap,
    "state-timeline": states,
    "status-history": states,
    "stat": tile,
    "bargauge": bars,
    "table": table,
}
"""By the type that Grafana knows the panel as. The last argument is the time shown, in seconds."""


def _largest_first(series: Sequence[Series]) -> Sequence[Series]:
    """Where not all have a name beside the axes, and a color of their own, those have that show most."""
    if len(series) <= NAMES:
        return series
    return sorted(series, key=lambda one: max(one.values, default=0.0), reverse=True)


def _stack(axes: Axes, series: Sequence[Series]) -> None:
    times = sorted({at for one in series for at in one.times})
    values = [[dict(zip(one.times, one.values, strict=True)).get(at, 0.0) for at in times] for one in series]
    axes.stackplot(times, values, labels=[one.name for one in series], alpha=0.7)


def _axis(axes: Axes, unit: str, low: float | None, high: float | None) -> None:
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: unit_text(value, unit)))
    axes.tick_params(labelsize=SMALL)


def _legend(axes: Axes, *others: Axes) -> None:
    """Names beside the axes, as many as there is room for."""
    found = [one for each in (axes, *others) for one in zip(*each.get_legend_handles_labels(), strict=True)]
    longest = SHORTER if others else LONGEST
    shown = [(handle, _short(label, longest)) for handle, label in found[:NAMES]]
    if len(found) > NAMES:
        shown[-1] = (shown[-1][0], f"and {len(found) - NAMES + 1} more")
    if shown:
        # In inches, and beyond the numbers of an axis on the right.
        left = 1.0 + (0.42 if others else 0.05) * axes.figure.dpi / axes.bbox.width
        axes.legend(
            *zip(*shown, strict=True),
            loc="upper left",
            bbox_to_anchor=(left, 1.05),
            fontsize=SMALL,
            frameon=False,
            handlelength=1.2,
        )


def _short(name: str, longest: int = LONGEST) -> str:
    name = name.replace("127.0.0.1:", ":")
    return name if len(name) <= longest else f"{name[:longest]}…"


def _color(steps: Sequence[Mapping[str, Any]], value: float) -> str:
    color = steps[0]["color"]
    for step in steps[1:]:
        if value >= step["value"]:
            color = step["color"]
    return COLORS[color]


def _words(panel: Panel) -> dict[str, str]:
    mappings = panel["fieldConfig"]["defaults"].get("mappings", [])
    return {value: one["text"] for mapping in mappings for value, one in mapping["options"].items()}


def _bound(text: str) -> float:
    return inf if text == "+Inf" else float(text)


def _points(axes: Axes) -> float:
    """How high the axes are, in points of a font."""
    return float(axes.bbox.height * 72 / axes.figure.dpi)


def _bare(axes: Axes) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.axis("off")
