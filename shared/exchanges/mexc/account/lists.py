"""The lists of a reconciliation as messages."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Raw

from shared.accounts.base import Found
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.base import Origin
from shared.exchanges.mexc.account import balances, fills, orders, positions
from shared.exchanges.mexc.account import wire as w
from shared.exchanges.mexc.account.catch_up import ASSETS, DEALS, HISTORY, OPEN, POSITIONS, UNLISTED
from shared.exchanges.mexc.account.endpoints import FUTURES_API, SPOT_API
from shared.exchanges.mexc.account.starts import Starts
from shared.exchanges.mexc.endpoints import SPOT
from shared.exchanges.mexc.wire import decoded
from shared.exchanges.records import each, nothing
from shared.exchanges.signing import asked

__all__ = ["Lists"]

_ONE: Final = "order/get"
_BY_SYMBOL: Final = frozenset({"openOrders", "allOrders", "myTrades", DEALS})

_RowReader = Callable[[Origin, Raw, Found], None]


class Lists:
    """Reads the replies of one product."""

    def __init__(self, product: str, starts: Starts) -> None:
        self._product = product
        self._starts = starts
        if product == SPOT:
            self._readers: Mapping[str, _RowReader] = {
                **dict.fromkeys(("openOrders", "allOrders", "order"), self._spot_order),
                "myTrades": self._spot_trade,
                "account": self._spot_asset,
            }
        else:
            self._readers = {
                **dict.fromkeys((OPEN, HISTORY, _ONE), self._order),
                DEALS: self._deal,
                POSITIONS: self._position,
                ASSETS: self._asset,
            }

    def read(self, origin: Origin, replies: Sequence[RestReply]) -> Found:
        """All replies; raises ParseError where one can't be used."""
        found = nothing()
        whole: set[str] = set()
        for reply in replies:
            what = self._asked(reply)
            code = w.complaint_of(reply)
            if what in {"order", _ONE} and (reply.status != 200 or code is not None):
                continue  # the venue does not keep it any more
            whole.add(what)
            if what in _BY_SYMBOL and code in UNLISTED:
                continue
            self._rows(origin, what, reply, found)
        spot = self._product == SPOT
        found.open_orders_of = (self._product,) if ("openOrders" if spot else OPEN) in whole else ()
        found.positions_of = (self._product,) if POSITIONS in whole else ()
        found.all_balances = bool(whole & {"account", ASSETS})
        return found

    def _asked(self, reply: RestReply) -> str:
        """What a reply is a list of."""
        path, _ = asked(reply.url)
        _, api, what = path.rpartition(SPOT_API if self._product == SPOT else FUTURES_API)
        if what.startswith(f"{_ONE}/"):
            what = _ONE
        if not api or what not in self._readers:
            raise ParseError("unknown_event", f"a reply came from {reply.url[:200]!r}")
        return what

    def _rows(self, origin: Origin, what: str, reply: RestReply, found: Found) -> None:
        read = self._readers[what]
        each(w.rows_of(reply, what), lambda row: read(origin, row, found), found)

    # --- spot ---

    def _spot_order(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decoded(w.spot_order, raw)
        instrument = self._starts.find(row.symbol)
        ts = w.moment(row.update_time, "updateTime") or w.moment(row.time, "time")
        found.orders.append(orders.listed(self._starts.instrument(origin, instrument, ts), row))

    def _spot_trade(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decoded(w.spot_trade, raw)
        instrument = self._starts.find(row.symbol)
        start = self._starts.instrument(origin, instrument, _executed(row.time))
        found.fills.append(fills.traded(start, row))

    def _spot_asset(self, origin: Origin, raw: Raw, found: Found) -> None:
        start = self._starts.account(origin, None)
        found.balances.append(balances.listed(start, decoded(w.spot_asset, raw)))

    # --- futures ---

    def _order(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decoded(w.contract_order, raw)
        instrument = self._starts.find(row.symbol)
        start = self._starts.instrument(origin, instrument, w.moment(row.update_time, "updateTime"))
        found.orders.append(orders.contract(start, instrument, row, "rest"))

    def _deal(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decoded(w.deal, raw)
        instrument = self._starts.find(row.symbol)
        start = self._starts.instrument(origin, instrument, _executed(row.timestamp))
        found.fills.append(fills.executed(start, instrument, row, "rest"))

    def _position(self, origin: Origin, raw: Raw, found: Found) -> None:
        row = decoded(w.position_row, raw)
        instrument = self._starts.find(row.symbol)
        start = self._starts.instrument(origin, instrument, w.moment(row.update_time, "updateTime"))
        found.positions.append(positions.position(start, instrument, row, "rest"))

    def _asset(self, origin: Origin, raw: Raw, found: Found) -> None:
        start = self._starts.account(origin, None)
        found.balances.append(balances.held(start, decoded(w.asset_row, raw), "rest"))


def _executed(milliseconds: int | str) -> int:
    ts = w.moment(milliseconds, "time")
    if ts is None:
        raise ParseError("bad_time", "an execution had no time")
    return ts
