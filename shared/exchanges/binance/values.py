"""Times and numbers of events."""

from shared.errors import ParseError
from shared.exchanges.binance.wire import LAST_MS
from shared.exchanges.levels import number
from shared.numbers import NumberError, is_zero, plain

__all__ = ["LAST_MS", "best", "event_time", "maybe", "nanoseconds", "signed"]


def nanoseconds(milliseconds: int, name: str) -> int:
    """A venue time; raises ParseError(``bad_time``)."""
    if 0 <= milliseconds < LAST_MS:
        return milliseconds * 1_000_000
    raise ParseError("bad_time", f"{name}: {milliseconds} was no time in milliseconds")


def event_time(ts_transaction: int | None, ts_event: int | None) -> int | None:
    """The matching engine's time, else the event's; None where there is neither (spot quotes, spot snapshots)."""
    if ts_transaction is not None:
        return nanoseconds(ts_transaction, "T")
    return None if ts_event is None else nanoseconds(ts_event, "E")


def best(price: str | None, size: str | None, price_key: str, size_key: str) -> tuple[str | None, str | None]:
    """Best price and size of a side; both None where the side is empty (size 0) or not sent."""
    found = number(price, price_key) if price else None
    amount = number(size, size_key) if size else None
    if found is None or (amount is not None and is_zero(amount)):
        return None, None
    return found, amount


def maybe(value: str | None, name: str) -> str | None:
    """An unsigned number; None where the venue leaves it empty or out."""
    return number(value, name) if value else None


def signed(value: str, name: str) -> str:
    """A number that may be negative; raises ParseError(``bad_number``)."""
    try:
        return plain(value)
    except NumberError as error:
        raise ParseError("bad_number", f"{name}: {error}") from error
