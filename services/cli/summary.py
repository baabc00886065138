"""What a run amounted to, read from the metrics that everybody else reads too."""

from collections.abc import Mapping
from typing import Any

from services.cli.watch import Latencies, MarketWatch
from shared.telemetry.bundle import Telemetry

__all__ = ["summary"]

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
    "ingest_waiting": ("tidegate_frames_in_flight", {"stage": "ingest"}),
    "normalizer_waiting": ("tidegate_frames_in_flight", {"stage": "normalizer"}),
}


def summary(telemetry: Telemetry, watch: MarketWatch, exchanges: list[str]) -> dict[str, Any]:
    """The totals and, below ``exchanges``, the same of each exchange.

    ``frames_received = frames_published + conflated + shed + rejected + in_flight`` wherever nothing was ``lost``
    between ingest and normalizer without ingest knowing.
    """
    per_exchange = {name: _one(telemetry, name, watch.latencies.get(name, Latencies())) for name in exchanges}
    everything = Latencies()
    for latencies in watch.latencies.values():
        everything = everything.merged(latencies)
    return {**_one(telemetry, None, everything), "exchanges": per_exchange}


def _one(telemetry: Telemetry, exchange: str | None, latencies: Latencies) -> dict[str, Any]:
    values: dict[str, Any] = {
        name: _sum(telemetry, metric, labels, exchange) for name, (metric, labels) in FIELDS.items()
    }
    inner = {name: _sum(telemetry, metric, labels, exchange) for name, (metric, labels) in INTERNAL.items()}
    between = inner["ingest_published"] - (inner["normalizer_received"] - inner["repeated"])
    values["in_flight"] = inner["ingest_waiting"] + inner["normalizer_waiting"] + max(0, between)
    ends = _sum(telemetry, "tidegate_reconnects_total", {}, exchange)
    values["reconnects"] = ends - _sum(telemetry, "tidegate_reconnects_total", {"reason": "stopped"}, exchange)
    values["latency_us"] = {"p50": latencies.percentile(0.5), "p99": latencies.percentile(0.99)}
    return values


def _sum(telemetry: Telemetry, name: str, labels: Mapping[str, str], exchange: str | None) -> int:
    wanted = dict(labels) if exchange is None else {**labels, "exchange": exchange}
    return int(telemetry.total(name, wanted))
