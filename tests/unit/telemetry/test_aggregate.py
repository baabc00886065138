import asyncio
import logging
import re
from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from shared.telemetry.aggregate import Aggregator, Line, emit
from tests.unit.telemetry.conftest import Remembering

WORKER = re.compile(
    r"WORKER \| exchange=(\w+) \| symbol=(\S+) \| q_wait=(\d+\.\d{4})s \| norm_time=(\d+\.\d{4})s"
    r" \| loop_lag=(\d+\.\d{4})s \| active_tasks=(\d+)"
)
PUBLISHER = re.compile(
    r"PUBLISHER \| batch_size=(\d+) \| pool_wait=(\d+\.\d{4})s \| net_write=(\d+\.\d{4})s"
    r" \| cb_state=(CLOSED|OPEN|HALF_OPEN) \| cb_failures=(\d+)"
)
BUFFER = re.compile(r"BUFFER \| exchange=(\w+) \| symbol=(\S+) \| qsize=(\d+) \| dropped=(True|False)")
PIPELINE = re.compile(r"PIPELINE \| plane=(\w+) \| event=(\w+) \| qsize=(\d+) \| items=(\d+)")


def texts(aggregator: Aggregator) -> list[str]:
    return [text for _, text in aggregator.lines()]


def test_worker_line() -> None:
    aggregator = Aggregator()
    aggregator.loop(100_000, 17)
    aggregator.worker("bybit", "BTC/USDT", 1, 200_000, 300_000)
    line = (
        "WORKER | exchange=bybit | symbol=BTC/USDT | q_wait=0.0002s | norm_time=0.0003s | loop_lag=0.0001s"
        " | active_tasks=17"
    )
    assert list(aggregator.lines()) == [(logging.INFO, line)]


def test_publisher_line() -> None:
    aggregator = Aggregator()
    aggregator.circuit("bus", "CLOSED", 0)
    aggregator.publisher(1, 0, 123_300_000)
    assert list(aggregator.lines()) == [
        (
            logging.INFO,
            "PUBLISHER | batch_size=1 | pool_wait=0.0000s | net_write=0.1233s | cb_state=CLOSED | cb_failures=0",
        )
    ]


def test_buffer_line_warns_when_something_was_dropped() -> None:
    aggregator = Aggregator()
    aggregator.buffer("mexc", "BTC/USDT", 1, dropped=1)
    aggregator.buffer("bybit", "BTC/USDT", 0)
    assert list(aggregator.lines()) == [
        (logging.WARNING, "BUFFER | exchange=mexc | symbol=BTC/USDT | qsize=1 | dropped=True"),
        (logging.INFO, "BUFFER | exchange=bybit | symbol=BTC/USDT | qsize=0 | dropped=False"),
    ]


def test_debug_lines() -> None:
    aggregator = Aggregator()
    aggregator.debug = True
    aggregator.pipeline("market", "publish", 0, 3)
    assert list(aggregator.lines()) == [
        (logging.DEBUG, "PIPELINE | plane=market | event=publish | qsize=0 | items=3"),
    ]


def test_without_debug_nothing_of_it_is_kept() -> None:
    aggregator = Aggregator()
    aggregator.pipeline("market", "publish", 0, 3)
    assert texts(aggregator) == []


def test_a_second_without_anything_has_no_line() -> None:
    aggregator = Aggregator()
    aggregator.loop(900, 3)
    assert texts(aggregator) == []


def test_waits_are_means_over_frames() -> None:
    aggregator = Aggregator()
    aggregator.worker("bybit", "BTC/USDT", 1, 0, 1_000_000)
    aggregator.worker("bybit", "BTC/USDT", 3, 8_000_000, 3_000_000)
    (line,) = texts(aggregator)
    assert "q_wait=0.0060s | norm_time=0.0025s" in line


def test_writes_are_means_over_writes() -> None:
    aggregator = Aggregator()
    aggregator.publisher(2, 0, 10_000_000)
    aggregator.publisher(8, 4_000_000, 30_000_000)
    (line,) = texts(aggregator)
    assert line.startswith("PUBLISHER | batch_size=5 | pool_wait=0.0020s | net_write=0.0200s | ")


