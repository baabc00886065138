"""What ``tidegate top`` makes of scrapes, and how that fits a terminal."""

import pytest
from msgspec import structs
from prometheus_client import generate_latest
from rich.console import Console

from services.cli.errors import UsageError
from services.cli.top_report import Look, Report, report
from services.cli.top_table import lines, view
from services.cli.top_targets import parse
from shared.telemetry.bundle import Telemetry
from shared.telemetry.scrape import Scrape
from shared.telemetry.stages import IngestMetrics, NormalizerMetrics, PublisherMetrics, StreamMetrics

NOW = 1_800_000_000_000_000_000
STREAM = "bybit.linear.0"


class Process:
    """A process that is looked at before and after something happened."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.telemetry = Telemetry()
        self.metrics = self.telemetry.metrics
        self._before: Scrape | None = None

    def look(self) -> Look:
        now = Scrape.parse(generate_latest(self.telemetry.registry).decode())
        before, self._before = self._before, now
        return Look(self.target, now, before, 2.0)


class Plane:
    """An ingest and two normalizers, as their metrics have it; one normalizer owns the stream."""

    def __init__(self) -> None:
        self.ingest, self.owner, self.idle = (Process(f"127.0.0.1:{port}") for port in (9310, 9210, 9211))
        self.frames = IngestMetrics(self.ingest.metrics, "bybit")
        self.stream = StreamMetrics(self.ingest.metrics, "bybit", STREAM)
        self.publisher = PublisherMetrics(self.ingest.metrics, "ingest", "market")
        self.normalized = NormalizerMetrics(self.owner.metrics, "bybit")
        for process in (self.owner, self.idle):
            PublisherMetrics(process.metrics, "normalizer", "market")
        self.ingest.telemetry.events.stream_connected("bybit", STREAM, 1, "wss://venue")
        self.owner.metrics.stream_owned.labels("bybit", STREAM).set(1)
        self.owner.metrics.streams_owned.labels("bybit").set(1)
        self.stream.buffer_limits(50_000, 1)
        self.stream.last_frame(NOW - 3_000_000_000)
        self.look()

    def look(self) -> list[Look]:
        return [self.ingest.look(), self.owner.look(), self.idle.look()]

    def burst(self) -> None:
        """100 frames come, 80 of them go out as 160 messages."""
        self.frames.received(100, 10_000)
        self.stream.received(100)
        self.frames.in_flight(5)
        self.frames.published(90)
        self.frames.conflated("quote", "BTC/USDT", 2)
        self.ingest.telemetry.events.frames_shed("bybit", STREAM, "trade", "BTC/USDT", "overflow", 3)
        self.stream.buffer(5, 500)
        self.frames.queue_wait(2_000_000)
        self.publisher.net_write(40_000_000)
        self.normalized.received(87)
        self.normalized.published(80)
        self.normalized.in_flight(6)
        self.normalized.normalize(300_000)
        self.normalized.queue_wait(700_000)
        self.normalized.messages("trade", "BTC/USDT", 160)
        self.normalized.stream_messages(STREAM, 160)
        self.owner.telemetry.events.frame_rejected("bybit", STREAM, 1, 9, (("bad_number", "…"),))
        self.owner.telemetry.events.frames_lost("bybit", STREAM, 1)

    def report(self) -> Report:
        return report(self.look(), NOW)


@pytest.fixture
def plane() -> Plane:
    return Plane()


def test_rates_and_durations_are_those_of_the_last_interval(plane: Plane) -> None:
    plane.burst()
    first = plane.report()
    (row,) = first.exchanges
    assert (row.exchange, row.frames_per_s, row.messages_per_s, row.shed_per_s) == ("bybit", 50.0, 80.0, 1.5)
    assert row.q_wait_s["ingest"] == pytest.approx(0.0025, rel=0.1)
    assert row.q_wait_s["normalizer"] == pytest.approx(0.001, rel=0.1)
    assert row.norm_time_s == pytest.approx(0.0005, rel=0.1)
    assert row.net_write_s == pytest.approx(0.05, rel=0.1)
    (row,) = plane.report().exchanges
    assert (row.frames_per_s, row.messages_per_s, row.shed_per_s) == (0.0, 0.0, 0.0)
    assert (row.norm_time_s, row.net_write_s, row.q_wait_s) == (None, None, {"ingest": None, "normalizer": None})
    assert (row.shed, row.conflated, row.rejected, row.lost, row.qsize) == (3, 2, 1, 1, 5)


def test_a_stream_has_its_owner_its_rates_and_its_age(plane: Plane) -> None:
    plane.burst()
    (row,) = plane.report().streams
    assert (row.exchange, row.stream, row.up, row.age_s) == ("bybit", STREAM, True, 3.0)
    assert (row.frames_per_s, row.messages_per_s, row.qsize, row.qsize_limit, row.lost) == (50.0, 80.0, 5, 50_000, 1)
    assert row.owners == ["127.0.0.1:9210"]


def test_two_owners_and_none_are_told(plane: Plane) -> None:
    plane.idle.metrics.stream_owned.labels("bybit", STREAM).set(1)
    assert plane.report().streams[0].owners == ["127.0.0.1:9210", "127.0.0.1:9211"]
    for process in (plane.owner, plane.idle):
        process.metrics.stream_owned.labels("bybit", STREAM).set(0)
    found = plane.report()
    assert found.streams[0].owners == []
    assert "owner=none" in lines(found)[1]


def test_every_received_frame_is_in_the_balance(plane: Plane) -> None:
    plane.burst()
    frames = plane.report().frames
    assert (frames.received, frames.published, frames.messages) == (100, 80, 160)
    assert (frames.conflated, frames.shed, frames.rejected, frames.lost, frames.in_flight) == (2, 3, 1, 1, 11)
    assert frames.between == 90 - 87 - 1
    gone = frames.published + frames.conflated + frames.shed + frames.rejected + frames.lost + frames.in_flight
    assert frames.received == gone + frames.between + frames.balance
    assert frames.balance == 0
    plane.frames.received(4, 4)
    assert plane.report().frames.balance == 4


def test_what_the_broker_holds_is_not_known_without_both_stages(plane: Plane) -> None:
    plane.burst()
    assert report([plane.ingest.look()], NOW).frames.between is None
    assert report([plane.owner.look()], NOW).frames.between is None


def test_what_a_normalizer_alone_says_makes_no_figures_of_ingest(plane: Plane) -> None:
    (row,) = report([plane.owner.look()], NOW).streams
    assert (row.up, row.frames_per_s, row.age_s, row.messages_per_s) == (None, None, None, 0.0)
    (exchange,) = report([plane.owner.look()], NOW).exchanges
    assert (exchange.net_write_s, exchange.breaker) == (None, None)


def test_the_worst_breaker_is_shown(plane: Plane) -> None:
    other = Process("127.0.0.1:9311")
    IngestMetrics(other.metrics, "bybit")
    other.telemetry.events.circuit_changed("bybit", "closed", 0)
    plane.ingest.telemetry.events.circuit_changed("bybit", "half_open", 5)
    (row,) = report([*plane.look(), other.look()], NOW).exchanges
    assert row.breaker == "half_open"


def test_processes_say_what_they_are_and_one_that_is_down_is_a_row(plane: Plane) -> None:
    looks = [*plane.look(), Look("10.0.0.9:9100", problem="failed: Connection refused")]
    found = report(looks, NOW)
    assert [row.role for row in found.processes] == ["ingest bybit", "normalizer", "normalizer", ""]
    assert [row.up for row in found.processes] == [True, True, True, False]
    assert [row.streams_owned for row in found.processes] == [0, 1, 0, 0]
    assert found.processes[0].memory_bytes > 1_000_000
    assert "10.0.0.9:9100 is=down: Connection refused" in lines(found)
    assert "10.0.0.9:9100 down: Connection refused" in " ".join(drawn(found, 80, None).split())


def test_accounts_are_named_and_no_part_of_the_balance_of_market_frames(plane: Plane) -> None:
    plane.burst()
    before = plane.report().frames
    ingest, normalizer = Process("127.0.0.1:9710"), Process("127.0.0.1:9610")
    ingest.metrics.account_frames_received.labels("bybit", "main").inc(5)
    normalizer.metrics.account_state_usable.labels("bybit", "main").set(1)
    NormalizerMetrics(normalizer.metrics, "bybit").received(5)
    found = report([*plane.look(), ingest.look(), normalizer.look()], NOW)
    assert found.frames == before
    assert [row.role for row in found.processes[-2:]] == ["account bybit main", "normalizer of accounts"]


def test_a_process_that_was_looked_at_once_has_no_rates() -> None:
    process = Process("127.0.0.1:9310")
    IngestMetrics(process.metrics, "mexc").received(10, 10)
    (row,) = report([process.look()], NOW).exchanges
    assert (row.frames_per_s, row.loop_lag_s) == (None, None)


def drawn(found: Report, width: int, height: int | None, not_asked: int = 0) -> str:
    console = Console(width=width, height=height or 500, legacy_windows=False, color_system=None)
    with console.capture() as capture:
        console.print(view(found, width, height, not_asked))
    return capture.get()


@pytest.fixture
def crowded() -> Report:
    """Many streams of three exchanges with large figures, one of them down."""
    process = Process("203.0.113.250:65535")
    for exchange in ("binance", "bybit", "mexc"):
        frames = IngestMetrics(process.metrics, exchange)
        frames.received(1_234_567_890, 1)
        process.telemetry.events.frames_shed(exchange, f"{exchange}.futures.0", None, None, "overflow", 1_234_567)
        for index in range(12):
            stream = StreamMetrics(process.metrics, exchange, f"{exchange}.futures.{index}")
            stream.buffer(49_999, 1)
            if (exchange, index) != ("mexc", 11):
                process.telemetry.events.stream_connected(exchange, f"{exchange}.futures.{index}", 1, "wss://venue")
                process.metrics.stream_owned.labels(exchange, f"{exchange}.futures.{index}").set(1)
    process.look()
    return report([process.look()], NOW)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 132, 250])
def test_a_view_is_as_wide_as_the_terminal_at_most(crowded: Report, width: int) -> None:
    text = drawn(crowded, width, None)
    assert max(map(len, text.splitlines())) <= width
    assert " futures.11" in text


WANTED = {"stream", "frames/s", "msgs/s", "q_wait", "norm", "write", "lag", "qsize", "shed", "breaker", "owner"}


@pytest.mark.parametrize("seconds", [0.000_02, 0.000_999_6, 0.009_96, 0.05, 0.4, 0.9951, 9.4])
def test_what_is_asked_for_is_there_in_80_columns(plane: Plane, seconds: float) -> None:
    plane.burst()
    found = plane.report()
    (exchange,), (stream,) = found.exchanges, found.streams
    waits = {"ingest": seconds, "normalizer": seconds}
    times = {"norm_time_s": seconds, "net_write_s": seconds, "loop_lag_s": seconds}
    busy = structs.replace(exchange, q_wait_s=waits, frames_per_s=98_765.4, messages_per_s=99_999.0, **times)
    owned = structs.replace(stream, stream="bybit.futures.10", qsize=49_999, owners=["127.0.0.1:31999"])
    text = drawn(structs.replace(found, exchanges=[busy], streams=[owned]), 80, None).splitlines()
    assert set(text[0].split()) >= WANTED
    assert max(map(len, text)) <= 80
    assert "…" not in text[1] + text[2]


@pytest.mark.parametrize("height", [8, 16, 24, 40])
def test_a_view_is_as_high_as_the_terminal_at_most_and_keeps_what_is_wrong(crowded: Report, height: int) -> None:
    text = drawn(crowded, 80, height)
    assert len(text.splitlines()) <= height
    assert "left out" in text
    assert "down" in text or height == 8


def test_processes_that_are_too_many_are_told(plane: Plane) -> None:
    assert "7 more processes are not asked" in drawn(plane.report(), 80, 24, 7)


ADDRESSES = {
    "http://10.0.0.1:9100/metrics": ("10.0.0.1", 9100, "/metrics"),
    "http://normalizer:9100": ("normalizer", 9100, "/metrics"),
    "localhost:9210": ("localhost", 9210, "/metrics"),
    "http://[::1]:9100/metrics": ("::1", 9100, "/metrics"),
    "http://proxy/gateway/metrics": ("proxy", 80, "/gateway/metrics"),
}


@pytest.mark.parametrize("given", ADDRESSES)
def test_a_target_may_leave_out_scheme_and_path(given: str) -> None:
    assert tuple(parse(given)) == ADDRESSES[given]


@pytest.mark.parametrize(
    "given", ["", "https://host:1/metrics", "http://host:port", "http://u:p@host:1", "http://:1", "host:70000"]
)
def test_what_is_no_target_is_named(given: str) -> None:
    with pytest.raises(UsageError, match="--target: must be http://host:port/metrics"):
        parse(given)
