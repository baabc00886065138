"""Bybit's private frames and REST rows as typed structs.

Sources: docs/v5/websocket/private/*.mdx, docs/v5/{order,position,account}/*.mdx of the venue's documents. Only fields
that are used; numbers and times in rows are JSON strings, which REST replies may leave out or set to null.
"""

from typing import Final
from urllib.parse import unquote

from msgspec import Raw, Struct, field, json

from shared.errors import ParseError
from shared.exchanges.bybit.wire import decode, nanoseconds

__all__ = [
    "COIN_ROW",
    "EXECUTION_ROW",
    "HEAD",
    "LIST",
    "ORDER_ROW",
    "POSITION_ROW",
    "PRIVATE_FRAME",
    "REPLY",
    "WALLET_ROW",
    "CoinRow",
    "ExecutionRow",
    "Head",
    "OrderRow",
    "Page",
    "PositionRow",
    "WalletRow",
    "moment",
    "page",
]


class Head(Struct, gc=False, frozen=True):
    """What tells a control message from data. Two spellings of the outcome are known."""

    topic: str | None = None
    op: str | None = None
    success: bool | None = None
    ret_msg: str = ""
    code: int | None = field(name="retCode", default=None)
    message: str = field(name="retMsg", default="")


class PrivateFrame(Struct, gc=False, frozen=True, rename="camel"):
    """A message of a private topic."""

    topic: str | None = None
    creation_time: int | None = None
    data: list[Raw] | None = None
    op: str | None = None
    success: bool | None = None


class OrderRow(Struct, gc=False, frozen=True, rename="camel"):
    """An order, as both ``order`` and the order lists have it."""

    symbol: str
    order_id: str
    side: str
    order_status: str
    qty: str
    cum_exec_qty: str
    category: str | None = None
    order_link_id: str | None = None
    order_type: str | None = None
    stop_order_type: str | None = None
    create_type: str | None = None
    cancel_type: str | None = None
    reject_reason: str | None = None
    time_in_force: str | None = None
    price: str | None = None
    avg_price: str | None = None
    trigger_price: str | None = None
    leaves_qty: str | None = None
    cum_exec_value: str | None = None
    market_unit: str | None = None
    reduce_only: bool | None = None
    position_idx: int | None = None
    created_time: str | None = None
    updated_time: str | None = None


class ExecutionRow(Struct, gc=False, frozen=True, rename="camel"):
    """An execution, as both ``execution`` and the execution list have it; funding comes as one too."""

    symbol: str
    exec_id: str
    exec_type: str
    exec_price: str
    exec_qty: str
    exec_time: str
    side: str | None = None
    category: str | None = None
    order_id: str | None = None
    order_link_id: str | None = None
    exec_fee: str | None = None
    fee_currency: str | None = None
    exec_pnl: str | None = None
    is_maker: bool | None = None


class PositionRow(Struct, gc=False, frozen=True, rename="camel"):
    """A position; the stream has ``entryPrice``, the list ``avgPrice``."""

    symbol: str
    size: str
    position_idx: int = 0
    side: str | None = None
    category: str | None = None
    entry_price: str | None = None
    avg_price: str | None = None
    position_value: str | None = None
    leverage: str | None = None
    mark_price: str | None = None
    liq_price: str | None = None
    unrealised_pnl: str | None = None
    cur_realised_pnl: str | None = None
    updated_time: str | None = None


class CoinRow(Struct, gc=False, frozen=True, rename="camel"):
    """One coin of a wallet."""

    coin: str
    wallet_balance: str | None = None
    equity: str | None = None
    locked: str | None = None
    borrow_amount: str | None = None
    unrealised_pnl: str | None = None
    available_to_withdraw: str | None = None


class WalletRow(Struct, gc=False, frozen=True, rename="camel"):
    """A wallet: its totals are in USD and are not read."""

    coin: list[Raw]
    account_type: str | None = None


class Reply(Struct, gc=False, frozen=True, rename="camel"):
    """What every REST reply is wrapped in; ``time`` is the venue's clock in milliseconds."""

    ret_code: int
    result: Raw = Raw(b"null")
    time: int | None = None


class List(Struct, gc=False, frozen=True, rename="camel"):
    """One page of a list."""

    list: list[Raw]
    next_page_cursor: str | None = None


class Page(Struct, gc=False, frozen=True):
    """A page, and where the next one begins."""

    rows: list[Raw]
    cursor: str | None

    def is_last(self, cursor: str | None) -> bool:
        """Whether nothing follows: no cursor, the one that was asked with, or no row. A short page may be followed."""
        return not self.rows or self.cursor in {None, cursor}


HEAD: Final = json.Decoder(Head)
PRIVATE_FRAME: Final = json.Decoder(PrivateFrame)
ORDER_ROW: Final = json.Decoder(OrderRow)
EXECUTION_ROW: Final = json.Decoder(ExecutionRow)
POSITION_ROW: Final = json.Decoder(PositionRow)
COIN_ROW: Final = json.Decoder(CoinRow)
WALLET_ROW: Final = json.Decoder(WalletRow)
REPLY: Final = json.Decoder(Reply)
LIST: Final = json.Decoder(List)


def page(status: int, body: bytes, path: str) -> Page:
    """A page of a list; raises ParseError for a reply that is none, or one that the venue refused.

    The venue's own words are left out of the error: some of them repeat the key.
    """
    if status != 200:
        raise ParseError("unknown_event", f"{path} was answered with status {status}")
    reply = decode(REPLY, body)
    if reply.ret_code != 0:
        raise ParseError("unknown_event", f"{path} was refused with retCode {reply.ret_code}")
    listed = decode(LIST, reply.result)
    cursor = listed.next_page_cursor
    # It comes percent-encoded, and is encoded again when it is sent.
    return Page(listed.list, unquote(cursor) if cursor else None)


def moment(text: str | None, name: str) -> int | None:
    """A time of a row in nanoseconds, None where it is empty; raises ParseError(``bad_time``)."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise ParseError("bad_time", f"{name} was {text[:40]!r}")
    return nanoseconds(int(text), name)
