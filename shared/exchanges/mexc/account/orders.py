"""MEXC's orders as messages.

Sources: "Spot Account Orders", "All Orders" and "ENUM definitions" of the spot v3 documentation; "Order" of the
contract v1 documentation. A status that is not known is refused, never guessed.
"""

from collections.abc import Mapping
from typing import Final

from shared.accounts.messages import Leg, Order, OrderStatus, OrderType, Source, TimeInForce
from shared.errors import ParseError
from shared.exchanges.levels import number
from shared.exchanges.mexc.account.wire import ContractOrder, SpotOrder, figure, identity, moment
from shared.exchanges.mexc.push_pb2 import PrivateOrdersV3Api
from shared.exchanges.records import Start, base_or_none, known, positive, remaining
from shared.instruments import Instrument
from shared.messages import Side
from shared.numbers import NumberError, divide, is_zero

__all__ = ["CLOSING", "SPOT_SIDES", "contract", "leg_of", "listed", "pushed", "side_of"]

SPOT_SIDES: Final[Mapping[int, Side]] = {1: "buy", 2: "sell"}
_LISTED_SIDES: Final[Mapping[str, Side]] = {"BUY": "buy", "SELL": "sell"}

_SIDES: Final[Mapping[int, tuple[Side, Leg]]] = {
    1: ("buy", "long"),
    2: ("buy", "short"),
    3: ("sell", "short"),
    4: ("sell", "long"),
}
"""1 opens a long, 2 closes a short, 3 opens a short, 4 closes a long."""

_ONE_WAY: Final = 2
"""``positionMode``; 1 is the hedge mode."""

CLOSING: Final = 3
"""``category`` of an order by which the venue closes a position: 1 is an ordinary one, 2 a liquidation, 4 an ADL."""

_LIQUIDATION: Final = 2

_PUSHED: Final[Mapping[int, OrderStatus]] = {
    1: "new",
    2: "filled",
    3: "partially_filled",
    4: "canceled",
    5: "canceled",  # with something filled
}
_PENDING_OCO: Final = 0
"""A protobuf field that is 0 is left out, so that it counts only where an OCO is named."""

_LISTED: Final[Mapping[str, OrderStatus]] = {
    "NEW": "new",
    "FILLED": "filled",
    "PARTIALLY_FILLED": "partially_filled",
    "CANCELED": "canceled",
    "PARTIALLY_CANCELED": "canceled",
}

_Kind = tuple[OrderType, TimeInForce | None]
_UNKNOWN: Final[_Kind] = ("unknown", None)

_KINDS: Final[Mapping[int, _Kind]] = {
    1: ("limit", "gtc"),
    2: ("limit", "post_only"),
    3: ("limit", "ioc"),
    4: ("limit", "fok"),
    5: ("market", None),
}
"""Of both products' pushes."""

_SPOT_KINDS: Final[Mapping[int, _Kind]] = {**_KINDS, 100: ("stop_limit", None)}

_LISTED_KINDS: Final[Mapping[str, _Kind]] = {
    "LIMIT": ("limit", "gtc"),
    "LIMIT_MAKER": ("limit", "post_only"),
    "IMMEDIATE_OR_CANCEL": ("limit", "ioc"),
    "FILL_OR_KILL": ("limit", "fok"),
    "MARKET": ("market", None),
    "STOP_LIMIT": ("stop_limit", None),
}

_UNINFORMED, _OPEN, _FILLED, _CANCELED, _INVALID = 1, 2, 3, 4, 5
"""``state`` of a futures order."""

MOST_VERSION: Final = 999_999


def pushed(start: Start, row: PrivateOrdersV3Api, ts_sent: int | None) -> Order:
    """An order that spot pushed; its time is when it was sent. Raises ParseError."""
    if row.status == _PENDING_OCO and row.ocoId:
        status: OrderStatus = "pending"
    else:
        status = _status(_PUSHED, row.status, "status")
    side = SPOT_SIDES.get(row.tradeType)
    if side is None:
        raise ParseError("unknown_event", f"tradeType was {row.tradeType}")
    kind, time_in_force = _SPOT_KINDS.get(row.orderType, _UNKNOWN)
    filled = number(row.cumulativeQuantity, "cumulativeQuantity")
    size = positive(row.quantity, "quantity")
    left = number(row.remainQuantity, "remainQuantity") if row.remainQuantity else None
    return Order(
        *start,
        order_id=identity(row.id, "id"),
        client_order_id=row.clientId or None,
        side=side,
        order_type=kind,
        status=status,
        price=None if kind == "market" else positive(row.price, "price"),
        size=size,
        filled_size=filled,
        source="stream",
        remaining_size=remaining(status, size, filled, left),
        average_price=positive(row.avgPrice, "avgPrice"),
        stop_price=positive(row.triggerPrice, "triggerPrice"),
        time_in_force=time_in_force,
        ts_created=moment(row.createTime, "createTime"),
        ts_updated=ts_sent,
    )


