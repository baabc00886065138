"""What frame faults do to a message, before and after it is encoded."""

import re
from collections.abc import Callable

import msgspec

from services.simulator.topics import Message

__all__ = ["change_first_number", "extra_fields", "unknown_event", "unknown_symbol"]

MYSTERY_FIELD = 9999
"""A protobuf field number that no version of the venue's definitions has."""

MYSTERY_BODY = 399
_NUMBER = re.compile(r"-?[0-9]+\.?[0-9]*(?:[eE][+-]?[0-9]+)?").fullmatch


def _is_number(value: object) -> bool:
    if isinstance(value, msgspec.Raw):
        return True
    return isinstance(value, str) and len(value) < 40 and _NUMBER(value) is not None


def _with_first(value: object, new: Callable[[object], object]) -> tuple[object, bool]:
    if _is_number(value):
        return new(value), True
    if isinstance(value, dict):
        for key, inner in value.items():
            changed, done = _with_first(inner, new)
            if done:
                return {**value, key: changed}, True
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            changed, done = _with_first(inner, new)
            if done:
                return [*value[:position], changed, *value[position + 1 :]], True
    return value, False


def change_first_number(message: Message, text: str | None) -> Message:
    """The first decimal of the message becomes ``text`` (bare where the venue sends bare numbers), or an object.

    Protobuf messages (binary feeds) get an integer where text must be, which is another wire type.
    """

    def changed(value: object) -> object:
        if text is None:
            return 12345 if "spot@" in str(message.get("channel", "")) else {"unexpected": True}
        return msgspec.Raw(text.encode() or b'""') if isinstance(value, msgspec.Raw) else text

    result, _ = _with_first(message, changed)
    return result if isinstance(result, dict) else message


def extra_fields(message: Message, padding: int = 0, *, protobuf: bool) -> Message:
    """Fields that no document mentions, at the top and in the data; with ``padding`` bytes in one of them."""
    filler = "x" * padding
    if protobuf:
        return {**message, str(MYSTERY_FIELD): filler or "mystery"}
    extra = {"zzNew": {"deep": [1, "a", None]}, "zzPadding": filler}
    changed = {**message, **extra}
    data = changed.get("data")
    if isinstance(data, dict):
        changed["data"] = {**data, "zzNew": "1"}
    return changed


def unknown_event(message: Message, *, protobuf: bool) -> Message:
    """The same data under a kind that nobody knows."""
    if protobuf:
        return {
            (str(MYSTERY_BODY) if isinstance(value, dict) else key): ("?" if isinstance(value, dict) else value)
            for key, value in message.items()
        }
    changed = dict(message)
    if "topic" in changed:
        changed["topic"] = "mystery." + str(changed["topic"]).partition(".")[2]
    elif "channel" in changed:
        changed["channel"] = "push.mystery"
    else:
        changed["e"] = "mysteryUpdate"
    return changed


def unknown_symbol(payload: bytes, symbol: str) -> bytes:
    """Another symbol of the same length in its place, in both cases of letters: inner lengths stay right."""
    other = "Q" * min(3, len(symbol)) + symbol[3:]
    replaced = payload.replace(symbol.encode(), other.encode())
    return replaced.replace(symbol.lower().encode(), other.lower().encode())