def test_worst_lag_and_last_tasks_of_the_second() -> None:
    aggregator = Aggregator()
    for lag, tasks in ((1_000_000, 12), (34_000_000, 22), (100_000, 14)):
        aggregator.loop(lag, tasks)
    aggregator.worker("mexc", "BTC/USDT", 1, 0, 0)
    (line,) = texts(aggregator)
    assert line.endswith("loop_lag=0.0340s | active_tasks=14")
    aggregator.worker("mexc", "BTC/USDT", 1, 0, 0)
    (line,) = texts(aggregator)
    assert line.endswith("loop_lag=0.0000s | active_tasks=14")


def test_worst_breaker_is_shown_and_an_open_one_without_writes_too() -> None:
    aggregator = Aggregator()
    aggregator.circuit("one", "CLOSED", 3)
    aggregator.circuit("two", "OPEN", 5)
    aggregator.circuit("three", "HALF_OPEN", 9)
    assert texts(aggregator) == [
        "PUBLISHER | batch_size=0 | pool_wait=0.0000s | net_write=0.0000s | cb_state=OPEN | cb_failures=5"
    ]
    aggregator.circuit("two", "CLOSED", 0)
    aggregator.circuit("three", "CLOSED", 0)
    assert texts(aggregator) == []


def test_busiest_symbols_have_lines_of_their_own_per_exchange() -> None:
    aggregator = Aggregator(line_limit=2)
    for number in range(1, 6):
        aggregator.worker("bybit", f"C{number}/USDT", number, number * 1_000_000, 0)
    aggregator.worker("mexc", "QUIET/USDT", 1, 0, 0)
    lines = [WORKER.fullmatch(text) for text in texts(aggregator)]
    shown = [(line[1], line[2], line[3]) for line in lines if line]
    # 1, 2 and 3 frames that waited 1, 2 and 3 ms: 14 ms over 6 frames
    assert shown == [
        ("bybit", "C5/USDT", "0.0050"),
        ("bybit", "C4/USDT", "0.0040"),
        ("bybit", "*", "0.0023"),
        ("mexc", "QUIET/USDT", "0.0000"),
    ]


def test_buffers_that_dropped_come_before_fuller_ones() -> None:
    aggregator = Aggregator(line_limit=1)
    aggregator.buffer("mexc", "FULL/USDT", 900)
    aggregator.buffer("mexc", "FULLER/USDT", 950)
    aggregator.buffer("mexc", "DROPPED/USDT", 2, dropped=1)
    assert texts(aggregator) == [
        "BUFFER | exchange=mexc | symbol=DROPPED/USDT | qsize=2 | dropped=True",
        "BUFFER | exchange=mexc | symbol=* | qsize=950 | dropped=False",
    ]


NS = st.integers(min_value=0, max_value=5_000_000_000)
WORKED = st.tuples(st.sampled_from(["bybit", "mexc"]), st.integers(0, 30), st.integers(1, 200), NS, NS)
BUFFERED = st.tuples(st.sampled_from(["bybit", "mexc"]), st.integers(0, 30), st.integers(0, 5_000), st.integers(0, 3))


@given(st.lists(WORKED, max_size=60), st.integers(1, 5), st.integers(1, 20))
def test_worker_lines_are_bounded_and_between_the_extremes(
    worked: list[tuple[str, int, int, int, int]], line_limit: int, symbol_limit: int
) -> None:
    aggregator = Aggregator(line_limit=line_limit, symbol_limit=symbol_limit)
    for exchange, symbol, frames, q_wait, norm_time in worked:
        aggregator.worker(exchange, f"C{symbol}/USDT", frames, q_wait, norm_time)
    lines = [WORKER.fullmatch(text) for text in texts(aggregator)]
    seen: dict[str, list[str]] = {}
    for line in lines:
        assert line is not None
        seen.setdefault(line[1], []).append(line[2])
        of_exchange = [entry for entry in worked if entry[0] == line[1]]
        for values, shown in (
            ([entry[3] for entry in of_exchange], line[3]),
            ([entry[4] for entry in of_exchange], line[4]),
        ):
            assert min(values) / 1e9 - 0.0001 <= float(shown) <= max(values) / 1e9 + 0.0001
    assert set(seen) == {entry[0] for entry in worked}
    for symbols in seen.values():
        assert len(symbols) == len(set(symbols)) <= line_limit + 1
        assert "*" not in symbols[:-1]
    assert texts(aggregator) == []


