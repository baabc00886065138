"""MEXC spot: signed REST lists, newest first, without a cursor."""

from collections.abc import Callable
from typing import Any

from services.simulator.accounts.amounts import ZERO, average_price, plain, price_of, value_of
from services.simulator.accounts.records import Execution, OrderRecord
from services.simulator.accounts.view import View
from services.simulator.session import RestReply
from services.simulator.topics import encode_json, ms

__all__ = ["PATHS", "WEIGHTS", "answer"]

DAY_MS = 86_400_000
WEIGHTS = {
    "/api/v3/openOrders": 3,
    "/api/v3/order": 2,
    "/api/v3/allOrders": 10,
    "/api/v3/myTrades": 10,
    "/api/v3/account": 10,
}
MOST_OPEN_SYMBOLS = 5
STATUS = {"new": "NEW", "partially_filled": "PARTIALLY_FILLED", "filled": "FILLED", "canceled": "CANCELED"}
TYPES = {"gtc": "LIMIT", "post_only": "LIMIT_MAKER", "ioc": "IMMEDIATE_OR_CANCEL", "fok": "FILL_OR_KILL"}
Parameters = dict[str, str]


class Problem(Exception):
    """A request that is refused with a code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def answer(path: str, parameters: Parameters, view: View, now_ns: int) -> RestReply:
    """One GET of an account that is seen as in ``view``."""
    try:
        return RestReply(200, encode_json(PATHS[path](parameters, view, now_ns)))
    except Problem as problem:
        return RestReply(400, encode_json({"code": problem.code, "msg": str(problem)}))


def _symbol(parameters: Parameters) -> str:
    symbol = parameters.get("symbol", "")
    if not symbol:
        raise Problem(700004, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
    return symbol


def _open_orders(parameters: Parameters, view: View, now_ns: int) -> object:
    del now_ns
    symbols = _symbol(parameters).split(",")
    if len(symbols) > MOST_OPEN_SYMBOLS:
        raise Problem(-1121, "Too many symbols.")
    return [_order(one) for one in reversed(view.open.values()) if one.instrument.native_symbol in symbols]


def _one_order(parameters: Parameters, view: View, now_ns: int) -> object:
    del now_ns
    symbol = _symbol(parameters)
    order_id, client_id = parameters.get("orderId", ""), parameters.get("origClientOrderId", "")
    if not order_id and not client_id:
        raise Problem(700004, "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!")
    for one in view.orders.values():
        if one.instrument.native_symbol == symbol and order_id in ("", one.id) and client_id in ("", one.client_id):
            return _order(one)
    raise Problem(-2013, "Order does not exist.")


def _all_orders(parameters: Parameters, view: View, now_ns: int) -> object:
    symbol = _symbol(parameters)
    start, end = _window(parameters, now_ns, 1, 7)
    chosen = [
        one
        for one in view.orders.values()
        if one.instrument.native_symbol == symbol and start <= ms(one.created_ns) <= end
    ]
    return [_order(one) for one in chosen[::-1][: _limit(parameters, 500, 1000)]]


def _trades(parameters: Parameters, view: View, now_ns: int) -> object:
    symbol, order_id = _symbol(parameters), parameters.get("orderId", "")
    start, end = _window(parameters, now_ns, 30, 30)
    chosen = [
        one
        for one in view.executions
        if one.order.instrument.native_symbol == symbol
        and start <= ms(one.ts_ns) <= end
        and order_id in ("", one.order.id)
    ]
    return [_trade(one) for one in chosen[::-1][: _limit(parameters, 100, 100)]]


def _account(parameters: Parameters, view: View, now_ns: int) -> object:
    del parameters, now_ns
    return {
        "makerCommission": None,
        "takerCommission": None,
        "buyerCommission": None,
        "sellerCommission": None,
        "canTrade": True,
        "canWithdraw": True,
        "canDeposit": True,
        "updateTime": None,
        "accountType": "SPOT",
        "balances": [
            {"asset": one.asset, "free": plain(one.available), "locked": plain(one.locked)}
            for one in view.assets.values()
            if one.total or one.locked
        ],
        "permissions": ["SPOT"],
    }


PATHS: dict[str, Callable[[Parameters, View, int], object]] = {
    "/api/v3/openOrders": _open_orders,
    "/api/v3/order": _one_order,
    "/api/v3/allOrders": _all_orders,
    "/api/v3/myTrades": _trades,
    "/api/v3/account": _account,
}
"""What is served."""


def _window(parameters: Parameters, now_ns: int, default_days: int, most_days: int) -> tuple[int, int]:
    given = {name: parameters[name] for name in ("startTime", "endTime") if parameters.get(name)}
    if not all(text.isdecimal() for text in given.values()):
        raise Problem(-1100, "Illegal characters found in parameter 'startTime' or 'endTime'.")
    end = int(given.get("endTime", ms(now_ns)))
    start = int(given.get("startTime", end - default_days * DAY_MS))
    if not 0 <= end - start <= most_days * DAY_MS:
        raise Problem(-1127, f"More than {most_days} days between startTime and endTime.")
    return start, end


def _limit(parameters: Parameters, default: int, most: int) -> int:
    text = parameters.get("limit") or str(default)
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise Problem(-1130, "Data sent for parameter 'limit' is not valid.")
    return int(text)


def _order(one: OrderRecord) -> dict[str, Any]:
    instrument = one.instrument
    price = price_of(instrument, one.tick) if one.tick is not None else ZERO
    status = STATUS[one.status]
    if one.status == "canceled" and one.filled_lots:
        status = "PARTIALLY_CANCELED"
    return {
        "symbol": instrument.native_symbol,
        "orderId": one.id,
        "orderListId": -1,
        "clientOrderId": one.client_id or None,
        "price": plain(price or average_price(instrument, one.filled_lots, one.value)),
        "origQty": instrument.size(one.lots),
        "executedQty": instrument.size(one.filled_lots),
        "cummulativeQuoteQty": plain(one.value),
        "status": status,
        "timeInForce": None,
        "type": "MARKET" if one.tick is None else TYPES[one.tif],
        "side": "BUY" if one.buy else "SELL",
        "stopPrice": None,
        "icebergQty": None,
        "time": ms(one.created_ns),
        "updateTime": ms(one.updated_ns),
        "isWorking": one.open,
        "origQuoteOrderQty": plain(value_of(instrument, one.lots, price)),
    }


def _trade(one: Execution) -> dict[str, Any]:
    order, instrument = one.order, one.order.instrument
    return {
        "symbol": instrument.native_symbol,
        "id": one.id,
        "orderId": order.id,
        "orderListId": -1,
        "price": instrument.price(one.tick),
        "qty": instrument.size(one.lots),
        "quoteQty": plain(value_of(instrument, one.lots, price_of(instrument, one.tick))),
        "commission": plain(one.fee),
        "commissionAsset": one.fee_asset,
        "time": ms(one.ts_ns),
        "isBuyer": order.buy,
        "isMaker": one.maker,
        "isBestMatch": True,
        "isSelfTrade": False,
        "clientOrderId": order.client_id or None,
    }
