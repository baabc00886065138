"""What the command line answers to arguments that it can't use."""

import math
from typing import Final

from shared.errors import TidegateError

__all__ = ["MAX_PORT", "ReaderGone", "UsageError", "binding", "positive"]

MAX_PORT: Final = 65_535

MAX_KEY: Final = 255
"""Bytes of a routing key or binding pattern (AMQP 0-9-1 section 4.2.5.3: a short string)."""


class ReaderGone(BrokenPipeError):
    """Nobody reads standard output any more; the process ends with ``status`` all the same."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__("nobody reads standard output any more")


class UsageError(TidegateError):
    """An argument is unusable; the process ends with status 2."""

    def __init__(self, argument: str, problem: str) -> None:
        self.argument = argument
        super().__init__(f"{argument}: {problem}")


def positive(argument: str, value: float) -> None:
    """Raises UsageError for a number of an argument that is not above zero and finite."""
    if not (math.isfinite(value) and value > 0):
        raise UsageError(argument, f"must be a positive number, {value:g} was given")


def binding(argument: str, pattern: str) -> str:
    """The pattern; raises UsageError for one that no binding can have."""
    try:
        size = len(pattern.encode())
    except UnicodeEncodeError:
        raise UsageError(argument, f"{pattern[:40]!r} is no UTF-8") from None
    if size > MAX_KEY:
        raise UsageError(argument, f"a pattern has at most {MAX_KEY} bytes; {pattern[:40]!r}… has {size}")
    return pattern
