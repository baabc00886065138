"""What happens to an account without an order of its own: liquidation, ADL, funding, transfers."""

from collections.abc import Iterator
from decimal import Decimal
from typing import NamedTuple

from services.simulator.accounts.account import Account, Refused
from services.simulator.accounts.amounts import price_of
from services.simulator.accounts.records import OrderRecord, PositionRecord
from services.simulator.accounts.requests import PositionRequest, TransferRequest, lots_of
from services.simulator.accounts.trading import Published, Trading
from services.simulator.accounts.wallet import Wallet
from services.simulator.engine import Market, Trade
from services.simulator.engine.derivatives import MARK_DIVISIONS, RATE_SCALE

__all__ = ["Forced"]


class _Held(NamedTuple):
    account: Account
    wallet: Wallet
    market: Market
    position: PositionRecord


class Forced:
    """The venue's own doings; ``publish`` gets everything that happens."""

    def __init__(self, trading: Trading, publish: Published) -> None:
        self._trading = trading
        self._publish = publish

    def liquidate(self, account: Account, request: PositionRequest) -> None:
        """Close a leg at the market, after its orders were canceled; what the book does not take stays open."""
        held = self._held(account, request)
        order = self._order(held, "liquidation", abs(held.position.lots))
        self._trading.avoid_self_match(account, held.wallet, held.market, order)
        self._trading.enter(account, held.wallet, held.market, order)

    def deleverage(self, account: Account, request: PositionRequest) -> None:
        """Close a leg, or a part of it, against somebody's bankruptcy: at the mark price, beside the book."""
        held = self._held(account, request)
        market, most = held.market, abs(held.position.lots)
        lots = min(most, lots_of(market.instrument, request.size)) if request.size else most
        order = self._order(held, "adl", lots)
        tick = max(1, market.derivatives.mark // MARK_DIVISIONS)
        trade = Trade(
            market.next_trade_id,
            self._trading.time(account.exchange),
            tick,
            lots,
            order.buy,
            0,
            0,
            market.book.update_id,
            "ZeroPlusTick",
        )
        market.next_trade_id += 1
        self._publish(account, held.wallet, held.wallet.fill(order, trade, maker=False, kind="adl"))

    def fund(self, account: Account, product: str = "", symbol: str = "") -> int:
        """Let every open perpetual position pay or get funding at the market's rate; how many did."""
        paid = 0
        for held in self._positions(account):
            instrument, derivatives = held.market.instrument, held.market.derivatives
            wanted = product in ("", instrument.product) and symbol in ("", instrument.native_symbol)
            if not wanted or not derivatives.funded:
                continue
            mark = price_of(instrument, max(1, derivatives.mark // MARK_DIVISIONS))
            rate = Decimal(derivatives.rate).scaleb(-RATE_SCALE)
            sequence, now_ns = held.market.book.update_id, self._trading.time(account.exchange)
            self._publish(account, held.wallet, held.wallet.fund(held.position, mark, rate, sequence, now_ns))
            paid += 1
        return paid

    def transfer(self, account: Account, request: TransferRequest) -> None:
        """A deposit or withdrawal; Refused where there is not that much."""
        wallet, amount = account.wallet(request.product), Decimal(request.amount)
        if amount < 0 and -amount > wallet.asset(request.asset).available:
            raise Refused(f"there is less than {-amount} {request.asset} to withdraw")
        self._publish(account, wallet, wallet.transfer(request.asset, amount, self._trading.time(account.exchange)))

    def _positions(self, account: Account) -> Iterator[_Held]:
        for wallet in account.wallets.values():
            for position in [*wallet.view.positions.values()]:
                if position.lots:
                    instrument = position.instrument
                    market = self._trading.market(account.exchange, instrument.product, instrument.native_symbol)
                    yield _Held(account, wallet, market, position)

    def _held(self, account: Account, request: PositionRequest) -> _Held:
        """An open position, once its orders are gone."""
        market = self._trading.market(account.exchange, request.product, request.symbol)
        wallet = account.wallet(request.product)
        self._trading.withdraw_all(account, wallet, market.instrument, request.leg)
        position = wallet.position(market.instrument, request.leg)
        if not position.lots:
            raise Refused(f"there is no {request.leg} position in {request.symbol}")
        return _Held(account, wallet, market, position)

    def _order(self, held: _Held, kind: str, lots: int) -> OrderRecord:
        wallet, position = held.wallet, held.position
        now_ns = wallet.stamp(self._trading.time(held.account.exchange))
        number = len(wallet.view.orders) + 1
        return OrderRecord(
            id=wallet.identities.order(number),
            number=number,
            client_id=wallet.identities.forced(kind),
            instrument=position.instrument,
            buy=position.lots < 0,
            kind=kind,
            tif="ioc",
            tick=None,
            lots=lots,
            leg=position.leg,
            reduce_only=True,
            created_ns=now_ns,
            updated_ns=now_ns,
        )
