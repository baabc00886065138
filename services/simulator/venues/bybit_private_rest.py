"""Bybit v5 private REST: lists page by cursor, newest first."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeVar
from urllib.parse import unquote

from services.simulator.accounts.records import Execution, Funding, OrderRecord, PositionRecord
from services.simulator.accounts.view import View
from services.simulator.engine import Market
from services.simulator.instruments import Instrument
from services.simulator.session import RestReply
from services.simulator.topics import encode_json, ms
from services.simulator.venues import bybit_private_rows as rows
from services.simulator.venues.private import Markets

__all__ = ["PATHS", "answer", "prices"]

CATEGORIES = ("spot", "linear", "inverse")
CLOSED_KEPT = 500
"""The most closed orders that ``order/realtime`` remembers."""

WINDOW_MS = 7 * 86_400_000
Parameters = dict[str, str]
Item = TypeVar("Item")


class Problem(Exception):
    """A request that is refused with retCode 10001."""


def answer(markets: Markets, path: str, parameters: Parameters, view: View, now_ns: int) -> RestReply:
    """One GET of an account that is seen as in ``view``."""
    try:
        result = PATHS[path](markets, parameters, view, now_ns)
    except Problem as problem:
        body = {"retCode": 10001, "retMsg": str(problem), "result": {}, "retExtInfo": {}, "time": ms(now_ns)}
        return RestReply(200, encode_json(body))
    body = {"retCode": 0, "retMsg": "OK", "result": result, "retExtInfo": {}, "time": ms(now_ns)}
    return RestReply(200, encode_json(body))


def prices(markets: Markets, assets: Sequence[str]) -> dict[str, Decimal]:
    """What coins are worth in USD, as far as there are markets for them."""
    found = {"USDT": Decimal(1)}
    for asset in assets:
        market = markets.get(("spot", f"{asset}USDT")) or markets.get(("linear", f"{asset}USDT"))
        if market is not None:
            found[asset] = rows.mark_price(market)
    return found


def _realtime(markets: Markets, parameters: Parameters, view: View, now_ns: int) -> dict[str, Any]:
    del now_ns
    category = _category(parameters)
    if category == "linear" and not _names(parameters, "symbol", "baseCoin", "settleCoin", "orderId", "orderLinkId"):
        raise Problem("Illegal category: symbol or baseCoin or settleCoin is required")
    if parameters.get("openOnly", "0") == "1":
        chosen = [one for one in view.orders.values() if not one.open and _matches(one.instrument, parameters)]
        chosen = sorted(chosen, key=lambda one: one.updated_ns)[-CLOSED_KEPT:]
    else:
        chosen = [one for one in view.open.values() if _matches(one.instrument, parameters)]
    chosen = _by_id(chosen, parameters)
    return _page(category, _newest_orders(chosen), parameters, (20, 50), lambda one: _order(markets, one))


def _history(markets: Markets, parameters: Parameters, view: View, now_ns: int) -> dict[str, Any]:
    category, (start, end) = _category(parameters), _window(parameters, now_ns)
    chosen = [
        one
        for one in view.orders.values()
        if not one.open and _matches(one.instrument, parameters) and start <= ms(one.created_ns) <= end
    ]
    chosen = _by_id(chosen, parameters)
    return _page(category, _newest_orders(chosen), parameters, (20, 50), lambda one: _order(markets, one))


def _executions(markets: Markets, parameters: Parameters, view: View, now_ns: int) -> dict[str, Any]:
    category, (start, end) = _category(parameters), _window(parameters, now_ns)
    wanted = parameters.get("execType", "")
    found: list[Execution | Funding] = [*view.executions, *view.fundings]
    chosen = [
        one
        for one in found
        if _matches(_instrument(one), parameters)
        and start <= ms(one.ts_ns) <= end
        and wanted in ("", _kind(one))
        and parameters.get("orderId", "") in ("", "" if isinstance(one, Funding) else one.order.id)
    ]
    chosen.sort(key=lambda one: (one.ts_ns, one.sequence, one.id), reverse=True)
    return _page(category, chosen, parameters, (50, 100), lambda one: _execution(markets, one))


def _positions(markets: Markets, parameters: Parameters, view: View, now_ns: int) -> dict[str, Any]:
    category, symbol = _category(parameters), parameters.get("symbol", "")
    if category == "spot":
        raise Problem("Illegal category")
    if category == "linear" and not _names(parameters, "symbol", "settleCoin"):
        raise Problem("params error: symbol or settleCoin is required")
    chosen = [
        one
        for one in view.positions.values()
        if _matches(one.instrument, parameters) and (one.lots or one.instrument.native_symbol == symbol)
    ]
    if symbol and not chosen:
        chosen = [PositionRecord(_market(markets, category, symbol).instrument, "net", 0, updated_ns=now_ns)]
    chosen.sort(key=lambda one: (one.instrument.native_symbol, one.leg))

    def row(one: PositionRecord) -> dict[str, Any]:
        market = _market(markets, category, one.instrument.native_symbol)
        return rows.position(one, market, entry="avgPrice")

    return _page(category, chosen, parameters, (20, 200), row)


def _wallet(markets: Markets, parameters: Parameters, view: View, now_ns: int) -> dict[str, Any]:
    del now_ns
    if parameters.get("accountType") != "UNIFIED":
        raise Problem("accountType only support UNIFIED.")
    wanted = [name for name in parameters.get("coin", "").split(",") if name]
    held = [one for one in view.assets.values() if one.total or one.locked or one.asset in wanted]
    coins = [one for one in held if not wanted or one.asset in wanted]
    return {"list": [rows.wallet(coins, prices(markets, [*view.assets]), held)]}


PATHS: dict[str, Callable[[Markets, Parameters, View, int], dict[str, Any]]] = {
    "/v5/order/realtime": _realtime,
    "/v5/order/history": _history,
    "/v5/execution/list": _executions,
    "/v5/position/list": _positions,
    "/v5/account/wallet-balance": _wallet,
}
"""What is served."""


def _category(parameters: Parameters) -> str:
    category = parameters.get("category", "")
    if category not in CATEGORIES:
        raise Problem("Illegal category" if category else "params error: category is required")
    return category


def _names(parameters: Parameters, *names: str) -> bool:
    return any(parameters.get(name) for name in names)


def _market(markets: Markets, category: str, symbol: str) -> Market:
    found = markets.get((category, symbol))
    if found is None:
        raise Problem("params error: symbol invalid")
    return found


def _matches(instrument: Instrument, parameters: Parameters) -> bool:
    return (
        instrument.product == parameters["category"]
        and parameters.get("symbol", "") in ("", instrument.native_symbol)
        and parameters.get("baseCoin", "") in ("", instrument.base)
        and parameters.get("settleCoin", "") in ("", instrument.settle or instrument.quote)
    )


def _by_id(orders: list[OrderRecord], parameters: Parameters) -> list[OrderRecord]:
    order_id, link_id = parameters.get("orderId", ""), parameters.get("orderLinkId", "")
    return [one for one in orders if order_id in ("", one.id) and link_id in ("", one.client_id)]


def _newest_orders(orders: list[OrderRecord]) -> list[OrderRecord]:
    return sorted(orders, key=lambda one: (one.created_ns, one.number), reverse=True)


def _instrument(one: Execution | Funding) -> Instrument:
    return one.instrument if isinstance(one, Funding) else one.order.instrument


def _kind(one: Execution | Funding) -> str:
    return "Funding" if isinstance(one, Funding) else rows.EXECUTION_TYPE[one.kind]


def _order(markets: Markets, one: OrderRecord) -> dict[str, Any]:
    return rows.order(one, _market(markets, one.instrument.product, one.instrument.native_symbol))


def _execution(markets: Markets, one: Execution | Funding) -> dict[str, Any]:
    if isinstance(one, Funding):
        return rows.funding(one)
    return rows.execution(one, _market(markets, one.order.instrument.product, one.order.instrument.native_symbol))


def _window(parameters: Parameters, now_ns: int) -> tuple[int, int]:
    """First and last millisecond: at most seven days, which is also what a side that is left out comes to."""
    given = {name: parameters[name] for name in ("startTime", "endTime") if parameters.get(name)}
    if not all(text.isdecimal() for text in given.values()):
        raise Problem("params error: time invalid")
    if "endTime" in given:
        end = int(given["endTime"])
        start = int(given.get("startTime", end - WINDOW_MS))
    elif "startTime" in given:
        start = int(given["startTime"])
        end = start + WINDOW_MS
    else:
        end = ms(now_ns)
        start = end - WINDOW_MS
    if not 0 <= end - start <= WINDOW_MS:
        raise Problem("The time range between startTime and endTime cannot exceed 7 days.")
    return start, end


def _page(
    category: str,
    items: Sequence[Item],
    parameters: Parameters,
    limits: tuple[int, int],
    row: Callable[[Item], dict[str, Any]],
) -> dict[str, Any]:
    """One page; a full page has a cursor, even when it is the last.

    The cursor says how many items are left, counted from the oldest: those that are added at the front meanwhile do
    not shift the pages.
    """
    default, most = limits
    limit = parameters.get("limit") or str(default)
    if not limit.isdecimal() or not 1 <= int(limit) <= most:
        raise Problem("params error: limit invalid")
    behind = _cursor(parameters.get("cursor", ""), len(items))
    first = len(items) - behind
    chosen = items[first : first + int(limit)]
    left = behind - len(chosen)
    following = f"page%3A{left}%2Cleft%3A{left}" if len(chosen) == int(limit) else ""
    return {"nextPageCursor": following, "category": category, "list": [row(one) for one in chosen]}


def _cursor(text: str, items: int) -> int:
    if not text:
        return items
    left = unquote(unquote(text)).partition(",")[0].removeprefix("page:")
    if not left.isdecimal() or int(left) > items:
        raise Problem("params error: cursor invalid")
    return int(left)
