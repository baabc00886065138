"""Metrics of plain numbers."""

import sys
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest
from prometheus_client import CollectorRegistry

from shared.telemetry.counting import Counter, Gauge, Histogram

THREADS = 4
TIMES = 20_000


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads change as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("impatient")
def test_threads_may_count_one_number(registry: CollectorRegistry) -> None:
    counter = Counter("some_total", "A counter.", registry=registry)
    gauge = Gauge("level", "A gauge.", registry=registry)
    histogram = Histogram("sizes", "A histogram.", buckets=(1, 2, 4), registry=registry)
    together = Barrier(THREADS)

    def count() -> None:
        together.wait()
        for _ in range(TIMES):
            counter.inc(2)
            gauge.inc(3)
            gauge.dec()
            histogram.observe(2)

    threads = [Thread(target=count) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = {(one.name, one.labels.get("le")): one.value for family in registry.collect() for one in family.samples}
    assert told == {
        ("some_total", None): 2 * THREADS * TIMES,
        ("level", None): 2 * THREADS * TIMES,
        ("sizes_bucket", "1.0"): 0,
        ("sizes_bucket", "2.0"): THREADS * TIMES,
        ("sizes_bucket", "4.0"): THREADS * TIMES,
        ("sizes_bucket", "+Inf"): THREADS * TIMES,
        ("sizes_count", None): THREADS * TIMES,
        ("sizes_sum", None): 2 * THREADS * TIMES,
    }


@pytest.mark.parametrize("buckets", [(2.0, 1.0), (1.0, 1.0), (-1.0, 1.0), (1.0, float("inf")), (float("nan"),)])
def test_bounds_rise_from_nothing(buckets: tuple[float, ...], registry: CollectorRegistry) -> None:
    with pytest.raises(ValueError, match="bounds must rise"):
        Histogram("sizes", "A histogram.", buckets=buckets, registry=registry)


def test_a_bound_counts_what_equals_it(registry: CollectorRegistry) -> None:
    histogram = Histogram("sizes", "A histogram.", ["label"], buckets=(1.0, 2.0), registry=registry)
    for amount in (0.0, 1.0, 1.5, 2.0, 2.5):
        histogram.labels("a").observe(amount)
    value = registry.get_sample_value
    assert [value("sizes_bucket", {"label": "a", "le": le}) for le in ("1.0", "2.0", "+Inf")] == [2, 4, 5]
    assert value("sizes_sum", {"label": "a"}) == 7


def test_a_metric_with_labels_counts_nothing_itself(registry: CollectorRegistry) -> None:
    with pytest.raises(AttributeError):
        Counter("some_total", "A counter.", ["label"], registry=registry).inc()
    with pytest.raises(AttributeError):
        Histogram("sizes", "A histogram.", ["label"], buckets=(1.0,), registry=registry).observe(1)


def test_a_part_of_a_registry_can_be_asked_for(registry: CollectorRegistry) -> None:
    Counter("some_total", "A counter.", registry=registry).inc()
    Gauge("level", "A gauge.", registry=registry).set(2)
    (family,) = registry.restricted_registry(["level"]).collect()
    assert [(one.name, one.value) for one in family.samples] == [("level", 2)]
