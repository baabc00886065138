import logging
from collections.abc import Callable

import pytest

from shared.telemetry.events import Events
from shared.telemetry.metrics import Metrics
from tests.unit.telemetry.conftest import Remembering

Remembered = tuple[logging.Logger, Remembering]


class Hand:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000_000

    def wall(self) -> int:
        return 1_781_520_000_000_000_000

    def monotonic(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def events(metrics: Metrics, remembered: Remembered, clock: Hand) -> Events:
    return Events(metrics, logger=remembered[0], clock=clock)


def value(metrics: Metrics, series: str) -> float | None:
    name, _, rest = series.partition("{")
    labels = dict(pair.split("=", 1) for pair in rest.rstrip("}").split(",") if pair)
    return metrics.registry.get_sample_value(f"tidegate_{name}", labels)


CASES: list[tuple[Callable[[Events], None], dict[str, float], int, str]] = [
    (
        lambda it: it.stream_connected("bybit", "bybit.linear.0", 3, "ws://127.0.0.1:1/v5"),
        {
            "stream_up{exchange=bybit,stream=bybit.linear.0}": 1,
            "stream_epoch{exchange=bybit,stream=bybit.linear.0}": 3,
            "stream_connected_timestamp_seconds{exchange=bybit,stream=bybit.linear.0}": 1_781_520_000,
        },
        logging.INFO,
        "stream_connected | exchange=bybit | stream=bybit.linear.0 | epoch=3 | url=ws://127.0.0.1:1/v5",
    ),
    (
        lambda it: it.stream_disconnected("bybit", "bybit.linear.0", "closed", code=1001),
        {
            "stream_up{exchange=bybit,stream=bybit.linear.0}": 0,
            "reconnects_total{exchange=bybit,stream=bybit.linear.0,reason=closed}": 1,
        },
        logging.WARNING,
        "stream_disconnected | exchange=bybit | stream=bybit.linear.0 | reason=closed | code=1001",
    ),
    (
        lambda it: it.connect_failed("bybit", "bybit.linear.0", "refused", "connection refused"),
        {"reconnects_total{exchange=bybit,stream=bybit.linear.0,reason=refused}": 1},
        logging.WARNING,
        "connect_failed | exchange=bybit | stream=bybit.linear.0 | reason=refused | detail=connection refused",
    ),
    (
        lambda it: it.subscription_rejected("bybit", "bybit.linear.0", "trade", "NOPE", "no topic"),
        {"subscription_rejections_total{exchange=bybit,stream=bybit.linear.0,feed=trade}": 1},
        logging.WARNING,
        "subscription_rejected | exchange=bybit | stream=bybit.linear.0 | feed=trade | symbol=NOPE | reason=no topic",
    ),
    (
        lambda it: it.subscription_silent("bybit", "bybit.linear.0", "trade", "XUSDT", 30.0),
        {"subscriptions_silent_total{exchange=bybit,stream=bybit.linear.0,feed=trade}": 1},
        logging.WARNING,
        "subscription_silent | exchange=bybit | stream=bybit.linear.0 | feed=trade | symbol=XUSDT | seconds=30.0",
    ),
    (
        lambda it: it.venue_error("mexc", "mexc.spot.0", "something is wrong"),
        {},
        logging.WARNING,
        "venue_error | exchange=mexc | stream=mexc.spot.0 | detail=something is wrong",
    ),
    (
        lambda it: it.resync_started("mexc", "mexc.spot.0", "book", "BTCUSDT", "gap"),
        {"resyncs_total{exchange=mexc,feed=book,reason=gap}": 1},
        logging.INFO,
        "resync_started | exchange=mexc | stream=mexc.spot.0 | feed=book | symbol=BTCUSDT | reason=gap",
    ),
    (
        lambda it: it.instruments_loaded("mexc", "spot", 1_800),
        {"instruments{exchange=mexc,product=spot}": 1_800},
        logging.INFO,
        "instruments_loaded | exchange=mexc | product=spot | count=1800",
    ),
    (
        lambda it: it.rest_failed("mexc", "timeout", "http://127.0.0.1:1/x", "5 s"),
        {"rest_requests_total{exchange=mexc,outcome=timeout}": 1},
        logging.WARNING,
        "rest_failed | exchange=mexc | outcome=timeout | url=http://127.0.0.1:1/x | detail=5 s",
    ),
    (
        lambda it: it.frames_shed("mexc", "mexc.spot.0", "trade", "BTC/USDT", "overflow", 12),
        {"frames_shed_total{stage=ingest,exchange=mexc,feed=trade,symbol=BTC/USDT,reason=overflow}": 12},
        logging.WARNING,
        "frames_shed | exchange=mexc | stream=mexc.spot.0 | feed=trade | symbol=BTC/USDT | reason=overflow | count=12",
    ),
    (
        lambda it: it.frames_shed("mexc", "mexc.spot.0", None, None, "expired", 1),
        {"frames_shed_total{stage=ingest,exchange=mexc,feed=none,symbol=none,reason=expired}": 1},
        logging.WARNING,
        "frames_shed | exchange=mexc | stream=mexc.spot.0 | reason=expired | count=1",
    ),
    (
        lambda it: it.frames_lost("mexc", "mexc.spot.0", 40),
        {"frames_lost_total{exchange=mexc,stream=mexc.spot.0}": 40},
        logging.WARNING,
        "frames_lost | exchange=mexc | stream=mexc.spot.0 | count=40",
    ),
    (
        lambda it: it.gap("mexc", "mexc.spot.0", "BTC/USDT"),
        {"gaps_total{exchange=mexc,symbol=BTC/USDT}": 1},
        logging.WARNING,
        "gap | exchange=mexc | stream=mexc.spot.0 | symbol=BTC/USDT",
    ),
    (
        lambda it: it.resync_requested("mexc", "mexc.spot.0", "book", None, "started"),
        {"resync_requests_total{exchange=mexc,feed=book,reason=started}": 1},
        logging.INFO,
        "resync_requested | exchange=mexc | stream=mexc.spot.0 | feed=book | reason=started",
    ),
    (
        lambda it: it.frame_rejected("mexc", "mexc.spot.0", 2, 77, [("bad_number", "p was NaN"), ("bad_time", "t")]),
        {
            "frames_rejected_total{exchange=mexc,code=bad_number}": 1,
            "elements_rejected_total{exchange=mexc,code=bad_number}": 1,
            "elements_rejected_total{exchange=mexc,code=bad_time}": 1,
        },
        logging.WARNING,
        "frame_rejected | exchange=mexc | stream=mexc.spot.0 | epoch=2 | frame=77 | code=bad_number | detail=p was NaN",
    ),
    (
        lambda it: it.frame_rejected("mexc", "mexc.spot.0", 2, 77, [("no code of ours", "?")]),
        {"frames_rejected_total{exchange=mexc,code=other}": 1},
        logging.WARNING,
        "frame_rejected | exchange=mexc | stream=mexc.spot.0 | epoch=2 | frame=77 | code=no code of ours | detail=?",
    ),
    (
        lambda it: it.quarantined("market", "mexc.spot.0", "invalid_json", 2),
        {"quarantined_total{plane=market,code=invalid_json}": 2},
        logging.WARNING,
        "quarantined | plane=market | stream=mexc.spot.0 | code=invalid_json | count=2",
    ),
    (
        lambda it: it.publish_failed("ingest", "market", "timeout", "no confirm within 5 s"),
        {"publish_failures_total{stage=ingest,plane=market,reason=timeout}": 1},
        logging.WARNING,
        "publish_failed | stage=ingest | plane=market | reason=timeout | detail=no confirm within 5 s",
    ),
    (
        lambda it: it.broker_connected("publish"),
        {"broker_connected{connection=publish}": 1, "broker_blocked{connection=publish}": 0},
        logging.INFO,
        "broker_connected | connection=publish",
    ),
    (
        lambda it: it.broker_lost("publish", "reset by peer"),
        {"broker_connected{connection=publish}": 0, "broker_losses_total{connection=publish}": 1},
        logging.WARNING,
        "broker_lost | connection=publish | detail=reset by peer",
    ),
    (
        lambda it: it.broker_unready("connect to amqp://rabbit:5672/: refused", 0.5),
        {"broker_refusals_total": 1},
        logging.WARNING,
        "broker_unready | detail=connect to amqp://rabbit:5672/: refused | again=0.5 s",
    ),
    (
        lambda it: it.broker_blocked("publish", "low on memory"),
        {"broker_blocked{connection=publish}": 1},
        logging.WARNING,
        "broker_blocked | connection=publish | reason=low on memory",
    ),
    (
        lambda it: it.broker_unblocked("publish"),
        {"broker_blocked{connection=publish}": 0},
        logging.INFO,
        "broker_unblocked | connection=publish",
    ),
    (
        lambda it: it.stream_taken("mexc", "mexc.spot.0", "orphaned"),
        {"streams_owned{exchange=mexc}": 1, "stream_owned{exchange=mexc,stream=mexc.spot.0}": 1},
        logging.INFO,
        "stream_taken | exchange=mexc | stream=mexc.spot.0 | reason=orphaned",
    ),
    (
        lambda it: it.stream_released("mexc", "mexc.spot.0", "yielded"),
        {"streams_owned{exchange=mexc}": -1, "stream_owned{exchange=mexc,stream=mexc.spot.0}": 0},
        logging.INFO,
        "stream_released | exchange=mexc | stream=mexc.spot.0 | reason=yielded",
    ),
    (
        lambda it: it.members_changed(3),
        {"members": 3},
        logging.INFO,
        "members_changed | members=3",
    ),
    (
        lambda it: it.recording_failed("market.cap", "No space left on device"),
        {"recording_failures_total": 1},
        logging.ERROR,
        "recording_failed | file=market.cap | problem=No space left on device",
    ),
    (
        lambda it: it.task_crashed("publisher", ZeroDivisionError("by zero")),
        {"task_crashes_total{task=publisher}": 1},
        logging.ERROR,
        "task_crashed | task=publisher | detail=ZeroDivisionError: by zero",
    ),
]


@pytest.mark.parametrize(
    ("call", "expected", "level", "line"), CASES, ids=[case[3].partition(" |")[0] for case in CASES]
)
def test_event_writes_its_metric_and_its_line(
    events: Events,
    metrics: Metrics,
    remembered: Remembered,
    call: Callable[[Events], None],
    expected: dict[str, float],
    level: int,
    line: str,
) -> None:
    call(events)
    assert {series: value(metrics, series) for series in expected} == pytest.approx(expected)
    assert remembered[1].lines == [(level, line)]


def test_every_event_has_a_case() -> None:
    names = {name for name in dir(Events) if not name.startswith("_")} - {"circuit_changed"}
    assert {line.partition(" |")[0] for _, _, _, line in CASES} == names


def test_a_line_comes_once_in_ten_seconds_and_tells_of_the_others(
    events: Events, metrics: Metrics, remembered: Remembered, clock: Hand
) -> None:
    for _ in range(42):
        events.gap("mexc", "mexc.spot.0", "BTC/USDT")
    clock.now += 10_000_000_000
    events.gap("mexc", "mexc.spot.0", "BTC/USDT")
    texts = [text for _, text in remembered[1].lines]
    assert texts == [
        "gap | exchange=mexc | stream=mexc.spot.0 | symbol=BTC/USDT",
        "gap | exchange=mexc | stream=mexc.spot.0 | symbol=BTC/USDT | suppressed=41",
    ]
    assert value(metrics, "gaps_total{exchange=mexc,symbol=BTC/USDT}") == 43
    assert value(metrics, "log_lines_suppressed_total{event=gap}") == 41


def test_another_subject_has_its_own_line(events: Events, remembered: Remembered) -> None:
    events.gap("mexc", "mexc.spot.0", "BTC/USDT")
    events.gap("mexc", "mexc.spot.0", "ETH/USDT")
    events.gap("mexc", "mexc.spot.1", "BTC/USDT")
    events.frames_lost("mexc", "mexc.spot.0", 1)
    assert len(remembered[1].lines) == 3


def test_details_are_shortened_and_never_labels(events: Events, metrics: Metrics, remembered: Remembered) -> None:
    events.publish_failed("ingest", "market", "timeout", "x" * 5_000)
    (record,) = remembered[1].records
    assert record.getMessage().endswith("x" * 300 + "…")
    labels = {
        text for family in metrics.registry.collect() for sample in family.samples for text in sample.labels.values()
    }
    assert max(map(len, labels)) < 50


def test_reasons_are_bounded(events: Events, metrics: Metrics) -> None:
    for number in range(200):
        events.stream_disconnected("mexc", "mexc.spot.0", f"reason {number}")
    (family,) = [family for family in metrics.registry.collect() if family.name == "tidegate_reconnects"]
    assert len(family.samples) == 65
    assert sum(sample.value for sample in family.samples) == 200
    assert value(metrics, "reconnects_total{exchange=mexc,stream=mexc.spot.0,reason=other}") == 136


def test_json_fields_go_with_the_record(events: Events, remembered: Remembered) -> None:
    events.frames_lost("mexc", "mexc.spot.0", 40)
    (record,) = remembered[1].records
    assert vars(record)["event"] == "frames_lost"
    assert vars(record)["fields"] == {"exchange": "mexc", "stream": "mexc.spot.0", "count": 40}


def circuit(metrics: Metrics) -> dict[str, float | None]:
    return {
        state: value(metrics, f"circuit_state{{circuit=bus,state={state}}}")
        for state in ("closed", "open", "half_open")
    }


def test_circuit_starts_closed_without_a_transition(events: Events, metrics: Metrics, remembered: Remembered) -> None:
    events.circuit_changed("bus", "CLOSED", 0)
    assert circuit(metrics) == {"closed": 1, "open": 0, "half_open": 0}
    assert value(metrics, "circuit_transitions_total{circuit=bus,state=closed}") is None
    assert remembered[1].lines == []


def test_circuit_transitions(events: Events, metrics: Metrics, remembered: Remembered) -> None:
    for state, failures in (("CLOSED", 0), ("CLOSED", 4), ("OPEN", 5), ("OPEN", 5), ("HALF_OPEN", 5), ("CLOSED", 0)):
        events.circuit_changed("bus", state, failures)
    assert remembered[1].lines == [
        (logging.WARNING, "circuit_changed | circuit=bus | state=OPEN | failures=5"),
        (logging.WARNING, "circuit_changed | circuit=bus | state=HALF_OPEN | failures=5"),
        (logging.INFO, "circuit_changed | circuit=bus | state=CLOSED | failures=0"),
    ]
    assert circuit(metrics) == {"closed": 1, "open": 0, "half_open": 0}
    for state in ("open", "half_open", "closed"):
        assert value(metrics, f"circuit_transitions_total{{circuit=bus,state={state}}}") == 1


def test_circuit_failures_are_shown_while_it_is_closed(events: Events, metrics: Metrics) -> None:
    events.circuit_changed("bus", "CLOSED", 0)
    events.circuit_changed("bus", "CLOSED", 3)
    assert value(metrics, "circuit_failures{circuit=bus}") == 3
