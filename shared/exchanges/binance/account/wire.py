"""Binance's private events as typed structs.

Only the fields that are used; unknown ones are ignored. Numbers are JSON strings, times integers in milliseconds. Names
that differ only by case are different fields. Sources: ``user-data-stream.md`` of binance-spot-api-docs; the pages of
the USD-M user data events of developers.binance.com.
"""

from typing import Final, TypeVar

from msgspec import Raw, Struct, field, json

from shared.errors import ParseError
from shared.exchanges.binance.values import nanoseconds
from shared.exchanges.binance.wire import UNREADABLE, parse_error

__all__ = [
    "ACCOUNT_POSITION",
    "ACCOUNT_UPDATE",
    "ALGO_UPDATE",
    "ASSET_ROW",
    "BALANCE_CHANGE",
    "COMPLAINT",
    "EVENT",
    "EXECUTION_REPORT",
    "HEAD",
    "ORDER_UPDATE",
    "POSITION_ROW",
    "SPOT_BALANCE",
    "AlgoOrder",
    "AssetRow",
    "BalanceChange",
    "Event",
    "ExecutionReport",
    "Head",
    "OrderUpdate",
    "PositionRow",
    "SpotBalance",
    "decode",
    "moment",
    "payload_of",
    "symbols_of",
]

WireT = TypeVar("WireT")


class Symbol(Struct, gc=False):
    """What names a symbol."""

    symbol: str | None = field(name="s", default=None)


class Changed(Struct, gc=False):
    """The positions of an account update."""

    positions: list[Symbol] = field(name="P", default_factory=list)


class Complaint(Struct, gc=False):
    """An error."""

    code: int | None = None
    msg: str = ""


class Event(Struct, gc=False):
    """What an event is and whom it concerns; ``stack`` tells USD-M (1) from COIN-M (2)."""

    event: str | None = field(name="e", default=None)
    symbol: str | None = field(name="s", default=None)
    stack: int | None = field(name="st", default=None)
    order: Raw = field(name="o", default=Raw(b""))
    account: Raw = field(name="a", default=Raw(b""))


class Head(Struct, gc=False):
    """What tells answers from events, which may come in a wrapper."""

    event: str | None = field(name="e", default=None)
    wrapped: Raw = field(name="event", default=Raw(b""))
    data: Raw = Raw(b"")
    id: str | int | None = None
    status: int | None = None
    error: Complaint | None = None


class ExecutionReport(Struct, gc=False):
    """``executionReport`` of spot."""

    symbol: str = field(name="s")
    client_order_id: str = field(name="c")
    side: str = field(name="S")
    order_type: str = field(name="o")
    size: str = field(name="q")
    execution: str = field(name="x")
    status: str = field(name="X")
    order_id: int = field(name="i")
    filled: str = field(name="z")
    ts_transaction: int = field(name="T")
    time_in_force: str | None = field(name="f", default=None)
    price: str | None = field(name="p", default=None)
    stop_price: str | None = field(name="P", default=None)
    original_client_id: str | None = field(name="C", default=None)
    reject_reason: str | None = field(name="r", default=None)
    last_size: str | None = field(name="l", default=None)
    last_price: str | None = field(name="L", default=None)
    fee: str | None = field(name="n", default=None)
    fee_asset: str | None = field(name="N", default=None)
    trade_id: int = field(name="t", default=-1)
    maker: bool | None = field(name="m", default=None)
    on_book: bool | None = field(name="w", default=None)
    ts_created: int | None = field(name="O", default=None)
    filled_value: str | None = field(name="Z", default=None)
    trailing_delta: int | None = field(name="d", default=None)
    expiry_reason: str | None = field(name="eR", default=None)


class SpotBalance(Struct, gc=False):
    """One asset of ``outboundAccountPosition``."""

    asset: str = field(name="a")
    free: str = field(name="f")
    locked: str = field(name="l")


class AccountPosition(Struct, gc=False):
    """``outboundAccountPosition``: the assets that may have changed."""

    ts_updated: int = field(name="u")
    balances: list[Raw] = field(name="B")


class BalanceChange(Struct, gc=False):
    """``balanceUpdate`` and ``externalLockUpdate``: a signed difference."""

    asset: str = field(name="a")
    change: str = field(name="d")
    ts_cleared: int = field(name="T")


class OrderUpdate(Struct, gc=False):
    """The order in ``ORDER_TRADE_UPDATE``."""

    symbol: str = field(name="s")
    client_order_id: str = field(name="c")
    side: str = field(name="S")
    order_type: str = field(name="o")
    size: str = field(name="q")
    execution: str = field(name="x")
    status: str = field(name="X")
    order_id: int = field(name="i")
    filled: str = field(name="z")
    ts_transaction: int = field(name="T")
    time_in_force: str | None = field(name="f", default=None)
    price: str | None = field(name="p", default=None)
    average_price: str | None = field(name="ap", default=None)
    stop_price: str | None = field(name="sp", default=None)
    last_size: str | None = field(name="l", default=None)
    last_price: str | None = field(name="L", default=None)
    fee: str | None = field(name="n", default=None)
    fee_asset: str | None = field(name="N", default=None)
    trade_id: int = field(name="t", default=0)
    maker: bool | None = field(name="m", default=None)
    reduce_only: bool | None = field(name="R", default=None)
    original_type: str | None = field(name="ot", default=None)
    position_side: str | None = field(name="ps", default=None)
    realized_profit: str | None = field(name="rp", default=None)
    expiry_reason: str | int | None = field(name="er", default=None)


