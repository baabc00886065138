"""How a metric is declared: name, labels and meaning stand once, in a class body of ``shared.telemetry.metrics``."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Final, Generic, NamedTuple, Self, TypeVar, overload

from prometheus_client import CollectorRegistry

from shared.telemetry.counting import Counter, Gauge, Histogram

__all__ = [
    "BYTE_BUCKETS",
    "COUNT_BUCKETS",
    "PREFIX",
    "TIME_BUCKETS",
    "DeclaredCounter",
    "DeclaredGauge",
    "DeclaredHistogram",
    "DeclaredMetrics",
    "MetricDescription",
]

PREFIX: Final = "tidegate_"

# fmt: off
TIME_BUCKETS: Final = (
    0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5,
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
)
"""Seconds, 10 µs to 10 s. One tuple for every duration: histograms with different bounds don't add up."""
# fmt: on

COUNT_BUCKETS: Final = tuple(float(2**power) for power in range(11))
"""Items in a batch: 1 to 1024."""

BYTE_BUCKETS: Final = tuple(float(2**power) for power in range(8, 21))
"""Sizes: 256 B to 1 MiB."""

UNITS: Final = ("seconds", "bytes", "frames", "messages", "batches", "tasks")

MetricT = TypeVar("MetricT", Counter, Gauge, Histogram)


class MetricDescription(NamedTuple):
    """One line of the metrics catalogue."""

    name: str
    """As in a query: with prefix, and with ``_total`` for a counter."""
    kind: str
    """``counter``, ``gauge`` or ``histogram``."""
    labels: tuple[str, ...]
    unit: str
    """``seconds``, ``bytes`` or what is counted; ``1`` for states and plain counts."""
    meaning: str
    shown: str
    """The dashboard that shows it, or ``debug``: there for whoever looks closer."""


class Declared(ABC, Generic[MetricT]):
    """A class attribute that describes a metric; on an instance it is the metric object itself."""

    kind: str

    def __init__(self, name: str, labels: str, meaning: str, *, shown: str) -> None:
        self.labels: Final = tuple(labels.split())
        self.description: Final = MetricDescription(PREFIX + name, self.kind, self.labels, _unit(name), meaning, shown)
        self.attribute = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.attribute = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: "DeclaredMetrics", owner: type) -> MetricT: ...
    def __get__(self, instance: "DeclaredMetrics | None", owner: type) -> Self | MetricT:
        # Reached on the class only: an instance holds the object under the same name, and that comes first.
        if instance is None:
            return self
        raise AttributeError(self.attribute)

    @abstractmethod
    def build(self, registry: CollectorRegistry) -> MetricT:
        """The metric object, registered."""


class DeclaredCounter(Declared[Counter]):
    """A counter."""

    kind = "counter"

    def build(self, registry: CollectorRegistry) -> Counter:
        """The counter, registered."""
        return Counter(self.description.name, self.description.meaning, self.labels, registry=registry)


class DeclaredGauge(Declared[Gauge]):
    """A gauge."""

    kind = "gauge"

    def build(self, registry: CollectorRegistry) -> Gauge:
        """The gauge, registered."""
        return Gauge(self.description.name, self.description.meaning, self.labels, registry=registry)


class DeclaredHistogram(Declared[Histogram]):
    """A histogram; never by symbol: 20 buckets times hundreds of instruments would stall every scrape."""

    kind = "histogram"

    def __init__(
        self, name: str, labels: str, meaning: str, *, shown: str, buckets: tuple[float, ...] = TIME_BUCKETS
    ) -> None:
        super().__init__(name, labels, meaning, shown=shown)
        self._buckets: Final = buckets

    def build(self, registry: CollectorRegistry) -> Histogram:
        """The histogram, registered."""
        description = self.description
        return Histogram(description.name, description.meaning, self.labels, registry=registry, buckets=self._buckets)


class DeclaredMetrics:
    """Base of a class whose body declares metrics: constructing it makes and registers them all."""

    def __init__(self, registry: CollectorRegistry) -> None:
        for declared in self.declarations():
            vars(self)[declared.attribute] = declared.build(registry)

    @classmethod
    def declarations(cls) -> Iterator[DeclaredCounter | DeclaredGauge | DeclaredHistogram]:
        """What the class and its bases declare, in the order of bases and declarations."""
        for owner in cls.__mro__:
            for value in vars(owner).values():
                if isinstance(value, DeclaredCounter | DeclaredGauge | DeclaredHistogram):
                    yield value


def _unit(name: str) -> str:
    words = name.split("_")
    return next((unit for unit in UNITS if unit in words), "1")
