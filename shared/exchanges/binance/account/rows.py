"""Binance's private REST replies as typed structs.

Sources: ``rest-api.md`` of binance-spot-api-docs; the "Trade" and "Account" pages of the USD-M reference.
"""

from typing import Final

from msgspec import Raw, Struct, field, json

from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.binance.account.wire import COMPLAINT, decode

__all__ = [
    "ALGO_ROW",
    "BALANCE_ROW",
    "CLOCK_REPLY",
    "KEY_REPLY",
    "MOMENT_ROW",
    "ORDER_ROW",
    "RISK_ROW",
    "SPOT_ROW",
    "TRADE_ROW",
    "AlgoRow",
    "BalanceRow",
    "MomentRow",
    "OrderRow",
    "RiskRow",
    "SpotRow",
    "TradeRow",
    "complaint_of",
    "rows_of",
]


class OrderRow(Struct, gc=False, rename="camel"):
    """An order of both products' lists."""

    symbol: str
    order_id: int
    client_order_id: str
    side: str
    type: str
    status: str
    orig_qty: str
    executed_qty: str
    update_time: int
    time: int = 0
    time_in_force: str | None = None
    price: str | None = None
    stop_price: str | None = None
    avg_price: str | None = None
    filled_value: str | None = field(name="cummulativeQuoteQty", default=None)
    is_working: bool | None = None
    trailing_delta: int | None = None
    orig_type: str | None = None
    position_side: str | None = None
    reduce_only: bool | None = None


class AlgoRow(Struct, gc=False, rename="camel"):
    """A conditional order of USD-M's lists."""

    symbol: str
    algo_id: int
    client_algo_id: str
    side: str
    order_type: str
    algo_status: str
    update_time: int
    create_time: int | None = None
    quantity: str | None = None
    time_in_force: str | None = None
    price: str | None = None
    trigger_price: str | None = None
    position_side: str | None = None
    reduce_only: bool | None = None


class TradeRow(Struct, gc=False, rename="camel"):
    """An execution of both products' lists; ``isBuyer`` and ``isMaker`` are spot's, the last four fields USD-M's."""

    symbol: str
    id: int
    order_id: int
    price: str
    qty: str
    time: int
    commission: str | None = None
    commission_asset: str | None = None
    is_buyer: bool | None = None
    is_maker: bool | None = None
    side: str | None = None
    maker: bool | None = None
    position_side: str | None = None
    realized_pnl: str | None = None


class SpotRow(Struct, gc=False):
    """One asset of spot's ``account``."""

    asset: str
    free: str
    locked: str


class SpotAccount(Struct, gc=False):
    """Spot's ``account``."""

    balances: list[Raw]


class BalanceRow(Struct, gc=False, rename="camel"):
    """One asset of USD-M's ``balance``."""

    asset: str
    balance: str
    available_balance: str | None = None
    cross_un_pnl: str | None = None


class RiskRow(Struct, gc=False, rename="camel"):
    """One leg of ``positionRisk``."""

    symbol: str
    position_side: str
    position_amt: str
    entry_price: str | None = None
    mark_price: str | None = None
    liquidation_price: str | None = None
    un_realized_profit: str | None = None
    isolated_margin: str | None = None
    update_time: int | None = None


class MomentRow(Struct, gc=False, rename="camel"):
    """What a reconciliation has to know of any row."""

    symbol: str
    order_id: int | None = None
    time: int = 0


class KeyReply(Struct, gc=False, rename="camel"):
    """A listen key."""

    listen_key: str = ""


class ClockReply(Struct, gc=False, rename="camel"):
    """The venue's time in milliseconds."""

    server_time: int


KEY_REPLY: Final = json.Decoder(KeyReply)
CLOCK_REPLY: Final = json.Decoder(ClockReply)
MOMENT_ROW: Final = json.Decoder(MomentRow)
ORDER_ROW: Final = json.Decoder(OrderRow)
ALGO_ROW: Final = json.Decoder(AlgoRow)
TRADE_ROW: Final = json.Decoder(TradeRow)
SPOT_ACCOUNT: Final = json.Decoder(SpotAccount)
SPOT_ROW: Final = json.Decoder(SpotRow)
BALANCE_ROW: Final = json.Decoder(BalanceRow)
RISK_ROW: Final = json.Decoder(RiskRow)
ROWS: Final = json.Decoder(list[Raw])


def complaint_of(reply: RestReply) -> int | None:
    """The venue's code of an error; None where the reply is none."""
    if not reply.body.lstrip().startswith(b"{"):
        return None
    try:
        return decode(COMPLAINT, reply.body).code
    except ParseError:
        return None


def rows_of(reply: RestReply, what: str) -> list[Raw]:
    """The rows of a list; raises ParseError for a reply that is none, or one that the venue refused.

    ``order`` is one row, ``account`` has its assets in an object.
    """
    code = complaint_of(reply)
    if reply.status != 200 or code is not None:
        raise ParseError("unknown_event", f"{what} was answered with status {reply.status} and code {code}")
    if what == "account":
        return decode(SPOT_ACCOUNT, reply.body).balances
    if what == "order":
        return [Raw(reply.body)]
    return decode(ROWS, reply.body)
