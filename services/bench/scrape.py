"""What a stage says of itself on ``/metrics``, in the units of the benchmarks."""

import asyncio
import urllib.request
from math import inf
from typing import Final, Self

from services.bench.journey_result import Distribution
from shared.telemetry.scrape import Scrape

__all__ = ["Look"]

DEADLINE_S: Final = 5.0


class Look(Scrape):
    """All samples of one scrape."""

    @classmethod
    async def at(cls, port: int) -> Self:
        """Scrape a port of 127.0.0.1; raises OSError."""
        return cls.parse(await asyncio.to_thread(_fetch, f"http://127.0.0.1:{port}/metrics"))

    def mean_us(self, before: "Look", name: str, **labels: str) -> float:
        """Mean of a histogram's new observations (µs), 0 where there are none."""
        return 1e6 * (self.mean(before, name, **labels) or 0.0)

    def quantiles(self, before: "Look", name: str, **labels: str) -> Distribution | None:
        """Of a histogram's new observations (µs), linear within a bucket; None where there are none."""
        found = [self.quantile(before, name, share, **labels) for share in (0.5, 0.99)]
        known = [1e6 * value for value in found if value is not None]
        return Distribution(*known) if known else None

    def share_within(self, before: "Look", name: str, bound: float, **labels: str) -> float:
        """The share of a histogram's new observations up to one of its bounds (seconds)."""
        bounds = self.bounds(before, name, **labels)
        return bounds[bound] / bounds[inf] if bounds.get(inf) else 0.0


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=DEADLINE_S) as reply:  # noqa: S310 - a stage that this process started
        return bytes(reply.read()).decode()
