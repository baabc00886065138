"""What the command line answers to arguments that it can't use."""

from shared.errors import TidegateError

__all__ = ["UsageError"]


class UsageError(TidegateError):
    """An argument is unusable; the process ends with status 2."""

    def __init__(self, argument: str, problem: str) -> None:
        self.argument = argument
        super().__init__(f"{argument}: {problem}")
