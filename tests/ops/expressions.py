"""What a PromQL expression names: metrics, labels it selects by. Reads text; promtool judges the grammar."""

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import yaml

from shared.telemetry.metrics import catalogue

__all__ = ["DESCRIBED", "bare_counters", "names", "parse_all", "plain", "unknown_labels", "unknown_names"]

DESCRIBED: Final = {one.name: one for one in catalogue()}
SERIES: Final = {
    name + suffix: one
    for name, one in DESCRIBED.items()
    for suffix in (("_bucket", "_sum", "_count") if one.kind == "histogram" else ("",))
}
TARGET_LABELS: Final = {"job", "service", "instance", "le"}
MACROS: Final = {"$__rate_interval": "20s", "$__range": "15m", "$__interval": "5s", "$exchange": ".*"}

_NAME: Final = re.compile(r"(?<![\w:])tidegate_\w+")
_RECORDED: Final = re.compile(r"(?<![\w:])[a-z_]+:tidegate_\w+(?::\w+)?")
_SELECTOR: Final = re.compile(r"(?<![\w:])(tidegate_\w+)\{([^}]*)\}")
_NEWBORN: Final = re.compile(r"\((tidegate_\w+(?:\{[^}]*\})?) unless \1 offset [$\w]+\)")
_COUNTED: Final = re.compile(r"(?:rate|irate|increase)\(\s*tidegate_\w+(?:\{[^}]*\})?\[[^\]]+\]\s*\)")


def names(expression: str) -> set[str]:
    """Metrics of the catalogue's own prefix that the expression reads, recorded ones left out."""
    return set(_NAME.findall(_RECORDED.sub("", expression)))


def unknown_names(expression: str, recorded: Iterable[str]) -> list[str]:
    """Names that neither a process exposes nor a rule records."""
    return sorted((names(expression) - SERIES.keys()) | (set(_RECORDED.findall(expression)) - set(recorded)))


def unknown_labels(expression: str) -> list[str]:
    """Selections by a label that the metric does not have: they find nothing, and say so to nobody."""
    return [
        f"{name} has no label {label}"
        for name, matchers in _SELECTOR.findall(expression)
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers)
        if name in SERIES and label not in {*SERIES[name].labels, *TARGET_LABELS}
    ]


def bare_counters(expression: str) -> list[str]:
    """Counters whose absolute value is read. It is allowed where it tells what a newborn counter began with."""
    left = _COUNTED.sub("", _NEWBORN.sub("", expression))
    return sorted(name for name in names(left) if name in SERIES and SERIES[name].kind != "gauge")


def parse_all(promtool: Path, directory: Path, expressions: Mapping[str, str]) -> str:
    """Let promtool parse every expression, macros replaced; what it says, empty when all are right."""
    rules = [{"alert": "Parsed", "expr": plain(text), "annotations": {"of": of}} for of, text in expressions.items()]
    file = directory / "expressions.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "parsed", "rules": rules}]}), encoding="utf-8")
    done = subprocess.run([promtool, "check", "rules", file], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def plain(expression: str) -> str:
    """The expression as Grafana would send it, with everything chosen."""
    for macro, value in MACROS.items():
        expression = expression.replace(macro, value)
    return expression
