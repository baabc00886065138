"""Binance spot: signed REST lists, oldest first."""

from collections.abc import Callable
from typing import Any

from services.simulator.accounts.amounts import fixed, price_of, value_of
from services.simulator.accounts.records import Execution, OrderRecord
from services.simulator.accounts.view import View
from services.simulator.session import RestReply
from services.simulator.topics import ms
from services.simulator.venues.binance_private import (
    Parameters,
    Problem,
    answered,
    integer,
    mandatory,
    side,
    slice_of,
    status,
    window_of,
)

__all__ = ["PATHS", "TIME_IN_FORCE", "answer", "kind"]

DAY_MS = 86_400_000
TOO_LONG = "More than 24 hours between startTime and endTime."
TIME_IN_FORCE = {"gtc": "GTC", "ioc": "IOC", "fok": "FOK", "post_only": "GTC"}


def kind(one: OrderRecord) -> str:
    """The venue's order type."""
    return "MARKET" if one.tick is None else "LIMIT_MAKER" if one.tif == "post_only" else "LIMIT"


def answer(path: str, parameters: Parameters, view: View) -> RestReply:
    """One GET of an account that is seen as in ``view``."""
    return answered(lambda: PATHS[path](parameters, view))


def _open_orders(parameters: Parameters, view: View) -> object:
    symbol = parameters.get("symbol", "")
    return [_order(one) for one in view.open.values() if symbol in ("", one.instrument.native_symbol)]


def _one_order(parameters: Parameters, view: View) -> object:
    symbol = mandatory(parameters, "symbol")
    order_id, client_id = parameters.get("orderId", ""), parameters.get("origClientOrderId", "")
    if not order_id and not client_id:
        raise Problem(-1102, "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!")
    for one in view.orders.values():
        if one.instrument.native_symbol == symbol and order_id in ("", one.id) and client_id in ("", one.client_id):
            return _order(one)
    raise Problem(-2013, "Order does not exist.")


def _all_orders(parameters: Parameters, view: View) -> object:
    symbol, order_id = mandatory(parameters, "symbol"), integer(parameters, "orderId")
    window = window_of(parameters, DAY_MS, TOO_LONG)
    chosen = [one for one in view.orders.values() if one.instrument.native_symbol == symbol]
    if order_id is not None:
        chosen = [one for one in chosen if int(one.id) >= order_id]
    elif window is not None:
        chosen = [one for one in chosen if window[0] <= ms(one.created_ns) <= window[1]]
    oldest = order_id is not None or "startTime" in parameters
    return [_order(one) for one in slice_of(chosen, parameters, oldest=oldest)]


def _trades(parameters: Parameters, view: View) -> object:
    symbol = mandatory(parameters, "symbol")
    order_id, first = integer(parameters, "orderId"), integer(parameters, "fromId")
    window = window_of(parameters, DAY_MS, TOO_LONG)
    if window is not None and (first is not None or order_id is not None):
        raise Problem(-1128, "Combination of optional parameters invalid.")
    chosen = [one for one in view.executions if one.order.instrument.native_symbol == symbol]
    if order_id is not None:
        chosen = [one for one in chosen if int(one.order.id) == order_id]
    if first is not None:
        chosen = [one for one in chosen if one.trade >= first]
    elif window is not None:
        chosen = [one for one in chosen if window[0] <= ms(one.ts_ns) <= window[1]]
    oldest = first is not None or "startTime" in parameters
    return [_trade(one) for one in slice_of(chosen, parameters, oldest=oldest)]


def _account(parameters: Parameters, view: View) -> object:
    whole = parameters.get("omitZeroBalances") != "true"
    held = [one for one in view.assets.values() if whole or one.total]
    return {
        "makerCommission": 10,
        "takerCommission": 10,
        "buyerCommission": 0,
        "sellerCommission": 0,
        "commissionRates": {
            "maker": "0.00100000",
            "taker": "0.00100000",
            "buyer": "0.00000000",
            "seller": "0.00000000",
        },
        "canTrade": True,
        "canWithdraw": True,
        "canDeposit": True,
        "brokered": False,
        "requireSelfTradePrevention": False,
        "preventSor": False,
        "updateTime": ms(view.ts_ns),
        "accountType": "SPOT",
        "balances": [
            {"asset": one.asset, "free": fixed(one.available, 8), "locked": fixed(one.locked, 8)} for one in held
        ],
        "permissions": ["SPOT"],
        "uid": 354937868,
    }


PATHS: dict[str, Callable[[Parameters, View], object]] = {
    "/api/v3/openOrders": _open_orders,
    "/api/v3/order": _one_order,
    "/api/v3/allOrders": _all_orders,
    "/api/v3/myTrades": _trades,
    "/api/v3/account": _account,
}
"""What is served."""


def _order(one: OrderRecord) -> dict[str, Any]:
    instrument = one.instrument
    return {
        "symbol": instrument.native_symbol,
        "orderId": int(one.id),
        "orderListId": -1,
        "clientOrderId": one.client_id,
        "price": instrument.price(one.tick or 0),
        "origQty": instrument.size(one.lots),
        "executedQty": instrument.size(one.filled_lots),
        "cummulativeQuoteQty": fixed(one.value, 8),
        "status": status(one),
        "timeInForce": TIME_IN_FORCE[one.tif] if one.tick is not None else "GTC",
        "type": kind(one),
        "side": side(buy=one.buy),
        "stopPrice": "0.00000000",
        "icebergQty": "0.00000000",
        "time": ms(one.created_ns),
        "updateTime": ms(one.updated_ns),
        "isWorking": True,
        "workingTime": ms(one.created_ns),
        "origQuoteOrderQty": "0.00000000",
        "selfTradePreventionMode": "EXPIRE_MAKER",
    }


def _trade(one: Execution) -> dict[str, Any]:
    order, instrument = one.order, one.order.instrument
    return {
        "symbol": instrument.native_symbol,
        "id": one.trade,
        "orderId": int(order.id),
        "orderListId": -1,
        "price": instrument.price(one.tick),
        "qty": instrument.size(one.lots),
        "quoteQty": fixed(value_of(instrument, one.lots, price_of(instrument, one.tick)), 8),
        "commission": fixed(one.fee, 8),
        "commissionAsset": one.fee_asset,
        "time": ms(one.ts_ns),
        "isBuyer": order.buy,
        "isMaker": one.maker,
        "isBestMatch": True,
    }
