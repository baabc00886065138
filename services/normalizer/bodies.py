"""Bodies of AMQP messages: JSON arrays, made in steps that don't hold the loop, none longer than a bus takes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from shared.messages import Message, encode_messages

__all__ = ["MAX_BODY", "bodies", "joined"]

STEP: Final = 64
"""Messages that are encoded at once."""

MAX_BODY: Final = 4 * 1024 * 1024
"""Bytes of one body, unless a single message is longer: a quarter of what RabbitMQ 4 takes by default."""


def bodies(messages: Sequence[Message]) -> Iterator[bytes | None]:
    """The arrays for messages of one routing key, in order: nearly always one; None for a step that gave none yet."""
    if len(messages) <= STEP:
        if messages:
            yield from _cut(messages)
        return
    parts: list[bytes] = []
    for begin in range(0, len(messages), STEP):
        parts += _cut(messages[begin : begin + STEP])
        yield None
    yield from joined(parts)


def joined(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Arrays joined in order to as few as fit."""
    held: list[bytes] = []
    size = 0
    for part in parts:
        if held and size + len(part) > MAX_BODY:
            yield _one(held)
            held, size = [], 0
        held.append(part)
        size += len(part)
    if held:
        yield _one(held)


def _one(parts: Sequence[bytes]) -> bytes:
    return parts[0] if len(parts) == 1 else b"[" + b",".join(part[1:-1] for part in parts) + b"]"


def _cut(messages: Sequence[Message]) -> list[bytes]:
    body = encode_messages(list(messages))
    if len(body) <= MAX_BODY or len(messages) == 1:
        return [body]
    half = len(messages) // 2
    return _cut(messages[:half]) + _cut(messages[half:])
