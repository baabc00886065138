"""What is known of an account at one moment: immutable, so that yesterday's can be shown beside today's."""

from dataclasses import dataclass
from decimal import Decimal

from services.simulator.accounts.amounts import ZERO
from services.simulator.instruments import Instrument

__all__ = [
    "OPEN",
    "AssetChange",
    "AssetRecord",
    "Execution",
    "Funding",
    "Happening",
    "OrderRecord",
    "PositionRecord",
    "Transfer",
]

OPEN = frozenset({"new", "partially_filled"})
"""Statuses of an order that can still change; filled, canceled, rejected and expired are final."""


@dataclass(frozen=True, slots=True)
class OrderRecord:
    """An order. ``kind`` is limit, market, liquidation or adl; ``tif`` gtc, ioc, fok or post_only.

    ``tick`` is None for orders without a price. ``leg`` is net, long or short. ``value`` is what was filled, in quote
    currency (inverse: in the base coin); ``taker_fee`` the part of ``fee`` that was paid as taker. ``cause`` says why
    it ended: user, immediate, post_only, self_match, liquidation, or nothing. ``number`` counts the wallet's orders,
    ``version`` the changes of this one.
    """

    id: str
    number: int
    client_id: str
    instrument: Instrument
    buy: bool
    kind: str
    tif: str
    tick: int | None
    lots: int
    leg: str
    reduce_only: bool
    created_ns: int
    updated_ns: int
    status: str = "new"
    cause: str = ""
    filled_lots: int = 0
    value: Decimal = ZERO
    fee: Decimal = ZERO
    taker_fee: Decimal = ZERO
    fee_asset: str = ""
    realized: Decimal = ZERO
    cancel_id: str = ""
    version: int = 1

    @property
    def open(self) -> bool:
        """Whether it can still change."""
        return self.status in OPEN

    @property
    def remaining_lots(self) -> int:
        """Lots not filled."""
        return self.lots - self.filled_lots


@dataclass(frozen=True, slots=True)
class Execution:
    """One fill of one order, which is as it was after it. ``kind`` is trade, liquidation or adl.

    ``trade`` is the number of the public trade; ``fee`` is positive where it costs; ``closed_lots`` is how much of a
    position it closed, with the profit ``realized``.
    """

    id: str
    trade: int
    sequence: int
    order: OrderRecord
    tick: int
    lots: int
    maker: bool
    kind: str
    fee: Decimal
    fee_asset: str
    fee_rate: Decimal
    realized: Decimal
    closed_lots: int
    ts_ns: int


@dataclass(frozen=True, slots=True)
class Funding:
    """One payment of one position; ``amount`` is positive where the account paid."""

    id: str
    instrument: Instrument
    leg: str
    lots: int
    price: Decimal
    rate: Decimal
    amount: Decimal
    asset: str
    sequence: int
    ts_ns: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """A deposit, or with a negative ``amount`` a withdrawal."""

    asset: str
    amount: Decimal
    ts_ns: int


@dataclass(frozen=True, slots=True)
class AssetRecord:
    """``total`` is the wallet's balance; the rest says what of it is not free.

    ``locked`` is what spot orders hold, ``order_margin`` and ``position_margin`` what contracts hold; ``realized`` the
    sum of profits and losses of contracts.
    """

    asset: str
    total: Decimal = ZERO
    locked: Decimal = ZERO
    order_margin: Decimal = ZERO
    position_margin: Decimal = ZERO
    realized: Decimal = ZERO
    updated_ns: int = 0

    @property
    def available(self) -> Decimal:
        """What can be used."""
        return self.total - self.locked - self.order_margin - self.position_margin


@dataclass(frozen=True, slots=True)
class AssetChange:
    """An asset before and after something happened."""

    before: AssetRecord
    after: AssetRecord


@dataclass(frozen=True, slots=True)
class PositionRecord:
    """One leg of one instrument; ``lots`` is negative for a short. ``entry`` is 0 while it is flat.

    ``realized`` counts since it was last flat, ``total_realized`` since ever; ``closed_lots`` and ``closed_value``
    since it was last flat; ``paid_funding`` likewise, positive where the account paid.
    """

    instrument: Instrument
    leg: str
    id: int
    lots: int = 0
    entry: Decimal = ZERO
    realized: Decimal = ZERO
    total_realized: Decimal = ZERO
    closed_lots: int = 0
    closed_value: Decimal = ZERO
    paid_funding: Decimal = ZERO
    opened_ns: int = 0
    updated_ns: int = 0
    sequence: int = -1


@dataclass(frozen=True, slots=True)
class Happening:
    """One thing that happened to a wallet, with everything it changed.

    ``kind`` is new, amended, fill, ended (an order that was canceled, rejected or expired), funding or transfer.
    """

    ts_ns: int
    kind: str
    number: int = 0
    order: OrderRecord | None = None
    execution: Execution | None = None
    funding: Funding | None = None
    transfer: Transfer | None = None
    positions: tuple[PositionRecord, ...] = ()
    assets: tuple[AssetChange, ...] = ()
