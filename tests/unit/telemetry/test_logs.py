import asyncio
import io
import logging
import re
import subprocess
import sys
import threading
import warnings

import pytest

from shared.telemetry.formats import TextFormatter
from shared.telemetry.logs import LogQueue, logging_to
from shared.telemetry.metrics import Metrics
from shared.telemetry.redact import Redactor
from tests.unit.telemetry.conftest import Remembering

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \| INFO  \| performance_metrics \| (.*)")


class Stuck(io.StringIO):
    """A stream that takes nothing until it is released, like a terminal nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.release = threading.Event()

    def write(self, text: str) -> int:
        self.reached.set()
        self.release.wait(30)
        return super().write(text)


class Broken(io.StringIO):
    """A stream whose other end is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(text)


def fail() -> None:
    raise RuntimeError("boom")


def value(metrics: Metrics, name: str) -> float | None:
    return metrics.registry.get_sample_value(f"tidegate_{name}")


def test_lines_arrive_in_order_and_all_of_them() -> None:
    stream = io.StringIO()
    with logging_to(stream) as log_queue:
        for number in range(500):
            logging.getLogger("performance_metrics").info("line %d", number)
    matches = [LINE.fullmatch(line) for line in stream.getvalue().splitlines()]
    assert [match[1] for match in matches if match] == [f"line {number}" for number in range(500)]
    assert log_queue.dropped == 0


def test_a_stuck_listener_costs_records_that_are_counted_and_no_waiting(metrics: Metrics) -> None:
    stream = Stuck()
    log_queue = LogQueue(stream, TextFormatter(), limit=10, dropped=metrics.log_records_dropped)
    log_queue.start()
    logger = logging.getLogger("stuck_under_test")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.addHandler(log_queue.handler)
    logger.info("taken by the thread")
    assert stream.reached.wait(10)
    for number in range(100):
        logger.info("line %d", number)
    assert log_queue.dropped == 90
    assert value(metrics, "log_records_dropped_total") == 90
    assert log_queue.stop(deadline_s=0.05) is False
    assert value(metrics, "log_records_dropped_total") == 100
    stream.release.set()
    assert log_queue.stop(deadline_s=10)
    assert stream.getvalue().splitlines()[-1].endswith("line 9")
    logger.removeHandler(log_queue.handler)


def test_a_broken_stream_is_counted(metrics: Metrics) -> None:
    with logging_to(Broken(), errors=metrics.log_errors):
        logging.getLogger("performance_metrics").info("into the void")
    assert value(metrics, "log_errors_total") == 1


def test_arguments_are_read_when_the_call_is_made() -> None:
    stream = io.StringIO()
    changing = ["before"]
    with logging_to(stream):
        logging.getLogger("performance_metrics").info("%s", changing)
        changing[0] = "after"
    assert stream.getvalue().endswith("['before']\n")


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


def test_a_record_whose_arguments_do_not_fit_is_told_as_it_is(
    metrics: Metrics, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = io.StringIO()
    with logging_to(stream, errors=metrics.log_errors):
        logging.getLogger("performance_metrics").info("%d frames", "no number")
        logging.getLogger("performance_metrics").info("%s", Unspeakable())
        logging.getLogger("performance_metrics").info("next")
    lines = [line.partition("performance_metrics | ")[2] for line in stream.getvalue().splitlines()]
    assert lines == ["%d frames | arguments=('no number',)", "next"]
    assert value(metrics, "log_errors_total") == 2
    assert capsys.readouterr() == ("", "")


def test_other_handlers_get_the_record_as_it_was_made() -> None:
    other = Remembering()
    with logging_to(io.StringIO()):
        logging.getLogger().addHandler(other)
        logging.getLogger("x").info("%s", 1)
    assert other.records[0].args == (1,)


def test_exceptions_and_warnings_come_along() -> None:
    stream = io.StringIO()
    with logging_to(stream):
        try:
            fail()
        except RuntimeError:
            logging.getLogger("x").exception("failed")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("careful", stacklevel=1)
    assert "RuntimeError: boom" in stream.getvalue()
    assert re.search(r"\| WARNING \| py\.warnings \| .*careful", stream.getvalue())


def test_levels() -> None:
    stream = io.StringIO()
    with logging_to(stream, level="WARNING", levels={"performance_metrics": "DEBUG"}):
        logging.getLogger("performance_metrics").debug("shown")
        logging.getLogger("elsewhere").info("not shown")
    assert "not shown" not in stream.getvalue()
    assert "shown" in stream.getvalue()


def test_everything_is_as_before_afterwards() -> None:
    root, single = logging.getLogger(), logging.getLogger("performance_metrics")
    before = (root.handlers[:], root.level, single.level, threading.active_count())
    with logging_to(io.StringIO(), level="DEBUG", levels={"performance_metrics": "ERROR"}):
        assert (root.handlers[:], root.level, single.level, threading.active_count()) != before
    assert (root.handlers[:], root.level, single.level, threading.active_count()) == before


def test_unknown_level() -> None:
    before = logging.getLogger().handlers[:]
    with pytest.raises(ValueError, match="LOUD"), logging_to(io.StringIO(), level="LOUD"):
        pass
    assert logging.getLogger().handlers == before


def test_json_and_secrets() -> None:
    stream = io.StringIO()
    redactor = Redactor()
    redactor.add("hunter2")
    with logging_to(stream, as_json=True, redactor=redactor):
        logging.getLogger("x").info("password=hunter2")
    assert '"message": "password=**********"' in stream.getvalue()


async def test_the_loop_goes_on_while_the_stream_is_stuck() -> None:
    stream = Stuck()
    with logging_to(stream, limit=5) as log_queue:
        for _ in range(50):
            logging.getLogger("performance_metrics").info("x")
            await asyncio.sleep(0)
        assert log_queue.dropped >= 44
        stream.release.set()


PROCESS = """
import logging, sys
from shared.telemetry.logs import logging_to
context = logging_to()
context.__enter__()
logging.getLogger("performance_metrics").info("last words")
print("data")
{end}
"""


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise RuntimeError('boom')"])
def test_a_process_that_ends_writes_what_waits_to_stderr_and_nothing_to_stdout(end: str) -> None:
    result = subprocess.run(
        [sys.executable, "-c", PROCESS.format(end=end)], capture_output=True, check=False, text=True, timeout=60
    )
    assert result.stdout == "data\n"
    assert "| INFO  | performance_metrics | last words" in result.stderr
