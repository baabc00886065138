from hypothesis import given
from hypothesis import strategies as st

from shared.telemetry.labels import NONE, OTHER, Children, LabelLimit
from shared.telemetry.metrics import Metrics


def test_none_is_a_word() -> None:
    assert LabelLimit(1)(None) == NONE


@given(values=st.lists(st.text(max_size=3)), limit=st.integers(min_value=0, max_value=5))
def test_distinct_values_are_bounded_and_the_first_keep_their_names(values: list[str], limit: int) -> None:
    bounded = LabelLimit(limit)
    first = list(dict.fromkeys(values))[:limit]
    labels = [bounded(value) for value in values]
    assert labels == [value if value in first else OTHER for value in values]
    assert len(bounded) == len(first)


def test_children_are_the_metrics_own(metrics: Metrics) -> None:
    children = Children(metrics.gaps)
    children["bybit", "BTC/USDT"].inc()
    children["bybit", "BTC/USDT"].inc(2)
    assert children["bybit", "BTC/USDT"] is metrics.gaps.labels("bybit", "BTC/USDT")
    labels = {"exchange": "bybit", "symbol": "BTC/USDT"}
    assert metrics.registry.get_sample_value("tidegate_gaps_total", labels) == 3
