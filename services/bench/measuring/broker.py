"""The broker of a benchmark."""

from collections.abc import Iterator
from contextlib import contextmanager

from services.bench.measuring.processes import BenchError
from services.cli.local_rabbit import LocalRabbitError, RabbitNode

__all__ = ["broker"]


@contextmanager
def broker() -> Iterator[RabbitNode]:
    """A private node, gone after the block; raises BenchError where there is none to be had."""
    try:
        with RabbitNode() as node:
            yield node
    except LocalRabbitError as error:
        raise BenchError(str(error)) from error
