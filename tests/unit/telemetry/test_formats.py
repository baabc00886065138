import json
import logging
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.telemetry.formats import JsonFormatter, TextFormatter
from shared.telemetry.redact import HIDDEN, Redactor

AT = 1_781_521_198.028  # 2026-06-15 10:59:58.028 UTC
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \| (DEBUG|INFO |WARNING|ERROR|CRITICAL) \| \S+ \| [^\n\r]*")


def record(text: str, *arguments: object, level: int = logging.INFO, error: bool = False) -> logging.LogRecord:
    made = logging.LogRecord(
        "performance_metrics", level, __file__, 1, text, arguments, sys.exc_info() if error else None
    )
    made.created, made.msecs = AT, 28.0
    return made


def fail(text: str) -> None:
    raise RuntimeError(text)


def failed(text: str) -> logging.LogRecord:
    try:
        fail(text)
    except RuntimeError:
        return record("it failed", level=logging.ERROR, error=True)
    return record("it did not fail")


@pytest.mark.parametrize(
    ("level", "name"), [(logging.INFO, "INFO "), (logging.WARNING, "WARNING"), (logging.DEBUG, "DEBUG")]
)
def test_text_line(level: int, name: str) -> None:
    text = TextFormatter().format(record("BUFFER | qsize=%d", 1, level=level))
    assert text == f"2026-06-15 10:59:58,028 | {name} | performance_metrics | BUFFER | qsize=1"


@given(st.text())
def test_a_message_is_one_line_whatever_is_in_it(text: str) -> None:
    line = TextFormatter().format(record("%s", text))
    assert LINE.fullmatch(line)
    assert line.splitlines() == [line]


def test_symbols_in_any_script_stay_readable() -> None:
    assert TextFormatter().format(record("symbol=币安人生/USDT")).endswith("symbol=币安人生/USDT")


def test_a_traceback_is_indented_so_that_it_cannot_pass_for_a_line() -> None:
    text = TextFormatter().format(failed("boom\n2026-06-15 10:59:58,028 | INFO  | forged | line\x1b[2J"))
    first, *others = text.split("\n")
    assert LINE.fullmatch(first)
    assert others[0] == "    Traceback (most recent call last):"
    assert all(line.startswith("    ") for line in others)
    assert "\x1b" not in text


def test_json_line() -> None:
    made = record("frames_lost | count=%d", 40, level=logging.WARNING)
    made.event, made.fields = "frames_lost", {"stream": "mexc.spot.0", "count": 40, "share": 0.5}
    assert json.loads(JsonFormatter().format(made)) == {
        "time": "2026-06-15T10:59:58.028Z",
        "level": "WARNING",
        "logger": "performance_metrics",
        "message": "frames_lost | count=40",
        "event": "frames_lost",
        "fields": {"stream": "mexc.spot.0", "count": 40, "share": 0.5},
    }


def test_json_has_the_traceback() -> None:
    text = JsonFormatter().format(failed("boom"))
    assert "\n" not in text
    assert json.loads(text)["exception"].endswith("RuntimeError: boom")


def test_secrets_are_hidden_in_message_traceback_and_fields() -> None:
    redactor = Redactor()
    redactor.add('p@ss"word')
    made = failed('cannot log in with p@ss"word')
    made.msg, made.event, made.fields = "amqp://tide:p%40ss%22word@host", "x", {"detail": 'p@ss"word'}
    for formatter in (TextFormatter(redactor), JsonFormatter(redactor)):
        text = formatter.format(made)
        assert "word@" not in text
        assert "word" not in text.replace(HIDDEN, "")
        assert text.count(HIDDEN) >= 2


def test_a_json_line_stays_json_when_a_secret_is_a_number() -> None:
    redactor = Redactor()
    redactor.add("12")
    made = record("n=12")
    made.fields = {"count": 12}
    assert json.loads(JsonFormatter(redactor).format(made))["fields"] == {"count": 12}


def test_the_longer_of_two_secrets_goes_first() -> None:
    redactor = Redactor()
    redactor.add("abc")
    redactor.add("abcdef")
    assert redactor("abcdef abc") == f"{HIDDEN} {HIDDEN}"


def test_nothing_is_no_secret() -> None:
    redactor = Redactor()
    redactor.add("")
    redactor.add("x")
    assert redactor("xyz") == "xyz"
