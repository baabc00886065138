"""Binance's orders as messages.

Sources: ``enums.md`` and ``user-data-stream.md`` of binance-spot-api-docs; the USD-M pages "Event Order Update" and
"Event Algo Order Update". A conditional order of USD-M is another object than the order that it becomes: it is told
under its own id, written ``algo-<id>`` since both count for themselves, and never has anything filled.
"""

from collections.abc import Mapping
from typing import Final

from shared.accounts.messages import Leg, Order, OrderStatus, OrderType, TimeInForce
from shared.exchanges.binance.account.rows import AlgoRow, OrderRow
from shared.exchanges.binance.account.wire import AlgoOrder, ExecutionReport, OrderUpdate, moment
from shared.exchanges.levels import number
from shared.exchanges.records import Start, known, positive, remaining
from shared.messages import Side
from shared.numbers import NumberError, divide, is_zero, subtract

__all__ = ["LEGS", "SIDES", "algo_listed", "algo_updated", "listed", "reported", "updated"]

SIDES: Final[Mapping[str, Side]] = {"BUY": "buy", "SELL": "sell"}
LEGS: Final[Mapping[str, Leg]] = {"BOTH": "net", "LONG": "long", "SHORT": "short"}

_STATUSES: Final[Mapping[str, OrderStatus]] = {
    "PENDING_NEW": "pending",  # of an order list, not in the book yet
    "NEW": "new",
    "PARTIALLY_FILLED": "partially_filled",
    "FILLED": "filled",
    "CANCELED": "canceled",
    "REJECTED": "rejected",
    "EXPIRED": "expired",
    "EXPIRED_IN_MATCH": "expired",  # by self-trade prevention
}

_TAKEN_OVER: Final = frozenset({"NEW_INSURANCE", "NEW_ADL"})
"""USD-M: a forced order that the insurance fund or a counterparty takes over; how far, its sizes say."""

_ALGO_STATUSES: Final[Mapping[str, OrderStatus]] = {
    "NEW": "pending",
    "TRIGGERING": "pending",  # on its way into the matching engine
    "TRIGGERED": "triggered",
    "FINISHED": "triggered",  # the order that it became has ended
    "CANCELED": "canceled",
    "REJECTED": "rejected",
    "EXPIRED": "expired",
}

_TYPES: Final[Mapping[str, OrderType]] = {
    "LIMIT": "limit",
    "MARKET": "market",
    "LIMIT_MAKER": "limit",
    "STOP_LOSS": "stop",
    "STOP_LOSS_LIMIT": "stop_limit",
    "STOP": "stop_limit",
    "STOP_MARKET": "stop",
    "TAKE_PROFIT": "take_profit",
    "TAKE_PROFIT_LIMIT": "take_profit",
    "TAKE_PROFIT_MARKET": "take_profit",
    "TRAILING_STOP_MARKET": "trailing_stop",
    "LIQUIDATION": "liquidation",
}

_CONDITIONAL: Final = frozenset({"stop", "stop_limit", "take_profit", "trailing_stop"})

_TIMES_IN_FORCE: Final[Mapping[str, TimeInForce]] = {
    "GTC": "gtc",
    "IOC": "ioc",
    "FOK": "fok",
    "GTD": "gtd",
    "GTX": "post_only",
}

_ENDS: Final = frozenset({"canceled", "rejected", "expired"})
_NO_REASONS: Final = frozenset({None, "", "NONE", "0", 0})


def reported(start: Start, row: ExecutionReport) -> Order:
    """An ``executionReport`` of spot; raises ParseError."""
    kind = _spot_type(row.order_type, row.trailing_delta)
    filled = number(row.filled, "z")
    waits = kind in _CONDITIONAL and row.on_book is False
    status = _status(row.status, "X", filled, row.size, waits=waits)
    size = positive(row.size, "q")
    return Order(
        *start,
        order_id=str(row.order_id),
        client_order_id=_client_id(row) or None,
        side=known(SIDES, row.side, "S"),
        order_type=kind,
        status=status,
        price=None if kind == "market" else positive(row.price, "p"),
        size=size,
        filled_size=filled,
        source="stream",
        remaining_size=remaining(status, size, filled, None),
        average_price=_average(row.filled_value, filled, "Z"),
        stop_price=positive(row.stop_price, "P"),
        time_in_force=_time_in_force(row.time_in_force, row.order_type),
        reason=_reason(status, row.status, row.expiry_reason, row.reject_reason),
        ts_created=moment(row.ts_created, "O"),
        ts_updated=moment(row.ts_transaction, "T"),
    )


def updated(start: Start, row: OrderUpdate) -> Order:
    """The order of an ``ORDER_TRADE_UPDATE`` of USD-M; raises ParseError."""
    kind = _TYPES.get(row.original_type or row.order_type, "unknown")
    filled = number(row.filled, "z")
    waits = _TYPES.get(row.order_type) in _CONDITIONAL
    status = _status(row.status, "X", filled, row.size, waits=waits)
    size = positive(row.size, "q")
    return Order(
        *start,
        order_id=str(row.order_id),
        client_order_id=row.client_order_id or None,
        side=known(SIDES, row.side, "S"),
        order_type=kind,
        status=status,
        price=None if kind == "market" else positive(row.price, "p"),
        size=size,
        filled_size=filled,
        source="stream",
        remaining_size=remaining(status, size, filled, None),
        average_price=positive(row.average_price, "ap"),
        stop_price=positive(row.stop_price, "sp"),
        time_in_force=_time_in_force(row.time_in_force, row.order_type),
        leg=None if row.position_side is None else LEGS.get(row.position_side),
        reduce_only=row.reduce_only,
        reason=_reason(status, row.status, row.expiry_reason),
        ts_updated=moment(row.ts_transaction, "T"),
    )


