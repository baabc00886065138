from collections.abc import Callable

import pytest

from shared.batching import Trigger
from shared.telemetry.metrics import Metrics
from shared.telemetry.stages import IngestMetrics, NormalizerMetrics, PublisherMetrics, RestMetrics, StreamMetrics

Expected = dict[str, float]


def value(metrics: Metrics, series: str) -> float | None:
    """The value of ``name{a=b,c=d}``."""
    name, _, rest = series.partition("{")
    labels = dict(pair.split("=", 1) for pair in rest.rstrip("}").split(",")) if rest else {}
    return metrics.registry.get_sample_value(f"tidegate_{name}", labels)


INGEST: list[tuple[Callable[[IngestMetrics], None], Expected]] = [
    (
        lambda it: it.received(3, 700),
        {"frames_received_total{stage=ingest,exchange=bybit}": 3, "bytes_received_total{exchange=bybit}": 700},
    ),
    (lambda it: it.published(2), {"frames_published_total{stage=ingest,exchange=bybit}": 2}),
    (
        lambda it: it.conflated("ticker", "BTC/USDT", 4),
        {"frames_conflated_total{exchange=bybit,feed=ticker,symbol=BTC/USDT}": 4},
    ),
    (lambda it: it.conflated(None, None, 1), {"frames_conflated_total{exchange=bybit,feed=none,symbol=none}": 1}),
    (lambda it: it.in_flight(9), {"frames_in_flight{stage=ingest,exchange=bybit}": 9}),
    (lambda it: it.control("heartbeat"), {"control_frames_total{exchange=bybit,kind=heartbeat}": 1}),
    (
        lambda it: it.queue_wait(2_000_000),
        {
            "queue_wait_seconds_sum{stage=ingest,exchange=bybit}": 0.002,
            "queue_wait_seconds_bucket{stage=ingest,exchange=bybit,le=0.001}": 0,
            "queue_wait_seconds_bucket{stage=ingest,exchange=bybit,le=0.0025}": 1,
        },
    ),
]


@pytest.mark.parametrize(("call", "expected"), INGEST)
def test_ingest(metrics: Metrics, call: Callable[[IngestMetrics], None], expected: Expected) -> None:
    call(IngestMetrics(metrics, "bybit"))
    assert {series: value(metrics, series) for series in expected} == pytest.approx(expected)


STREAM: list[tuple[Callable[[StreamMetrics], None], Expected]] = [
    (
        lambda it: it.last_frame(1_781_520_000_500_000_000),
        {"stream_last_frame_timestamp_seconds{exchange=mexc,stream=mexc.spot.0}": 1_781_520_000.5},
    ),
    (
        lambda it: it.buffer(7, 900),
        {
            "buffer_frames{exchange=mexc,stream=mexc.spot.0}": 7,
            "buffer_bytes{exchange=mexc,stream=mexc.spot.0}": 900,
        },
    ),
    (
        lambda it: it.buffer_limits(20, 4096),
        {
            "buffer_frames_limit{exchange=mexc,stream=mexc.spot.0}": 20,
            "buffer_bytes_limit{exchange=mexc,stream=mexc.spot.0}": 4096,
        },
    ),
    (
        lambda it: it.subscriptions({"accepted": 5, "rejected": 1}),
        {
            "subscriptions{exchange=mexc,stream=mexc.spot.0,state=accepted}": 5,
            "subscriptions{exchange=mexc,stream=mexc.spot.0,state=rejected}": 1,
        },
    ),
    (lambda _: None, {"stream_up{exchange=mexc,stream=mexc.spot.0}": 0}),
]


@pytest.mark.parametrize(("call", "expected"), STREAM)
def test_stream(metrics: Metrics, call: Callable[[StreamMetrics], None], expected: Expected) -> None:
    call(StreamMetrics(metrics, "mexc", "mexc.spot.0"))
    assert {series: value(metrics, series) for series in expected} == pytest.approx(expected)


