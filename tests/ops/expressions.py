"""What a PromQL expression names: metrics, labels it selects by. Reads text; promtool judges the grammar."""

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml

from shared.telemetry.metrics import catalogue, process_registry
from tests.ops.broker_metrics import BROKER_METRICS
from tools.dashboards.promql import filled

__all__ = [
    "DESCRIBED",
    "bare_counters",
    "described",
    "expanded",
    "names",
    "parse_all",
    "selectors",
    "unknown_labels",
    "unknown_names",
    "windows",
]

DESCRIBED: Final = {one.name: one for one in catalogue()}
SERIES: Final = {
    name + suffix: one
    for name, one in DESCRIBED.items()
    for suffix in (("_bucket", "_sum", "_count") if one.kind == "histogram" else ("",))
}
PROCESS_METRICS: Final = {sample.name for family in process_registry().collect() for sample in family.samples}
PROMETHEUS_METRICS: Final = {"up", "ALERTS"}
FOREIGN: Final = BROKER_METRICS | PROCESS_METRICS | PROMETHEUS_METRICS
TARGET_LABELS: Final = {"job", "service", "instance", "le"}

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\{[^}]*\}|\[[^\]]*\]|\d[\w.]*|[a-zA-Z_:][\w:]*|\S')
_GROUPING: Final = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_WORDS: Final = {"or", "and", "unless", "bool", "offset", "atan2", *_GROUPING}
_AGGREGATIONS: Final = {"sum", "max", "min", "count", "avg", "topk"}
_IDENTIFIER: Final = re.compile(r"[a-zA-Z_:][\w:]*")
_SELECTOR: Final = re.compile(r"(?<![\w:$])([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})?")
_MATCHER: Final = re.compile(r'(\w+)\s*(?:=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
_BEFORE: Final = r"last_over_time\(\1\[\w+\] offset [$\w]+\)|\1 offset [$\w]+ unless \1 offset \w+"
_NEWBORN: Final = re.compile(rf"\(([\w:]+(?:\{{[^}}]*\}})?) unless (?:{_BEFORE})\)")
_COUNTED: Final = re.compile(r"(?:rate|irate|increase)\(\s*[\w:]+(?:\{[^}]*\})?\[[^\]]+\]\s*\)")


def names(expression: str) -> set[str]:
    """Every metric that the expression reads, recorded ones too."""
    tokens = _TOKEN.findall(filled(expression))
    found, grouping, depth = set(), False, 0
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        calls = following == "(" or (following in _GROUPING and token in _AGGREGATIONS)
        if depth or (grouping and token == "("):
            depth += {"(": 1, ")": -1}.get(token, 0)
        elif _IDENTIFIER.fullmatch(token) and token not in _WORDS and not calls:
            found.add(token)
        grouping = token in _GROUPING
    return found


def unknown_names(expression: str, recorded: Iterable[str]) -> list[str]:
    """Names that neither a process, the broker nor Prometheus exposes, and that no rule records."""
    return sorted(names(expression) - SERIES.keys() - FOREIGN - set(recorded))


def described(expression: str) -> set[str]:
    """Names as in the catalogue of Tidegate's own metrics that the expression reads."""
    return {SERIES[name].name for name in names(expression) & SERIES.keys()}


def expanded(expression: str, rules: Mapping[str, str]) -> str:
    """The expression with what its recorded names stand for beside it."""
    return "\n".join((expression, *(rules[name] for name in names(expression) & rules.keys())))


def selectors(expression: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Every use of a metric: its name, and values by the labels it is selected by."""
    wanted = names(expression)
    for name, matchers in _SELECTOR.findall(_without_groupings(expression)):
        if name in wanted:
            yield name, dict(_MATCHER.findall(matchers))


def unknown_labels(expression: str) -> list[str]:
    """Selections by a label that the metric does not have: they find nothing, and say so to nobody."""
    return [
        f"{name} has no label {label}"
        for name, matchers in selectors(expression)
        for label in matchers
        if name in SERIES and label not in {*SERIES[name].labels, *TARGET_LABELS}
    ]


def bare_counters(expression: str) -> list[str]:
    """Counters whose absolute value is read. It is allowed where it tells what a newborn counter began with."""
    left = _COUNTED.sub("0", _NEWBORN.sub("0", expression))
    return sorted(name for name in names(left) if _counts(name))


def windows(expression: str) -> list[tuple[str, str]]:
    """Function and window of every rate and increase."""
    return re.findall(r"\b(i?rate|increase)\([^\[\]]*\[([^\]]+)\]", re.sub(r'"[^"]*"', '""', expression))


def parse_all(promtool: Path, directory: Path, expressions: Mapping[str, str]) -> str:
    """Let promtool parse every expression, macros replaced; what it says, empty when all are right."""
    rules = [{"alert": "Parsed", "expr": filled(text), "annotations": {"of": of}} for of, text in expressions.items()]
    file = directory / "expressions.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "parsed", "rules": rules}]}), encoding="utf-8")
    done = subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _counts(name: str) -> bool:
    if name in SERIES:
        return SERIES[name].kind != "gauge"
    return name in FOREIGN and name.endswith(("_total", "_sum", "_count"))


def _without_groupings(expression: str) -> str:
    return re.sub(rf"\b({'|'.join(_GROUPING)})\s*\([^)]*\)", r"\1 ()", expression)
