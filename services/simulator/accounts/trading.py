"""Order entry for every account, and the fills that the markets' matching engines make of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from services.simulator.accounts.account import Account, Refused
from services.simulator.accounts.checks import check_funds, check_position, crosses, meets
from services.simulator.accounts.records import Happening, OrderRecord
from services.simulator.accounts.requests import (
    AmendRequest,
    CancelRequest,
    FillRequest,
    OrderRequest,
    lots_of,
    tick_of,
)
from services.simulator.accounts.wallet import Wallet
from services.simulator.engine import Action, Market, Trade
from services.simulator.instruments import Instrument

__all__ = ["MarketKey", "Published", "Trading"]

MOST_OPEN = 500
MOST_HAPPENINGS = 500_000
"""Bounds of one wallet: what is over them is refused."""

MarketKey = tuple[str, str, str]
"""(exchange, product, native symbol)."""

Published = Callable[[Account, Wallet, Happening], None]


class _Owner(NamedTuple):
    account: Account
    wallet: Wallet
    order: OrderRecord
    """As it was when it was entered."""


class Trading:
    """``clock`` is the markets' time, ``offset`` how far a venue's own clock is ahead of it, in ns.

    ``publish`` gets everything that happens, in order.
    """

    def __init__(
        self,
        markets: Mapping[MarketKey, Market],
        clock: Callable[[], int],
        offset: Callable[[str], int],
        publish: Published,
    ) -> None:
        self.markets = markets
        self.clock = clock
        self._offset = offset
        self._publish = publish
        self._owners: dict[tuple[MarketKey, int], _Owner] = {}
        self._entered: dict[tuple[Wallet, str], int] = {}

    def market(self, exchange: str, product: str, symbol: str) -> Market:
        """A market; Refused where there is none."""
        try:
            return self.markets[exchange, product, symbol]
        except KeyError:
            raise Refused(f"{exchange} {product} has no {symbol!r}") from None

    def time(self, exchange: str) -> int:
        """What a venue's clock says."""
        return self.clock() + self._offset(exchange)

    def submit(self, account: Account, request: OrderRequest) -> OrderRecord:
        """Enter an order; the order as it is once what could match at once has matched."""
        market = self.market(account.exchange, request.product, request.symbol)
        wallet = account.wallet(request.product)
        if len(wallet.view.open) >= MOST_OPEN or len(wallet.happenings) >= MOST_HAPPENINGS:
            raise Refused("the wallet has too many orders")
        self.collect([market])
        order = self._order(account, wallet, market.instrument, request)
        check_position(wallet, order)
        check_funds(wallet, market, order)
        rules = wallet.rules
        if order.tif == "post_only" and crosses(market, order):
            self._publish(account, wallet, wallet.end(order, rules.post_only_ends, "post_only", order.created_ns))
            return wallet.view.orders[order.id]
        self.avoid_self_match(account, wallet, market, order)
        self._publish(account, wallet, wallet.place(order))
        if order.tif == "fok" and market.book.fillable(order.tick, buy=order.buy) < order.lots:
            self._end(account, wallet, order, rules.immediate_ends, "immediate")
        else:
            self.enter(account, wallet, market, order)
        return wallet.view.orders[order.id]

    def cancel(self, account: Account, request: CancelRequest) -> OrderRecord:
        """Take an order back."""
        wallet, order, market = self._open(account, request.order_id)
        self._withdraw(wallet, order, market)
        self._end(account, wallet, order, "canceled", "user", request.cancel_id or wallet.identities.client())
        return wallet.view.orders[order.id]

    def amend(self, account: Account, request: AmendRequest) -> OrderRecord:
        """Change an order's price or size; it loses its place in the queue."""
        wallet, order, market = self._open(account, request.order_id)
        instrument, rules = order.instrument, wallet.rules
        if instrument.product not in rules.amends:
            raise Refused(f"{account.exchange} {instrument.product} has no amendments")
        tick = tick_of(instrument, request.price) if request.price else order.tick or 0
        lots = lots_of(instrument, request.size) if request.size else order.lots
        if lots <= order.filled_lots:
            raise Refused("the new size must be more than what is filled")
        if instrument.product in rules.shrinks_only and (tick != order.tick or lots >= order.lots):
            raise Refused("only a smaller size can be asked for")
        if order.tif == "post_only" and crosses(market, replace(order, tick=tick)):
            raise Refused("a post-only order must not take")
        self._withdraw(wallet, order, market)
        happening = wallet.amend(order, tick, lots, self.time(account.exchange))
        self._publish(account, wallet, happening)
        changed = wallet.view.orders[order.id]
        self.avoid_self_match(account, wallet, market, changed)
        self.enter(account, wallet, market, changed)
        return wallet.view.orders[order.id]

    def reach(self, account: Account, request: FillRequest, most_ahead: int | None = None) -> OrderRecord:
        """Let the crowd trade through to a resting order; whoever queues before it is filled, too.

        Nothing happens where more than ``most_ahead`` lots queue before it.
        """
        wallet, order, market = self._open(account, request.order_id)
        wanted = lots_of(order.instrument, request.size) if request.size else order.remaining_lots
        entered = self._entered[wallet, order.id]
        ahead = market.book.ahead(entered)
        if most_ahead is not None and ahead > most_ahead:
            return order
        action = Action("limit", not order.buy, order.tick or 0, ahead + min(wanted, order.remaining_lots))
        market.enter(action, self.clock(), rests=False, tracked=False)
        self.collect([market])
        return wallet.view.orders[order.id]

    def enter(self, account: Account, wallet: Wallet, market: Market, order: OrderRecord) -> None:
        """Match what is left of an order; the rest stays in the book, or the order ends with it."""
        kind = order.kind if order.kind == "liquidation" else "market" if order.tick is None else "limit"
        action = Action(kind, order.buy, order.tick or 0, order.remaining_lots)
        entry = market.enter(action, self.clock(), rests=order.tif in {"gtc", "post_only"})
        self._owners[_key(order.instrument), entry.order] = _Owner(account, wallet, order)
        self._entered[wallet, order.id] = entry.order
        self.collect([market])
        known = wallet.view.orders.get(order.id)
        if not entry.resting:
            self._forget(wallet, order)
            if entry.dropped and known is not None:
                self._end(account, wallet, known, wallet.rules.immediate_ends, "immediate")

    def collect(self, markets: Iterable[Market]) -> None:
        """Book the fills that happened in these markets since the last time, oldest first."""
        trades: list[tuple[Instrument, Trade]] = []
        for market in markets:
            if market.private_trades:
                trades += [(market.instrument, trade) for trade in market.private_trades]
                market.private_trades.clear()
        trades.sort(key=lambda one: (one[1].ts_ns, one[1].id))
        for instrument, trade in trades:
            key = _key(instrument)
            for number, maker in ((trade.maker, True), (trade.taker, False)):
                owner = self._owners.get((key, number))
                if owner is not None:
                    self._fill(owner, trade, maker=maker)

    def withdraw_all(self, account: Account, wallet: Wallet, instrument: Instrument, leg: str) -> None:
        """Cancel every order of a leg, as a venue does before it liquidates it."""
        market = self.markets[_key(instrument)]
        self.collect([market])
        for order in [*wallet.view.open.values()]:
            if order.instrument is instrument and order.leg == leg:
                self._withdraw(wallet, order, market)
                self._end(account, wallet, order, "canceled", "liquidation", wallet.identities.client())

    def _fill(self, owner: _Owner, trade: Trade, *, maker: bool) -> None:
        account, wallet = owner.account, owner.wallet
        order = wallet.view.orders.get(owner.order.id, owner.order)
        kind = order.kind if order.kind == "liquidation" else "trade"
        shifted = trade._replace(ts_ns=trade.ts_ns + self._offset(account.exchange))
        happening = wallet.fill(order, shifted, maker=maker, kind=kind)
        if not wallet.view.orders[order.id].open:
            self._forget(wallet, order)
        self._publish(account, wallet, happening)

    def _order(self, account: Account, wallet: Wallet, instrument: Instrument, request: OrderRequest) -> OrderRecord:
        hedged = wallet.rules.hedged and not instrument.is_spot
        leg = request.leg or ("net" if not hedged else "long" if request.side == "buy" else "short")
        if leg not in (("long", "short") if hedged else ("net",)):
            raise Refused(f"leg must be {'long or short' if hedged else 'net'} here")
        closes = hedged and (request.side == "buy") == (leg == "short")
        now_ns, number = wallet.stamp(self.time(account.exchange)), len(wallet.view.orders) + 1
        return OrderRecord(
            id=wallet.identities.order(number),
            number=number,
            client_id=request.client_id or wallet.identities.client(),
            instrument=instrument,
            buy=request.side == "buy",
            kind="limit" if request.price else "market",
            tif=request.tif if request.price else "ioc",
            tick=tick_of(instrument, request.price) if request.price else None,
            lots=lots_of(instrument, request.size),
            leg=leg,
            reduce_only=(request.reduce_only or closes) and not instrument.is_spot,
            created_ns=now_ns,
            updated_ns=now_ns,
        )

    def _open(self, account: Account, order_id: str) -> tuple[Wallet, OrderRecord, Market]:
        """An open order as it is now, with the fills that nobody took yet; Refused where it is none."""
        for wallet in account.wallets.values():
            known = wallet.view.orders.get(order_id)
            if known is not None:
                market = self.markets[_key(known.instrument)]
                self.collect([market])
                if order_id in wallet.view.open:
                    return wallet, wallet.view.open[order_id], market
        raise Refused(f"no order {order_id!r} is open")

    def avoid_self_match(self, account: Account, wallet: Wallet, market: Market, order: OrderRecord) -> None:
        """Resting orders of the account that this one could meet are taken out first (the older one gives way)."""
        opposite = [
            (market.book.ahead(self._entered[wallet, other.id]), other)
            for other in wallet.view.open.values()
            if other.instrument is order.instrument and other.buy != order.buy and meets(order, other)
        ]
        for _, other in sorted(opposite, key=lambda one: one[0]):
            if market.book.ahead(self._entered[wallet, other.id]) < order.remaining_lots:
                self._withdraw(wallet, other, market)
                self._end(account, wallet, other, wallet.rules.self_match_ends, "self_match")

    def _withdraw(self, wallet: Wallet, order: OrderRecord, market: Market) -> None:
        number = self._entered.pop((wallet, order.id))
        self._owners.pop((_key(order.instrument), number))
        market.withdraw(number, self.clock())

    def _forget(self, wallet: Wallet, order: OrderRecord) -> None:
        number = self._entered.pop((wallet, order.id), None)
        if number is not None:
            self._owners.pop((_key(order.instrument), number), None)

    def _end(
        self, account: Account, wallet: Wallet, order: OrderRecord, status: str, cause: str, cancel_id: str = ""
    ) -> None:
        self._publish(account, wallet, wallet.end(order, status, cause, self.time(account.exchange), cancel_id))


def _key(instrument: Instrument) -> MarketKey:
    return instrument.exchange, instrument.product, instrument.native_symbol
