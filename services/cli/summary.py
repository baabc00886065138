"""What a run amounted to, read from the metrics that everybody else reads too."""

from collections.abc import Mapping, Sequence
from typing import Any

from services.cli.watch import Latencies, MarketWatch
from shared.telemetry.bundle import Telemetry

__all__ = ["settled", "summary"]

FIELDS = {
    "frames_received": ("tidegate_frames_received_total", {"stage": "ingest"}),
    "frames_published": ("tidegate_frames_published_total", {"stage": "normalizer"}),
    "messages_published": ("tidegate_messages_published_total", {}),
    "conflated": ("tidegate_frames_conflated_total", {}),
    "shed": ("tidegate_frames_shed_total", {}),
    "rejected": ("tidegate_frames_rejected_total", {}),
    "lost": ("tidegate_frames_lost_total", {}),
    "gaps": ("tidegate_gaps_total", {}),
    "resyncs": ("tidegate_resync_requests_total", {}),
}
INTERNAL = {
    "ingest_published": ("tidegate_frames_published_total", {"stage": "ingest"}),
    "normalizer_received": ("tidegate_frames_received_total", {"stage": "normalizer"}),
    "repeated": ("tidegate_frames_repeated_total", {}),
    "returned": ("tidegate_frames_returned_total", {}),
    "ingest_waiting": ("tidegate_frames_in_flight", {"stage": "ingest"}),
    "normalizer_waiting": ("tidegate_frames_in_flight", {"stage": "normalizer"}),
}


class _Samples:
    """The samples of one look at the registry: to collect them takes milliseconds."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._values: dict[str, list[tuple[Mapping[str, str], float]]] = {}
        for family in telemetry.registry.collect():
            for sample in family.samples:
                self._values.setdefault(sample.name, []).append((sample.labels, sample.value))

    def sum(self, name: str, labels: Mapping[str, str], exchange: str | None) -> int:
        wanted = (labels if exchange is None else {**labels, "exchange": exchange}).items()
        return int(sum(value for found, value in self._values.get(name, ()) if wanted <= found.items()))


def summary(telemetry: Telemetry, watch: MarketWatch, exchanges: Sequence[str]) -> dict[str, Any]:
    """The totals and, below ``exchanges``, the same of each exchange.

    ``frames_received = frames_published + conflated + shed + rejected + lost + in_flight``; ``lost`` is what a full raw
    queue dropped between ingest and normalizer.
    """
    samples = _Samples(telemetry)
    per_exchange = {name: _one(samples, name, watch.latencies.get(name, Latencies())) for name in exchanges}
    everything = Latencies()
    for latencies in watch.latencies.values():
        everything = everything.merged(latencies)
    return {**_one(samples, None, everything), "exchanges": per_exchange}


def settled(telemetry: Telemetry, watch: MarketWatch) -> bool:
    """Whether everything that was received was dealt with, and the consumer saw what came of it."""
    values = _counts(_Samples(telemetry), None)
    return not values["in_flight"] and watch.messages >= values["messages_published"] - watch.dropped


def _one(samples: _Samples, exchange: str | None, latencies: Latencies) -> dict[str, Any]:
    values: dict[str, Any] = _counts(samples, exchange)
    ends = samples.sum("tidegate_reconnects_total", {}, exchange)
    values["reconnects"] = ends - samples.sum("tidegate_reconnects_total", {"reason": "stopped"}, exchange)
    values["latency_us"] = {"p50": latencies.percentile(0.5), "p99": latencies.percentile(0.99)}
    return values


def _counts(samples: _Samples, exchange: str | None) -> dict[str, int]:
    values = {name: samples.sum(metric, labels, exchange) for name, (metric, labels) in FIELDS.items()}
    inner = {name: samples.sum(metric, labels, exchange) for name, (metric, labels) in INTERNAL.items()}
    arrived = inner["normalizer_received"] - inner["repeated"] - inner["returned"]
    queued = max(0, inner["ingest_published"] - arrived - values["lost"])
    values["in_flight"] = inner["ingest_waiting"] + inner["normalizer_waiting"] + queued
    return values
