"""MEXC's executions as fills.

Sources: "Spot Account Deals" and "Account Trade List" of the spot v3 documentation; "Order deal" of the contract v1
documentation. A fee is a cost where it is positive. Both sides of a trade with oneself may have the trade's id: there
spot's executions are told apart by their side.
"""

from collections.abc import Mapping
from typing import Final

from shared.accounts.messages import Fill, FillKind, Liquidity, Source
from shared.errors import ParseError
from shared.exchanges.levels import base_size
from shared.exchanges.mexc.account.orders import CLOSING, SPOT_SIDES, leg_of, side_of
from shared.exchanges.mexc.account.wire import Deal, SpotTrade, figure, identity
from shared.exchanges.mexc.push_pb2 import PrivateDealsV3Api
from shared.exchanges.records import Start, amount, quantity
from shared.instruments import Instrument
from shared.messages import Side

__all__ = ["executed", "pushed", "traded"]

_KINDS: Final[Mapping[int, FillKind]] = {1: "trade", 2: "liquidation", CLOSING: "unknown", 4: "adl"}


def pushed(start: Start, row: PrivateDealsV3Api) -> Fill:
    """An execution that spot pushed; raises ParseError."""
    side = SPOT_SIDES.get(row.tradeType)
    if side is None:
        raise ParseError("unknown_event", f"tradeType was {row.tradeType}")
    if not row.time:
        raise ParseError("missing_field", "time of an execution was left out")
    return Fill(
        *start,
        execution_id=_trade_id(row.tradeId, side, self_trade=row.isSelfTrade),
        order_id=identity(row.orderId, "orderId"),
        client_order_id=row.clientOrderId or None,
        side=side,
        price=quantity(row.price, "price"),
        size=quantity(row.quantity, "quantity"),
        liquidity="maker" if row.isMaker else "taker",
        kind="trade",
        source="stream",
        fee=amount(row.feeAmount, "feeAmount"),
        fee_asset=row.feeCurrency or None,
    )


def traded(start: Start, row: SpotTrade) -> Fill:
    """An execution of spot's list; raises ParseError."""
    side: Side = "buy" if row.is_buyer else "sell"
    return Fill(
        *start,
        execution_id=_trade_id(row.id, side, self_trade=bool(row.is_self_trade)),
        order_id=identity(row.order_id, "orderId"),
        client_order_id=row.client_order_id or None,
        side=side,
        price=quantity(figure(row.price), "price"),
        size=quantity(figure(row.qty), "qty"),
        liquidity=_liquidity(row.is_maker),
        kind="trade",
        source="rest",
        fee=amount(figure(row.commission), "commission"),
        fee_asset=row.commission_asset or None,
    )


def executed(start: Start, instrument: Instrument, row: Deal, source: Source) -> Fill:
    """An execution of futures, pushed or listed; raises ParseError."""
    price, native = quantity(figure(row.price), "price"), quantity(figure(row.vol), "vol")
    size = base_size(instrument, native, price)
    taker = row.taker if row.is_taker is None else row.is_taker
    return Fill(
        *start,
        execution_id=identity(row.id, "id"),
        order_id=None if row.order_id is None else identity(row.order_id, "orderId"),
        client_order_id=row.external_oid or None,
        side=side_of(row.side),
        price=price,
        size=size,
        liquidity=_liquidity(None if taker is None else not taker),
        kind=_KINDS.get(row.category, "unknown"),
        source=source,
        fee=amount(figure(row.fee), "fee"),
        fee_asset=row.fee_currency or instrument.settle,
        realized_pnl=amount(figure(row.profit), "profit"),
        leg=leg_of(row.side, row.position_mode),
        size_native=native if size != native else None,
    )


def _trade_id(trade_id: str | int, side: Side, *, self_trade: bool) -> str:
    found = identity(trade_id, "trade id")
    return f"{found}-{side}" if self_trade else found


def _liquidity(maker: bool | None) -> Liquidity:  # noqa: FBT001 - the venue's flag
    return "unknown" if maker is None else "maker" if maker else "taker"
