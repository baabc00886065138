"""Binance USD-M: signed REST lists, oldest first."""

from collections.abc import Callable

from services.simulator.accounts.view import View
from services.simulator.session import RestReply
from services.simulator.topics import ms
from services.simulator.venues import binance_usdm_private_rows as rows
from services.simulator.venues.binance_private import (
    Parameters,
    Problem,
    answered,
    integer,
    mandatory,
    slice_of,
    window_of,
)
from services.simulator.venues.private import Markets

__all__ = ["PATHS", "answer"]

WEEK_MS = 7 * 86_400_000
TOO_LONG = "The time between startTime and endTime can't be longer than 7 days."


def answer(path: str, parameters: Parameters, view: View, markets: Markets, now_ns: int) -> RestReply:
    """One GET of an account that is seen as in ``view``."""
    return answered(lambda: PATHS[path](parameters, view, markets, now_ns))


def _open_orders(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    del markets, now_ns
    symbol = parameters.get("symbol", "")
    return [rows.order(one) for one in view.open.values() if symbol in ("", one.instrument.native_symbol)]


def _nothing(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    """Conditional orders live in a service of their own; nobody makes any here."""
    del parameters, view, markets, now_ns
    return []


def _one_order(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    del markets, now_ns
    symbol = mandatory(parameters, "symbol")
    order_id, client_id = parameters.get("orderId", ""), parameters.get("origClientOrderId", "")
    if not order_id and not client_id:
        raise Problem(-1102, "Mandatory parameter 'orderId' was not sent, was empty/null, or malformed.")
    for one in view.orders.values():
        if one.instrument.native_symbol == symbol and order_id in ("", one.id) and client_id in ("", one.client_id):
            return rows.order(one)
    raise Problem(-2013, "Order does not exist.")


def _all_orders(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    del markets
    symbol, order_id = mandatory(parameters, "symbol"), integer(parameters, "orderId")
    window = window_of(parameters, WEEK_MS, TOO_LONG) or (ms(now_ns) - WEEK_MS, ms(now_ns))
    chosen = [one for one in view.orders.values() if one.instrument.native_symbol == symbol]
    if order_id is not None:
        chosen = [one for one in chosen if int(one.id) >= order_id]
    else:
        chosen = [one for one in chosen if window[0] <= ms(one.created_ns) <= window[1]]
    oldest = order_id is not None or "startTime" in parameters
    return [rows.order(one) for one in slice_of(chosen, parameters, oldest=oldest)]


def _trades(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    del markets
    symbol, first = mandatory(parameters, "symbol"), integer(parameters, "fromId")
    order_id = integer(parameters, "orderId")
    window = window_of(parameters, WEEK_MS, TOO_LONG)
    if first is not None and window is not None:
        raise Problem(-1128, "Combination of optional parameters invalid.")
    start, end = window or (ms(now_ns) - WEEK_MS, ms(now_ns))
    chosen = [one for one in view.executions if one.order.instrument.native_symbol == symbol]
    if order_id is not None:
        chosen = [one for one in chosen if int(one.order.id) == order_id]
    if first is not None:
        chosen = [one for one in chosen if one.trade >= first]
    else:
        chosen = [one for one in chosen if start <= ms(one.ts_ns) <= end]
    oldest = first is not None or "startTime" in parameters
    return [rows.trade(one) for one in slice_of(chosen, parameters, oldest=oldest)]


def _income(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    del markets
    symbol, wanted = parameters.get("symbol", ""), parameters.get("incomeType", "FUNDING_FEE")
    start, end = window_of(parameters, WEEK_MS, TOO_LONG) or (ms(now_ns) - WEEK_MS, ms(now_ns))
    chosen = [
        (number, one)
        for number, one in enumerate(view.fundings)
        if wanted == "FUNDING_FEE" and symbol in ("", one.instrument.native_symbol) and start <= ms(one.ts_ns) <= end
    ]
    return [rows.payment(number, one) for number, one in slice_of(chosen, parameters, oldest="startTime" in parameters)]


def _risk(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    """Legs that hold something, or whose instrument has open orders."""
    del now_ns
    symbol = parameters.get("symbol", "")
    busy = {one.instrument.native_symbol for one in view.open.values()}
    return [
        rows.position(one, markets)
        for one in view.positions.values()
        if (one.lots or one.instrument.native_symbol in busy) and symbol in ("", one.instrument.native_symbol)
    ]


def _balance(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    del parameters, markets, now_ns
    return [rows.balance(one) for one in view.assets.values()]


def _account(parameters: Parameters, view: View, markets: Markets, now_ns: int) -> object:
    del parameters, now_ns
    return rows.account([*view.assets.values()], [one for one in view.positions.values() if one.lots], markets)


PATHS: dict[str, Callable[[Parameters, View, Markets, int], object]] = {
    "/fapi/v1/openOrders": _open_orders,
    "/fapi/v1/openAlgoOrders": _nothing,
    "/fapi/v1/allAlgoOrders": _nothing,
    "/fapi/v1/order": _one_order,
    "/fapi/v1/allOrders": _all_orders,
    "/fapi/v1/userTrades": _trades,
    "/fapi/v1/income": _income,
    "/fapi/v3/positionRisk": _risk,
    "/fapi/v3/balance": _balance,
    "/fapi/v3/account": _account,
}
"""What is served."""