@given(st.lists(BUFFERED, max_size=60), st.integers(1, 5), st.integers(1, 20))
def test_no_drop_and_no_full_buffer_goes_unseen(
    buffered: list[tuple[str, int, int, int]], line_limit: int, symbol_limit: int
) -> None:
    aggregator = Aggregator(line_limit=line_limit, symbol_limit=symbol_limit)
    for exchange, symbol, qsize, dropped in buffered:
        aggregator.buffer(exchange, f"C{symbol}/USDT", qsize, dropped)
    largest: dict[str, int] = {}
    dropping: set[str] = set()
    for level, text in aggregator.lines():
        line = BUFFER.fullmatch(text)
        assert line is not None
        assert (level == logging.WARNING) == (line[4] == "True")
        largest[line[1]] = max(largest.get(line[1], 0), int(line[3]))
        if line[4] == "True":
            dropping.add(line[1])
    assert dropping == {exchange for exchange, _, _, dropped in buffered if dropped}
    for exchange, qsize in largest.items():
        assert qsize == max(entry[2] for entry in buffered if entry[0] == exchange)


@given(st.lists(st.tuples(st.integers(1, 200), NS, NS), min_size=1, max_size=50))
def test_publisher_line_always_reads(writes: list[tuple[int, int, int]]) -> None:
    aggregator = Aggregator()
    for write in writes:
        aggregator.publisher(*write)
    (text,) = texts(aggregator)
    line = PUBLISHER.fullmatch(text)
    assert line is not None
    assert min(frames for frames, _, _ in writes) <= int(line[1]) <= max(frames for frames, _, _ in writes)


@given(st.lists(st.tuples(st.sampled_from(["market", "account"]), st.integers(0, 99), st.integers(0, 99)), min_size=1))
def test_pipeline_items_add_up(steps: list[tuple[str, int, int]]) -> None:
    aggregator = Aggregator()
    aggregator.debug = True
    for plane, qsize, items in steps:
        aggregator.pipeline(plane, "publish", qsize, items)
    total = 0
    for text in texts(aggregator):
        line = PIPELINE.fullmatch(text)
        assert line is not None
        total += int(line[4])
        assert int(line[3]) == max(qsize for plane, qsize, _ in steps if plane == line[1])
    assert total == sum(items for _, _, items in steps)


class Arriving(Remembering):
    """Says when the first record has come."""

    def __init__(self) -> None:
        super().__init__()
        self.came = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        self.came.set()


async def test_emit_logs_the_lines_and_what_is_left_at_the_end(
    remembered: tuple[logging.Logger, Remembering],
) -> None:
    logger, _ = remembered
    handler = Arriving()
    logger.addHandler(handler)
    aggregator = Aggregator()
    aggregator.buffer("mexc", "BTC/USDT", 1, dropped=1)
    task = asyncio.create_task(emit(aggregator, logger, interval_s=0.01))
    await asyncio.wait_for(handler.came.wait(), 60)
    assert aggregator.debug
    aggregator.pipeline("market", "publish", 0, 3)
    for number in range(9):
        aggregator.worker("mexc", f"C{number}/USDT", 1, 0, 0)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    logger.removeHandler(handler)
    expected: Line = (logging.WARNING, "BUFFER | exchange=mexc | symbol=BTC/USDT | qsize=1 | dropped=True")
    assert handler.lines[0] == expected
    assert (logging.DEBUG, "PIPELINE | plane=market | event=publish | qsize=0 | items=3") in handler.lines
    assert len(handler.lines) == 11
