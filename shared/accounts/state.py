"""An account's state: what of the things that frames say is new, and in which order it is told. No I/O, no clock.

Every execution and every change of a balance is told once, by whichever way it came first. Orders never go backwards;
balances and positions are those that were pushed last. What a reconciliation found is told fills first, in the order of
their executions. Nothing is guessed: an order that is open and that the venue does not know any more stays open, and
the account stale, until a reconciliation finds its end.

Venues list orders that ended long ago, too. One that ended before what a reconciliation is about, and that is not known
to be open, is no news: it was told, and what was told is not remembered for ever; or nobody had the account here then.

The state holds what is open. Of the rest (executions told, orders that ended) it asks for what a frame needs
(:meth:`AccountState.needs`), so that it need not hold weeks of it. A frame that is taken twice from the same state
gives the same messages.
"""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from shared.accounts import state_absent as absent
from shared.accounts import state_holdings as holdings
from shared.accounts import state_orders as orders
from shared.accounts import state_standing as standings
from shared.accounts.base import Found
from shared.accounts.messages import OPEN_STATUSES, AccountMessage, AccountStatus, Balance, Fill, Order, Position
from shared.accounts.state_orders import Verdict
from shared.accounts.state_records import (
    Changes,
    HeldBalance,
    Needs,
    OrderKey,
    PositionKey,
    Recalled,
    SeenKey,
    Snapshot,
    TrackedOrder,
)
from shared.envelope import Reconciliation
from shared.exchanges.output import Origin
from shared.numbers import is_zero

__all__ = ["MILLISECOND", "AccountState", "Told"]

MILLISECOND: Final = 1_000_000
DAY_NS: Final = 86_400 * 1_000_000_000


class Told:
    """What came of one frame, numbered; and how much was left out."""

    __slots__ = ("duplicates", "fills_known", "messages", "stale")

    def __init__(self) -> None:
        self.messages: list[AccountMessage] = []
        self.duplicates = 0
        """Told before."""
        self.fills_known = 0
        """Executions among those."""
        self.stale = 0
        """Older than what was told."""

    def add(self, message: AccountMessage) -> None:
        """Take a message as the frame's next."""
        self.messages.append(replace(message, part=len(self.messages)))


