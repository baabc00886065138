"""MEXC contracts: signed REST lists, newest first, by page number."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from services.simulator.accounts.records import OrderRecord
from services.simulator.accounts.view import View
from services.simulator.session import RestReply
from services.simulator.topics import encode_json, ms
from services.simulator.venues import mexc_futures_private_rows as rows

__all__ = ["PREFIX", "answer", "failed"]

PREFIX = "/api/v1/private/"
DAY_MS = 86_400_000
DEFAULT_DAYS = 7
MOST_DAYS = 90
MOST_ROWS = 100
Parameters = dict[str, str]
Item = TypeVar("Item")


class Problem(Exception):
    """A request that is refused with a code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def failed(code: int, text: str) -> RestReply:
    """A refusal, in the body only."""
    return RestReply(200, encode_json({"success": False, "code": code, "message": text}))


def answer(path: str, parameters: Parameters, view: View, now_ns: int) -> RestReply:
    """One GET of an account that is seen as in ``view``."""
    try:
        data = _data(path.removeprefix(PREFIX), parameters, view, now_ns)
    except Problem as problem:
        return failed(problem.code, str(problem))
    return RestReply(200, encode_json({"success": True, "code": 0, "data": data}))


def _data(what: str, parameters: Parameters, view: View, now_ns: int) -> object:
    if what in LISTS:
        return LISTS[what](parameters, view, now_ns)
    kind, _, tail = what.rpartition("/")
    if kind not in ITEMS:
        raise Problem(404, "Not Found")
    return ITEMS[kind](tail, parameters, view)


def _one_order(order_id: str, parameters: Parameters, view: View) -> object:
    del parameters
    return _order(_known(order_id, view), view)


def _deals_of(order_id: str, parameters: Parameters, view: View) -> object:
    del parameters
    return [rows.deal(one) for one in reversed(view.executions) if one.order.id == order_id]


def _assets(parameters: Parameters, view: View, now_ns: int) -> object:
    del parameters, now_ns
    return [rows.asset(one) for one in view.assets.values()]


def _known(order_id: str, view: View) -> OrderRecord:
    found = view.orders.get(order_id)
    if found is None:
        raise Problem(2009, "Order does not exist")
    return found


def _order(one: OrderRecord, view: View) -> dict[str, Any]:
    position = view.positions.get((one.instrument.product, one.instrument.native_symbol, one.leg))
    return rows.order(one, position.id if position is not None else 0)


def _asset(currency: str, parameters: Parameters, view: View) -> object:
    del parameters
    found = view.assets.get(currency)
    if found is None:
        raise Problem(1000, "Account does not exist")
    return rows.asset(found)


def _open(parameters: Parameters, view: View, now_ns: int) -> object:
    del now_ns
    return _open_of(parameters.get("symbol", ""), parameters, view)


def _open_of(symbol: str, parameters: Parameters, view: View) -> object:
    chosen = [one for one in reversed(view.open.values()) if symbol in ("", one.instrument.native_symbol)]
    return [_order(one, view) for one in _page(chosen, parameters)]


def _history(parameters: Parameters, view: View, now_ns: int) -> object:
    """Orders that ended, by the time at which they were created."""
    symbol, states = parameters.get("symbol", ""), {one for one in parameters.get("states", "").split(",") if one}
    start, end = _window(parameters, now_ns)
    chosen = [
        one
        for one in reversed(view.orders.values())
        if not one.open
        and symbol in ("", one.instrument.native_symbol)
        and (not states or str(rows.STATE[one.status]) in states)
        and start <= ms(one.created_ns) <= end
    ]
    return [_order(one, view) for one in _page(chosen, parameters)]


def _deals(parameters: Parameters, view: View, now_ns: int) -> object:
    symbol = parameters.get("symbol", "")
    if not symbol:
        raise Problem(600, "Parameter error!")
    start, end = _window(parameters, now_ns)
    chosen = [
        one
        for one in reversed(view.executions)
        if one.order.instrument.native_symbol == symbol and start <= ms(one.ts_ns) <= end
    ]
    return [rows.deal(one) for one in _page(chosen, parameters)]


def _positions(parameters: Parameters, view: View, now_ns: int) -> object:
    del now_ns
    symbol = parameters.get("symbol", "")
    return [
        rows.position(one)
        for one in view.positions.values()
        if one.lots and symbol in ("", one.instrument.native_symbol)
    ]


def _fundings(parameters: Parameters, view: View, now_ns: int) -> object:
    del now_ns
    symbol = parameters.get("symbol", "")
    numbered = [*enumerate(view.fundings, 1)][::-1]
    chosen = [(number, one) for number, one in numbered if symbol in ("", one.instrument.native_symbol)]
    page = [rows.funding(one, number) for number, one in _page(chosen, parameters)]
    size, at = _paging(parameters)
    return {
        "pageSize": size,
        "totalCount": len(chosen),
        "totalPage": -(-len(chosen) // size),
        "currentPage": at,
        "resultList": page,
    }


LISTS: dict[str, Callable[[Parameters, View, int], object]] = {
    "order/list/open_orders": _open,
    "order/list/history_orders": _history,
    "order/list/order_deals": _deals,
    "position/open_positions": _positions,
    "position/funding_records": _fundings,
    "account/assets": _assets,
}
ITEMS: dict[str, Callable[[str, Parameters, View], object]] = {
    "order/list/open_orders": _open_of,
    "order/get": _one_order,
    "order/deal_details": _deals_of,
    "account/asset": _asset,
}
"""What is served below the prefix: whole lists, and what the end of the path names."""


def _paging(parameters: Parameters) -> tuple[int, int]:
    size, at = parameters.get("page_size") or "20", parameters.get("page_num") or "1"
    if not size.isdecimal() or not at.isdecimal() or not 1 <= int(size) <= MOST_ROWS or int(at) < 1:
        raise Problem(600, "Parameter error!")
    return int(size), int(at)


def _page(items: Sequence[Item], parameters: Parameters) -> Sequence[Item]:
    size, at = _paging(parameters)
    return items[(at - 1) * size : at * size]


def _window(parameters: Parameters, now_ns: int) -> tuple[int, int]:
    given = {name: parameters[name] for name in ("start_time", "end_time") if parameters.get(name)}
    if not all(text.isdecimal() for text in given.values()):
        raise Problem(600, "Parameter error!")
    end = int(given.get("end_time", ms(now_ns)))
    start = int(given.get("start_time", end - DEFAULT_DAYS * DAY_MS))
    if not 0 <= end - start <= MOST_DAYS * DAY_MS:
        raise Problem(600, "Parameter error!")
    return start, end
