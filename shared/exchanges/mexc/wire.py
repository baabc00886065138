"""What both products' frames have in common: decoding with bounded failures, times, text."""

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import DecodeError, Raw, ValidationError

from shared.errors import ParseError
from shared.exchanges.base import Output
from shared.exchanges.levels import number
from shared.numbers import PROVED, NumberError, is_plain, is_zero, plain, proves

__all__ = [
    "decoded",
    "each",
    "known_or_none",
    "nanoseconds",
    "optional_number",
    "price_or_none",
    "signed",
    "text",
    "whole",
]

T = TypeVar("T")

MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000
LARGEST: Final = 2**63 - 1
"""Times and sequence numbers leave as 64-bit integers."""

_EMPTY: Final = frozenset({"null", '""'})

LAST_MS: Final = LARGEST // MILLISECOND


def decoded(decode: Callable[[bytes | Raw], T], data: bytes | Raw) -> T:
    """``decode(data)``; raises ParseError: ``invalid_json``, ``missing_field``, ``wrong_type``."""
    try:
        return decode(data)
    except ValidationError as error:
        problem = str(error)
        raise ParseError("missing_field" if "missing required" in problem else "wrong_type", problem) from error
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ParseError("invalid_json", str(error)) from error


def each(
    raw: Raw,
    decode_all: Callable[[bytes | Raw], list[T]],
    decode_raw: Callable[[bytes | Raw], list[Raw]],
    decode_one: Callable[[bytes | Raw], T],
    output: Output,
) -> list[T]:
    """The elements of an array; where one cannot be read it is rejected alone, the others are returned."""
    try:
        return decode_all(raw)
    except (DecodeError, RecursionError):
        good = []
        for element in decoded(decode_raw, raw):
            try:
                good.append(decoded(decode_one, element))
            except ParseError as error:
                output.reject(error)
        return good


def nanoseconds(value: int | None, unit: int = MILLISECOND) -> int | None:
    """A time of the venue in ns; absent or 0 is None. Raises ParseError(``bad_time``) for what is no time."""
    if not value:
        return None
    if value < 0 or value > LARGEST // unit:
        raise ParseError("bad_time", f"a time was {value}")
    return value * unit


def whole(text: str, field: str) -> int:
    """A sequence number that is sent as text; raises ParseError: ``missing_field`` (empty) or ``bad_number``."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    if not text:
        raise ParseError("missing_field", f"{field} was empty")
    if not (text.isascii() and text.isdigit() and len(text) < 20) or int(text) > LARGEST:
        raise ParseError("bad_number", f"{field} was {text[:60]!r}")
    return int(text)


def text(raw: Raw) -> str:
    """What stands in a JSON document where a number should; ``null`` and ``""`` are empty.

    A number in quotes keeps them, and so is none: the venue sends numbers, never text.
    """
    value = str(raw, "latin-1")
    return "" if value in _EMPTY else value


def known_or_none(raw: Raw, field: str) -> str | None:
    """As :func:`price_or_none` of :func:`text`; a number that was proved before is not looked at again."""
    value = str(raw, "latin-1")
    return value if value in PROVED or proves(value) else price_or_none(text(raw), field)


def signed(value: str, field: str) -> str:
    """A number that may be negative, in plain form; raises ParseError(``bad_number``)."""
    try:
        return plain(value)
    except NumberError as error:
        raise ParseError("bad_number", f"{field}: {error}") from error


def optional_number(value: str, field: str) -> str | None:
    """An unsigned number in plain form; empty is None."""
    if is_plain(value):
        return value
    return number(value, field) if value else None


def price_or_none(value: str, field: str) -> str | None:
    """As :func:`optional_number`, for a price: 0 stands for "there is none"."""
    price = optional_number(value, field)
    return None if price is None or is_zero(price) else price
