"""Where the lines of processes that run side by side go."""

import logging
import os
import sys
from pathlib import Path

import pytest

from services.cli.output import LogFile, Output, eventful, everything
from shared.telemetry.formats import JsonFormatter, TextFormatter
from shared.telemetry.lines import buffer_line, worker_line
from tests.support.limits import room_for

FIGURES = worker_line("bybit", "BTC/USDT", 2e5, 3e5, 1e5, 17)
DROPPED = buffer_line("mexc", "BTC/USDT", 1, dropped=True)


def written(name: str, level: int, message: str, formatter: logging.Formatter) -> bytes:
    record = logging.LogRecord(name, level, __file__, 1, message, None, None)
    return formatter.format(record).encode() + b"\n"


@pytest.mark.parametrize("formatter", [TextFormatter(), JsonFormatter()])
def test_figures_are_not_eventful_but_warnings_and_all_else_are(formatter: logging.Formatter) -> None:
    def shown(name: str, level: int, message: str) -> bool:
        return eventful(written(name, level, message, formatter))

    assert not shown("performance_metrics", logging.INFO, FIGURES)
    assert not shown("performance_metrics", logging.DEBUG, "[MICRO-METRIC] x took 0.059ms")
    assert shown("performance_metrics", logging.WARNING, DROPPED)
    assert shown("tidegate.events", logging.INFO, "stream_connected | exchange=bybit")
    assert shown("tidegate.events", logging.INFO, "about performance_metrics | INFO  | performance_metrics | WORKER")
    assert eventful(b"Traceback (most recent call last):\n")
    assert everything(written("performance_metrics", logging.INFO, FIGURES, formatter))


def test_a_log_file_that_is_full_becomes_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "log"
    log = LogFile(path, limit=10)
    for line in (b"first\n", b"two\n", b"third\n", b"longer than all of it\n", b"last\n"):
        log.write(line)
    log.close()
    assert path.read_bytes() == b"last\n"
    assert (tmp_path / "deep" / "log.1").read_bytes() == b"longer than all of it\n"
    LogFile(path).close()
    assert (path.read_bytes(), (tmp_path / "deep" / "log.1").read_bytes()) == (b"", b"last\n")


class StandardOutput:
    """A pipe in the place of standard output; not as a fixture, for pytest puts its own there before the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reading, writing = os.pipe()
        self._reading = os.fdopen(reading)
        self.file = os.fdopen(writing, "w")
        monkeypatch.setattr(sys, "stdout", self.file)

    def lines(self) -> list[str]:
        """What was written, at the end."""
        self.file.close()
        with self._reading as lines:
            return lines.read().splitlines()


def test_everything_is_in_the_file_and_what_is_eventful_on_standard_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = StandardOutput(monkeypatch)
    figures = written("performance_metrics", logging.INFO, FIGURES, TextFormatter())
    event = written("tidegate.events", logging.INFO, "stream_connected", TextFormatter())
    log = LogFile(tmp_path / "log")
    output = Output(6, lambda: None, log, eventful)
    output.line("system", "a.1 started")
    output.write("a.1", figures)
    output.write("a.1", event)
    log.close()
    first, *rest = (tmp_path / "log").read_text().splitlines()
    assert first == "system | a.1 started"
    assert rest == [f"a.1    | {line.decode().rstrip()}" for line in (figures, event)]
    assert out.lines() == [first, rest[1]]


def test_a_log_file_that_cannot_be_written_any_more_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = StandardOutput(monkeypatch)
    output = Output(3, lambda: None, LogFile(tmp_path / "log"), everything)
    with room_for(12):
        for text in ("one", "two", "three"):
            output.line("a", text)
    first, *rest = out.lines()
    assert first == "a   | one"
    assert rest == ["    | the log file ends here: [Errno 27] File too large", "a   | two", "a   | three"]


def test_who_no_longer_reads_is_told_of_and_the_file_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = StandardOutput(monkeypatch)
    gone: list[str] = []
    log = LogFile(tmp_path / "log")
    output = Output(3, lambda: gone.append("gone"), log, everything)
    assert out.lines() == []
    for text in ("one", "two"):
        output.line("a", text)
    log.close()
    assert gone == ["gone"]
    assert (tmp_path / "log").read_text() == "a   | one\na   | two\n"
