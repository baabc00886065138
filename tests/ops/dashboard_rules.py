"""What every dashboard keeps to; each rule gives what is wrong in words. Every one is planted against in the tests."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final

from tests.ops.expressions import bare_counters, unknown_labels, unknown_names

__all__ = ["expressions", "panels", "problems"]

Json = dict[str, Any]

DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
VARIABLES: Final = ("datasource", "exchange")
WINDOWS: Final = ("$__rate_interval", "$__range")


def panels(dashboard: Json) -> list[Json]:
    """Everything that shows data, rows left out."""
    return [one for one in dashboard["panels"] if one["type"] != "row"]


def expressions(dashboard: Json) -> dict[str, str]:
    """Every PromQL expression, by where it stands."""
    found = {
        f"{panel.get('title')} {target['refId']}": target["expr"]
        for panel in panels(dashboard)
        for target in panel.get("targets", [])
    }
    return found | {f"annotation {one['name']}": one["expr"] for one in dashboard["annotations"]["list"]}


def problems(dashboard: Json, recorded: set[str]) -> list[str]:
    """Everything that is wrong with a dashboard; ``recorded`` are the names that rules make."""
    found = [*_frame(dashboard), *_variables(dashboard), *_layout(dashboard)]
    for panel in panels(dashboard):
        title = panel.get("title") or f"panel {panel['id']}"
        found += [f"{title}: {problem}" for problem in _panel(panel)]
    for place, expression in expressions(dashboard).items():
        found += [f"{place}: {problem}" for problem in _expression(expression, recorded)]
    return found


def _frame(dashboard: Json) -> Iterator[str]:
    if not dashboard.get("uid"):
        yield "no uid"
    if dashboard.get("editable", True):
        yield "editable on the page"
    for one in dashboard["annotations"]["list"]:
        if one.get("datasource") != DATASOURCE:
            yield f"annotation {one['name']}: data source is not the variable"


def _variables(dashboard: Json) -> Iterator[str]:
    variables = {one["name"]: one for one in dashboard["templating"]["list"]}
    yield from (f"no variable {name}" for name in VARIABLES if name not in variables)
    for name, variable in variables.items():
        if variable["type"] == "query" and variable.get("datasource") != DATASOURCE:
            yield f"variable {name}: data source is not the variable"


def _layout(dashboard: Json) -> Iterator[str]:
    ids = Counter(panel["id"] for panel in dashboard["panels"])
    yield from (f"panel id {one} is used {count} times" for one, count in ids.items() if count > 1)
    for one, other in combinations(dashboard["panels"], 2):
        a, b = one["gridPos"], other["gridPos"]
        across = a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
        if across and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]:
            yield f"{one['title']} lies over {other['title']}"


def _panel(panel: Json) -> Iterator[str]:
    if not panel.get("title"):
        yield "no title"
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


def _expression(expression: str, recorded: set[str]) -> Iterator[str]:
    yield from (f"{name} is no metric" for name in unknown_names(expression, recorded))
    yield from unknown_labels(expression)
    yield from (f"{name} is a counter and needs rate or increase" for name in bare_counters(expression))
    for function, window in re.findall(r"\b(i?rate|increase)\([^\[\]]*\[([^\]]+)\]", expression):
        if window not in WINDOWS:
            yield f"{function} over {window}; it must be one of {', '.join(WINDOWS)}"
    if "histogram_quantile(" in expression and not re.search(r"by \([^)]*\ble\b[^)]*\)", expression):
        yield "a quantile of buckets that are not summed by le"
