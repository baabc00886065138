"""How an AMQP exchange picks queues: AMQP 0-9-1 section 3.1.3, and RabbitMQ's reading of it."""

import re
from functools import lru_cache

__all__ = ["matches"]


def matches(kind: str, pattern: str, key: str) -> bool:
    """Whether a binding takes a routing key.

    ``direct``: equal. ``topic``: words between dots, where ``*`` stands for exactly one word (an empty one too) and
    ``#`` for any number of words, none included.
    """
    return pattern == key if kind == "direct" else _compiled(pattern).fullmatch(_dotted(key)) is not None


def _dotted(text: str) -> str:
    return f".{text}" if text else ""  # the empty key has no words at all


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    words = {"*": r"\.[^.]*", "#": r"(?:\.[^.]*)*"}
    return re.compile("".join(words.get(word, rf"\.{re.escape(word)}") for word in _dotted(pattern).split(".")[1:]))