def listed(start: Start, row: OrderRow) -> Order:
    """An order of a list of either product; raises ParseError."""
    kind = _spot_type(row.orig_type or row.type, row.trailing_delta)
    filled = number(row.executed_qty, "executedQty")
    contract = row.position_side is not None
    waits = _TYPES.get(row.type) in _CONDITIONAL and (contract or row.is_working is False)
    status = _status(row.status, "status", filled, row.orig_qty, waits=waits)
    size = positive(row.orig_qty, "origQty")
    average = positive(row.avg_price, "avgPrice") or _average(row.filled_value, filled, "cummulativeQuoteQty")
    return Order(
        *start,
        order_id=str(row.order_id),
        client_order_id=row.client_order_id or None,
        side=known(SIDES, row.side, "side"),
        order_type=kind,
        status=status,
        price=None if kind == "market" else positive(row.price, "price"),
        size=size,
        filled_size=filled,
        source="rest",
        remaining_size=remaining(status, size, filled, None),
        average_price=average,
        stop_price=positive(row.stop_price, "stopPrice"),
        time_in_force=_time_in_force(row.time_in_force, row.type),
        leg=None if row.position_side is None else LEGS.get(row.position_side),
        reduce_only=row.reduce_only,
        reason=_reason(status, row.status),
        ts_created=moment(row.time, "time"),
        ts_updated=moment(row.update_time, "updateTime"),
    )


def algo_updated(start: Start, row: AlgoOrder, ts_updated: int | None) -> Order:
    """The conditional order of an ``ALGO_UPDATE``; raises ParseError."""
    status = known(_ALGO_STATUSES, row.status, "X")
    size = positive(row.size, "q")
    return Order(
        *start,
        order_id=f"algo-{row.algo_id}",
        client_order_id=row.client_algo_id or None,
        side=known(SIDES, row.side, "S"),
        order_type=_TYPES.get(row.order_type, "unknown"),
        status=status,
        price=positive(row.price, "p"),
        size=size,
        filled_size="0",
        source="stream",
        remaining_size=size,
        stop_price=positive(row.trigger_price, "tp"),
        time_in_force=_time_in_force(row.time_in_force, row.order_type),
        leg=None if row.position_side is None else LEGS.get(row.position_side),
        reduce_only=row.reduce_only,
        reason=_reason(status, row.status, row.reason),
        ts_updated=ts_updated,
    )


def algo_listed(start: Start, row: AlgoRow) -> Order:
    """A conditional order of a list; raises ParseError."""
    status = known(_ALGO_STATUSES, row.algo_status, "algoStatus")
    size = positive(row.quantity, "quantity")
    return Order(
        *start,
        order_id=f"algo-{row.algo_id}",
        client_order_id=row.client_algo_id or None,
        side=known(SIDES, row.side, "side"),
        order_type=_TYPES.get(row.order_type, "unknown"),
        status=status,
        price=positive(row.price, "price"),
        size=size,
        filled_size="0",
        source="rest",
        remaining_size=size,
        stop_price=positive(row.trigger_price, "triggerPrice"),
        time_in_force=_time_in_force(row.time_in_force, row.order_type),
        leg=None if row.position_side is None else LEGS.get(row.position_side),
        reduce_only=row.reduce_only,
        reason=_reason(status, row.algo_status),
        ts_created=moment(row.create_time, "createTime"),
        ts_updated=moment(row.update_time, "updateTime"),
    )


def _client_id(row: ExecutionReport) -> str:
    """A cancellation has an id of its own, and that of the order beside it."""
    return (row.execution == "CANCELED" and row.original_client_id) or row.client_order_id


def _status(text: str, field: str, filled: str, size: str, *, waits: bool) -> OrderStatus:
    """``waits``: a conditional order that is not in the book yet is NEW as well."""
    if text in _TAKEN_OVER:
        if is_zero(filled):
            return "new"
        return "filled" if is_zero(subtract(number(size, "q"), filled)) else "partially_filled"
    status = known(_STATUSES, text, field)
    return "pending" if status == "new" and waits else status


def _spot_type(text: str, trailing_delta: int | None) -> OrderType:
    kind = _TYPES.get(text, "unknown")
    return "trailing_stop" if trailing_delta and kind in _CONDITIONAL else kind


def _time_in_force(text: str | None, order_type: str) -> TimeInForce | None:
    if order_type == "LIMIT_MAKER":
        return "post_only"
    return _TIMES_IN_FORCE.get(text, "unknown") if text else None


def _average(value: str | None, filled: str, field: str) -> str | None:
    """Spot tells the value of what was filled; an old order's is below zero where it is not known."""
    if not value or is_zero(filled) or value.startswith("-"):
        return None
    try:
        return divide(number(value, field), filled)
    except NumberError:
        return None


def _reason(status: OrderStatus, *texts: str | int | None) -> str | None:
    """The first reason that is one; the venue's own status says most where there is none."""
    if status not in _ENDS:
        return None
    plain, *reasons = texts
    for reason in reasons:
        if reason not in _NO_REASONS:
            return reason if isinstance(reason, str) and not reason.isdigit() else f"expiry_{reason}"
    return "EXPIRED_IN_MATCH" if plain == "EXPIRED_IN_MATCH" else None
