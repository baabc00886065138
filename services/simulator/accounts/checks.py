"""What is looked at before an order is accepted."""

from decimal import Decimal

from services.simulator.accounts.account import Refused
from services.simulator.accounts.amounts import margin_of, native_size, plain, price_of, value_of
from services.simulator.accounts.records import OrderRecord
from services.simulator.accounts.wallet import Wallet
from services.simulator.engine import Market

__all__ = ["check_funds", "check_position", "crosses", "meets"]

MARKET_ORDER_ROOM = Decimal("1.01")
"""A market order may cost more than the best price says."""


def crosses(market: Market, order: OrderRecord) -> bool:
    """Whether an order would trade at once."""
    best = market.book.best_ask if order.buy else market.book.best_bid
    return best is not None and order.tick is not None and (order.tick >= best if order.buy else order.tick <= best)


def meets(order: OrderRecord, resting: OrderRecord) -> bool:
    """Whether an order's price reaches one that rests on the other side."""
    if order.tick is None or resting.tick is None:
        return True
    return resting.tick <= order.tick if order.buy else resting.tick >= order.tick


def check_position(wallet: Wallet, order: OrderRecord) -> None:
    """What closes a position must have something to close, beside other orders that close it; Refused else."""
    if not order.reduce_only:
        return
    held = wallet.position(order.instrument, order.leg).lots * (-1 if order.buy else 1)
    for other in wallet.view.open.values():
        if other.instrument is order.instrument and other.leg == order.leg and other.reduce_only:
            held -= other.remaining_lots
    if order.lots > held:
        raise Refused("there is no position of this size to close")


def check_funds(wallet: Wallet, market: Market, order: OrderRecord) -> None:
    """There must be enough to pay for an order, or to set aside for it; Refused where there is not."""
    instrument = order.instrument
    best = market.book.best_ask if order.buy else market.book.best_bid
    tick = order.tick if order.tick is not None else best
    if tick is None:
        raise Refused("the book is empty")
    value = value_of(instrument, order.lots, price_of(instrument, tick))
    if not instrument.is_spot:
        asset, needed = instrument.settle, Decimal(0) if order.reduce_only else margin_of(value, wallet.rules.leverage)
    elif order.buy:
        asset, needed = instrument.quote, value * MARKET_ORDER_ROOM
    else:
        asset, needed = instrument.base, native_size(instrument, order.lots)
    held = wallet.asset(asset).available
    if needed > held:
        raise Refused(f"insufficient balance: {plain(needed)} {asset} is needed, {plain(held)} is available")