class OrderTradeUpdate(Struct, gc=False):
    """``ORDER_TRADE_UPDATE``."""

    order: OrderUpdate = field(name="o")


class AlgoOrder(Struct, gc=False):
    """The conditional order in ``ALGO_UPDATE``."""

    symbol: str = field(name="s")
    algo_id: int = field(name="aid")
    client_algo_id: str = field(name="caid")
    side: str = field(name="S")
    order_type: str = field(name="o")
    status: str = field(name="X")
    size: str | None = field(name="q", default=None)
    time_in_force: str | None = field(name="f", default=None)
    price: str | None = field(name="p", default=None)
    trigger_price: str | None = field(name="tp", default=None)
    position_side: str | None = field(name="ps", default=None)
    reduce_only: bool | None = field(name="R", default=None)
    reason: str | None = field(name="rm", default=None)


class AlgoUpdate(Struct, gc=False):
    """``ALGO_UPDATE``."""

    ts_transaction: int = field(name="T")
    order: AlgoOrder = field(name="o")


class AssetRow(Struct, gc=False):
    """One asset of ``ACCOUNT_UPDATE``; ``change`` leaves profits and commissions out."""

    asset: str = field(name="a")
    wallet: str = field(name="wb")
    change: str | None = field(name="bc", default=None)


class PositionRow(Struct, gc=False):
    """One leg of ``ACCOUNT_UPDATE``."""

    symbol: str = field(name="s")
    amount: str = field(name="pa")
    position_side: str = field(name="ps")
    entry_price: str | None = field(name="ep", default=None)
    realized: str | None = field(name="cr", default=None)
    unrealized: str | None = field(name="up", default=None)
    margin_type: str | None = field(name="mt", default=None)


class AccountChange(Struct, gc=False):
    """What changed."""

    reason: str = field(name="m", default="")
    balances: list[Raw] = field(name="B", default_factory=list)
    positions: list[Raw] = field(name="P", default_factory=list)


class AccountUpdate(Struct, gc=False):
    """``ACCOUNT_UPDATE``: only the assets and legs that changed."""

    ts_transaction: int = field(name="T")
    change: AccountChange = field(name="a")


_SYMBOL: Final = json.Decoder(Symbol)
_CHANGED: Final = json.Decoder(Changed)
HEAD: Final = json.Decoder(Head)
EVENT: Final = json.Decoder(Event)
COMPLAINT: Final = json.Decoder(Complaint)
EXECUTION_REPORT: Final = json.Decoder(ExecutionReport)
ACCOUNT_POSITION: Final = json.Decoder(AccountPosition)
SPOT_BALANCE: Final = json.Decoder(SpotBalance)
BALANCE_CHANGE: Final = json.Decoder(BalanceChange)
ORDER_UPDATE: Final = json.Decoder(OrderTradeUpdate)
ALGO_UPDATE: Final = json.Decoder(AlgoUpdate)
ACCOUNT_UPDATE: Final = json.Decoder(AccountUpdate)
ASSET_ROW: Final = json.Decoder(AssetRow)
POSITION_ROW: Final = json.Decoder(PositionRow)


def decode(decoder: json.Decoder[WireT], data: bytes | Raw) -> WireT:
    """Decode; raises ParseError: ``invalid_json``, ``wrong_type`` or ``missing_field``."""
    try:
        return decoder.decode(data)
    except UNREADABLE as error:
        raise parse_error(error) from error


def moment(milliseconds: int | None, name: str) -> int | None:
    """A venue time in nanoseconds, None where there is none (0 or left out); raises ParseError(``bad_time``)."""
    return nanoseconds(milliseconds, name) if milliseconds else None


def payload_of(head: Head, data: bytes) -> bytes:
    """The event in its wrapper (``event`` of the WebSocket API, ``data`` of a combined stream), or without one."""
    return bytes(head.wrapped or head.data) or data


def symbols_of(event: Event) -> tuple[str, ...]:
    """The native symbols that an event names; nothing where they can't be read."""
    try:
        if event.symbol is not None:
            found = [event.symbol]
        elif event.event == "ACCOUNT_UPDATE":
            found = [one.symbol for one in decode(_CHANGED, event.account).positions if one.symbol]
        elif event.order:
            found = [one for one in (decode(_SYMBOL, event.order).symbol,) if one]
        else:
            found = []
    except ParseError:
        return ()
    return tuple(dict.fromkeys(found))
