"""What the command line answers to arguments that it can't use."""

import math
from typing import Final

from shared.errors import TidegateError

__all__ = ["MAX_PORT", "ReaderGone", "UsageError", "positive"]

MAX_PORT: Final = 65_535


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
