"""One wallet of one account: balances, orders and positions, and everything that happened to them."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from services.simulator.accounts.amounts import ZERO, fee_of, native_size, price_of, value_of
from services.simulator.accounts.clearing import cleared
from services.simulator.accounts.holdings import assets_of, held_of
from services.simulator.accounts.identities import Identities
from services.simulator.accounts.records import (
    AssetChange,
    AssetRecord,
    Execution,
    Funding,
    Happening,
    OrderRecord,
    PositionRecord,
    Transfer,
)
from services.simulator.accounts.rules import WalletRules
from services.simulator.accounts.view import LaggingView, View
from services.simulator.engine import Trade
from services.simulator.instruments import Instrument

__all__ = ["Wallet"]


class Wallet:
    """Every change is a :class:`Happening`, kept in ``happenings``; ``view`` is what they come to.

    Times never go backwards, however the clock is set.
    """

    def __init__(
        self, rules: WalletRules, identities: Identities, balances: Mapping[str, Decimal], now_ns: int
    ) -> None:
        self.rules = rules
        self.identities = identities
        self.happenings: list[Happening] = []
        self.view = View()
        self._lagging = LaggingView(self.happenings)
        self._last_ns = now_ns
        for asset, amount in balances.items():
            self.transfer(asset, amount, now_ns)

    def as_of(self, ts_ns: int | None) -> View:
        """The wallet as it was at a time; None for now."""
        return self.view if ts_ns is None else self._lagging.at(ts_ns)

    def asset(self, name: str) -> AssetRecord:
        """What is held of an asset."""
        return self.view.assets.get(name) or AssetRecord(name)

    def position(self, instrument: Instrument, leg: str) -> PositionRecord:
        """A leg, flat where there never was one."""
        key = (instrument.product, instrument.native_symbol, leg)
        return self.view.positions.get(key) or PositionRecord(instrument, leg, self.identities.position())

    def place(self, order: OrderRecord) -> Happening:
        """An order was accepted."""
        return self._put(Happening(self.stamp(order.created_ns), "new", order=order))

    def amend(self, order: OrderRecord, tick: int, lots: int, ts_ns: int) -> Happening:
        """Price or size were changed."""
        ts_ns = self.stamp(ts_ns)
        changed = replace(order, tick=tick, lots=lots, updated_ns=ts_ns, version=order.version + 1)
        return self._put(Happening(ts_ns, "amended", order=changed))

    def end(self, order: OrderRecord, status: str, cause: str, ts_ns: int, cancel_id: str = "") -> Happening:
        """An order came to an end before it was filled."""
        ts_ns = self.stamp(ts_ns)
        version = order.version + (order.id in self.view.orders)
        ended = replace(order, status=status, cause=cause, cancel_id=cancel_id, updated_ns=ts_ns, version=version)
        return self._put(Happening(ts_ns, "ended", order=ended))

    def fill(self, order: OrderRecord, trade: Trade, *, maker: bool, kind: str) -> Happening:
        """A part of an order was filled: the order, the money and the position in one."""
        ts_ns, instrument = self.stamp(trade.ts_ns), order.instrument
        price = price_of(instrument, trade.tick)
        value = value_of(instrument, trade.lots, price)
        rate = self.rules.fees[instrument.product][0 if maker else 1]
        fee, fee_asset = self._fee(order, trade.lots, value, rate)
        totals, realized, closed_lots = {fee_asset: -fee}, ZERO, 0
        positions: tuple[PositionRecord, ...] = ()
        if instrument.is_spot:
            sign = 1 if order.buy else -1
            for asset, amount in (
                (instrument.base, sign * native_size(instrument, trade.lots)),
                (instrument.quote, -sign * value),
            ):
                totals[asset] = totals.get(asset, ZERO) + amount
        else:
            held = self._opened(self.position(instrument, order.leg))
            after = cleared(held, trade.lots if order.buy else -trade.lots, trade.tick, ts_ns, trade.sequence)
            positions, realized, closed_lots = (after.position,), after.realized, after.closed_lots
            totals[instrument.settle] = totals.get(instrument.settle, ZERO) + realized
        filled = order.filled_lots + trade.lots
        changed = replace(
            order,
            status="filled" if filled == order.lots else "partially_filled",
            filled_lots=filled,
            value=order.value + value,
            fee=order.fee + fee,
            taker_fee=order.taker_fee + (ZERO if maker else fee),
            fee_asset=fee_asset,
            realized=order.realized + realized,
            updated_ns=ts_ns,
            version=order.version + 1,
        )
        execution = Execution(
            self.identities.execution(trade.id, order),
            trade.id,
            trade.sequence,
            changed,
            trade.tick,
            trade.lots,
            maker,
            kind,
            fee,
            fee_asset,
            rate,
            realized,
            closed_lots,
            ts_ns,
        )
        happening = Happening(ts_ns, "fill", order=changed, execution=execution, positions=positions)
        return self._put(happening, totals, realized)

    def fund(self, position: PositionRecord, mark: Decimal, rate: Decimal, sequence: int, ts_ns: int) -> Happening:
        """A position paid (or got) funding: longs pay a positive rate."""
        instrument, ts_ns = position.instrument, self.stamp(ts_ns)
        paid = fee_of(value_of(instrument, position.lots, mark), rate)
        funding = Funding(
            self.identities.uuid(),
            instrument,
            position.leg,
            position.lots,
            mark,
            rate,
            paid,
            instrument.settle,
            sequence,
            ts_ns,
        )
        after = replace(position, paid_funding=position.paid_funding + paid, updated_ns=ts_ns)
        happening = Happening(ts_ns, "funding", funding=funding, positions=(after,))
        return self._put(happening, {instrument.settle: -paid})

    def transfer(self, asset: str, amount: Decimal, ts_ns: int) -> Happening:
        """A deposit, or a withdrawal."""
        moved = Transfer(asset, amount, self.stamp(ts_ns))
        return self._put(Happening(moved.ts_ns, "transfer", transfer=moved), {asset: amount})

    def _fee(self, order: OrderRecord, lots: int, value: Decimal, rate: Decimal) -> tuple[Decimal, str]:
        instrument = order.instrument
        if not instrument.is_spot:
            return fee_of(value, rate), instrument.settle
        if self.rules.received and order.buy:
            return fee_of(native_size(instrument, lots), rate), instrument.base
        return fee_of(value, rate), instrument.quote

    def _opened(self, position: PositionRecord) -> PositionRecord:
        """A flat leg gets a new id when it is opened again."""
        return (
            position if position.lots or not position.updated_ns else replace(position, id=self.identities.position())
        )

    def stamp(self, ts_ns: int) -> int:
        """A time that is not before anything that happened."""
        self._last_ns = max(self._last_ns, ts_ns)
        return self._last_ns

    def _put(
        self, happening: Happening, totals: Mapping[str, Decimal] | None = None, realized: Decimal = ZERO
    ) -> Happening:
        """Put down what happened; locks and margins follow from the orders and positions as they are then.

        ``totals`` are changes of balances, ``realized`` a profit of contracts that is among them.
        """
        order = happening.order
        orders = {**self.view.open}
        if order is not None:
            orders[order.id] = order
            if not order.open:
                del orders[order.id]
        positions = {**self.view.positions}
        for one in happening.positions:
            positions[one.instrument.product, one.instrument.native_symbol, one.leg] = one
        changes = []
        for name, amount in {**dict.fromkeys(assets_of(order), ZERO), **(totals or {})}.items():
            before = self.asset(name)
            gained = realized if order is not None and name == order.instrument.settle else ZERO
            held = held_of(before, orders, positions, self.rules.leverage)
            after = replace(held, total=before.total + amount, realized=before.realized + gained)
            if after != before:
                changes.append(AssetChange(before, replace(after, updated_ns=happening.ts_ns)))
        happening = replace(happening, number=len(self.happenings), assets=tuple(changes))
        self.happenings.append(happening)
        self.view.apply(happening)
        return happening
