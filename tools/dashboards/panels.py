"""Panels of Grafana, each kind made in one way. Every panel says what is normal.

Its place is no business of its own: see :mod:`tools.dashboards.page`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tools.dashboards.parts import DATASOURCE, Column, Json, Panel, Query, Scale, Words, steps

__all__ = ["bars", "heatmap", "history", "lines", "states", "table", "text", "tile"]

REFERENCES: Final = "ABCDEFGHIJ"
LEGEND: Final = {
    "displayMode": "table",
    "placement": "bottom",
    "showLegend": True,
    "calcs": ["min", "mean", "max", "lastNotNull"],
}
NEWEST: Final = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def tile(title: str, normal: str, query: Query, scale: Scale, words: Words | None = None) -> Panel:
    """The newest value, large; ``words`` are text and color of values that stand for something."""
    defaults = {**scale.defaults(), "color": {"mode": "thresholds"}, "noValue": "none", **_mappings(words)}
    options = {
        "reduceOptions": NEWEST,
        "colorMode": "background",
        "graphMode": "none",
        "justifyMode": "center",
        "orientation": "auto",
        "textMode": "auto" if query.legend == "__auto" else "value_and_name",
        "wideLayout": True,
    }
    return _panel("stat", title, normal, [query], defaults, options, instant=True).wide(4)


def lines(title: str, normal: str, scale: Scale, *queries: Query, stacked: str = "none") -> Panel:
    """Curves over time; ``stacked`` is ``none``, ``normal`` or ``percent``. Thresholds become dashed lines."""
    custom: Json = {
        "drawStyle": "line",
        "lineWidth": 1,
        "fillOpacity": 10 if stacked == "none" else 40,
        "showPoints": "never",
        "spanNulls": False,
        "stacking": {"mode": stacked, "group": "A"},
    }
    if scale.steps:
        custom["thresholdsStyle"] = {"mode": "dashed"}
    defaults = {"color": {"mode": "palette-classic"}, "min": 0, **scale.defaults(), "custom": custom}
    overrides = [_right(REFERENCES[at], one.right) for at, one in enumerate(queries) if one.right]
    options = {"legend": LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}}
    return _panel("timeseries", title, normal, queries, defaults, options, overrides)


def heatmap(title: str, normal: str, expression: str, unit: str = "s") -> Panel:
    """The distribution of a histogram over time; its buckets grow by steps of 1, 2.5, 5, so the axis is logarithmic."""
    defaults = {"unit": unit, "custom": {"scaleDistribution": {"type": "linear"}}}
    options = {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Spectral", "steps": 64, "exponent": 0.5, "reverse": False},
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": 1e-9},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "tooltip": {"mode": "single", "yHistogram": True, "showColorScale": True},
        "yAxis": {"axisPlacement": "left", "unit": unit, "reverse": False},
    }
    return _panel("heatmap", title, normal, [Query(expression, "{{le}}")], defaults, options, form="heatmap")


def states(title: str, normal: str, words: Words, *queries: Query) -> Panel:
    """A band per series that has the color of its state; values from one word's number on take that word's color."""
    options = {
        "showValue": "never",
        "mergeValues": True,
        "alignValue": "left",
        "rowHeight": 0.8,
        "legend": {"showLegend": True, "displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "single"},
    }
    return _panel(
        "state-timeline", title, normal, queries, _worded(words, {"fillOpacity": 80, "lineWidth": 0}), options
    )


def history(title: str, normal: str, words: Words, *queries: Query) -> Panel:
    """A cell per series and moment that has the color of its state: what was not scraped is a gap."""
    options = {
        "showValue": "never",
        "rowHeight": 0.9,
        "colWidth": 1.0,
        "legend": {"showLegend": True, "displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "single"},
    }
    return _panel(
        "status-history", title, normal, queries, _worded(words, {"fillOpacity": 80, "lineWidth": 0}), options
    )


def bars(title: str, normal: str, query: Query, scale: Scale) -> Panel:
    """The newest value of each series as a bar, largest first where the expression sorts."""
    options = {
        "displayMode": "lcd",
        "orientation": "horizontal",
        "showUnfilled": True,
        "valueMode": "color",
        "minVizHeight": 12,
        "minVizWidth": 8,
        "namePlacement": "left",
        "sizing": "auto",
        "reduceOptions": NEWEST,
    }
    defaults = {"min": 0, **scale.defaults(), "color": {"mode": "thresholds"}}
    return _panel("bargauge", title, normal, [query], defaults, options, instant=True)


def table(title: str, normal: str, key: str, columns: Sequence[Column], worst: str) -> Panel:
    """A line per value of the label ``key``, by which the expressions are summed; the largest of ``worst`` on top."""
    names = {f"Value #{REFERENCES[at]}": one.name for at, one in enumerate(columns)}
    names = names if len(columns) > 1 else {"Value": columns[0].name}
    keys = [label.strip() for label in key.split(",")]
    keep = "|".join([*keys, "Value.*"])
    transformations: list[Json] = [{"id": "joinByField", "options": {"byField": key, "mode": "outer"}}]
    transformations = transformations if len(columns) > 1 else []
    transformations += [
        {"id": "filterFieldsByName", "options": {"include": {"pattern": f"^({keep})$"}}},
        {"id": "organize", "options": {"excludeByName": {}, "indexByName": {}, "renameByName": names}},
    ]
    overrides = [_column(one) for one in columns]
    options = {
        "showHeader": True,
        "cellHeight": "sm",
        "footer": {"show": False, "reducer": ["sum"], "countRows": False, "fields": ""},
        "sortBy": [{"displayName": worst, "desc": True}],
    }
    defaults = {"unit": "short", "custom": {"align": "auto", "cellOptions": {"type": "auto"}, "inspect": False}}
    queries = [Query(one.expression) for one in columns]
    panel = _panel("table", title, normal, queries, defaults, options, overrides, form="table", instant=True)
    return replace(panel, body=panel.body | {"transformations": transformations})


def text(title: str, markdown: str) -> Panel:
    """Words."""
    options = {"mode": "markdown", "content": markdown, "code": {"language": "plaintext"}}
    return Panel({"type": "text", "title": title, "options": options, "fieldConfig": {"defaults": {}, "overrides": []}})


def _panel(  # noqa: PLR0913 - one place that knows what every kind has in common
    kind: str,
    title: str,
    normal: str,
    queries: Sequence[Query],
    defaults: Json,
    options: Json,
    overrides: Sequence[Json] = (),
    *,
    form: str = "time_series",
    instant: bool = False,
) -> Panel:
    targets = [
        {
            "refId": reference,
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": query.expression,
            "legendFormat": query.legend,
            "format": form,
            "range": not instant,
            "instant": instant,
        }
        for reference, query in zip(REFERENCES, queries, strict=False)
    ]
    body = {
        "type": kind,
        "title": title,
        "description": f"Normal: {normal}",
        "datasource": DATASOURCE,
        "fieldConfig": {"defaults": defaults, "overrides": list(overrides)},
        "options": options,
        "targets": targets,
    }
    return Panel(body)


def _mappings(words: Words | None) -> Json:
    if not words:
        return {}
    options = {
        str(value): {"text": word, "color": color, "index": at}
        for at, (value, (word, color)) in enumerate(words.items())
    }
    return {"mappings": [{"type": "value", "options": options}]}


def _worded(words: Words, custom: Json) -> Json:
    (_, (_, base)), *above = words.items()
    colors = steps(base, *((value, color) for value, (_, color) in above))
    return {**Scale("none", colors).defaults(), "color": {"mode": "thresholds"}, "custom": custom, **_mappings(words)}


def _right(reference: str, unit: str | None) -> Json:
    properties = [{"id": "unit", "value": unit}, {"id": "custom.axisPlacement", "value": "right"}]
    return {"matcher": {"id": "byFrameRefID", "options": reference}, "properties": properties}


def _column(column: Column) -> Json:
    scale = column.scale
    properties: list[Json] = [{"id": "unit", "value": scale.unit}]
    if scale.decimals is not None:
        properties.append({"id": "decimals", "value": scale.decimals})
    if scale.steps:
        properties += [
            {"id": "thresholds", "value": {"mode": "absolute", "steps": list(scale.steps)}},
            {"id": "custom.cellOptions", "value": {"type": "color-background", "mode": "basic"}},
        ]
    return {"matcher": {"id": "byName", "options": column.name}, "properties": properties}
