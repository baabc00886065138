"""What a run amounted to: the conservation law over every way a frame can go."""

from services.cli.summary import settled, summary
from services.cli.watch import MarketWatch
from shared.telemetry.bundle import Telemetry
from shared.telemetry.stages import IngestMetrics, NormalizerMetrics

LAW = ("frames_published", "conflated", "shed", "rejected", "lost", "in_flight")


def counted() -> Telemetry:
    """100 frames received: 8 wait in ingest, 5 conflated, 7 shed, 80 published; 10 of these were dropped by a queue."""
    telemetry = Telemetry()
    ingest = IngestMetrics(telemetry.metrics, "bybit")
    ingest.received(100, 1)
    ingest.in_flight(8)
    ingest.conflated("quote", "BTC/USDT", 5)
    telemetry.events.frames_shed("bybit", "bybit.spot.0", "trade", None, "overflow", 7)
    ingest.published(80)
    normalizer = NormalizerMetrics(telemetry.metrics, "bybit")
    normalizer.received(60 + 4 + 9)
    normalizer.returned(9)
    normalizer.repeated(4)
    telemetry.events.frames_lost("bybit", "bybit.spot.0", 10)
    telemetry.events.frame_rejected("bybit", "bybit.spot.0", 1, 2, [("invalid_json", "x")])
    normalizer.published(56)
    normalizer.in_flight(3)
    normalizer.messages("trade", "BTC/USDT", 70)
    return telemetry


def test_every_frame_is_somewhere() -> None:
    result = summary(counted(), MarketWatch(), ["bybit", "mexc"])
    one = result["exchanges"]["bybit"]
    assert one["frames_received"] == 100 == sum(one[name] for name in LAW)
    assert one["in_flight"] == 8 + 3 + 10
    assert {name: result[name] for name in LAW} == {name: one[name] for name in LAW}
    assert result["exchanges"]["mexc"]["frames_received"] == 0
    assert result["latency_us"] == {"p50": None, "p99": None}


def test_settled_is_when_nothing_is_under_way() -> None:
    telemetry, watch = counted(), MarketWatch()
    assert not settled(telemetry, watch)
    IngestMetrics(telemetry.metrics, "bybit").in_flight(0)
    normalizer = NormalizerMetrics(telemetry.metrics, "bybit")
    normalizer.in_flight(0)
    normalizer.received(10)
    assert not settled(telemetry, watch)
    watch.messages = 70
    assert settled(telemetry, watch)
