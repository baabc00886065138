"""Decimal numbers as text: validated, plain (never exponent form), never through float.

A *plain number* is text of the form ``-?digits[.digits]`` without exponent and without a zero before another digit (as
in JSON, RFC 8259 section 6). Venue text that is already plain leaves exactly as it came; anything else that is a finite
decimal is rewritten; the rest raises :class:`NumberError`.
"""

import re
from collections.abc import Callable, Sequence
from decimal import ROUND_05UP, ROUND_HALF_EVEN, Context, Decimal
from typing import Final

__all__ = [
    "PLAIN_UNSIGNED",
    "PROVED",
    "NumberError",
    "add",
    "are_plain",
    "divide",
    "is_plain",
    "is_zero",
    "multiply",
    "optional",
    "plain",
    "proves",
    "scaled",
    "subtract",
    "unsigned",
]

MAX_DIGITS: Final = 80
"""Most digits of a plain form: an exponent must not blow a frame of 20 bytes up to gigabytes."""

MAX_TEXT: Final = 200
"""Longest text that is looked at, in characters."""

QUOTIENT_PLACES: Final = 12
"""Decimal places of a quotient (a size in base units of a contract that is sized in quote units)."""

# Possessive, an empty alternative instead of an optional group, and no looking ahead: 40 % cheaper.
PLAIN_UNSIGNED: Final = r"(?:0\.[0-9]{1,40}+|[1-9][0-9]{0,39}+(?:\.[0-9]{1,40}+|)|0)"
"""Regular expression of an unsigned plain number, with at most 40 digits on each side of the point."""

_PLAIN_UNSIGNED: Final[Callable[[str], object]] = re.compile(PLAIN_UNSIGNED).fullmatch
_PLAIN_RUN: Final[Callable[[str], object]] = re.compile(rf"{PLAIN_UNSIGNED}(?:,{PLAIN_UNSIGNED})*+").fullmatch
_LOOSE: Final[Callable[[str], object]] = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?"
).fullmatch
_PLAIN_POSITIVE: Final[Callable[[str], object]] = re.compile(rf"(?=[0.]*+[1-9]){PLAIN_UNSIGNED}").fullmatch
PROVED: Final[set[str]] = set()
"""Texts that are plain numbers above zero: prices and sizes come again and again, and this look-up costs a fifth of a
regular expression. Only :func:`proves` writes it."""

PROVED_LIMIT: Final = 100_000

# Products fit whole. What is rounded up only from 0 and 5 can be rounded again without an error of its own.
_CONTEXT: Final = Context(prec=200, rounding=ROUND_05UP)
_QUANTUM: Final = Decimal(1).scaleb(-QUOTIENT_PLACES)


class NumberError(ValueError):
    """Text that is no finite decimal number, or one outside what the field allows."""

    def __init__(self, text: object, problem: str = "is not a finite decimal number") -> None:
        self.text = text
        super().__init__(f"{str(text)[:60]!r} {problem}")


def is_plain(text: str) -> bool:
    """Whether ``text`` is an unsigned plain number already."""
    return _PLAIN_UNSIGNED(text) is not None


def are_plain(texts: Sequence[str]) -> bool:
    """Whether all are unsigned plain numbers already, for a third of what :func:`is_plain` of each would cost."""
    run = ",".join(texts)
    # As many commas as were put there: none of the texts has one.
    return not texts or (_PLAIN_RUN(run) is not None and run.count(",") == len(texts) - 1)


def plain(value: str | Decimal) -> str:
    """The number in plain form; text that is plain already is returned as it is (``"8750.0000"`` stays).

    Raises :class:`NumberError` for anything that is not finite, is empty, or would need more than 80 digits.
    """
    # A Decimal without exponent is its own plain form, and str() is ten times faster than format().
    text = value if isinstance(value, str) else str(value)
    if _PLAIN_UNSIGNED(text) is not None:
        return text
    if len(text) > MAX_TEXT:
        raise NumberError(text, f"has more than {MAX_DIGITS} digits in plain form")
    if _LOOSE(text) is None and isinstance(value, str):
        raise NumberError(text)
    number = value if isinstance(value, Decimal) else Decimal(text)
    if not number.is_finite():
        raise NumberError(text)
    sign, digits, exponent = number.as_tuple()
    places = -int(exponent) if number else max(0, -int(exponent))
    if (len(digits) - places if places <= 0 else max(len(digits), places + 1)) > MAX_DIGITS:
        raise NumberError(text, f"has more than {MAX_DIGITS} digits in plain form")
    text = format(number, "f")
    return text[1:] if sign and not number else text


def unsigned(value: str | Decimal) -> str:
    """As :func:`plain`, for prices and sizes that cannot be negative.

    Text above zero that was proved plain is remembered in :data:`PROVED`: hot code asks ``text in PROVED`` first.
    """
    if isinstance(value, str) and (proves(value) or _PLAIN_UNSIGNED(value) is not None):
        return value
    text = plain(value)
    if text.startswith("-"):
        raise NumberError(value, "must not be negative")
    return text


def proves(text: str) -> bool:
    """Whether the text is a plain number above zero; it is in :data:`PROVED` from then on."""
    if _PLAIN_POSITIVE(text) is None:
        return False
    if len(PROVED) >= PROVED_LIMIT:
        PROVED.clear()
    PROVED.add(text)
    return True


def optional(value: str | Decimal | None) -> str | None:
    """As :func:`plain`, where the venue writes ``""`` or leaves the field out for "does not apply"."""
    return None if value is None or value == "" else plain(value)


def is_zero(text: str) -> bool:
    """Whether a plain number is zero, however it is spelled (``"0"``, ``"0.00000000"``)."""
    return text.strip("0") in {"", "."}


def multiply(text: str, factor: Decimal) -> str:
    """Exact product of a plain number and a factor, in plain form without trailing zeros after the point."""
    product = _CONTEXT.multiply(Decimal(text), factor)
    return _trimmed(plain(product))


def scaled(whole: int, mantissa: int, places: int) -> str:
    """``whole * mantissa / 10**places`` exactly, as :func:`multiply` writes it; none of the three is negative."""
    if not places:
        return str(whole * mantissa)
    digits = str(whole * mantissa).zfill(places + 1)
    fraction = digits[-places:].rstrip("0")
    return f"{digits[:-places]}.{fraction}" if fraction else digits[:-places]


def divide(text: str, divisor: str) -> str:
    """``text / divisor`` rounded half-even to 12 decimal places, in plain form; a zero divisor is a NumberError.

    So is a quotient of more than 80 digits.
    """
    denominator = Decimal(divisor)
    if not denominator:
        raise NumberError(divisor, "cannot be divided by")
    quotient = _CONTEXT.divide(Decimal(text), denominator)
    return _trimmed(plain(quotient.quantize(_QUANTUM, rounding=ROUND_HALF_EVEN, context=_CONTEXT)))


def add(text: str, other: str) -> str:
    """Exact sum of two plain numbers, in plain form."""
    return plain(_CONTEXT.add(Decimal(text), Decimal(other)))


def subtract(text: str, other: str) -> str:
    """Exact difference of two plain numbers, in plain form."""
    return plain(_CONTEXT.subtract(Decimal(text), Decimal(other)))


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
