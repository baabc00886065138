"""The lists of a reconciliation as messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Raw

from shared.accounts.base import Found
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.base import Origin
from shared.exchanges.binance.account import balances, fills, orders, positions
from shared.exchanges.binance.account.endpoints import asking
from shared.exchanges.binance.account.rows import (
    ALGO_ROW,
    BALANCE_ROW,
    ORDER_ROW,
    RISK_ROW,
    SPOT_ROW,
    TRADE_ROW,
    complaint_of,
    rows_of,
)
from shared.exchanges.binance.account.starts import Starts
from shared.exchanges.binance.account.wire import decode, moment
from shared.exchanges.binance.endpoints import SPOT
from shared.exchanges.records import each, nothing
from shared.exchanges.signing import asked

__all__ = ["Lists"]

_OPTIONAL: Final = frozenset({"order", "allAlgoOrders"})
"""What a reconciliation goes without where the venue has nothing to say."""

_TRADES: Final = frozenset({"myTrades", "userTrades"})

_RowReader = Callable[[Origin, Raw, Found], None]
_ClientIds = dict[tuple[str | None, str], str]


class Lists:
    """Reads the replies of one product."""

    def __init__(self, product: str, starts: Starts) -> None:
        self._product = product
        self._starts = starts
        self._client_ids: _ClientIds = {}
        ordinary = dict.fromkeys(("openOrders", "allOrders", "order"), self._order)
        if product == SPOT:
            self._readers: Mapping[str, _RowReader] = {
                **ordinary,
                "myTrades": self._trade,
                "account": self._spot_asset,
            }
        else:
            self._readers = {
                **ordinary,
                **dict.fromkeys(("openAlgoOrders", "allAlgoOrders"), self._algo),
                "userTrades": self._trade,
                "positionRisk": self._leg,
                "balance": self._asset,
            }

    def read(self, origin: Origin, replies: Sequence[RestReply]) -> Found:
        """Orders first, so that an execution is known by its order's client id. Raises ParseError."""
        found = nothing()
        self._client_ids = {}
        whole: set[str] = set()
        trades: list[tuple[str, RestReply]] = []
        for reply in replies:
            what, of_all = self._asked(reply)
            if what in _OPTIONAL and (reply.status != 200 or complaint_of(reply) is not None):
                continue
            if what in _TRADES:
                trades.append((what, reply))
                continue
            self._rows(origin, what, reply, found)
            if of_all:
                whole.add(what)
        for what, reply in trades:
            self._rows(origin, what, reply, found)
        lists = {"openOrders"} if self._product == SPOT else {"openOrders", "openAlgoOrders"}
        found.open_orders_of = (self._product,) if lists <= whole else ()
        found.positions_of = (self._product,) if "positionRisk" in whole else ()
        found.all_balances = bool(whole & {"account", "balance"})
        return found

    def _asked(self, reply: RestReply) -> tuple[str, bool]:
        """What a reply is a list of, and whether it is one of all symbols."""
        path, parameters = asked(reply.url)
        what = path.rpartition("/")[2]
        if what not in self._readers or not path.endswith(asking(self._product, what).path):
            raise ParseError("unknown_event", f"a reply came from {reply.url[:200]!r}")
        return what, "symbol" not in parameters

    def _rows(self, origin: Origin, what: str, reply: RestReply, found: Found) -> None:
        read = self._readers[what]
        each(rows_of(reply, what), lambda row: read(origin, row, found), found)

    def _order(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decode(ORDER_ROW, raw)
        start = self._starts.instrument(origin, row.symbol, moment(row.update_time, "updateTime"))
        found.orders.append(orders.listed(start, row))
        self._client_ids[row.symbol, str(row.order_id)] = row.client_order_id

    def _algo(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decode(ALGO_ROW, raw)
        start = self._starts.instrument(origin, row.symbol, moment(row.update_time, "updateTime"))
        found.orders.append(orders.algo_listed(start, row))

    def _trade(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decode(TRADE_ROW, raw)
        start = self._starts.instrument(origin, row.symbol, moment(row.time, "time"))
        found.fills.append(fills.traded(start, row, self._client_ids.get((row.symbol, str(row.order_id)))))

    def _spot_asset(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decode(SPOT_ROW, raw)
        start = self._starts.account(origin, None)
        found.balances.append(balances.held(start, row.asset, row.free, row.locked, "rest"))

    def _asset(self, origin: Origin, raw: Raw, found: Found) -> None:
        found.balances.append(balances.listed(self._starts.account(origin, None), decode(BALANCE_ROW, raw)))

    def _leg(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decode(RISK_ROW, raw)
        start = self._starts.instrument(origin, row.symbol, moment(row.update_time, "updateTime"))
        found.positions.append(positions.listed(start, row))
