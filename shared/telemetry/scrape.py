"""What a process says of itself on ``/metrics``, read back: the samples of one scrape, and what two of them tell.

Prometheus text format 0.0.4, without time stamps. Names go without the prefix ``tidegate_`` where they have it.
"""

import re
from collections.abc import Mapping, Sequence
from math import inf
from typing import Final, Self

from shared.telemetry.declare import PREFIX

__all__ = ["Samples", "Scrape"]

_SAMPLE: Final = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([+-]?(?:[0-9.]+(?:e[+-]?[0-9]+)?|Inf)|NaN)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPED: Final = re.compile(r"\\(.)")
_MEANING: Final = {"n": "\n"}

Samples = Mapping[str, Sequence[tuple[Mapping[str, str], float]]]
"""By name, (labels, value) of each series."""


class Scrape:
    """All samples of one scrape. What is not there counts as 0."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ValueError with the first line that is none of the format's."""
        samples: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for line in text.split("\n"):
            if not line or line.startswith("#"):
                continue
            found = _SAMPLE.fullmatch(line)
            if found is None:
                raise ValueError(f"no sample of a metric: {line[:80]!r}")
            labels = {name: _unescaped(value) for name, value in _LABEL.findall(found[2] or "")}
            samples.setdefault(found[1].removeprefix(PREFIX), []).append((labels, float(found[3])))
        return cls(samples)

    def __contains__(self, name: str) -> bool:
        return name in self._samples

    def series(self, name: str) -> Sequence[tuple[Mapping[str, str], float]]:
        """(labels, value) of every series of this name."""
        return self._samples.get(name, ())

    def total(self, name: str, **labels: str) -> float:
        """The sum of the samples that have these labels."""
        return sum(value for have, value in self.series(name) if labels.items() <= have.items())

    def values_of(self, name: str, label: str, **labels: str) -> list[str]:
        """The values that a label has, among the samples that have the other labels."""
        return sorted(
            {have[label] for have, _ in self.series(name) if label in have and labels.items() <= have.items()}
        )

    def since(self, before: "Scrape", name: str, **labels: str) -> float:
        """How much a counter grew."""
        return self.total(name, **labels) - before.total(name, **labels)

    def mean(self, before: "Scrape", name: str, **labels: str) -> float | None:
        """Mean of a histogram's new observations (base unit); None where there are none."""
        count = self.since(before, f"{name}_count", **labels)
        return self.since(before, f"{name}_sum", **labels) / count if count > 0 else None

    def quantile(self, before: "Scrape", name: str, share: float, **labels: str) -> float | None:
        """Quantile of a histogram's new observations, linear within a bucket (base unit); None where there are none.

        What lies above the last bound counts as that bound.
        """
        bounds = self.bounds(before, name, **labels)
        if not bounds.get(inf, 0.0) > 0.0:
            return None
        wanted = share * bounds[inf]
        low = below = 0.0
        for bound, count in bounds.items():
            if count >= wanted:
                return low if bound == inf else low + (bound - low) * (wanted - below) / max(count - below, 1e-9)
            low, below = bound, count
        return low

    def bounds(self, before: "Scrape", name: str, **labels: str) -> dict[float, float]:
        """A histogram's new observations up to each upper bound, rising."""
        name = f"{name}_bucket"
        rising = sorted(self.values_of(name, "le"), key=float)
        return {float(le): self.since(before, name, le=le, **labels) for le in rising}


def _unescaped(value: str) -> str:
    return _ESCAPED.sub(lambda found: _MEANING.get(found[1], found[1]), value) if "\\" in value else value
