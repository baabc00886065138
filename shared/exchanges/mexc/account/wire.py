"""MEXC's private JSON as typed structs: pushes of futures, REST rows of both products. Spot's pushes are protobuf.

Only the fields that are used; unknown ones are ignored. Numbers of futures are bare JSON numbers, sometimes in exponent
form, those of spot stand in quotes; all stay undecoded, since their text is what counts (:func:`figure`). Times are
milliseconds. Sources: "Spot
Account/Trade" of the spot v3 documentation; "Account and trading" and "Private channels" of the contract v1
documentation.
"""

from typing import Final

from msgspec import Raw, Struct, field
from msgspec.json import Decoder

from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.mexc.wire import decoded, nanoseconds

__all__ = [
    "ABSENT",
    "AssetRow",
    "ContractOrder",
    "Deal",
    "PositionRow",
    "SpotAsset",
    "SpotOrder",
    "SpotTrade",
    "asset_row",
    "clock_reply",
    "complaint_of",
    "contract_order",
    "deal",
    "figure",
    "identity",
    "key_reply",
    "keys_reply",
    "moment",
    "moment_row",
    "named_symbol",
    "position_row",
    "rows_of",
    "spot_asset",
    "spot_order",
    "spot_trade",
]

ABSENT: Final = Raw()


class Complaint(Struct, gc=False):
    """An error: ``code`` and ``msg`` of spot, ``success``, ``code`` and ``message`` of futures."""

    code: int | None = None
    success: bool | None = None


class KeyReply(Struct, gc=False, rename="camel"):
    """A listen key."""

    listen_key: str = ""


class KeysReply(Struct, gc=False):
    """All listen keys of a user that are valid."""

    listen_keys: tuple[str, ...] = field(default=(), name="listenKey")


class ClockReply(Struct, gc=False, rename="camel"):
    """The venue's time: ``serverTime`` of spot, ``data`` of futures."""

    server_time: int | None = None
    data: int | None = None


class SpotOrder(Struct, gc=False, rename="camel"):
    """An order of spot's lists."""

    symbol: str
    order_id: str | int
    side: str
    type: str
    status: str
    executed_qty: Raw
    client_order_id: str | None = None
    price: Raw = ABSENT
    orig_qty: Raw = ABSENT
    filled_value: Raw = field(name="cummulativeQuoteQty", default=ABSENT)
    stop_price: Raw = ABSENT
    time: int | str | None = None
    update_time: int | str | None = None


class SpotTrade(Struct, gc=False, rename="camel"):
    """An execution of spot's ``myTrades``."""

    symbol: str
    id: str | int
    order_id: str | int
    price: Raw
    qty: Raw
    time: int | str
    is_buyer: bool
    commission: Raw = ABSENT
    commission_asset: str | None = None
    is_maker: bool | None = None
    is_self_trade: bool | None = None
    client_order_id: str | None = None


class SpotAsset(Struct, gc=False):
    """One asset of spot's ``account``."""

    asset: str
    free: Raw
    locked: Raw


class SpotAccount(Struct, gc=False):
    """Spot's ``account``."""

    balances: list[Raw]


class ContractOrder(Struct, gc=False, rename="camel"):
    """An order of futures, pushed or listed. ``version`` grows with every change of it."""

    symbol: str
    order_id: str | int
    side: int
    order_type: int
    state: int
    vol: Raw
    deal_vol: Raw
    category: int = 1
    price: Raw = ABSENT
    remain_vol: Raw = ABSENT
    deal_avg_price: Raw = ABSENT
    external_oid: str | None = None
    error_code: int | None = None
    create_time: int | None = None
    update_time: int | None = None
    version: int | None = None
    position_mode: int | None = None
    reduce_only: bool | None = None


class Deal(Struct, gc=False, rename="camel"):
    """An execution of futures, pushed or listed; some lists call ``isTaker`` ``taker``."""

    symbol: str
    id: str | int
    side: int
    vol: Raw
    price: Raw
    timestamp: int
    order_id: str | int | None = None
    category: int = 1
    fee: Raw = ABSENT
    fee_currency: str | None = None
    profit: Raw = ABSENT
    is_taker: bool | None = None
    taker: bool | None = None
    external_oid: str | None = None
    position_mode: int | None = None


