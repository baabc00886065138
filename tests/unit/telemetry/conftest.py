"""What the telemetry tests share: metrics in a registry of their own, and loggers that remember."""

import logging
from collections.abc import Iterator

import pytest
from prometheus_client import CollectorRegistry

from shared.telemetry.metrics import Metrics


class Remembering(logging.Handler):
    """Keeps the records it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def lines(self) -> list[tuple[int, str]]:
        return [(record.levelno, record.getMessage()) for record in self.records]


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry(), symbol_limit=3)


@pytest.fixture
def remembered() -> Iterator[tuple[logging.Logger, Remembering]]:
    logger = logging.getLogger("telemetry_under_test")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    handler = Remembering()
    logger.addHandler(handler)
    yield logger, handler
    logger.removeHandler(handler)
