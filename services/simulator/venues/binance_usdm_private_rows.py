"""Binance USD-M: orders, fills, positions and balances as REST writes them, and words that the stream shares."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from services.simulator.accounts.amounts import ZERO, average_price, fixed, margin_of, plain, price_of, value_of
from services.simulator.accounts.records import AssetRecord, Execution, Funding, OrderRecord, PositionRecord
from services.simulator.engine import Market
from services.simulator.engine.derivatives import MARK_DIVISIONS
from services.simulator.topics import ms
from services.simulator.venues.binance_private import side, status
from services.simulator.venues.private import Markets

__all__ = [
    "POSITION_SIDE",
    "TIME_IN_FORCE",
    "account",
    "average",
    "balance",
    "kind",
    "order",
    "payment",
    "position",
    "trade",
    "unrealized",
]

LEVERAGE = 10
NOTHING = "0.00000000"
TIME_IN_FORCE = {"gtc": "GTC", "ioc": "IOC", "fok": "FOK", "post_only": "GTX"}
POSITION_SIDE = {"net": "BOTH", "long": "LONG", "short": "SHORT"}


def kind(one: OrderRecord) -> str:
    """The venue's order type; forced orders are limit orders to it."""
    return "MARKET" if one.kind == "market" else "LIMIT"


def average(one: OrderRecord) -> str:
    """The mean price; ``0`` where nothing was filled."""
    return plain(average_price(one.instrument, one.filled_lots, one.value))


