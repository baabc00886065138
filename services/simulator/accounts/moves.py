"""What a script can do: each move is one decision about the books and the account as they are."""

from collections.abc import Sequence
from random import Random

from services.simulator.accounts.account import Account, Refused
from services.simulator.accounts.amounts import native_size, plain
from services.simulator.accounts.forced import Forced
from services.simulator.accounts.records import OrderRecord
from services.simulator.accounts.requests import (
    AmendRequest,
    CancelRequest,
    FillRequest,
    OrderRequest,
    PositionRequest,
    TimeInForce,
    TransferRequest,
)
from services.simulator.accounts.trading import Trading
from services.simulator.accounts.wallet import Wallet
from services.simulator.engine import Market

__all__ = ["Moves"]

MOST_HELD = 8
"""How many typical orders a position may come to before it is rather made smaller."""

MOST_AHEAD = 40
"""How many typical orders the crowd trades through to reach one of the account's."""

RESTING: tuple[TimeInForce, ...] = ("gtc", "post_only")
IMMEDIATE: tuple[TimeInForce, ...] = ("ioc", "fok")


class Moves:
    """Of one account in these markets; all chance is ``rng``'s. A move that the venue refuses raises Refused."""

    def __init__(
        self, trading: Trading, forced: Forced, account: Account, markets: Sequence[Market], rng: Random
    ) -> None:
        self._trading = trading
        self._forced = forced
        self._account = account
        self._markets = markets
        self._rng = rng
        self._clients = 0
        self.by_name = {
            "rest_near": self._rest_near,
            "rest_deep": self._rest_deep,
            "market": self._take,
            "immediate": self._immediate,
            "post_only": self._post_only,
            "fill": self._fill,
            "cancel": self._cancel,
            "amend": self._amend,
            "fund": self._fund,
            "move_money": self._move_money,
            "force": self._force,
        }

    def open_orders(self) -> list[OrderRecord]:
        """The account's open orders in these markets."""
        wanted = {market.instrument for market in self._markets}
        return [
            order
            for wallet in self._account.wallets.values()
            for order in wallet.view.open.values()
            if order.instrument in wanted
        ]

    def _pick(self) -> tuple[Market, Wallet]:
        market = self._rng.choice(self._markets)
        return market, self._account.wallet(market.instrument.product)

    def _submit(self, market: Market, wallet: Wallet, *, buy: bool, tick: int | None, tif: TimeInForce = "gtc") -> None:
        instrument = market.instrument
        lots = max(1, int(instrument.typical_lots * self._rng.uniform(0.1, 1.5)))
        leg = ""
        if wallet.rules.hedged:
            leg, lots = self._leg(market, wallet, lots, buy=buy)
        client_id = ""
        if self._rng.random() < 0.5:
            self._clients += 1
            client_id = f"own-{self._rng.getrandbits(32):08x}-{self._clients}"
        request = OrderRequest(
            product=instrument.product,
            symbol=instrument.native_symbol,
            side="buy" if buy else "sell",
            size=plain(native_size(instrument, lots)),
            price=instrument.price(tick) if tick is not None else "",
            tif=tif,
            leg=leg,
            client_id=client_id,
        )
        self._trading.submit(self._account, request)

    def _leg(self, market: Market, wallet: Wallet, lots: int, *, buy: bool) -> tuple[str, int]:
        """Close the other leg now and then, where there is one and nothing closes it already."""
        closing = "short" if buy else "long"
        held = abs(wallet.position(market.instrument, closing).lots)
        closers = any(
            order.leg == closing and order.reduce_only and order.instrument is market.instrument
            for order in wallet.view.open.values()
        )
        if held and not closers and self._rng.random() < 0.6:
            return closing, min(lots, held)
        return ("long" if buy else "short"), lots

    def _buys(self, market: Market, wallet: Wallet) -> bool:
        """Either side; rather the one that makes a big position smaller."""
        draw, instrument = self._rng.random(), market.instrument
        if instrument.is_spot:
            return draw < 0.5
        held = sum(wallet.position(instrument, leg).lots for leg in ("net", "long", "short"))
        if abs(held) > MOST_HELD * instrument.typical_lots and draw < 0.9:
            return held < 0
        return draw < 0.5

    def _touch(self, market: Market, *, buy: bool, own: bool) -> int:
        """The best price of a side: the own one to rest at, the other one to take."""
        tick = market.book.best_bid if buy is own else market.book.best_ask
        if tick is None:
            raise Refused("the book is empty")
        return tick

    def _rest_near(self) -> None:
        """At the best price, or one better where there is room."""
        market, wallet = self._pick()
        buy = self._buys(market, wallet)
        own, other = (self._touch(market, buy=buy, own=one) for one in (True, False))
        better = own + (1 if buy else -1)
        self._submit(market, wallet, buy=buy, tick=better if better != other else own)

    def _rest_deep(self) -> None:
        market, wallet = self._pick()
        buy = self._buys(market, wallet)
        distance = self._rng.randint(5, 200)
        tick = self._touch(market, buy=buy, own=True) + (-distance if buy else distance)
        self._submit(market, wallet, buy=buy, tick=max(1, tick), tif=self._rng.choice(RESTING))

    def _take(self) -> None:
        market, wallet = self._pick()
        self._submit(market, wallet, buy=self._buys(market, wallet), tick=None)

    def _immediate(self) -> None:
        """An order that fills at once or not at all, or in part: at the touch, or short of it."""
        market, wallet = self._pick()
        buy = self._buys(market, wallet)
        tick = self._touch(market, buy=buy, own=self._rng.random() < 0.3)
        self._submit(market, wallet, buy=buy, tick=tick, tif=self._rng.choice(IMMEDIATE))

    def _post_only(self) -> None:
        """One that would take: the venue does not let it."""
        market, wallet = self._pick()
        buy = self._buys(market, wallet)
        tick = self._touch(market, buy=buy, own=False)
        self._submit(market, wallet, buy=buy, tick=tick, tif="post_only")

    def _chosen(self) -> OrderRecord:
        orders = self.open_orders()
        if not orders:
            raise Refused("nothing is open")
        return self._rng.choice(orders)

    def _fill(self) -> None:
        """The crowd comes to one of the account's orders, and takes it whole or a part of it."""
        order = self._chosen()
        instrument = order.instrument
        lots = order.remaining_lots
        if lots > 1 and self._rng.random() < 0.5:
            lots = self._rng.randint(1, lots - 1)
        most = MOST_AHEAD * instrument.typical_lots
        request = FillRequest(order.id, plain(native_size(instrument, lots)))
        if self._trading.reach(self._account, request, most).filled_lots == order.filled_lots:
            self._trading.cancel(self._account, CancelRequest(order.id))

    def _cancel(self) -> None:
        self._trading.cancel(self._account, CancelRequest(self._chosen().id))

    def _amend(self) -> None:
        order = self._chosen()
        rules = self._account.wallet(order.instrument.product).rules
        if order.instrument.product in rules.shrinks_only or self._rng.random() < 0.4:
            if order.remaining_lots < 2:
                raise Refused("too small to be made smaller")
            size = native_size(order.instrument, order.filled_lots + order.remaining_lots // 2)
            self._trading.amend(self._account, AmendRequest(order.id, size=plain(size)))
        else:
            tick = max(1, (order.tick or 1) + (-1 if order.buy else 1) * self._rng.randint(1, 20))
            self._trading.amend(self._account, AmendRequest(order.id, price=order.instrument.price(tick)))

    def _fund(self) -> None:
        market = self._pick()[0]
        if not self._forced.fund(self._account, market.instrument.product, market.instrument.native_symbol):
            raise Refused("no position to fund")

    def _move_money(self) -> None:
        product = self._pick()[0].instrument.product
        amount = self._rng.choice(("250", "1000.5", "-100", "-33.25"))
        self._forced.transfer(self._account, TransferRequest(product, "USDT", amount))

    def _force(self) -> None:
        """A liquidation or an ADL of a position, if there is one."""
        held = [
            one
            for wallet in self._account.wallets.values()
            for one in wallet.view.positions.values()
            if one.lots and any(one.instrument is market.instrument for market in self._markets)
        ]
        if not held:
            raise Refused("no position to close")
        one = self._rng.choice(held)
        request = PositionRequest(one.instrument.product, one.instrument.native_symbol, one.leg)
        force = self._rng.choice((self._forced.liquidate, self._forced.deleverage))
        force(self._account, request)
