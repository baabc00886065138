"""What a scrape is told, against the client library's own text."""

from collections.abc import Callable, Iterator, Sequence
from math import inf, nan
from typing import Any, NamedTuple

import prometheus_client as library
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeHistogramMetricFamily,
    GaugeMetricFamily,
    Metric,
    StateSetMetricFamily,
)
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector

from shared.telemetry.counting import Counter, Gauge, Histogram
from shared.telemetry.exposition import render
from shared.telemetry.metrics import Metrics, process_registry

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,9}", fullmatch=True).filter(lambda name: name != "_total")
LABELS = NAMES.filter(lambda name: not name.startswith("__") and name != "le")
EXACT = st.integers(0, 2**50)
"""Some of these add up to the same whether as integers or as floats."""


class Kind(NamedTuple):
    """A kind of metric: ours, the library's, how it is written to, with what."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    write: Callable[[Any, float], None]
    numbers: st.SearchStrategy[float]
    options: st.SearchStrategy[dict[str, Any]]


KINDS = {
    "counter": Kind(
        Counter, library.Counter, lambda it, number: it.inc(number), EXACT | st.floats(0) | st.just(nan), st.just({})
    ),
    "gauge": Kind(
        Gauge,
        library.Gauge,
        lambda it, number: it.set(number),
        st.integers(-(2**70), 2**70) | st.floats() | st.booleans(),
        st.just({}),
    ),
    "moving gauge": Kind(
        Gauge,
        library.Gauge,
        lambda it, number: it.inc(number) if number > 0 else it.dec(-number),
        EXACT | EXACT.map(int.__neg__) | st.floats(),
        st.just({}),
    ),
    "histogram": Kind(
        Histogram,
        library.Histogram,
        lambda it, number: it.observe(number),
        EXACT | st.floats(allow_nan=False),
        st.lists(st.floats(0, 1e9), unique=True, min_size=1).map(lambda bounds: {"buckets": tuple(sorted(bounds))}),
    ),
}


@pytest.fixture(scope="module", autouse=True)
def no_created_series() -> Iterator[None]:
    """The library's own counters would tell when they were made."""
    library.disable_created_metrics()  # type: ignore[no-untyped-call]
    yield
    library.enable_created_metrics()  # type: ignore[no-untyped-call]


def lines(text: bytes) -> list[str | tuple[str, str]]:
    """A scrape's lines; those of values as series and number, however that is written."""
    return [line if line.startswith("#") or not line else _read(line) for line in text.decode().split("\n")]


def _read(line: str) -> tuple[str, str]:
    series, _, value = line.rpartition(" ")
    return series, repr(float(value) + 0.0)


class Foreign:
    """A collector that is neither ours nor one of the library's metrics."""

    def __init__(self, *families: Metric) -> None:
        self._families = families

    def collect(self) -> Sequence[Metric]:
        return self._families


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@given(data=st.data(), name=NAMES, text=st.text(), labels=st.lists(LABELS, unique=True, max_size=3))
def test_it_is_the_client_library_s_text(
    kind: Kind, data: st.DataObject, name: str, text: str, labels: list[str]
) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    options = data.draw(kind.options)
    one = kind.ours(name, text, labels, registry=ours, **options)
    other = kind.theirs(name, text, labels, registry=theirs, **options)
    series = st.lists(st.text(), min_size=len(labels), max_size=len(labels))
    for values, numbers in data.draw(st.lists(st.tuples(series, st.lists(kind.numbers, max_size=5)), max_size=4)):
        for number in numbers:
            kind.write(one.labels(*values) if labels else one, number)
            kind.write(other.labels(*values) if labels else other, number)
        assert lines(render(ours)) == lines(generate_latest(theirs))
        assert lines(generate_latest(ours)) == lines(generate_latest(theirs))


def test_what_others_collect_is_written_by_the_library() -> None:
    registry = CollectorRegistry()
    GCCollector(registry=registry)
    PlatformCollector(registry=registry)
    library.Info("program", "What it is.", registry=registry).info({"version": "1\n2"})
    library.Enum("mood", "How it is.", states=["good", "bad"], registry=registry)
    library.Summary("rest", "A summary.", ["label"], registry=registry).labels('"\\').observe(2.5)
    library.Counter("dotted.name", "Any name.", ["any.label"], registry=registry).labels("a").inc()
    counter = CounterMetricFamily("told", "With times.", labels=["label"], created=12.5)
    counter.add_metric(["x"], 3.0, created=1.5, timestamp=1_790_000_000.25)
    gauge = GaugeMetricFamily("some", "Some.", value=nan)
    buckets = GaugeHistogramMetricFamily("sizes", "Sizes.", buckets=[("1.0", 2.0), ("+Inf", 3.0)], gsum_value=4.0)
    states = StateSetMetricFamily("states", "States.", value={"a": True, "b": False})
    registry.register(Foreign(counter, gauge, buckets, states))

    assert render(registry) == generate_latest(registry)


def test_all_metrics_of_a_process_are_there() -> None:
    registry = process_registry()
    metrics = Metrics(registry)
    metrics.frames_received.labels("ingest", "bybit").inc(3)
    metrics.queue_wait_seconds.labels("ingest", "bybit").observe(0.000_7)
    metrics.stream_last_frame.labels("bybit", "bybit.linear.0").set(1_790_000_000.123_456)

    told = {one[0] if isinstance(one, tuple) else one for one in lines(render(registry))}
    assert told == {one[0] if isinstance(one, tuple) else one for one in lines(generate_latest(registry))}
    assert {"process_open_fds", "tidegate_members"} <= told


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (True, "1"),
        (12.0, "12"),
        (-3.0, "-3"),
        (2**53 + 1, "9007199254740993"),
        (0.5, "0.5"),
        (1e-5, "1e-05"),
        (1e18, "1e+18"),
        (inf, "+Inf"),
        (-inf, "-Inf"),
        (nan, "NaN"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    registry = CollectorRegistry()
    Gauge("some", "A number.", registry=registry).set(value)

    assert render(registry).splitlines()[-1].decode() == f"some {text}"


def test_values_are_those_of_now_and_new_series_are_told() -> None:
    registry = CollectorRegistry()
    histogram = Histogram("some", "A histogram.", ["label"], registry=registry, buckets=(1.0,))
    histogram.labels("a").observe(0.5)
    first = render(registry)
    histogram.labels("a").observe(2.0)
    histogram.labels("b").observe(3.0)
    second = render(registry)

    assert b'some_count{label="a"} 1\n' in first
    assert b'some_bucket{label="a",le="1.0"} 1\n' in second
    assert b'some_count{label="a"} 2\n' in second
    assert b'some_sum{label="b"} 3\n' in second