class PositionRow(Struct, gc=False, rename="camel"):
    """A position of futures, pushed or listed."""

    symbol: str
    hold_vol: Raw
    position_type: int
    open_type: int | None = None
    hold_avg_price: Raw = ABSENT
    liquidate_price: Raw = ABSENT
    realised: Raw = ABSENT
    leverage: Raw = ABSENT
    update_time: int | None = None


class AssetRow(Struct, gc=False, rename="camel"):
    """A currency of the futures wallet, pushed or listed."""

    currency: str
    available_balance: Raw
    frozen_balance: Raw = ABSENT
    cash_balance: Raw = ABSENT
    equity: Raw = ABSENT
    unrealized: Raw = ABSENT


class MomentRow(Struct, gc=False, rename="camel"):
    """What a reconciliation has to know of any row; its time is in one of the three fields."""

    symbol: str | None = None
    order_id: str | int | None = None
    time: int | str | None = None
    timestamp: int | None = None
    create_time: int | None = None

    def moment_ms(self) -> int:
        """The time; 0 where there is none."""
        time = self.time or self.timestamp or self.create_time or 0
        return time if isinstance(time, int) else _whole(time)


class Answer(Struct, gc=False):
    """A REST reply of futures."""

    success: bool
    data: Raw = ABSENT


complaint: Final = Decoder(Complaint).decode
key_reply: Final = Decoder(KeyReply).decode
keys_reply: Final = Decoder(KeysReply).decode
clock_reply: Final = Decoder(ClockReply).decode
spot_order: Final = Decoder(SpotOrder).decode
spot_trade: Final = Decoder(SpotTrade).decode
spot_asset: Final = Decoder(SpotAsset).decode
spot_account: Final = Decoder(SpotAccount).decode
contract_order: Final = Decoder(ContractOrder).decode
deal: Final = Decoder(Deal).decode
position_row: Final = Decoder(PositionRow).decode
asset_row: Final = Decoder(AssetRow).decode
moment_row: Final = Decoder(MomentRow).decode
answer: Final = Decoder(Answer).decode
rows: Final = Decoder(list[Raw]).decode


def figure(raw: Raw) -> str:
    """The text of a number, which may stand in quotes; empty where there is none."""
    value = str(raw, "latin-1")
    return "" if value == "null" else value.strip('"')


def identity(value: str | int | None, field: str) -> str:
    """An id, which some messages write as text and others as a number; raises ParseError(``missing_field``)."""
    if value is None or value == "":
        raise ParseError("missing_field", f"{field} was empty")
    return str(value)


def moment(milliseconds: int | str | None, field: str) -> int | None:
    """A venue time in nanoseconds, None where there is none (0 or left out); raises ParseError(``bad_time``)."""
    try:
        return nanoseconds(_whole(milliseconds) if isinstance(milliseconds, str) else milliseconds)
    except ParseError as error:
        raise ParseError(error.code, f"{field}: {error.detail}") from error


def _whole(text: str) -> int:
    """A time that is text: 0 where it is empty, before all times where it is none."""
    if not text:
        return 0
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1


def named_symbol(data: bytes | Raw) -> tuple[str, ...]:
    """The native symbol that a row or a push names; nothing where it can't be read."""
    try:
        symbol = decoded(moment_row, data).symbol
    except ParseError:
        return ()
    return (symbol,) if symbol else ()


def complaint_of(reply: RestReply) -> int | None:
    """The venue's code of an error; None where the reply is none."""
    if not reply.body.lstrip().startswith(b"{"):
        return None
    try:
        said = decoded(complaint, reply.body)
    except ParseError:
        return None
    return None if said.success or not said.code else said.code


def rows_of(reply: RestReply, what: str) -> list[Raw]:
    """The rows of a list; raises ParseError for a reply that is none, or one that the venue refused.

    Spot: ``order`` is one row, ``account`` has its assets in an object. Futures: ``data`` of the reply, a list or one
    row.
    """
    code = complaint_of(reply)
    if reply.status != 200 or code is not None:
        raise ParseError("unknown_event", f"{what} was answered with status {reply.status} and code {code}")
    if what == "account":
        return decoded(spot_account, reply.body).balances
    if what == "order":
        return [Raw(reply.body)]
    if "/" not in what:
        return decoded(rows, reply.body)
    answered = decoded(answer, reply.body)
    if not answered.success or not answered.data:
        raise ParseError("unknown_event", f"{what} was answered without data")
    return [answered.data] if bytes(answered.data).startswith(b"{") else decoded(rows, answered.data)
