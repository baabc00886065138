"""What a stage says of itself on ``/metrics``: totals, and quantiles of what happened between two looks."""

import asyncio
import re
import urllib.request
from collections.abc import Mapping
from math import inf
from typing import Final, Self

from services.bench.journey_result import Distribution

__all__ = ["Look"]

SAMPLE: Final = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
DEADLINE_S: Final = 5.0

Samples = dict[str, list[tuple[dict[str, str], float]]]


class Look:
    """All samples of one scrape. Names go without the prefix ``tidegate_`` where they have it."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples

    @classmethod
    async def at(cls, port: int) -> Self:
        """Scrape a port of 127.0.0.1; raises OSError."""
        text = await asyncio.to_thread(_fetch, f"http://127.0.0.1:{port}/metrics")
        samples: Samples = {}
        for line in text.splitlines():
            found = SAMPLE.fullmatch(line)
            if found is not None:
                name, labels, value = found[1].removeprefix("tidegate_"), dict(LABEL.findall(found[2] or "")), found[3]
                samples.setdefault(name, []).append((labels, float(value)))
        return cls(samples)

    def total(self, name: str, **labels: str) -> float:
        """The sum of the samples that have these labels, 0 where there are none."""
        return sum(value for have, value in self._samples.get(name, ()) if labels.items() <= have.items())

    def values_of(self, name: str, label: str) -> list[str]:
        """The values that a label has."""
        return sorted({labels[label] for labels, _ in self._samples.get(name, ()) if label in labels})

    def since(self, before: "Look", name: str, **labels: str) -> float:
        """How much a counter grew."""
        return self.total(name, **labels) - before.total(name, **labels)

    def mean_us(self, before: "Look", name: str, **labels: str) -> float:
        """Mean of a histogram's new observations (µs), 0 where there are none."""
        count = self.since(before, f"{name}_count", **labels)
        return 1e6 * self.since(before, f"{name}_sum", **labels) / count if count else 0.0

    def quantiles(self, before: "Look", name: str, **labels: str) -> Distribution | None:
        """Of a histogram's new observations (µs), linear within a bucket; None where there are none."""
        bounds = {bound: count - old for bound, count, old in self._buckets(before, name, labels)}
        if not bounds or not bounds[inf]:
            return None
        return Distribution(*(1e6 * _quantile(bounds, share) for share in (0.5, 0.99)))

    def share_within(self, before: "Look", name: str, bound: float, **labels: str) -> float:
        """The share of a histogram's new observations up to one of its bounds (seconds)."""
        bounds = {bound: count - old for bound, count, old in self._buckets(before, name, labels)}
        return bounds[bound] / bounds[inf] if bounds.get(inf) else 0.0

    def _buckets(self, before: "Look", name: str, labels: Mapping[str, str]) -> list[tuple[float, float, float]]:
        """(upper bound, count now, count before), rising."""
        bounds = {have["le"] for have, _ in self._samples.get(f"{name}_bucket", ())}
        name = f"{name}_bucket"
        return sorted(
            (float(le), self.total(name, le=le, **labels), before.total(name, le=le, **labels)) for le in bounds
        )


def _quantile(bounds: Mapping[float, float], share: float) -> float:
    wanted = share * bounds[inf]
    low = below = 0.0
    for bound, count in bounds.items():
        if count >= wanted:
            return low if bound == inf else low + (bound - low) * (wanted - below) / max(count - below, 1e-9)
        low, below = bound, count
    return low


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=DEADLINE_S) as reply:  # noqa: S310 - a stage that this process started
        return bytes(reply.read()).decode()
