"""Binance's executions as fills.

Sources: ``user-data-stream.md`` of binance-spot-api-docs; the USD-M pages "Event Order Update" (client ids of forced
orders) and "Account Trade List". The commission is a cost where it is positive; its asset may be null.
"""

from typing import Final

from shared.accounts.messages import Fill, FillKind, Liquidity
from shared.errors import ParseError
from shared.exchanges.binance.account.orders import LEGS, SIDES
from shared.exchanges.binance.account.rows import TradeRow
from shared.exchanges.binance.account.wire import ExecutionReport, OrderUpdate
from shared.exchanges.records import Start, amount, known, quantity
from shared.numbers import is_zero

__all__ = ["executed", "reported", "traded"]

_SPOT_TRADE: Final = "TRADE"
_SPOT_OTHERS: Final = frozenset({"NEW", "CANCELED", "REPLACED", "REJECTED", "EXPIRED", "TRADE_PREVENTION"})
_USDM_TRADES: Final = frozenset({"TRADE", "CALCULATED"})
_USDM_OTHERS: Final = frozenset({"NEW", "CANCELED", "EXPIRED", "AMENDMENT", "REJECTED"})
"""Execution types that fill nothing; one that is in neither set might."""

_FORCED: Final[tuple[tuple[str, FillKind], ...]] = (
    ("adl_autoclose", "adl"),
    ("autoclose-", "liquidation"),
    ("settlement_autoclose-", "settlement"),
    ("delivery_autoclose-", "settlement"),
)
"""How the client ids of the venue's own orders begin."""


def reported(start: Start, row: ExecutionReport) -> Fill | None:
    """What an ``executionReport`` filled; None where it reports something else. Raises ParseError."""
    if row.execution != _SPOT_TRADE:
        if row.execution not in _SPOT_OTHERS:
            raise ParseError("unknown_event", f"x was {row.execution[:40]!r}")
        return None
    return Fill(
        *start,
        execution_id=_trade_id(row.trade_id),
        order_id=str(row.order_id),
        client_order_id=row.client_order_id or None,
        side=known(SIDES, row.side, "S"),
        price=quantity(row.last_price or "", "L"),
        size=quantity(row.last_size or "", "l"),
        liquidity=_liquidity(row.maker),
        kind="trade",
        source="stream",
        fee=amount(row.fee, "n"),
        fee_asset=row.fee_asset or None,
    )


def executed(start: Start, row: OrderUpdate) -> Fill | None:
    """What an ``ORDER_TRADE_UPDATE`` filled; None where nothing. Raises ParseError."""
    if row.execution not in _USDM_TRADES:
        if row.execution not in _USDM_OTHERS:
            raise ParseError("unknown_event", f"x was {row.execution[:40]!r}")
        return None
    if row.execution == "CALCULATED" and (row.trade_id <= 0 or is_zero(row.last_size or "0")):
        return None  # a forced order that has only begun
    return Fill(
        *start,
        execution_id=_trade_id(row.trade_id),
        order_id=str(row.order_id),
        client_order_id=row.client_order_id or None,
        side=known(SIDES, row.side, "S"),
        price=quantity(row.last_price or "", "L"),
        size=quantity(row.last_size or "", "l"),
        liquidity=_liquidity(row.maker),
        kind=_kind(row.client_order_id, "liquidation" if row.execution == "CALCULATED" else "trade"),
        source="stream",
        fee=amount(row.fee, "n"),
        fee_asset=row.fee_asset or None,
        realized_pnl=amount(row.realized_profit, "rp"),
        leg=None if row.position_side is None else LEGS.get(row.position_side),
    )


def traded(start: Start, row: TradeRow, client_order_id: str | None) -> Fill:
    """An execution of a list of either product; raises ParseError.

    ``client_order_id``: that of its order, None where the order is not known. Of what kind the execution is only tells
    that id.
    """
    contract = row.position_side is not None
    side = row.side or {True: "BUY", False: "SELL", None: ""}[row.is_buyer]
    kind: FillKind = "trade"
    if contract:
        kind = "unknown" if client_order_id is None else _kind(client_order_id, "trade")
    return Fill(
        *start,
        execution_id=_trade_id(row.id),
        order_id=str(row.order_id),
        client_order_id=client_order_id or None,
        side=known(SIDES, side, "side"),
        price=quantity(row.price, "price"),
        size=quantity(row.qty, "qty"),
        liquidity=_liquidity(row.maker if contract else row.is_maker),
        kind=kind,
        source="rest",
        fee=amount(row.commission, "commission"),
        fee_asset=row.commission_asset or None,
        realized_pnl=amount(row.realized_pnl, "realizedPnl"),
        leg=None if row.position_side is None else LEGS.get(row.position_side),
    )


def _trade_id(trade_id: int) -> str:
    if trade_id < 0:
        raise ParseError("missing_field", f"an execution had trade id {trade_id}")
    return str(trade_id)


def _liquidity(maker: bool | None) -> Liquidity:  # noqa: FBT001 - the venue's flag
    return "unknown" if maker is None else "maker" if maker else "taker"


def _kind(client_order_id: str, otherwise: FillKind) -> FillKind:
    return next((kind for begin, kind in _FORCED if client_order_id.startswith(begin)), otherwise)