def listed(start: Start, row: SpotOrder) -> Order:
    """An order of spot's lists; raises ParseError."""
    status = known(_LISTED, row.status, "status")
    kind, time_in_force = _LISTED_KINDS.get(row.type, _UNKNOWN)
    filled = number(figure(row.executed_qty), "executedQty")
    size = positive(figure(row.orig_qty), "origQty")
    return Order(
        *start,
        order_id=identity(row.order_id, "orderId"),
        client_order_id=row.client_order_id or None,
        side=known(_LISTED_SIDES, row.side, "side"),
        order_type=kind,
        status=status,
        price=None if kind == "market" else positive(figure(row.price), "price"),
        size=size,
        filled_size=filled,
        source="rest",
        remaining_size=remaining(status, size, filled, None),
        average_price=_average(figure(row.filled_value), filled),
        stop_price=positive(figure(row.stop_price), "stopPrice"),
        time_in_force=time_in_force,
        ts_created=moment(row.time, "time"),
        ts_updated=moment(row.update_time, "updateTime"),
    )


def contract(start: Start, instrument: Instrument, row: ContractOrder, source: Source) -> Order:
    """An order of futures, pushed or listed; sizes are contracts. Raises ParseError.

    Sizes of inverse contracts are what they are worth at the order's price, what is filled at its average price.
    """
    kind, time_in_force = _KINDS.get(row.order_type, _UNKNOWN)
    price = None if kind == "market" else positive(figure(row.price), "price")
    average = positive(figure(row.deal_avg_price), "dealAvgPrice")
    filled_native = number(figure(row.deal_vol), "dealVol")
    size_native = positive(figure(row.vol), "vol")
    filled = base_or_none(instrument, filled_native, average or price)
    if filled is None:
        raise ParseError("missing_field", f"an inverse order had {filled_native} filled and no price")
    size = base_or_none(instrument, size_native, price or average)
    status = _state(row.state, filled_native)
    left_native = remaining(status, size_native, filled_native, _left(row))
    return Order(
        *start,
        order_id=identity(row.order_id, "orderId"),
        client_order_id=row.external_oid or None,
        side=side_of(row.side),
        order_type="liquidation" if row.category == _LIQUIDATION else kind,
        status=status,
        price=price,
        size=size,
        filled_size=filled,
        source=source,
        remaining_size=base_or_none(instrument, left_native, price or average),
        average_price=average,
        time_in_force=time_in_force,
        leg=leg_of(row.side, row.position_mode),
        reduce_only=row.reduce_only,
        reason=f"error_{row.error_code}" if row.error_code and row.state in {_CANCELED, _INVALID} else None,
        ts_created=moment(row.create_time, "createTime"),
        ts_updated=_updated(row),
        size_native=size_native if size != size_native else None,
        filled_size_native=filled_native if filled != filled_native else None,
    )


def side_of(side: int) -> Side:
    """Which side a futures order or execution is on; raises ParseError(``unknown_event``)."""
    if side not in _SIDES:
        raise ParseError("unknown_event", f"side was {side}")
    return _SIDES[side][0]


def leg_of(side: int, position_mode: int | None) -> Leg | None:
    """Which leg a futures order or execution changes."""
    return "net" if position_mode == _ONE_WAY else _SIDES[side][1] if side in _SIDES else None


def _left(row: ContractOrder) -> str | None:
    text = figure(row.remain_vol)
    return number(text, "remainVol") if text else None


def _state(state: int, filled: str) -> OrderStatus:
    """What a futures order is; one that is invalid but for a part was ended, not rejected."""
    untouched = is_zero(filled)
    states: Mapping[int, OrderStatus] = {
        _UNINFORMED: "pending",
        _OPEN: "new" if untouched else "partially_filled",
        _FILLED: "filled",
        _CANCELED: "canceled",
        _INVALID: "rejected" if untouched else "canceled",
    }
    return _status(states, state, "state")


def _status(statuses: Mapping[int, OrderStatus], value: int, field: str) -> OrderStatus:
    if value not in statuses:
        raise ParseError("unknown_event", f"{field} was {value}")
    return statuses[value]


def _updated(row: ContractOrder) -> int | None:
    """The time of the change, and below its milliseconds the version, which tells changes of one millisecond apart."""
    updated = moment(row.update_time, "updateTime")
    if updated is None or row.version is None:
        return updated
    return updated + min(max(0, row.version), MOST_VERSION)


def _average(value: str, filled: str) -> str | None:
    """Spot lists the value of what was filled."""
    if not value or is_zero(filled):
        return None
    try:
        return divide(number(value, "cummulativeQuoteQty"), filled)
    except NumberError:
        return None
