"""Secrets never reach a log line: what was registered is replaced in the finished text, wherever it came from."""

from typing import Final
from urllib.parse import quote

__all__ = ["HIDDEN", "Redactor"]

HIDDEN: Final = "**********"


class Redactor:
    """Call it with a text to get the text without secrets."""

    def __init__(self) -> None:
        self._secrets: tuple[str, ...] = ()

    def add(self, secret: str) -> None:
        """Hide this string from now on, also as it stands in a URL. Empty and one-letter strings hide nothing."""
        if len(secret) < 2:
            return
        secrets = {*self._secrets, secret, quote(secret, safe="")}
        # The longest first: a secret may contain another.
        self._secrets = tuple(sorted(secrets, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text