PUBLISHER: list[tuple[Callable[[PublisherMetrics], None], Expected]] = [
    (
        lambda it: it.batch(3, Trigger.AGE),
        {
            "batch_frames_sum{stage=ingest}": 3,
            "batch_frames_bucket{stage=ingest,le=2.0}": 0,
            "batch_frames_bucket{stage=ingest,le=4.0}": 1,
            "batches_total{stage=ingest,trigger=age}": 1,
        },
    ),
    (
        lambda it: it.body(300),
        {"envelope_bytes_bucket{stage=ingest,le=512.0}": 1, "envelope_bytes_sum{stage=ingest}": 300},
    ),
    (lambda it: it.pool_wait(50_000), {"pool_wait_seconds_sum{stage=ingest,plane=market}": 0.00005}),
    (lambda it: it.net_write(4_000_000), {"publish_seconds_sum{stage=ingest,plane=market}": 0.004}),
    (lambda it: it.permits(20), {"permits{stage=ingest,plane=market}": 20}),
    (lambda it: it.in_use(4), {"permits_in_use{stage=ingest,plane=market}": 4}),
]


@pytest.mark.parametrize(("call", "expected"), PUBLISHER)
def test_publisher(metrics: Metrics, call: Callable[[PublisherMetrics], None], expected: Expected) -> None:
    call(PublisherMetrics(metrics, "ingest", "market"))
    assert {series: value(metrics, series) for series in expected} == pytest.approx(expected)


NORMALIZER: list[tuple[Callable[[NormalizerMetrics], None], Expected]] = [
    (lambda it: it.received(8), {"frames_received_total{stage=normalizer,exchange=binance}": 8}),
    (lambda it: it.published(7), {"frames_published_total{stage=normalizer,exchange=binance}": 7}),
    (lambda it: it.repeated(1), {"frames_repeated_total{exchange=binance}": 1}),
    (lambda it: it.returned(4), {"frames_returned_total{exchange=binance}": 4}),
    (lambda it: it.in_flight(5), {"frames_in_flight{stage=normalizer,exchange=binance}": 5}),
    (
        lambda it: it.messages("trade", "ETH/USDT", 6),
        {
            "messages_published_total{exchange=binance,feed=trade}": 6,
            "instrument_messages_total{exchange=binance,symbol=ETH/USDT}": 6,
        },
    ),
    (lambda it: it.dropped(2, 3), {"duplicates_total{exchange=binance}": 2, "stale_total{exchange=binance}": 3}),
    (lambda it: it.queue_wait(1_000), {"queue_wait_seconds_sum{stage=normalizer,exchange=binance}": 0.000001}),
    (lambda it: it.normalize(30_000), {"normalize_seconds_sum{exchange=binance}": 0.00003}),
    (
        lambda it: it.feed_latency(12_000_000),
        {"feed_latency_seconds_sum{exchange=binance}": 0.012, "feed_latency_negative_total{exchange=binance}": 0},
    ),
    (
        lambda it: it.feed_latency(-12_000_000),
        {
            "feed_latency_seconds_sum{exchange=binance}": 0,
            "feed_latency_seconds_count{exchange=binance}": 1,
            "feed_latency_negative_total{exchange=binance}": 1,
        },
    ),
    (lambda it: it.end_to_end(700_000), {"end_to_end_seconds_sum{exchange=binance}": 0.0007}),
    (
        lambda it: it.end_to_end(-1),
        {"end_to_end_seconds_sum{exchange=binance}": 0, "end_to_end_seconds_count{exchange=binance}": 1},
    ),
]


@pytest.mark.parametrize(("call", "expected"), NORMALIZER)
def test_normalizer(metrics: Metrics, call: Callable[[NormalizerMetrics], None], expected: Expected) -> None:
    call(NormalizerMetrics(metrics, "binance"))
    assert {series: value(metrics, series) for series in expected} == pytest.approx(expected)


def test_rest(metrics: Metrics) -> None:
    RestMetrics(metrics, "mexc").ok(250_000_000)
    assert value(metrics, "rest_requests_total{exchange=mexc,outcome=ok}") == 1
    assert value(metrics, "rest_seconds_sum{exchange=mexc}") == pytest.approx(0.25)


def test_symbols_past_the_limit_are_counted_together(metrics: Metrics) -> None:
    normalizer = NormalizerMetrics(metrics, "binance")
    for number in range(10):
        normalizer.messages("trade", f"COIN{number}/USDT", 1)
    (family,) = [family for family in metrics.registry.collect() if family.name == "tidegate_instrument_messages"]
    counts = {sample.labels["symbol"]: sample.value for sample in family.samples}
    assert counts == {"COIN0/USDT": 1, "COIN1/USDT": 1, "COIN2/USDT": 1, "other": 7}
