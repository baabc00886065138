"""How a log record is written: a line of text, or of JSON."""

import json
import logging
import time
from typing import Final

from shared.telemetry.redact import Redactor

__all__ = ["JsonFormatter", "TextFormatter"]

CONTROL_CHARACTERS: Final = (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)
ESCAPES: Final = {code: repr(chr(code))[1:-1] for code in CONTROL_CHARACTERS}
ESCAPES_BUT_NEWLINE: Final = {code: text for code, text in ESCAPES.items() if code != 0x0A}
TRACEBACK_INDENT: Final = "    "


class TextFormatter(logging.Formatter):
    """``2026-06-15 10:59:58,028 | INFO  | performance_metrics | …`` in UTC; one line per record, but for tracebacks.

    Control characters in a message are escaped and tracebacks indented: no text from outside can look like a line.
    """

    converter = staticmethod(time.gmtime)

    def __init__(self, redactor: Redactor | None = None) -> None:
        super().__init__("%(asctime)s | %(levelname)-5s | %(name)s | %(message)s")
        self._redact: Final = redactor or Redactor()

    def format(self, record: logging.LogRecord) -> str:
        """The line, and below it the traceback if there is one."""
        record.message = record.getMessage().translate(ESCAPES)
        record.asctime = self.formatTime(record)
        text = self.formatMessage(record)
        traceback = _traceback(self, record)
        if traceback is not None:
            lines = traceback.translate(ESCAPES_BUT_NEWLINE).split("\n")
            text = "\n".join((text, *(TRACEBACK_INDENT + line for line in lines)))
        return self._redact(text)


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time (RFC 3339, UTC), level, logger, message, and an event's name and fields."""

    converter = staticmethod(time.gmtime)

    def __init__(self, redactor: Redactor | None = None) -> None:
        super().__init__()
        self._redact: Final = redactor or Redactor()

    def format(self, record: logging.LogRecord) -> str:
        """The object."""
        stamp = self.formatTime(record, "%Y-%m-%dT%H:%M:%S")
        entry: dict[str, object] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        event, fields = getattr(record, "event", None), getattr(record, "fields", None)
        if event is not None:
            entry["event"] = event
        if isinstance(fields, dict):
            entry["fields"] = {name: self._value(value) for name, value in fields.items()}
        traceback = _traceback(self, record)
        if traceback is not None:
            entry["exception"] = self._redact(traceback)
        return json.dumps(entry, ensure_ascii=False)

    def _value(self, value: object) -> object:
        return value if isinstance(value, int | float) else self._redact(str(value))


def _traceback(formatter: logging.Formatter, record: logging.LogRecord) -> str | None:
    if record.exc_info and not record.exc_text:
        record.exc_text = formatter.formatException(record.exc_info)
    parts = [part for part in (record.exc_text, record.stack_info) if part]
    return "\n".join(parts) if parts else None
