import pytest
from prometheus_client import CollectorRegistry, Counter, generate_latest

from shared.telemetry.metrics import Metrics
from shared.telemetry.scrape import Scrape


def scraped(registry: CollectorRegistry) -> Scrape:
    return Scrape.parse(generate_latest(registry).decode())


def test_what_was_counted_is_read_back(metrics: Metrics) -> None:
    metrics.frames_received.labels("ingest", "bybit").inc(7)
    metrics.frames_received.labels("ingest", "mexc").inc(2)
    scrape = scraped(metrics.registry)
    assert scrape.total("frames_received_total") == 9
    assert scrape.total("frames_received_total", exchange="bybit") == 7
    assert scrape.values_of("frames_received_total", "exchange", stage="ingest") == ["bybit", "mexc"]
    assert "build_info" in scrape
    assert "gaps_total" not in scrape
    assert (scrape.total("gaps_total"), scrape.values_of("gaps_total", "symbol")) == (0, [])


@pytest.mark.parametrize("symbol", ['A"B', "back\\slash", "two\nlines", "a\u2028b", "币安/USDT", "a,b={c} d", "\\n"])
def test_label_values_come_back_as_they_were(symbol: str) -> None:
    registry = CollectorRegistry()
    Counter("tidegate_gaps", "…", ["symbol"], registry=registry).labels(symbol).inc()
    assert scraped(registry).values_of("gaps_total", "symbol") == [symbol]


def test_only_what_is_new_between_two_scrapes_counts(metrics: Metrics) -> None:
    seconds = metrics.normalize_seconds.labels("bybit")
    for _ in range(50):
        seconds.observe(5.0)
    before = scraped(metrics.registry)
    assert scraped(metrics.registry).mean(before, "normalize_seconds") is None
    assert scraped(metrics.registry).quantile(before, "normalize_seconds", 0.99) is None
    for _ in range(99):
        seconds.observe(0.0002)
    seconds.observe(0.02)
    now = scraped(metrics.registry)
    assert now.since(before, "normalize_seconds_count") == 100
    assert now.mean(before, "normalize_seconds", exchange="bybit") == pytest.approx(0.000398)
    assert now.mean(before, "normalize_seconds", exchange="mexc") is None
    assert now.quantile(before, "normalize_seconds", 0.5) == pytest.approx(0.0001 + 0.00015 * 50 / 99)
    assert now.quantile(before, "normalize_seconds", 0.999) == pytest.approx(0.01 + 0.015 * 0.9)


def test_what_lies_above_the_last_bound_counts_as_that_bound(metrics: Metrics) -> None:
    before = scraped(metrics.registry)
    metrics.normalize_seconds.labels("bybit").observe(60.0)
    assert scraped(metrics.registry).quantile(before, "normalize_seconds", 0.99) == 10.0


@pytest.mark.parametrize(
    "text", ["<html><body>no metrics</body></html>", "tidegate_gaps_total", "tidegate_gaps_total many", "a{b 1"]
)
def test_what_is_no_scrape_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="no sample of a metric"):
        Scrape.parse(text)
