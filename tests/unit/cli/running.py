"""What a command did."""

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import json

__all__ = ["Ran", "Tidegate"]


class Ran(NamedTuple):
    status: int
    out: bytes
    error: str

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Standard output, one JSON object a line."""
        return [json.decode(line) for line in self.out.splitlines()]

    @property
    def rejected(self) -> list[dict[str, Any]]:
        """Standard error, one JSON object a line."""
        return [json.decode(line) for line in self.error.splitlines()]

    @property
    def codes(self) -> dict[int, str]:
        """The code of each rejected line."""
        return {each["line"]: each["code"] for each in self.rejected}

    def feeds(self) -> list[str]:
        return [message["feed"] for message in self.messages]


Tidegate = Callable[..., Ran]
