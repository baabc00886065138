"""``/metrics`` as text (Prometheus text format 0.0.4, prometheus.io/docs/instrumenting/exposition_formats).

The client library writes every label of every series anew at each scrape; here a series' name and labels are written
once and kept. Series are bounded (:mod:`shared.telemetry.labels`), and so is what is kept.
"""

from collections.abc import Iterator
from math import isfinite
from typing import Final

from prometheus_client import CollectorRegistry, Metric

__all__ = ["CONTENT_TYPE", "Exposition"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

KINDS: Final = {"counter", "gauge", "histogram", "summary"}
LARGEST: Final = 1e15
"""Below it a whole number is written without a fraction, exactly."""

_VALUE: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP: Final = str.maketrans({"\\": r"\\", "\n": r"\n"})


class Exposition:
    """The text of a registry. May be rendered in any thread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._series: dict[tuple[str, ...], str] = {}

    def render(self) -> bytes:
        """All metrics, right now."""
        return "".join(part for family in self._registry.collect() for part in self._family(family)).encode()

    def _family(self, family: Metric) -> Iterator[str]:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        kind = family.type if family.type in KINDS else "untyped"
        yield f"# HELP {name} {family.documentation.translate(_HELP)}\n# TYPE {name} {kind}\n"
        known = self._series
        for sample in family.samples:
            key = (sample.name, *sample.labels.values())
            series = known.get(key)
            if series is None:
                series = known[key] = _series(sample.name, sample.labels)
            yield f"{series} {_number(sample.value)}\n"


def _series(name: str, labels: dict[str, str]) -> str:
    pairs = ",".join(f'{label}="{value.translate(_VALUE)}"' for label, value in labels.items())
    return f"{name}{{{pairs}}}" if pairs else name


def _number(value: float) -> str:
    if -LARGEST < value < LARGEST:
        whole = int(value)
        return str(whole) if whole == value else repr(value)
    if isfinite(value):
        return repr(value)
    return "+Inf" if value > 0 else "-Inf" if value < 0 else "NaN"
