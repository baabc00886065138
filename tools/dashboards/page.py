"""A dashboard: rows of panels laid out on Grafana's grid, with the variables, links and annotations that all share."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tools.dashboards.parts import DATASOURCE, Json, Panel

__all__ = ["Dashboard", "Row"]

COLUMNS: Final = 24
TAG: Final = "tidegate"


class Row(NamedTuple):
    """A titled part of a page. Panels fill its lines from the left; a full line is followed by another."""

    title: str
    panels: Sequence[Panel]
    height: int = 8


class Dashboard(NamedTuple):
    """``name`` is the file's name and the end of the uid."""

    name: str
    description: str
    rows: Sequence[Row]

    def json(self) -> Json:
        """The dashboard as Grafana reads it."""
        return {
            "uid": f"{TAG}-{self.name}",
            "title": f"Tidegate {self.name}",
            "description": self.description,
            "tags": [TAG],
            "schemaVersion": 39,
            "version": 1,
            "editable": False,
            "graphTooltip": 1,
            "refresh": "10s",
            "time": {"from": "now-15m", "to": "now"},
            "timezone": "browser",
            "links": [LINKS],
            "annotations": {"list": ANNOTATIONS},
            "templating": {"list": [DATASOURCE_VARIABLE, *(_variable(*one) for one in VARIABLES)]},
            "panels": [{"id": at, **body} for at, body in enumerate(_laid_out(self.rows), 1)],
        }


LINKS: Final[Json] = {
    "type": "dashboards",
    "title": "Tidegate",
    "tags": [TAG],
    "asDropdown": False,
    "includeVars": True,
    "keepTime": True,
    "targetBlank": False,
    "icon": "external link",
    "tooltip": "",
    "url": "",
}


def _annotation(name: str, color: str, expression: str, title: str) -> Json:
    return {
        "name": name,
        "datasource": DATASOURCE,
        "enable": True,
        "hide": False,
        "iconColor": color,
        "expr": expression,
        "titleFormat": title,
        "step": "10s",
    }


ANNOTATIONS: Final = [
    _annotation(
        "Breaker transitions",
        "orange",
        "sum by (circuit, state) "
        '(increase(tidegate_circuit_transitions_total{circuit=~"$exchange"}[$__rate_interval])) > 0',
        "{{circuit}}: {{state}}",
    ),
    _annotation(
        "Alerts",
        "red",
        'max by (alertname) (ALERTS{alertname=~"Tidegate.*", alertstate="firing"})',
        "{{alertname}}",
    ),
]

DATASOURCE_VARIABLE: Final[Json] = {
    "name": "datasource",
    "label": "Data source",
    "type": "datasource",
    "query": "prometheus",
    "current": {"text": "Prometheus", "value": "tidegate-prometheus"},
    "hide": 0,
    "includeAll": False,
    "multi": False,
    "options": [],
    "refresh": 1,
    "regex": "",
}

VARIABLES: Final = (
    (
        "exchange",
        "exchange:tidegate_stream_health:min",
        "Everything obeys it but what belongs to a process as a whole.",
    ),
    ("product", 'tidegate_instruments{exchange=~"$exchange"}', "Obeyed by what is told per stream or per queue."),
    (
        "symbol",
        'tidegate_instrument_messages_total{exchange=~"$exchange"}',
        "Obeyed by what is told per instrument: shed, conflated, gaps, messages of an instrument.",
    ),
)
"""Name, metric that has it for a label, what obeys it."""


def _variable(name: str, metric: str, description: str) -> Json:
    query = f"label_values({metric}, {name})"
    return {
        "name": name,
        "label": name.capitalize(),
        "description": description,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": name},
        "definition": query,
        "current": {"text": ["All"], "value": ["$__all"]},
        "allValue": ".*",
        "includeAll": True,
        "multi": True,
        "hide": 0,
        "options": [],
        "refresh": 2,
        "regex": "",
        "sort": 1,
    }


def _laid_out(rows: Sequence[Row]) -> Iterator[Json]:
    """Every row's title and panels with their places."""
    y = 0
    for row in rows:
        title = {"type": "row", "title": row.title, "collapsed": False, "panels": []}
        yield title | {"gridPos": {"h": 1, "w": COLUMNS, "x": 0, "y": y}}
        y += 1
        for line in _lines(row.panels):
            x, height = 0, max(panel.height or row.height for panel in line)
            for panel in line:
                yield panel.body | {"gridPos": {"h": panel.height or row.height, "w": panel.width, "x": x, "y": y}}
                x += panel.width
            y += height


def _lines(panels: Sequence[Panel]) -> Iterator[list[Panel]]:
    """Panels that fit beside each other."""
    line: list[Panel] = []
    for panel in panels:
        if sum(one.width for one in line) + panel.width > COLUMNS:
            yield line
            line = []
        line.append(panel)
    if line:
        yield line
