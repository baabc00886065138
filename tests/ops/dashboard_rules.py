"""What every dashboard keeps to; each rule gives what is wrong in words. Every one is planted against in the tests."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, Final

from tests.ops.expressions import DESCRIBED, bare_counters, selectors, unknown_labels, unknown_names, windows
from tests.ops.link_rules import kept, leads

__all__ = ["expressions", "panels", "problems"]

Json = dict[str, Any]

DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
VARIABLES: Final = ("datasource", "exchange", "product", "symbol")
OBEYED: Final = {
    "exchange": "$exchange",
    "circuit": "$exchange",
    "product": "$product",
    "stream": "$product",
    "symbol": "$symbol",
}
"""Labels, and the variable that a selection by them obeys."""
WINDOWS: Final = ("$__rate_interval", "$__range")
COLORED: Final = ("stat", "bargauge", "state-timeline", "status-history")
"""Kinds of panels that say by a color whether all is well."""
NAMED: Final = ("timeseries", "bargauge", "state-timeline", "status-history")
"""Kinds of panels whose series are told apart by their names."""


def panels(dashboard: Json) -> list[Json]:
    """Everything that shows data, rows and texts left out."""
    return [one for one in dashboard["panels"] if one["type"] not in {"row", "text"}]


def expressions(dashboard: Json) -> dict[str, str]:
    """Every PromQL expression, by where it stands."""
    found = {
        f"{panel.get('title')} {target['refId']}": target["expr"]
        for panel in panels(dashboard)
        for target in panel.get("targets", [])
    }
    return found | {f"annotation {one['name']}": one["expr"] for one in dashboard["annotations"]["list"]}


def problems(dashboard: Json, recorded: Iterable[str], uids: Iterable[str]) -> list[str]:
    """Everything that is wrong with a dashboard; ``recorded``: names that rules make; ``uids``: of all dashboards."""
    found = [*_frame(dashboard), *_variables(dashboard, recorded), *_layout(dashboard)]
    found += [f"link {problem}" for problem in kept(dashboard)]
    for panel in dashboard["panels"]:
        title = panel.get("title") or f"panel {panel['id']}"
        found += [f"{title}: {problem}" for problem in (*_any(panel), *leads(panel, VARIABLES, set(uids)))]
    for panel in panels(dashboard):
        title = panel.get("title") or f"panel {panel['id']}"
        found += [f"{title}: {problem}" for problem in (*_panel(panel), *_look(panel))]
    for place, expression in expressions(dashboard).items():
        found += [f"{place}: {problem}" for problem in _expression(expression, recorded)]
    return found


def _frame(dashboard: Json) -> Iterator[str]:
    if not dashboard.get("uid"):
        yield "no uid"
    if dashboard.get("editable", True):
        yield "editable on the page"
    if not dashboard.get("description"):
        yield "no description"
    if dashboard.get("graphTooltip") != 1:
        yield "the crosshair is not shared"
    for one in dashboard["annotations"]["list"]:
        if one.get("datasource") != DATASOURCE:
            yield f"annotation {one['name']}: data source is not the variable"


def _variables(dashboard: Json, recorded: Iterable[str]) -> Iterator[str]:
    variables = {one["name"]: one for one in dashboard["templating"]["list"]}
    yield from (f"no variable {name}" for name in VARIABLES if name not in variables)
    for name, variable in variables.items():
        if variable["type"] != "query":
            continue
        if variable.get("datasource") != DATASOURCE:
            yield f"variable {name}: data source is not the variable"
        if not (variable.get("multi") and variable.get("includeAll") and variable.get("allValue") == ".*"):
            yield f"variable {name}: several or all cannot be chosen"
        asked = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
        if asked is None or unknown_names(asked[1], recorded):
            yield f"variable {name}: its values come from no metric"


def _layout(dashboard: Json) -> Iterator[str]:
    ids = Counter(panel["id"] for panel in dashboard["panels"])
    yield from (f"panel id {one} is used {count} times" for one, count in ids.items() if count > 1)
    titles = Counter(panel.get("title") for panel in dashboard["panels"])
    yield from (f"{title} is the title of {count} panels" for title, count in titles.items() if count > 1)
    for panel in dashboard["panels"]:
        if panel["gridPos"]["x"] + panel["gridPos"]["w"] > 24:
            yield f"{panel['title']} lies beyond the page"
    for one, other in combinations(dashboard["panels"], 2):
        a, b = one["gridPos"], other["gridPos"]
        across = a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
        if across and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]:
            yield f"{one['title']} lies over {other['title']}"


def _any(panel: Json) -> Iterator[str]:
    if not panel.get("title"):
        yield "no title"
    if panel["type"] == "text" and not panel["options"].get("content"):
        yield "no text"


def _panel(panel: Json) -> Iterator[str]:
    if "Normal: " not in panel.get("description", ""):
        yield "the description does not say what is normal"
    if not panel["fieldConfig"]["defaults"].get("unit"):
        yield "no unit"
    if not panel.get("targets"):
        yield "no query"
    if panel.get("datasource") != DATASOURCE:
        yield "data source is not the variable"
    references = Counter(target["refId"] for target in panel.get("targets", []))
    for target in panel.get("targets", []):
        if target.get("datasource") != DATASOURCE:
            yield f"query {target['refId']}: data source is not the variable"
        if references[target["refId"]] > 1:
            yield f"query {target['refId']} is there twice"


def _look(panel: Json) -> Iterator[str]:
    steps = panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [])
    if panel["type"] in COLORED and len(steps) < 2:
        yield "no threshold tells good from bad"
    if panel["type"] == "timeseries" and not panel["options"]["legend"]["showLegend"]:
        yield "no legend"
    for target in panel.get("targets", []):
        legend = target["legendFormat"]
        if panel["type"] in NAMED and legend == "__auto":
            yield f"query {target['refId']}: its series have no name"
        unknown = [
            label for label in re.findall(r"\{\{(\w+)\}\}", legend) if label not in target["expr"] and label != "le"
        ]
        yield from (f"query {target['refId']}: no label {label} for its name" for label in unknown)


def _expression(expression: str, recorded: Iterable[str]) -> Iterator[str]:
    yield from (f"{name} is no metric" for name in unknown_names(expression, recorded))
    yield from unknown_labels(expression)
    yield from _disobeying(expression)
    yield from (f"{name} is a counter and needs rate or increase" for name in bare_counters(expression))
    for function, window in windows(expression):
        if window not in WINDOWS:
            yield f"{function} over {window}; it must be one of {', '.join(WINDOWS)}"
    if "histogram_quantile(" in expression and not re.search(r"by \([^)]*\ble\b[^)]*\)", expression):
        yield "a quantile of buckets that are not summed by le"


def _disobeying(expression: str) -> Iterator[str]:
    """Selections that show everything, whatever is chosen on the page."""
    for name, matchers in selectors(expression):
        base = re.sub(r"_(bucket|sum|count)$", "", name) if name not in DESCRIBED else name
        labels = DESCRIBED[base].labels if base in DESCRIBED else ()
        for label in labels:
            if label in OBEYED and OBEYED[label] not in matchers.get(label, ""):
                yield f"{name} does not obey {OBEYED[label]}"
