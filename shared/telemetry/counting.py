"""Counters, gauges and histograms of plain numbers: cheap to count with, cheap to write down.

Labels, registration and the checks of names are the client library's. Its own metrics take a lock for every value and
walk through a histogram's bounds; here ``inc`` is one addition and ``observe`` one bisection.

Threads: several may count one number. CPython changes threads at calls and where a loop goes back, and from the reading
of a number to its writing there is neither (a test looks). Without the interpreter's lock this would not hold.
"""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from math import inf, isfinite
from typing import Final, cast

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

__all__ = ["Counter", "Family", "Gauge", "Histogram", "library_text"]

LARGEST: Final = 1e15
"""Below it a whole number is written without a fraction, exactly."""


class Family(Metric):
    """A metric as a registry collects it: its text is written at once, samples are made for whoever asks for them."""

    def __init__(self, metric: "Plain", name: str, documentation: str, kind: str) -> None:
        super().__init__(name, documentation, kind)
        self._metric = metric
        del self.samples

    @cached_property
    def samples(self) -> list[Sample]:  # type: ignore[override] # once it was asked for, it is the list of the base
        """As the client library makes them."""
        (metric,) = MetricWrapperBase.collect(self._metric)
        return metric.samples

    def text(self) -> str:
        """In Prometheus' text format."""
        return self._metric.text()


class Plain(MetricWrapperBase):
    """A metric whose values are plain numbers. It has no series of when it was created."""

    _names: Sequence[str] = ()
    """A child's series as they are written, in the order of its samples; made once and kept."""

    def collect(self) -> Sequence[Metric]:
        """The metric, as a :class:`Family`."""
        return (Family(self, self._name, self._documentation, str(self._type)),)

    def text(self) -> str:
        """All series, right now, in Prometheus' text format."""
        return "".join([self._head, *[one.lines() for one in self._children()]])

    @abstractmethod
    def lines(self) -> str:
        """A child's series, right now."""

    @abstractmethod
    def _child_samples(self) -> Sequence[Sample]: ...

    @cached_property
    def _head(self) -> str:
        """The lines above all series."""
        return library_text(Metric(self._name, self._documentation, str(self._type)))

    def _children(self) -> "Sequence[Plain]":
        if self._labelvalues or not self._labelnames:
            return (self,)
        with self._lock:
            return tuple(cast("Mapping[object, Plain]", self._metrics).values())

    def _written(self) -> Sequence[str]:
        """Names and labels of a child's series, in the order of its samples."""
        labels = dict(zip(self._labelnames, self._labelvalues, strict=True))
        self._names = [_series(self._name + one.name, labels | one.labels) for one in self._child_samples()]
        return self._names


class Number(Plain):
    """A metric with one value."""

    _value: float

    def inc(self, amount: float = 1) -> None:
        """So many more."""
        self._value += amount

    def lines(self) -> str:
        """The value."""
        value = self._value
        return f"{(self._names or self._written())[0]} {value if type(value) is int else _number(value)}\n"

    def _metric_init(self) -> None:
        self._value = 0


class Counter(Number):
    """What only grows."""

    _type = "counter"

    def _child_samples(self) -> Sequence[Sample]:
        return (Sample("_total", {}, self._value),)


class Gauge(Number):
    """What goes up and down."""

    _type = "gauge"

    def set(self, value: float) -> None:
        """It is at so much now."""
        self._value = value

    def dec(self, amount: float = 1) -> None:
        """So many fewer."""
        self._value -= amount

    def _child_samples(self) -> Sequence[Sample]:
        return (Sample("", {}, self._value),)


class Histogram(Plain):
    """How many observations there were up to each bound, and their sum.

    ``buckets`` are the finite bounds, rising, none below 0; raises ValueError for others.
    """

    _type = "histogram"
    _reserved_labelnames = ("le",)
    _sum: float

    def __init__(
        self,
        name: str,
        documentation: str,
        labelnames: Sequence[str] = (),
        *,
        buckets: tuple[float, ...],
        registry: CollectorRegistry | None = None,
        _labelvalues: Sequence[str] | None = None,
        **names: str,
    ) -> None:
        if list(buckets) != sorted(set(buckets)) or not all(0 <= bound < inf for bound in buckets):
            raise ValueError(f"bounds must rise from 0 or more, all finite: {buckets}")
        self._bounds = buckets
        super().__init__(name, documentation, labelnames, registry=registry, _labelvalues=_labelvalues, **names)
        self._kwargs["buckets"] = buckets

    def observe(self, amount: float) -> None:
        """One observation; any number but NaN."""
        self._counts[bisect_left(self._bounds, amount)] += 1
        self._sum += amount

    def lines(self) -> str:
        """Observations up to each bound, of all sizes, in all; their sum."""
        names = self._names or self._written()
        return "".join([f"{name} {_number(value)}\n" for name, value in zip(names, self._values(), strict=True)])

    def _metric_init(self) -> None:
        self._counts = [0] * (len(self._bounds) + 1)
        """Observations up to a bound and above the one before; above the last one."""
        self._sum = 0

    def _child_samples(self) -> Sequence[Sample]:
        *counts, count, total = self._values()
        bounds = (*self._bounds, inf)
        buckets = (
            Sample("_bucket", {"le": floatToGoString(bound)}, value)  # type: ignore[no-untyped-call]
            for bound, value in zip(bounds, counts, strict=True)
        )
        return (*buckets, Sample("_count", {}, count), Sample("_sum", {}, total))

    def _values(self) -> Sequence[float]:
        counts = list(accumulate(self._counts))
        return (*counts, counts[-1], self._sum)


class _Only:
    """A collector of one metric."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterator[Metric]:
        yield self._metric


def library_text(metric: Metric) -> str:
    """A metric in Prometheus' text format, as the client library writes it."""
    return generate_latest(_Only(metric)).decode()


def _series(name: str, labels: Mapping[str, str]) -> str:
    pairs = ",".join([f'{label}="{_escaped(value)}"' for label, value in sorted(labels.items())])
    return f"{name}{{{pairs}}}" if pairs else name


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if type(value) is int:
        return str(value)
    if -LARGEST < value < LARGEST:
        whole = int(value)
        return str(whole) if whole == value else repr(value)
    if isfinite(value):
        return repr(value)
    return "+Inf" if value > 0 else "-Inf" if value < 0 else "NaN"
