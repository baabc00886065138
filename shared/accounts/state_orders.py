"""Which of two tellings of one order is the newer one.

The stream, REST replies and a venue's own retries race each other, so what comes later need not be later. An order
never goes backwards: not from an end to open, not to a smaller filled size, not to an earlier status, not in time.
"""

from decimal import Context, Decimal
from enum import IntEnum
from typing import Final

from msgspec.structs import replace

from shared.accounts.messages import OPEN_STATUSES, Order
from shared.numbers import plain

__all__ = ["Verdict", "ended_before", "joined", "judge", "latest", "ordering", "when"]


class Verdict(IntEnum):
    """What a telling is against what is known."""

    NEWER = 0
    SAME = 1  # says nothing new
    STALE = 2  # older than what is known


UNTIMED_NS: Final = 5 * 86_400 * 1_000_000_000
"""How long an order may have been open of which no list says when it ended."""

_EXACT: Final = Context(prec=200)
_ENDED: Final = 4
_RANKS: Final = {"pending": 0, "triggered": 1, "new": 2, "partially_filled": 3}
"""Some venues let a triggered order go on under its own id, so that it is no end here."""


def judge(known: Order, told: Order) -> Verdict:
    """What a telling is against what is known of the order."""
    before, after = _progress(known), _progress(told)
    if after != before:
        return Verdict.NEWER if after > before else Verdict.STALE
    if _rank(known) == _ENDED:
        return Verdict.SAME
    if known.ts_updated is not None and told.ts_updated is not None and told.ts_updated < known.ts_updated:
        return Verdict.STALE
    return Verdict.SAME if _terms(known) == _terms(told) else Verdict.NEWER


def joined(known: Order, told: Order, verdict: Verdict) -> Order:
    """What is told of a newer telling, and what is remembered of one that says the same.

    Where an end is told with less filled than is known, what is known counts: some venues leave the filled size out of
    a cancellation.
    """
    if verdict is Verdict.SAME:
        return told if told.source == "stream" and _rank(known) < _ENDED else known
    if Decimal(told.filled_size) >= Decimal(known.filled_size):
        return told
    size = told.size if told.size is not None else known.size
    left = None if size is None else _EXACT.subtract(Decimal(size), Decimal(known.filled_size))
    return replace(
        told,
        filled_size=known.filled_size,
        filled_size_native=known.filled_size_native,
        average_price=told.average_price or known.average_price,
        remaining_size=None if left is None else plain(max(Decimal(0), left)),
    )


def latest(known: Order, told: Order) -> Order:
    """The telling with the newest time that was heard of the order: it never goes back.

    Where a venue's pushes only say when they were sent (MEXC spot), a later state in a list may have an earlier time.
    """
    if (told.ts_updated or 0) >= (known.ts_updated or 0):
        return told
    return replace(told, ts_updated=known.ts_updated)


def ended_before(order: Order, since_ns: int) -> bool:
    """Whether it ended before that time (the venue's), as far as its telling says."""
    if order.status in OPEN_STATUSES:
        return False
    if order.ts_updated is not None:
        return order.ts_updated < since_ns
    return order.ts_created is not None and order.ts_created + UNTIMED_NS < since_ns


def when(order: Order) -> int:
    """The time of what an order tells (ns), the venue's where it says one."""
    return order.ts_updated or order.ts_created or order.ts_exchange or order.ts_received


def ordering(order: Order) -> tuple[int, int, Decimal, str]:
    """By time; within one moment as an order lives."""
    return when(order), _rank(order), Decimal(order.filled_size), order.order_id


def _progress(order: Order) -> tuple[bool, Decimal, int]:
    """What only grows: an end is behind everything, then comes what is filled, then the status."""
    rank = _rank(order)
    return rank == _ENDED, Decimal(order.filled_size), rank


def _rank(order: Order) -> int:
    return _RANKS.get(order.status, _ENDED)


def _terms(order: Order) -> tuple[Decimal | None, ...]:
    return _number(order.price), _number(order.size), _number(order.stop_price)


def _number(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)
