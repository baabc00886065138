"""Secrets never reach a log line: what was registered is replaced in the finished text, wherever it came from."""

import sys
import threading
import traceback
from types import TracebackType
from typing import Final
from urllib.parse import quote

__all__ = ["HIDDEN", "Redactor", "hide_in_crashes"]

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


def hide_in_crashes(redactor: Redactor) -> None:
    """For the rest of the process: what Python itself writes of an exception that nobody caught is redacted, too."""

    def say(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        text = "".join(traceback.format_exception(kind, error, trace))
        if sys.stderr is not None:
            sys.stderr.write(redactor(text))

    def in_thread(crash: threading.ExceptHookArgs) -> None:
        if not issubclass(crash.exc_type, SystemExit):
            say(crash.exc_type, crash.exc_value, crash.exc_traceback)

    def unraisable(crash: "sys.UnraisableHookArgs") -> None:
        say(crash.exc_type, crash.exc_value, crash.exc_traceback)

    sys.excepthook = say
    threading.excepthook = in_thread
    sys.unraisablehook = unraisable
