import logging
import re

import pytest
from prometheus_client import CollectorRegistry

from shared.telemetry.metrics import Metrics
from shared.telemetry.profile import ProfileSyncBlock
from tests.unit.telemetry.conftest import Remembering

Remembered = tuple[logging.Logger, Remembering]
LINE = re.compile(r"\[MICRO-METRIC\] raw_router:parse_batch_sync took (\d+\.\d{3})ms")


def count(metrics: Metrics) -> float | None:
    return metrics.registry.get_sample_value("tidegate_block_seconds_count", {"block": "parse"})


def total(metrics: Metrics) -> float:
    return metrics.registry.get_sample_value("tidegate_block_seconds_sum", {"block": "parse"}) or 0.0


@pytest.fixture
def block(metrics: Metrics, remembered: Remembered) -> ProfileSyncBlock:
    return ProfileSyncBlock("raw_router:parse_batch_sync", metrics.block_seconds.labels("parse"), remembered[0])


def test_a_run_is_observed_and_told(block: ProfileSyncBlock, metrics: Metrics, remembered: Remembered) -> None:
    with block:
        sum(range(10_000))
    assert count(metrics) == 1
    assert total(metrics) > 0
    ((level, text),) = remembered[1].lines
    line = LINE.fullmatch(text)
    assert level == logging.DEBUG
    assert line is not None
    assert float(line[1]) == pytest.approx(total(metrics) * 1e3, abs=0.001)


def test_lines_are_one_a_second(block: ProfileSyncBlock, metrics: Metrics, remembered: Remembered) -> None:
    for _ in range(100):
        with block:
            pass
    assert count(metrics) == 100
    assert len(remembered[1].lines) < 100


def test_no_line_without_debug(block: ProfileSyncBlock, metrics: Metrics, remembered: Remembered) -> None:
    remembered[0].setLevel(logging.INFO)
    with block:
        pass
    assert count(metrics) == 1
    assert remembered[1].lines == []


def test_an_exception_passes_and_its_run_counts(block: ProfileSyncBlock, metrics: Metrics) -> None:
    with pytest.raises(ZeroDivisionError), block:
        raise ZeroDivisionError
    assert count(metrics) == 1


def test_runs_nest(remembered: Remembered) -> None:
    observed: list[float] = []

    class Observer:
        def observe(self, amount: float) -> None:
            observed.append(amount)

    block = ProfileSyncBlock("x", Observer(), remembered[0])
    with block:
        with block:
            sum(range(1_000))
        sum(range(1_000))
    inner, outer = observed
    assert 0 < inner < outer


def test_it_needs_no_tidegate_metrics() -> None:
    registry = CollectorRegistry()
    metrics = Metrics(registry)
    with ProfileSyncBlock("x", metrics.event_loop_lag_seconds, logging.getLogger("x")):
        pass
    assert registry.get_sample_value("tidegate_event_loop_lag_seconds_count") == 1
