from math import inf, isnan, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, Summary, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from shared.telemetry.exposition import Exposition
from shared.telemetry.metrics import Metrics, process_registry

Told = dict[str, tuple[str, str, dict[tuple[str, tuple[tuple[str, str], ...]], float]]]


def told(text: bytes) -> Told:
    """What a scrape says, by family: kind, help, and values by series."""
    return {
        family.name: (
            family.type,
            family.documentation,
            {(one.name, tuple(sorted(one.labels.items()))): one.value for one in family.samples},
        )
        for family in text_string_to_metric_families(text.decode())
    }


def test_it_says_what_the_client_library_says() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    metrics.frames_received.labels("ingest", "bybit").inc(3)
    metrics.queue_wait_seconds.labels("ingest", "bybit").observe(0.000_7)
    metrics.stream_last_frame.labels("bybit", "bybit.linear.0").set(1_790_000_000.123_456)
    Summary("rest", "A summary.", registry=registry).observe(2.5)

    assert told(Exposition(registry).render()) == told(generate_latest(registry))


def test_a_process_is_told_of_too() -> None:
    families = told(Exposition(process_registry()).render())

    assert families["process_cpu_seconds"][0] == "counter"
    assert families["python_info"][0] == "gauge"


@given(st.lists(st.text(), min_size=1, max_size=5), st.text(st.characters(codec="utf-8", exclude_characters="\r")))
def test_any_label_and_any_help_is_read_back(values: list[str], documentation: str) -> None:
    registry = CollectorRegistry()
    counter = Counter("some", documentation or "-", ["label"], registry=registry)
    for value in values:
        counter.labels(value).inc()

    assert told(Exposition(registry).render()) == told(generate_latest(registry))


@given(st.floats())
def test_any_number_is_read_back(value: float) -> None:
    registry = CollectorRegistry()
    Gauge("some", "A number.", registry=registry).set(value)
    (series,) = told(Exposition(registry).render())["some"][2].values()

    assert series == value or (isnan(series) and isnan(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (12.0, "12"),
        (-3.0, "-3"),
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

    assert Exposition(registry).render().splitlines()[-1].decode() == f"some {text}"


def test_values_are_those_of_now_and_new_series_are_told() -> None:
    registry = CollectorRegistry()
    histogram = Histogram("some", "A histogram.", ["label"], registry=registry, buckets=(1.0,))
    exposition = Exposition(registry)
    histogram.labels("a").observe(0.5)
    first = exposition.render()
    histogram.labels("a").observe(2.0)
    histogram.labels("b").observe(3.0)

    assert b'some_count{label="a"} 1\n' in first
    assert b'some_bucket{label="a",le="1.0"} 1\n' in exposition.render()
    assert b'some_count{label="a"} 2\n' in exposition.render()
    assert b'some_sum{label="b"} 3\n' in exposition.render()


def test_a_kind_that_the_format_does_not_have_is_untyped() -> None:
    registry = CollectorRegistry()
    Info("some", "What it is.", registry=registry).info({"version": "1"})

    assert b"# TYPE some untyped\n" in Exposition(registry).render()
