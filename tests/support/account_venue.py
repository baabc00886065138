"""A venue with one account, as a ledger: what happened, what it pushes of that, and what its REST endpoints answer.

Times are the venue's, in ms. Independent of what is under test, but for the shapes of the messages.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from msgspec.structs import replace

from shared.accounts.base import Found
from shared.accounts.messages import AccountMessage, Balance, Order, OrderStatus
from shared.instruments import Instrument
from tests.support.accounts import SPOT, T0_MS, balance, fill, found, order, position

__all__ = ["Execution", "LedgerOrder", "RestReader", "Venue"]

PRICE = Decimal(5)
ZERO = Decimal(0)


@dataclass(slots=True)
class LedgerOrder:
    """An order as the venue has it."""

    order_id: str
    instrument: Instrument
    size: Decimal
    price: Decimal = PRICE
    filled: Decimal = ZERO
    status: OrderStatus = "new"
    updated: int = 0

    @property
    def open(self) -> bool:
        return self.status in {"new", "partially_filled"}


@dataclass(frozen=True, slots=True)
class Execution:
    """One fill."""

    execution_id: str
    order_id: str
    instrument: Instrument
    size: Decimal
    at: int


@dataclass(slots=True)
class Venue:
    """The ledger. Every method that makes something happen gives what is pushed of it: a list of frames."""

    now: int = T0_MS
    orders: dict[str, LedgerOrder] = field(default_factory=dict)
    executions: list[Execution] = field(default_factory=list)
    balances: dict[str, tuple[Decimal, int]] = field(default_factory=dict)
    funding: list[tuple[str, Decimal, int]] = field(default_factory=list)
    position: Decimal = ZERO
    position_at: int = 0

    def tick(self, ms: int = 1) -> int:
        """Time passes; no two things happen at one moment, but the fills of one match."""
        self.now += ms
        return self.now

    def place(self, instrument: Instrument, size: int) -> list[Found]:
        """A new order."""
        at = self.tick()
        made = LedgerOrder(f"o{len(self.orders)}", instrument, Decimal(size), updated=at)
        self.orders[made.order_id] = made
        return [found(self.order(made))]

    def amend(self, it: LedgerOrder, price: int) -> list[Found]:
        """Another price."""
        it.price, it.updated = Decimal(price), self.tick()
        return [found(self.order(it))]

    def match(self, it: LedgerOrder, sizes: Sequence[int], *, apart: bool) -> list[Found]:
        """Fills at one moment; ``apart``: fills, order and holdings in frames of their own."""
        at = self.tick()
        fills: list[AccountMessage] = []
        for size in sizes:
            amount = min(Decimal(size), it.size - it.filled)
            if amount:
                made = Execution(str(len(self.executions) + 1), it.order_id, it.instrument, amount, at)
                self.executions.append(made)
                fills.append(self.fill(made))
                it.filled += amount
        it.status = "filled" if it.filled == it.size else "partially_filled"
        it.updated = at
        done = sum((each.size for each in self.executions if each.at == at), ZERO)
        holdings: list[AccountMessage] = []
        if it.instrument is SPOT:
            holdings += [self.credit("ADA", done), self.credit("USDT", -done * PRICE)]
        else:
            self.position, self.position_at = self.position + done, at
            holdings.append(position("net", str(self.position), at_ms=at))
        if apart:
            return [*map(found, fills), found(self.order(it)), found(*holdings)]
        return [found(*fills, self.order(it), *holdings)]

    def cancel(self, it: LedgerOrder, *, bare: bool) -> list[Found]:
        """An end without a fill; ``bare``: the push leaves out what was filled."""
        it.status, it.updated = "canceled", self.tick()
        told = self.order(it)
        return [found(replace(told, filled_size="0") if bare else told)]

    def close(self) -> list[Found]:
        """The position is closed outside of any order here."""
        self.position, self.position_at = ZERO, self.tick()
        return [found(position("net", "0", at_ms=self.position_at))]

    def pay(self, amount: int, reason: str) -> list[Found]:
        """A change of USDT, and the balance in a frame of its own."""
        told = self.credit("USDT", Decimal(amount))
        at = self.now
        self.funding.append((reason, Decimal(amount), at))
        change = balance("USDT", None, at_ms=at, change=str(amount), reason=reason)
        return [found(changes=[change]), found(told)]

    def credit(self, asset: str, amount: Decimal) -> Balance:
        """The balance after a change, now."""
        held, _ = self.balances.get(asset, (ZERO, 0))
        self.balances[asset] = held + amount, self.tick()
        return balance(asset, str(held + amount), at_ms=self.now)

    @staticmethod
    def order(it: LedgerOrder, source: str = "stream") -> Order:
        return order(
            it.order_id,
            it.status,
            str(it.filled),
            at_ms=it.updated,
            instrument=it.instrument,
            size=str(it.size),
            price=str(it.price),
            source="rest" if source == "rest" else "stream",
        )

    @staticmethod
    def fill(it: Execution, source: str = "stream") -> AccountMessage:
        return fill(
            it.execution_id,
            str(it.size),
            at_ms=it.at,
            order_id=it.order_id,
            instrument=it.instrument,
            source="rest" if source == "rest" else "stream",
        )


class RestReader:
    """One reconciliation: every list is as the venue has it at the moment of its own answer."""

    STAGES = ("open_orders", "ended_orders", "executions", "holdings")

    def __init__(self, venue: Venue, since: int) -> None:
        self._venue = venue
        self.since = since
        self.until = venue.now
        self.stage = 0
        self._messages: list[AccountMessage] = []
        self._changes: list[Balance] = []

    @property
    def complete(self) -> bool:
        return self.stage == len(self.STAGES)

    def ask(self) -> None:
        """The next list."""
        getattr(self, f"_{self.STAGES[self.stage]}")()
        self.stage += 1

    def found(self) -> Found:
        return found(
            *self._messages,
            changes=self._changes,
            open_orders_of=("spot", "linear"),
            positions_of=("linear",),
            all_balances=True,
        )

    def _open_orders(self) -> None:
        self._messages += [Venue.order(each, "rest") for each in self._venue.orders.values() if each.open]

    def _ended_orders(self) -> None:
        ended = [each for each in self._venue.orders.values() if not each.open and each.updated >= self.since]
        self._messages += [Venue.order(each, "rest") for each in reversed(ended)]

    def _executions(self) -> None:
        venue = self._venue
        self._messages += [Venue.fill(each, "rest") for each in reversed(venue.executions) if each.at >= self.since]
        self._changes += [
            balance("USDT", None, at_ms=at, change=str(amount), reason=reason, source="rest")
            for reason, amount, at in venue.funding
            if at >= self.since
        ]

    def _holdings(self) -> None:
        venue = self._venue
        self._messages += [
            balance(asset, str(held), at_ms=None, source="rest") for asset, (held, _) in venue.balances.items() if held
        ]
        if venue.position:
            self._messages.append(position("net", str(venue.position), at_ms=venue.position_at, source="rest"))
