"""What is remembered of an account: plain values, as they are kept in memory and on disk."""

from typing import NamedTuple

from msgspec import Struct, field

from shared.accounts.messages import Balance, Order, Position
from shared.instruments import Instrument

__all__ = [
    "Changes",
    "Header",
    "HeldBalance",
    "HeldPosition",
    "InstrumentKey",
    "Needs",
    "OrderKey",
    "PositionKey",
    "Recalled",
    "SeenKey",
    "Snapshot",
    "Standing",
    "TrackedOrder",
]


class SeenKey(NamedTuple):
    """Something that comes once: an execution (scope: its symbol), or a change of a balance (scope: its asset)."""

    scope: str
    identity: str


class OrderKey(NamedTuple):
    """Order ids are unique within an instrument."""

    symbol: str
    order_id: str


class PositionKey(NamedTuple):
    """One leg of an instrument."""

    symbol: str
    leg: str


class InstrumentKey(NamedTuple):
    """The same native symbol may stand for several instruments of a venue."""

    product: str
    native_symbol: str


class TrackedOrder(Struct, frozen=True, gc=False):
    """An order as it was last told; its ``ts_updated`` is the newest that was heard of it."""

    order: Order
    product: str | None


class HeldBalance(Struct, frozen=True, gc=False):
    """A balance as it was last told.

    ``as_of`` (ns): a pushed balance of an earlier time is outdated. ``covers`` (ns): changes up to then are in it.
    """

    message: Balance
    as_of: int
    covers: int


class HeldPosition(Struct, frozen=True, gc=False):
    """A position as it was last told; ``as_of`` as in :class:`HeldBalance`."""

    message: Position
    product: str | None
    as_of: int


class Standing(Struct):
    """What is known of the account, and what is not; see :mod:`shared.accounts.state_standing`."""

    phase: str = "connecting"
    reason: str | None = None
    detail: str | None = None
    connected: bool = True
    covered_ms: int | None = None
    """Reconciliations without a hole between them cover the venue's time up to here."""
    begun_ms: int | None = None
    """When the first frame came (our clock)."""
    missing: str | None = None
    """Why events may be missing that only a reconciliation can bring."""
    missing_detail: str | None = None
    wanted: int = 0
    """How many whole reconciliations it takes until they have been told for certain."""
    vanished: list[OrderKey] = []
    said: tuple[str, str | None, str | None] = ("connecting", None, None)
    """Status, reason and detail as they were last told."""


class Header(Struct):
    """Up to where a stream was dealt with: the epoch and the number of the next frame in it."""

    epoch: int | None = None
    next: int = 0
    standing: Standing = field(default_factory=Standing)


class Changes(Struct):
    """What a commit writes; ``seen`` maps to the venue's time (ns)."""

    seen: dict[SeenKey, int] = {}
    orders: dict[OrderKey, TrackedOrder] = {}
    balances: dict[str, HeldBalance] = {}
    positions: dict[PositionKey, HeldPosition] = {}
    instruments: dict[InstrumentKey, Instrument] = {}


class Needs(NamedTuple):
    """What has to be looked up on disk before a frame can be judged."""

    seen: list[SeenKey]
    orders: list[OrderKey]


class Recalled(NamedTuple):
    """What was found of it; what was not is unknown."""

    seen: set[SeenKey]
    orders: dict[OrderKey, TrackedOrder]


class Snapshot(Struct):
    """Everything that is held in memory, as it was at the last commit: of the orders those that are open."""

    header: Header
    orders: dict[OrderKey, TrackedOrder]
    balances: dict[str, HeldBalance]
    positions: dict[PositionKey, HeldPosition]
    instruments: list[Instrument]
