"""Bybit's orders as messages. Sources: docs/v5/websocket/private/order.mdx, docs/v5/enum.mdx."""

from collections.abc import Mapping
from typing import Final

from shared.accounts.messages import Leg, Order, OrderStatus, OrderType, Source, TimeInForce
from shared.errors import ParseError
from shared.exchanges.bybit.account.wire import OrderRow, moment
from shared.exchanges.levels import base_size, number
from shared.exchanges.records import Start, amount, base_or_none, known, positive, remaining
from shared.instruments import Instrument
from shared.messages import Side
from shared.numbers import is_zero

__all__ = ["LEGS", "SIDES", "order"]

SIDES: Final[Mapping[str, Side]] = {"Buy": "buy", "Sell": "sell"}
LEGS: Final[Mapping[int, Leg]] = {0: "net", 1: "long", 2: "short"}

_STATUSES: Final[Mapping[str, OrderStatus]] = {
    "New": "new",
    "PartiallyFilled": "partially_filled",
    "Untriggered": "pending",
    "Triggered": "pending",  # for an instant, on its way from Untriggered to New: the order goes on under its id
    "Filled": "filled",
    "Cancelled": "canceled",
    "PartiallyFilledCanceled": "canceled",
    "Deactivated": "canceled",  # before it was triggered
    "Rejected": "rejected",
}

_CLOSED_STATUSES: Final[Mapping[str, OrderStatus]] = {**_STATUSES, "Triggered": "triggered"}
"""In a list of orders that have ended."""

_TIMES_IN_FORCE: Final[Mapping[str, TimeInForce]] = {"GTC": "gtc", "IOC": "ioc", "FOK": "fok", "PostOnly": "post_only"}

_TYPES: Final[Mapping[str, OrderType]] = {"Limit": "limit", "Market": "market"}

_PLAIN: Final = frozenset({None, "", "UNKNOWN"})
"""Stop order types of an order that is no conditional one."""

_STOPS: Final = frozenset({"Stop", "StopLoss", "PartialStopLoss"})
_PROFITS: Final = frozenset({"TakeProfit", "PartialTakeProfit"})
_FORCED: Final = ("CreateByLiq", "CreateByTakeOver")
"""What liquidation orders are created by."""

_NO_REASONS: Final = frozenset({None, "", "EC_NoError", "UNKNOWN"})


def order(start: Start, instrument: Instrument, row: OrderRow, source: Source, *, ended: bool = False) -> Order:
    """An order as it is now; ``ended``: the row is from a list of orders that have ended. Raises ParseError."""
    if not row.order_id:
        raise ParseError("missing_field", "orderId was empty")
    status = known(_CLOSED_STATUSES if ended else _STATUSES, row.order_status, "orderStatus")
    spot = instrument.settle is None
    kind = _type(row)
    price = None if row.order_type == "Market" else positive(row.price, "price")
    average = positive(row.avg_price, "avgPrice")
    filled_native = number(row.cum_exec_qty, "cumExecQty")
    filled = _filled(instrument, row, filled_native, average, price)
    native = None if _is_closing(row) else number(row.qty, "qty")
    size = None if _by_value(row, spot=spot) else base_or_none(instrument, native, price)
    left = None if size is None else base_or_none(instrument, amount(row.leaves_qty, "leavesQty"), price)
    return Order(
        *start,
        order_id=row.order_id,
        client_order_id=row.order_link_id or None,
        side=known(SIDES, row.side, "side"),
        order_type=kind,
        status=status,
        price=price,
        size=size,
        filled_size=filled,
        source=source,
        remaining_size=remaining(status, size, filled, left),
        average_price=average,
        stop_price=positive(row.trigger_price, "triggerPrice"),
        time_in_force=_TIMES_IN_FORCE.get(row.time_in_force, "unknown") if row.time_in_force else None,
        leg=None if spot else LEGS.get(row.position_idx or 0),
        reduce_only=row.reduce_only,
        reason=_reason(row) if status in {"canceled", "rejected"} else None,
        ts_created=moment(row.created_time, "createdTime"),
        ts_updated=moment(row.updated_time, "updatedTime"),
        size_native=native if size != native else None,
        filled_size_native=filled_native if instrument.inverse else None,
    )


def _type(row: OrderRow) -> OrderType:
    if row.create_type is not None and row.create_type.startswith(_FORCED):
        return "liquidation"
    stop = row.stop_order_type
    if stop in _STOPS:
        return "stop_limit" if row.order_type == "Limit" else "stop"
    if stop in _PROFITS:
        return "take_profit"
    if stop == "TrailingStop":
        return "trailing_stop"
    # tpslOrder and its like do not say which of the two they are.
    return _TYPES.get(row.order_type or "", "unknown") if stop in _PLAIN else "unknown"


def _by_value(row: OrderRow, *, spot: bool) -> bool:
    """Whether ``qty`` is in the quote coin: a market order on spot that says so, or one that buys and says nothing.

    Source: docs/v5/order/create-order.mdx, ``marketUnit`` and ``qty``.
    """
    return (
        spot
        and row.order_type == "Market"
        and (row.market_unit or ("quoteCoin" if row.side == "Buy" else "")) == ("quoteCoin")
    )


def _is_closing(row: OrderRow) -> bool:
    """Whether a conditional order has no size of its own: it closes what there is then."""
    return row.stop_order_type not in _PLAIN and is_zero(row.qty or "0")


def _filled(instrument: Instrument, row: OrderRow, native: str, average: str | None, price: str | None) -> str:
    """What was filled, in base units: of an inverse order that is its value; else what it is worth at its price."""
    if not instrument.inverse or is_zero(native):
        return native
    value = positive(row.cum_exec_value, "cumExecValue")
    if value is not None:
        return value
    if average is None and price is None:
        raise ParseError("missing_field", f"an inverse order had {native} filled and no price")
    return base_size(instrument, native, average or price or "")


def _reason(row: OrderRow) -> str | None:
    reasons = [text for text in (row.reject_reason, row.cancel_type) if text not in _NO_REASONS]
    return reasons[0] if reasons else None
