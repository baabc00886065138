import re
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from shared.telemetry.declare import BYTE_BUCKETS, COUNT_BUCKETS, TIME_BUCKETS, MetricDescription
from shared.telemetry.metrics import Metrics, catalogue, process_registry

if TYPE_CHECKING:
    from shared.telemetry.counting import Counter, Gauge, Histogram


def registered(registry: CollectorRegistry) -> dict[str, tuple[str, str]]:
    """Name as in a query → kind and help, from what a scrape collects."""
    return {
        family.name + ("_total" if family.type == "counter" else ""): (family.type, family.documentation)
        for family in registry.collect()
    }


def populate(metrics: Metrics) -> None:
    """One child of every metric that has labels."""
    for declared in Metrics.declarations():
        metric: Counter | Gauge | Histogram = getattr(metrics, declared.attribute)
        if declared.labels:
            metric.labels(*(f"some {label}" for label in declared.labels))


def test_catalogue_and_registry_hold_the_same_metrics(metrics: Metrics) -> None:
    described = {entry.name: (entry.kind, entry.meaning) for entry in catalogue()}
    assert described == registered(metrics.registry)
    assert len(described) == len(catalogue())


def test_objects_have_the_labels_that_the_catalogue_tells(metrics: Metrics) -> None:
    for declared in Metrics.declarations():
        metric: Counter | Gauge | Histogram = getattr(metrics, declared.attribute)
        assert type(metric).__name__.lower() == declared.description.kind
        assert metric._labelnames == declared.description.labels


def test_no_histogram_has_a_symbol() -> None:
    by_symbol = {entry.kind for entry in catalogue() if "symbol" in entry.labels}
    assert by_symbol == {"counter"}


@pytest.mark.parametrize("entry", catalogue(), ids=lambda entry: str(entry.name))
def test_names_follow_the_conventions(entry: MetricDescription) -> None:
    name, kind, labels, unit, meaning, shown = entry
    assert re.fullmatch(r"tidegate_[a-z]+(_[a-z]+)*", name)
    assert all(label.isascii() and label.islower() and label.isalpha() for label in labels)
    words = name.removesuffix("_total").split("_")
    assert sum(words.count(each) for each in ("seconds", "bytes", "frames", "messages")) <= 1, "more than one unit"
    assert name.endswith("_total") == (kind == "counter")
    if kind == "histogram":
        assert name.endswith(("_seconds", "_bytes", "_frames"))
    assert not {"ms", "us", "ns", "milliseconds", "kilobytes"} & set(words)
    assert unit in {"seconds", "bytes", "frames", "messages", "batches", "tasks", "1"}
    assert meaning.endswith(".")
    assert shown in {"overview", "ingest", "normalizers", "accounts", "runtime", "burst", "debug"}


def test_histograms_of_a_unit_share_one_bucket_tuple(metrics: Metrics) -> None:
    populate(metrics)
    expected = {"seconds": TIME_BUCKETS, "bytes": BYTE_BUCKETS, "frames": COUNT_BUCKETS}
    units = {entry.name: entry.unit for entry in catalogue()}
    histograms = [family for family in metrics.registry.collect() if family.type == "histogram"]
    assert len(histograms) > 5
    for family in histograms:
        bounds = [sample.labels["le"] for sample in family.samples if sample.name.endswith("_bucket")]
        assert tuple(map(float, bounds)) == (*expected[units[family.name]], float("inf"))


def test_time_buckets_run_from_10_us_to_10_s_in_1_25_5_steps() -> None:
    assert TIME_BUCKETS[0] == 0.00001
    assert TIME_BUCKETS[-1] == 10
    assert len(TIME_BUCKETS) == 19
    ratios = [round(upper / lower, 6) for lower, upper in pairwise(TIME_BUCKETS)]
    assert ratios == [2.5, 2, 2] * 6


def test_registries_are_apart() -> None:
    one, other = Metrics(CollectorRegistry()), Metrics(CollectorRegistry())
    one.duplicates.labels("bybit").inc(3)
    assert one.registry.get_sample_value("tidegate_duplicates_total", {"exchange": "bybit"}) == 3
    assert other.registry.get_sample_value("tidegate_duplicates_total", {"exchange": "bybit"}) is None


def test_one_registry_takes_one_set() -> None:
    registry = CollectorRegistry()
    Metrics(registry)
    with pytest.raises(ValueError, match="Duplicated"):
        Metrics(registry)


def test_process_registry_has_the_process_itself() -> None:
    names = registered(process_registry())
    assert {"process_cpu_seconds_total", "process_open_fds", "python_info"} <= set(names)


def test_build_info_tells_a_version(metrics: Metrics) -> None:
    (family,) = [family for family in metrics.registry.collect() if family.name == "tidegate_build_info"]
    (sample,) = family.samples
    assert sample.value == 1
    assert sample.labels["version"]
    assert re.fullmatch(r"3\.\d+\.\d+\S*", sample.labels["python"])


def test_scrape_has_no_created_series(metrics: Metrics) -> None:
    populate(metrics)
    assert b"_created" not in generate_latest(metrics.registry)
