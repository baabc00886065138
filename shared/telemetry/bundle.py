"""All telemetry of one process in one object, made once and passed around."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from shared.telemetry.aggregate import Aggregator
from shared.telemetry.events import Events
from shared.telemetry.http import Health
from shared.telemetry.metrics import Metrics, process_registry
from shared.telemetry.redact import Redactor

__all__ = ["Telemetry"]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Metrics and their registry, events, the aggregator of the log lines, the checks behind ``/readyz``.

    ``redactor`` keeps secrets out of log lines.
    """

    registry: CollectorRegistry = field(default_factory=process_registry)
    metrics: Metrics = field(init=False)
    events: Events = field(init=False)
    aggregator: Aggregator = field(default_factory=Aggregator)
    health: Health = field(default_factory=Health)
    redactor: Redactor = field(default_factory=Redactor)

    def __post_init__(self) -> None:
        """Register the metrics."""
        metrics = Metrics(self.registry)
        object.__setattr__(self, "metrics", metrics)
        object.__setattr__(self, "events", Events(metrics))

    def total(self, name: str, labels: Mapping[str, str]) -> float:
        """The sum of the samples called ``name`` that have these labels, right now."""
        return sum(
            sample.value
            for family in self.registry.collect()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )
