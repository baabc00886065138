"""Logging without I/O on the event loop: a bounded queue, a thread that writes to stderr, drops counted.

Everything goes through the root logger. stdout is never written to: it belongs to the data of a command.
"""

import atexit
import logging
import queue
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from logging.handlers import QueueHandler, QueueListener
from typing import Final, Protocol, TextIO

from shared.telemetry.formats import JsonFormatter, TextFormatter
from shared.telemetry.redact import Redactor

__all__ = ["Counter", "LogQueue", "logging_to"]

QUEUE_LIMIT: Final = 10_000
FLUSH_S: Final = 2.0
POLL_S: Final = 0.01
FORMATTER: Final = logging.Formatter()


class Counter(Protocol):
    """What counts drops and errors (``metrics.log_records_dropped``, ``metrics.log_errors``)."""

    def inc(self, amount: float = 1) -> None:
        """Count."""
        ...


class _BoundedHandler(QueueHandler):
    """Puts records into the queue; what does not fit is counted, never waited for."""

    def __init__(
        self, records: "queue.Queue[logging.LogRecord]", dropped: Counter | None, errors: Counter | None
    ) -> None:
        super().__init__(records)
        self._records: Final = records
        self._dropped = dropped
        self._errors = errors
        self.drops = 0

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """A copy with its arguments put into the text: they may change before the thread gets to them."""
        prepared = copy(record)
        try:
            prepared.msg = record.getMessage()
        except (TypeError, ValueError):
            _count(self._errors)
            prepared.msg = f"{record.msg} | arguments={record.args!r}"
        prepared.args = None
        if record.exc_info:
            # A traceback holds every local variable of its frames: it must not wait in a queue.
            prepared.exc_text = FORMATTER.formatException(record.exc_info)
            prepared.exc_info = None
        return prepared

    def enqueue(self, record: logging.LogRecord) -> None:
        """Into the queue, or into the count."""
        try:
            self._records.put_nowait(record)
        except queue.Full:
            self.count(1)

    def count(self, records: int) -> None:
        """So many records will not be written."""
        self.drops += records
        _count(self._dropped, records)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - the name is logging's
        """Count: the default writes to stderr, here on the event loop."""
        _count(self._errors)


class _Writer(logging.StreamHandler[TextIO]):
    """Writes records in the thread; one that fails is counted and costs nothing else."""

    def __init__(self, stream: TextIO, errors: Counter | None) -> None:
        super().__init__(stream)
        self._errors = errors

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - the name is logging's
        """Count; a traceback to a broken stderr would help nobody."""
        _count(self._errors)


class LogQueue:
    """The queue with its two ends. ``handler`` is what loggers use; ``start`` and ``stop`` concern the thread."""

    def __init__(
        self,
        stream: TextIO,
        formatter: logging.Formatter,
        *,
        limit: int = QUEUE_LIMIT,
        dropped: Counter | None = None,
        errors: Counter | None = None,
    ) -> None:
        self._records: queue.Queue[logging.LogRecord] = queue.Queue(limit)
        self._bounded = _BoundedHandler(self._records, dropped, errors)
        writer = _Writer(stream, errors)
        writer.setFormatter(formatter)
        self._listener = _Listener(self._records, writer)

    @property
    def handler(self) -> logging.Handler:
        """The handler for loggers: never blocks."""
        return self._bounded

    @property
    def dropped(self) -> int:
        """Records dropped so far."""
        return self._bounded.drops

    def start(self) -> None:
        """Start the thread."""
        self._listener.start()

    def stop(self, deadline_s: float = FLUSH_S) -> bool:
        """Write what waits and end the thread; whether that worked in time. What is left is counted as dropped."""
        stopped = self._listener.finish(deadline_s)
        if not stopped:
            self._bounded.count(self._records.qsize())
        return stopped


class _Listener(QueueListener):
    """A listener that can be given up on: its thread is a daemon, and the end has a deadline."""

    def __init__(self, records: "queue.Queue[logging.LogRecord]", handler: logging.Handler) -> None:
        super().__init__(records, handler)

    def finish(self, deadline_s: float) -> bool:
        """Like ``stop``, but neither a full queue nor a stuck write is waited for longer than the deadline."""
        thread = self._thread
        if thread is None:
            return True
        end = time.monotonic() + deadline_s
        while True:
            try:
                self.enqueue_sentinel()
            except queue.Full:
                if time.monotonic() > end:
                    return False
                time.sleep(POLL_S)
            else:
                break
        thread.join(max(0.0, end - time.monotonic()))
        if thread.is_alive():
            return False
        self._thread = None
        return True


@contextmanager
def logging_to(
    stream: TextIO | None = None,
    *,
    level: str = "INFO",
    levels: Mapping[str, str] | None = None,
    as_json: bool = False,
    redactor: Redactor | None = None,
    limit: int = QUEUE_LIMIT,
    dropped: Counter | None = None,
    errors: Counter | None = None,
) -> Iterator[LogQueue]:
    """Send all logging of the process through a queue to ``stream`` (stderr) within the block; then as before.

    ``levels`` sets single loggers (``{"performance_metrics": "DEBUG"}``). Should the process end inside the block
    (``sys.exit`` in a thread, an interpreter that shuts down), the queue is flushed all the same. Raises ValueError
    for a level that there is none of.
    """
    formatter = JsonFormatter(redactor) if as_json else TextFormatter(redactor)
    log_queue = LogQueue(stream or sys.stderr, formatter, limit=limit, dropped=dropped, errors=errors)
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    levels_before = {name: logging.getLogger(name).level for name in levels or {}}
    root.setLevel(level)
    for name, each in (levels or {}).items():
        logging.getLogger(name).setLevel(each)
    root.handlers[:] = [log_queue.handler]
    log_queue.start()
    atexit.register(log_queue.stop)
    logging.captureWarnings(capture=True)
    try:
        yield log_queue
    finally:
        logging.captureWarnings(capture=False)
        atexit.unregister(log_queue.stop)
        root.handlers[:], root.level = before
        for name, each_before in levels_before.items():
            logging.getLogger(name).setLevel(each_before)
        log_queue.stop()


def _count(counter: Counter | None, amount: float = 1) -> None:
    if counter is not None:
        counter.inc(amount)
