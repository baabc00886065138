"""What every account parser builds its messages with: their first fields, numbers, rows read one by one."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from shared.accounts.base import Found
from shared.accounts.messages import OPEN_STATUSES, OrderStatus
from shared.errors import ParseError
from shared.exchanges.levels import base_size, number
from shared.exchanges.output import Origin, Rejection
from shared.instruments import Instrument
from shared.numbers import NumberError, is_zero, plain, subtract

__all__ = [
    "Start",
    "amount",
    "base_or_none",
    "each",
    "known",
    "nothing",
    "of_account",
    "of_instrument",
    "positive",
    "quantity",
    "remaining",
]

RowT = TypeVar("RowT")
ValueT = TypeVar("ValueT")

Start = tuple[str, str | None, str | None, int | None, int, int, str, int, int, int, str]
"""The first eleven fields of every account message; ``part`` is 0, the account's state numbers what it tells."""


def of_instrument(origin: Origin, account: str, instrument: Instrument, ts_exchange: int | None) -> Start:
    """Of a message about an instrument."""
    return (*origin.head(instrument, ts_exchange), 0, account)


def of_account(origin: Origin, account: str, ts_exchange: int | None) -> Start:
    """Of a message about an asset."""
    return (
        origin.exchange,
        None,
        None,
        ts_exchange,
        origin.ts_received,
        origin.ts_normalized,
        origin.stream,
        origin.epoch,
        origin.frame,
        0,
        account,
    )


def nothing() -> Found:
    """What a frame without records gives."""
    return Found([], [], [], [], [])


def each(rows: Iterable[RowT], take: Callable[[RowT], None], found: Found) -> None:
    """Take every row; one that can't be read is a rejection and does not take the others with it."""
    for row in rows:
        try:
            take(row)
        except ParseError as error:
            found.rejections.append(Rejection(error.code, error.detail))


def known(table: Mapping[str, ValueT], value: str, field: str) -> ValueT:
    """What a value that decides stands for; raises ParseError(``unknown_event``) for one that is not known."""
    try:
        return table[value]
    except KeyError:
        raise ParseError("unknown_event", f"{field} was {value[:40]!r}") from None


def amount(value: str | None, field: str) -> str | None:
    """A number that may be negative; None where the venue leaves it empty or out, which is not 0."""
    if not value:
        return None
    try:
        return plain(value)
    except NumberError as error:
        raise ParseError("bad_number", f"{field}: {error}") from error


def positive(value: str | None, field: str) -> str | None:
    """A price above zero; None where the venue has none and says so by leaving it out, empty or zero."""
    if not value:
        return None
    text = number(value, field)
    return None if is_zero(text) else text


def quantity(value: str, field: str) -> str:
    """A size that has to be above zero; raises ParseError(``bad_number``)."""
    text = number(value, field)
    if is_zero(text):
        raise ParseError("bad_number", f"{field}: {value[:40]!r} must be above zero")
    return text


def base_or_none(instrument: Instrument, native: str | None, price: str | None) -> str | None:
    """A size in base units; None where that takes a price (an inverse contract) and there is none."""
    if native is None or is_zero(native):
        return native
    if not instrument.inverse:
        return base_size(instrument, native, "1")
    return None if price is None else base_size(instrument, native, price)


def remaining(status: OrderStatus, size: str | None, filled: str, told: str | None) -> str | None:
    """What is open of an order: what the venue says while it is open; once it is final, what was left unfilled."""
    if status in OPEN_STATUSES and told is not None:
        return told
    if size is None:
        return None
    left = subtract(size, filled)
    return "0" if left.startswith("-") else left
