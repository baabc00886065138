"""Canonical messages of the account plane: what risk managers and strategies get, whatever the venue.

The common fields and the rules for numbers and times are those of :mod:`shared.messages`. A body on the AMQP exchange
``account`` is a JSON array of one message or more of one routing key, ``<feed>.<exchange>.<account>.<symbol>`` (for a
balance its asset, ``_`` for what concerns the whole account). Sizes are in base units, ``*_native`` holds the venue's
own number where it differs (contracts).

``source`` is ``stream`` for what the venue pushed and ``rest`` for what a reconciliation found.
"""

from typing import ClassVar, Final, Literal

from msgspec import DecodeError, json

from shared.messages import Message, Side, routing_word, shortened_key

__all__ = [
    "ACCOUNT_FEEDS",
    "ACCOUNT_MESSAGE_TYPES",
    "OPEN_STATUSES",
    "AccountMessage",
    "AccountState",
    "AccountStatus",
    "AnyAccountMessage",
    "Balance",
    "Fill",
    "FillKind",
    "Leg",
    "Liquidity",
    "Order",
    "OrderStatus",
    "OrderType",
    "Position",
    "Source",
    "TimeInForce",
    "account_key",
    "decode_account_messages",
    "encode_account_messages",
]

Source = Literal["stream", "rest"]

OrderStatus = Literal[
    "pending",  # accepted, not in the book yet: a trigger, a list, a venue's own check
    "new",  # in the book, nothing filled
    "partially_filled",  # in the book, some of it filled
    "filled",
    "canceled",  # by whom it may be; `filled_size` may be more than 0
    "rejected",
    "expired",
    "triggered",  # a conditional order that became another order
]
OPEN_STATUSES: Final = frozenset({"pending", "new", "partially_filled"})
"""All others are final: nothing of such an order changes any more."""

OrderType = Literal["limit", "market", "stop", "stop_limit", "take_profit", "trailing_stop", "liquidation", "unknown"]
TimeInForce = Literal["gtc", "ioc", "fok", "gtd", "post_only", "unknown"]
Liquidity = Literal["maker", "taker", "unknown"]
FillKind = Literal["trade", "liquidation", "adl", "settlement", "block", "unknown"]
Leg = Literal["net", "long", "short"]
"""``net`` in one-way mode, the others in hedge mode: three separate positions of one instrument."""

AccountState = Literal["connecting", "authenticated", "reconciled", "stale", "failed"]


class AccountMessage(Message, frozen=True, gc=False):
    """What every message of an account carries: the account's name in the settings."""

    account: str


class Order(AccountMessage, frozen=True, gc=False, tag="order"):
    """An order as it is now. ``price`` is null for market orders.

    ``ts_updated`` is the venue's time of the change; ``remaining_size`` what was still open then, or, once it is
    final, what was left unfilled.
    """

    feed: ClassVar[str] = "order"
    order_id: str
    client_order_id: str | None
    side: Side
    order_type: OrderType
    status: OrderStatus
    price: str | None
    size: str | None
    filled_size: str
    source: Source
    remaining_size: str | None = None
    average_price: str | None = None
    stop_price: str | None = None
    time_in_force: TimeInForce | None = None
    leg: Leg | None = None
    reduce_only: bool | None = None
    reason: str | None = None
    ts_created: int | None = None
    ts_updated: int | None = None
    size_native: str | None = None
    filled_size_native: str | None = None


class Fill(AccountMessage, frozen=True, gc=False, tag="fill"):
    """One execution of one order. ``(exchange, account, symbol, execution_id)`` comes once.

    A positive ``fee`` is a cost, a negative one a rebate; ``fee_asset`` is null where the venue does not say which.
    ``ts_exchange`` is the time of the execution.
    """

    feed: ClassVar[str] = "fill"
    execution_id: str
    order_id: str | None
    client_order_id: str | None
    side: Side
    price: str
    size: str
    liquidity: Liquidity
    kind: FillKind
    source: Source
    fee: str | None = None
    fee_asset: str | None = None
    realized_pnl: str | None = None
    leg: Leg | None = None
    size_native: str | None = None


class Balance(AccountMessage, frozen=True, gc=False, tag="balance"):
    """What the account holds of an asset. Null: the venue does not tell, which is not 0.

    ``total`` is the wallet balance, ``available`` what can be used, ``locked`` what orders hold. ``change`` is what
    this event added (a deposit, a funding payment; negative: taken), where the venue tells that; ``reason`` a word
    (``funding``, ``transfer``, ``trade``, …). ``symbol`` is that of the contract whose funding it is, else null: the
    routing key always has the asset.
    """

    feed: ClassVar[str] = "balance"
    asset: str
    total: str | None
    available: str | None
    locked: str | None
    source: Source
    equity: str | None = None
    borrowed: str | None = None
    unrealized_pnl: str | None = None
    change: str | None = None
    reason: str | None = None


class Position(AccountMessage, frozen=True, gc=False, tag="position"):
    """A position of one leg of an instrument; ``size`` is never negative, ``side`` is null when it is flat (size 0)."""

    feed: ClassVar[str] = "position"
    leg: Leg
    side: Literal["long", "short"] | None
    size: str
    source: Source
    entry_price: str | None = None
    mark_price: str | None = None
    liquidation_price: str | None = None
    unrealized_pnl: str | None = None
    realized_pnl: str | None = None
    leverage: str | None = None
    margin_mode: Literal["cross", "isolated"] | None = None
    size_native: str | None = None


class AccountStatus(AccountMessage, frozen=True, gc=False, tag="account_status"):
    """What is known of the account: tells "nothing happened" from "we don't know".

    - ``connecting``: a connection to the venue is being made, or was just made.
    - ``authenticated``: logged in and subscribed; live events come, what happened before is being fetched.
    - ``reconciled``: everything up to ``ts_reconciled`` (ns, the venue's clock) has been told. Repeated every few
      seconds while that holds: a consumer that hears none for longer does not know either.
    - ``stale``: the connection or the last reconciliation failed; what happened since is not known yet.
    - ``failed``: the venue refuses the key, or the journal can't be written. Somebody has to act.

    ``product`` is null where the stream carries several.
    """

    feed: ClassVar[str] = "account_status"
    status: AccountState
    product: str | None = None
    reason: str | None = None
    detail: str | None = None
    ts_reconciled: int | None = None


AnyAccountMessage = Order | Fill | Balance | Position | AccountStatus
ACCOUNT_MESSAGE_TYPES: tuple[type[AccountMessage], ...] = (Order, Fill, Balance, Position, AccountStatus)
ACCOUNT_FEEDS: frozenset[str] = frozenset(kind.feed for kind in ACCOUNT_MESSAGE_TYPES)

_encode = json.Encoder().encode
_decode = json.Decoder(list[AnyAccountMessage]).decode


def encode_account_messages(messages: list[AccountMessage]) -> bytes:
    """The body of one AMQP message: a JSON array, in order."""
    return _encode(messages)


def decode_account_messages(body: bytes) -> list[AnyAccountMessage]:
    """The reverse, for consumers; raises ``msgspec.DecodeError`` (``msgspec.ValidationError`` is one)."""
    try:
        return _decode(body)
    except RecursionError as error:
        raise DecodeError(str(error)) from error


def account_key(feed: str, exchange: str, account: str, symbol: str | None) -> str:
    """``<feed>.<exchange>.<account>.<symbol>``, the words written as in :func:`shared.messages.routing_key`."""
    return shortened_key(f"{feed}.{exchange}.{routing_word(account)}.{routing_word(symbol)}")