class AccountState:
    """One stream's accounts; ``product_of(symbol, native_symbol)`` says which product lists an instrument."""

    def __init__(
        self,
        account: str,
        product: str | None,
        snapshot: Snapshot,
        product_of: Callable[[str | None, str | None], str | None],
    ) -> None:
        self._account = account
        self._product = product
        self._product_of = product_of
        self.standing = snapshot.header.standing
        self.orders = dict(snapshot.orders)
        """Those that are open."""
        self.balances = dict(snapshot.balances)
        self.positions = dict(snapshot.positions)
        self.changes = Changes()
        """What has changed since the last commit; whoever commits takes it and puts a new one."""

    def needs(self, found: Found) -> Needs:
        """What has to be recalled before :meth:`take`."""
        seen = [_fill_key(fill) for fill in found.fills]
        seen += [holdings.change_key(each) for each in (*found.balances, *(found.changes or ())) if _has_change(each)]
        known = (_order_key(order) for order in found.orders)
        return Needs(
            [key for key in seen if key not in self.changes.seen],
            [key for key in known if key not in self.orders and key not in self.changes.orders],
        )

    def take(self, found: Found, recalled: Recalled, told: Told) -> None:
        """What the venue pushed."""
        for fill in found.fills:
            self._fill(fill, recalled, told)
        for order in found.orders:
            self._order(order, recalled, told)
        self._holdings(found, recalled, told, None)

    def catch_up(
        self, origin: Origin, found: Found, reconciliation: Reconciliation, recalled: Recalled, told: Told
    ) -> bool:
        """What a reconciliation found; False where it leaves a doubt: see ``state_standing.reconciled``."""
        until_ns = reconciliation.until_ms * MILLISECOND
        for fill in sorted(found.fills, key=_execution):
            self._fill(fill, recalled, told)
        since_ns = reconciliation.since_ms * MILLISECOND
        for order in sorted(found.orders, key=orders.ordering):
            self._order(order, recalled, told, since_ns)
        self._holdings(found, recalled, told, until_ns)
        if found.rejections:  # what could not be read may be what is not there
            problem, vanished = found.rejections[0].code, self.standing.vanished
        else:
            problem, vanished = None, self._absent(origin, found, recalled, told, until_ns)
        return standings.reconciled(self.standing, reconciliation.since_ms, reconciliation.until_ms, problem, vanished)

    def _absent(self, origin: Origin, found: Found, recalled: Recalled, told: Told, until_ns: int) -> list[OrderKey]:
        """What is gone without having been named; gives the orders of which nobody knows what became of them."""
        for balance in absent.emptied(self.balances, found, origin, self._account):
            self._balance(balance, recalled, told, until_ns)
        for position in absent.flattened(self.positions, found, origin, self._account):
            self._position(position, told, until_ns)
        return absent.vanished(self.orders, self.standing.vanished, found, origin.epoch, until_ns)

    def listed(self) -> None:
        """Instruments were listed that orders and positions may have been waiting for."""
        for key, tracked in self.orders.items():
            if tracked.product is None:
                product = self._product_of(tracked.order.symbol, tracked.order.native_symbol)
                self.orders[key] = self.changes.orders[key] = replace(tracked, product=product)
        for place, held in self.positions.items():
            if held.product is None:
                product = self._product_of(held.message.symbol, held.message.native_symbol)
                self.positions[place] = self.changes.positions[place] = replace(held, product=product)

    def say(self, origin: Origin, told: Told, *, again: bool = False) -> None:
        """Tell how the account stands, where that has changed or ``again``."""
        verdict = standings.verdict(self.standing)
        if verdict == self.standing.said and not again:
            return
        self.standing.said = verdict
        covered = self.standing.covered_ms if verdict.status == "reconciled" else None
        told.add(
            AccountStatus(
                *absent.head(origin),
                self._account,
                verdict.status,
                self._product,
                verdict.reason,
                verdict.detail,
                None if covered is None else covered * MILLISECOND,
            )
        )

    def _fill(self, fill: Fill, recalled: Recalled, told: Told) -> None:
        if self._first(_fill_key(fill), fill, recalled):
            told.add(fill)
        else:
            told.duplicates += 1
            told.fills_known += 1

    def _first(self, key: SeenKey, message: AccountMessage, recalled: Recalled) -> bool:
        """Whether this comes for the first time; it is remembered."""
        if key in self.changes.seen or key in recalled.seen:
            return False
        at = message.ts_exchange or message.ts_received
        self.changes.seen[key] = min(at, message.ts_received + DAY_NS)  # what is old is measured against the newest
        return True

    def _order(self, order: Order, recalled: Recalled, told: Told, since_ns: int = 0) -> None:
        key = _order_key(order)
        known = self.orders.get(key) or self.changes.orders.get(key) or recalled.orders.get(key)
        before = None if known is None else known.order
        if before is None:
            verdict = Verdict.STALE if orders.ended_before(order, since_ns) else Verdict.NEWER
        else:
            verdict = orders.judge(before, order)
        if verdict is Verdict.STALE:
            told.stale += 1
            return
        if before is not None:
            order = orders.latest(before, orders.joined(before, order, verdict))
        if verdict is Verdict.NEWER:
            told.add(order)
        else:
            told.duplicates += 1
        product = (known and known.product) or self._product_of(order.symbol, order.native_symbol)
        tracked = TrackedOrder(order, product)
        if tracked == known:
            return
        self.changes.orders[key] = tracked
        if order.status in OPEN_STATUSES:
            self.orders[key] = tracked
        else:
            self.orders.pop(key, None)
        if key in self.standing.vanished:
            self.standing.vanished = [each for each in self.standing.vanished if each != key]

    def _holdings(self, found: Found, recalled: Recalled, told: Told, until_ns: int | None) -> None:
        for balance in found.balances:
            self._balance(balance, recalled, told, until_ns)
        for change in found.changes or ():
            self._change(change, recalled, told)
        for position in found.positions:
            self._position(position, told, until_ns)

    def _balance(self, balance: Balance, recalled: Recalled, told: Told, until_ns: int | None) -> None:
        held, known = holdings.balance_of(balance, until_ns), self.balances.get(balance.asset)
        changed = _has_change(balance)
        if changed and not self._first(holdings.change_key(balance), balance, recalled):
            told.duplicates += 1
        elif known is not None and holdings.outdated(known, held):
            told.stale += 1
            if changed:  # the amounts are old, what happened is still news
                self._hold_balance(holdings.added(known, balance), told)
        elif not changed and (
            holdings.same_balance(known.message, balance)
            if known is not None
            else balance.source == "rest" and holdings.holds_nothing(balance)
        ):
            told.duplicates += 1
            if known is not None:
                confirmed = holdings.confirmed_balance(known, held)
                self.balances[balance.asset] = self.changes.balances[balance.asset] = confirmed
        else:
            self._hold_balance(held, told)

    def _change(self, change: Balance, recalled: Recalled, told: Told) -> None:
        if self._first(holdings.change_key(change), change, recalled):
            self._hold_balance(holdings.added(self.balances.get(change.asset), change), told)
        else:
            told.duplicates += 1

    def _hold_balance(self, held: HeldBalance, told: Told) -> None:
        told.add(held.message)
        self.balances[held.message.asset] = self.changes.balances[held.message.asset] = held

    def _position(self, position: Position, told: Told, until_ns: int | None) -> None:
        key = PositionKey(position.symbol or "", position.leg)
        known = self.positions.get(key)
        product = (known and known.product) or self._product_of(position.symbol, position.native_symbol)
        held = holdings.position_of(position, product, until_ns)
        if known is not None and holdings.outdated(known, held):
            told.stale += 1
        elif (
            holdings.same_position(known.message, position)
            if known is not None
            else position.source == "rest" and holdings.is_flat(position)
        ):
            told.duplicates += 1
            if known is not None:
                self.positions[key] = self.changes.positions[key] = holdings.confirmed_position(known, held)
        else:
            told.add(position)
            self.positions[key] = self.changes.positions[key] = held


def _fill_key(fill: Fill) -> SeenKey:
    return SeenKey(fill.symbol or "", fill.execution_id)


def _order_key(order: Order) -> OrderKey:
    return OrderKey(order.symbol or "", order.order_id)


def _has_change(balance: Balance) -> bool:
    return balance.change is not None and not is_zero(balance.change.lstrip("-"))


def _execution(fill: Fill) -> tuple[int, int, str]:
    """By time; at one moment by id, which most venues count up."""
    return fill.ts_exchange or fill.ts_received, len(fill.execution_id), fill.execution_id
