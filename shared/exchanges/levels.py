"""Book levels from venue text: validated, plain, in base units."""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import chain

from msgspec import DecodeError, Raw, json

from shared.errors import ParseError
from shared.exchanges.books import BookLevels
from shared.instruments import Instrument
from shared.messages import Level
from shared.numbers import PLAIN_UNSIGNED, PROVED, NumberError, are_plain, divide, is_plain, is_zero, multiply, unsigned

__all__ = ["base_size", "book_levels", "decoded_levels", "number", "proved_levels", "proved_pairs", "validated"]


def number(value: str | Decimal, field: str) -> str:
    """``value`` as an unsigned plain number; raises ParseError(``bad_number``) that names the field."""
    if isinstance(value, str) and value in PROVED:
        return value
    try:
        return unsigned(value)
    except NumberError as error:
        raise ParseError("bad_number", f"{field}: {error}") from error


def validated(pairs: Iterable[Sequence[str | Decimal]], side: str) -> list[Level]:
    """``(price, size)`` of every level as plain numbers; extra columns are ignored.

    Raises ParseError: ``bad_number``, or ``wrong_type`` for a level with fewer than two columns.
    """
    levels: list[Level] = []
    for pair in pairs:
        if len(pair) < 2:
            raise ParseError("wrong_type", f"{side}: a level had {len(pair)} columns")
        price, size = pair[0], pair[1]
        if isinstance(price, str) and isinstance(size, str) and is_plain(price) and is_plain(size):
            levels.append((price, size))
        else:
            levels.append((number(price, f"{side} price"), number(size, f"{side} size")))
    return levels


def proved_levels(raw: Raw, side: str) -> list[Level]:
    """Levels of a delta in base units from their JSON: passed through as they are where that is safe.

    One regular expression over the bytes proves that they are an array of ``["price","size"]`` pairs of plain unsigned
    numbers without white space; then the text goes out as it came and no object is made of it. Everything else is
    decoded and looked at number by number. Raises ParseError: ``bad_number``, ``wrong_type``.

    The type is what the JSON says; a proved array is a ``msgspec.Raw`` that encodes to the same.
    """
    if _PLAIN_PAIRS(raw) is not None:
        return raw  # type: ignore[return-value]
    return validated(decoded_levels(raw, side), side)


def proved_pairs(pairs: list[Level], side: str) -> list[Level]:
    """The same list where all its texts are plain numbers, which one regular expression over them proves.

    Else, and for what raises, as :func:`validated`.
    """
    return pairs if are_plain([*chain.from_iterable(pairs)]) else validated(pairs, side)


def decoded_levels(raw: Raw, side: str) -> list[list[str]]:
    """The levels as lists of text; raises ParseError(``wrong_type``)."""
    try:
        return _decode_pairs(raw)
    except DecodeError as error:
        raise ParseError("wrong_type", f"{side}: {error}") from error


_decode_pairs = json.Decoder(list[list[str]]).decode

# What is no JSON never gets here, so that a comma is where it must be.
_PLAIN_PAIRS = re.compile(rf'\[(?:\["{PLAIN_UNSIGNED}","{PLAIN_UNSIGNED}"\],?+)*+\]'.encode()).fullmatch


def base_size(instrument: Instrument, size: str, price: str) -> str:
    """A size in the venue's units as base units: times the contract size, divided by the price where inverse.

    The quotient is rounded to 12 decimal places; the venue's own number is kept beside it wherever they differ.
    """
    if instrument.contract_size == "1" and not instrument.inverse:
        return size
    try:
        in_units = size if instrument.contract_size == "1" else multiply(size, instrument.multiplier)
        if not instrument.inverse:
            return in_units
        in_base = divide(in_units, price)
    except NumberError as error:
        raise ParseError("bad_number", f"size {size} at price {price}: {error}") from error
    if is_zero(in_base) and not is_zero(size):  # in a delta it would delete the level
        raise ParseError("bad_number", f"size {size} at price {price} is less than 12 decimal places can hold")
    return in_base


def book_levels(instrument: Instrument, bids: list[Level], asks: list[Level]) -> BookLevels:
    """Validated levels in base units, with the venue's sizes beside them where those differ."""
    if instrument.contract_size == "1" and not instrument.inverse:
        return BookLevels(bids, asks)
    return BookLevels(
        [(price, base_size(instrument, size, price)) for price, size in bids],
        [(price, base_size(instrument, size, price)) for price, size in asks],
        [size for _, size in bids],
        [size for _, size in asks],
    )