def mark_of(market: Market) -> Decimal:
    """The mark price."""
    return price_of(market.instrument, max(1, market.derivatives.mark // MARK_DIVISIONS))


def unrealized(one: PositionRecord, market: Market) -> Decimal:
    """Profit at the mark price."""
    if not one.lots:
        return ZERO
    return value_of(one.instrument, one.lots, mark_of(market)) - value_of(one.instrument, one.lots, one.entry)


def order(one: OrderRecord) -> dict[str, Any]:
    """An order."""
    instrument = one.instrument
    return {
        "avgPrice": average(one),
        "clientOrderId": one.client_id,
        "cumQuote": plain(one.value),
        "executedQty": instrument.size(one.filled_lots),
        "orderId": int(one.id),
        "origQty": instrument.size(one.lots),
        "origType": kind(one),
        "price": instrument.price(one.tick) if one.tick is not None else "0",
        "reduceOnly": one.reduce_only,
        "side": side(buy=one.buy),
        "positionSide": POSITION_SIDE[one.leg],
        "status": status(one),
        "stopPrice": "0",
        "closePosition": False,
        "symbol": instrument.native_symbol,
        "time": ms(one.created_ns),
        "timeInForce": TIME_IN_FORCE[one.tif] if one.kind != "market" else "GTC",
        "type": kind(one),
        "updateTime": ms(one.updated_ns),
        "workingType": "CONTRACT_PRICE",
        "priceProtect": False,
        "priceMatch": "NONE",
        "selfTradePreventionMode": "EXPIRE_MAKER",
        "goodTillDate": 0,
    }


def trade(one: Execution) -> dict[str, Any]:
    """A fill."""
    order, instrument = one.order, one.order.instrument
    return {
        "buyer": order.buy,
        "commission": plain(one.fee),
        "commissionAsset": one.fee_asset,
        "id": one.trade,
        "maker": one.maker,
        "orderId": int(order.id),
        "price": instrument.price(one.tick),
        "qty": instrument.size(one.lots),
        "quoteQty": plain(value_of(instrument, one.lots, price_of(instrument, one.tick))),
        "realizedPnl": plain(one.realized),
        "side": side(buy=order.buy),
        "positionSide": POSITION_SIDE[order.leg],
        "symbol": instrument.native_symbol,
        "time": ms(one.ts_ns),
    }


def payment(number: int, one: Funding) -> dict[str, Any]:
    """A funding payment in the list of incomes; what was paid is negative."""
    return {
        "symbol": one.instrument.native_symbol,
        "incomeType": "FUNDING_FEE",
        "income": fixed(-one.amount, 8),
        "asset": one.asset,
        "time": ms(one.ts_ns),
        "info": "FUNDING_FEE",
        "tranId": ms(one.ts_ns) * 1000 + number % 1000,
        "tradeId": "",
    }


def position(one: PositionRecord, markets: Markets) -> dict[str, Any]:
    """A leg."""
    instrument = one.instrument
    market = markets[instrument.product, instrument.native_symbol]
    notional = value_of(instrument, one.lots, mark_of(market))
    margin = plain(margin_of(value_of(instrument, abs(one.lots), one.entry), LEVERAGE)) if one.lots else "0"
    return {
        "symbol": instrument.native_symbol,
        "positionSide": POSITION_SIDE[one.leg],
        "positionAmt": instrument.size(one.lots),
        "entryPrice": plain(one.entry),
        "breakEvenPrice": plain(one.entry),
        "markPrice": fixed(mark_of(market), 8),
        "unRealizedProfit": fixed(unrealized(one, market), 8),
        "liquidationPrice": "0",
        "isolatedMargin": "0",
        "notional": fixed(notional, 8),
        "marginAsset": instrument.settle,
        "isolatedWallet": "0",
        "initialMargin": margin,
        "maintMargin": "0",
        "positionInitialMargin": margin,
        "openOrderInitialMargin": "0",
        "adl": 2 if one.lots else 0,
        "bidNotional": "0",
        "askNotional": "0",
        "updateTime": ms(one.updated_ns),
    }


def balance(one: AssetRecord) -> dict[str, Any]:
    """An asset in the list of balances."""
    return {
        "accountAlias": "SgsR",
        "asset": one.asset,
        "balance": fixed(one.total, 8),
        "crossWalletBalance": fixed(one.total, 8),
        "crossUnPnl": NOTHING,
        "availableBalance": fixed(one.available, 8),
        "maxWithdrawAmount": fixed(max(ZERO, one.available), 8),
        "marginAvailable": True,
        "updateTime": ms(one.updated_ns),
    }


def account(assets: Sequence[AssetRecord], positions: Sequence[PositionRecord], markets: Markets) -> dict[str, Any]:
    """The whole account; the totals are those of the quote currency."""
    tether = next((one for one in assets if one.asset == "USDT"), AssetRecord("USDT"))
    return {
        "totalInitialMargin": fixed(tether.order_margin + tether.position_margin, 8),
        "totalMaintMargin": NOTHING,
        "totalWalletBalance": fixed(tether.total, 8),
        "totalUnrealizedProfit": NOTHING,
        "totalMarginBalance": fixed(tether.total, 8),
        "totalPositionInitialMargin": fixed(tether.position_margin, 8),
        "totalOpenOrderInitialMargin": fixed(tether.order_margin, 8),
        "totalCrossWalletBalance": fixed(tether.total, 8),
        "totalCrossUnPnl": NOTHING,
        "availableBalance": fixed(tether.available, 8),
        "maxWithdrawAmount": fixed(max(ZERO, tether.available), 8),
        "assets": [_asset(one) for one in assets],
        "positions": [position(one, markets) for one in positions],
    }


def _asset(one: AssetRecord) -> dict[str, Any]:
    return {
        "asset": one.asset,
        "walletBalance": fixed(one.total, 8),
        "unrealizedProfit": NOTHING,
        "marginBalance": fixed(one.total, 8),
        "maintMargin": NOTHING,
        "initialMargin": fixed(one.order_margin + one.position_margin, 8),
        "positionInitialMargin": fixed(one.position_margin, 8),
        "openOrderInitialMargin": fixed(one.order_margin, 8),
        "crossWalletBalance": fixed(one.total, 8),
        "crossUnPnl": NOTHING,
        "availableBalance": fixed(one.available, 8),
        "maxWithdrawAmount": fixed(max(ZERO, one.available), 8),
        "updateTime": ms(one.updated_ns),
    }
