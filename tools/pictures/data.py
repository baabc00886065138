"""What a panel's queries answer: series with the names that the panel would give them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final, NamedTuple, Protocol

from tools.dashboards.promql import filled

__all__ = ["Panel", "Prometheus", "Series", "Span", "answers", "unit_text"]

STEP_S: Final = 5.0

Panel = Mapping[str, Any]
"""As it stands in a dashboard's JSON."""


class Span(NamedTuple):
    """A time that is shown: Unix times."""

    start: float
    end: float


class Series(NamedTuple):
    """One curve. ``reference`` is the query it comes from; times are seconds since the beginning of the picture."""

    name: str
    reference: str
    labels: Mapping[str, str]
    times: Sequence[float]
    values: Sequence[float]


class Prometheus(Protocol):
    """Whoever answers range queries."""

    def query_range(self, expression: str, start: float, end: float, step: float) -> list[dict[str, Any]]:
        """The ``result`` of Prometheus' answer (a matrix)."""
        ...


def answers(panel: Panel, prometheus: Prometheus, span: Span) -> list[Series]:
    """Every series of every query, in the order of the queries."""
    return [one for target in panel["targets"] for one in _of_query(target, prometheus, span)]


def _of_query(target: Mapping[str, Any], prometheus: Prometheus, span: Span) -> Iterable[Series]:
    shown = f"{max(1, round(span.end - span.start))}s"
    result = prometheus.query_range(filled(target["expr"], shown), span.start, span.end, STEP_S)
    for one in sorted(result, key=lambda each: sorted(each["metric"].items())):
        points = [(at - span.start, float(value)) for at, value in one["values"] if isfinite(float(value))]
        name = _name(target["legendFormat"], one["metric"])
        yield Series(name, target["refId"], one["metric"], [at for at, _ in points], [value for _, value in points])


def _name(legend: str, labels: Mapping[str, str]) -> str:
    if legend == "__auto":
        return " ".join(value for label, value in sorted(labels.items()) if label != "__name__")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: labels.get(found[1], ""), legend)


UNITS: Final = {"cps": "/s", "none": "", "short": "", "s": "s", "bytes": "B", "Bps": "B/s", "percentunit": "%"}
SCALES: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def unit_text(value: float, unit: str) -> str:
    """A value as a reader would write it: ``1.2 ms``, ``35 k/s``, ``12 %``."""
    if unit == "percentunit":
        return f"{value:.0%}"
    if unit == "s":
        return _duration(value)
    for size, letter in SCALES:
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}{UNITS[unit]}"
    return f"{value:.3g} {UNITS[unit]}".rstrip()


def _duration(value: float) -> str:
    for size, name in (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"):
        if abs(value) >= size and (size < 60 or abs(value) >= 2 * size):
            return f"{value / size:.3g} {name}"
    return f"{value * 1e6:.3g} µs" if value else "0 s"
