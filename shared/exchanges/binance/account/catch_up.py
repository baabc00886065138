"""What is asked of Binance over REST after a connect, and every now and then.

Sources: ``rest-api.md`` of binance-spot-api-docs; the USD-M "Trade" and "Account" pages. Open orders come at once for
all symbols; orders and executions have to be asked for symbol by symbol: those of the settings, of frames, of open
orders and of positions. In this order, so that nothing falls between two lists: open orders, then the latest orders,
then executions, then the orders that executions name and no list had, then positions and balances.

Times select orders by when they were made, so that the latest ones are asked for without a time; only where those don't
reach back far enough are the windows of the time in question asked for too. Windows begin at their oldest row: a full
reply is followed from its newest row on.
"""

from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from msgspec import Raw

from shared.accounts.base import AccountPlan, Call, CatchUpNeeds
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.binance.account.endpoints import asking
from shared.exchanges.binance.account.rows import MOMENT_ROW, MomentRow, rows_of
from shared.exchanges.binance.account.wire import decode
from shared.exchanges.binance.endpoints import SPOT, USDM
from shared.exchanges.tracks import Budget, Track, Tracks

__all__ = ["BinanceCatchUp"]

DAY_MS: Final = 86_400_000

WINDOW_MS: Final = {SPOT: DAY_MS - 1, USDM: 7 * DAY_MS - 1}
"""The longest that a request may ask for."""

PAGE: Final = 1_000
"""Rows of a full reply."""

MOST_REPLIES: Final = 300
MOST_BYTES: Final = 6 * 1024 * 1024
MOST_NAMED: Final = 50
"""Orders that are asked for one by one."""


class _OrderKey(NamedTuple):
    symbol: str
    order_id: int


class BinanceCatchUp:
    """See :class:`shared.accounts.base.CatchUp`."""

    def __init__(self, plan: AccountPlan, needs: CatchUpNeeds) -> None:
        self._product = plan.products[0]
        self._since = min(needs.since_ms, needs.until_ms)
        self._until = needs.until_ms
        self._symbols = dict.fromkeys((*plan.symbols, *needs.symbols))
        self._budget = Budget(MOST_REPLIES, MOST_BYTES)
        self._covered: dict[tuple[str, str], int] = {}
        self._seen: set[_OrderKey] = set()
        self._executed: dict[_OrderKey, None] = {}
        self._tracks = Tracks(self._stages())

    def begin(self) -> Sequence[Call]:
        """The open orders."""
        return self._tracks.begin()

    def replied(self, call: Call, reply: RestReply) -> Sequence[Call]:
        """Raises ParseError for a reply that is no list, or a refusal."""
        self._budget.spend(reply)
        return self._tracks.replied(call, reply)

    @property
    def covered_ms(self) -> int:
        """The least of what the symbols' lists cover; an account without a symbol has no lists."""
        return min(self._covered.values(), default=self._until)

    def _stages(self) -> Iterator[Sequence[Track]]:
        contracts = self._product != SPOT
        yield [self._list("openOrders"), *([self._list("openAlgoOrders")] if contracts else [])]
        yield from self._histories(self._symbols)
        known = set(self._symbols)
        yield [self._list(one) for one in (("positionRisk", "balance") if contracts else ("account",))]
        yield from self._histories(one for one in self._symbols if one not in known)

    def _histories(self, symbols: Iterable[str]) -> Iterator[Sequence[Track]]:
        """Orders, then executions, then the orders that those name."""
        wanted = tuple(symbols)
        for symbol in wanted:
            self._covered["trades", symbol] = self._since
        algos = [self._algos(symbol) for symbol in wanted if self._product != SPOT]
        yield [*(self._orders(symbol) for symbol in wanted), *algos]
        yield [self._trades(symbol) for symbol in wanted]
        missing = [one for one in self._executed if one not in self._seen]
        yield [self._named(one) for one in missing[:MOST_NAMED]]
        self._seen.update(missing)

    def _list(self, what: str) -> Track:
        """A list of all symbols, which may name new ones."""
        reply = yield asking(self._product, what)
        rows = rows_of(reply, what)
        if what not in {"account", "balance"}:
            self._note(what, rows)

    def _orders(self, symbol: str) -> Track:
        latest = yield from self._page("allOrders", symbol)
        if len(latest) >= PAGE:
            oldest = min(row.time for row in latest)
            if oldest > self._since:
                wanted = min(oldest, self._until)
                found = yield from self._walk("allOrders", symbol, wanted)
                self._covered["orders", symbol] = found if found < wanted else self._until

    def _trades(self, symbol: str) -> Track:
        what = "myTrades" if self._product == SPOT else "userTrades"
        self._covered["trades", symbol] = yield from self._walk(what, symbol, self._until)

    def _walk(self, what: str, symbol: str, until: int) -> Generator[Call, RestReply, int]:
        """Windows from ``since_ms`` on; up to when they are complete."""
        begin = self._since
        while True:
            end = min(begin + WINDOW_MS[self._product], until)
            rows = yield from self._page(what, symbol, ("startTime", str(begin)), ("endTime", str(end)))
            if len(rows) < PAGE:
                begin = end
            else:
                newest = min(max(row.time for row in rows), end)
                if newest <= begin:
                    raise ParseError("too_large", f"{what} of {symbol} had {PAGE} rows in 1 ms")
                begin = newest
            if begin >= until or self._budget.spent:
                return begin

    def _page(self, what: str, symbol: str, *times: tuple[str, str]) -> Generator[Call, RestReply, list[MomentRow]]:
        reply = yield asking(self._product, what, ("symbol", symbol), *times, ("limit", str(PAGE)))
        return self._note(what, rows_of(reply, what))

    def _algos(self, symbol: str) -> Track:
        """The latest conditional orders. A venue without this list (404) has no ends of them to tell."""
        what = "allAlgoOrders"
        reply = yield asking(self._product, what, ("symbol", symbol))
        if reply.status != 404:
            rows_of(reply, what)

    def _named(self, key: _OrderKey) -> Track:
        """An order that an execution names; one that the venue does not keep any more (-2013) is none."""
        yield asking(self._product, "order", ("symbol", key.symbol), ("orderId", str(key.order_id)))

    def _note(self, what: str, raws: list[Raw]) -> list[MomentRow]:
        """What the rows name. Rows that can't be read are the parser's to reject."""
        rows = []
        for raw in raws:
            try:
                row = decode(MOMENT_ROW, raw)
            except ParseError:
                continue
            rows.append(row)
            if row.symbol not in self._symbols:
                self._symbols[row.symbol] = None
            if row.order_id is not None:
                key = _OrderKey(row.symbol, row.order_id)
                if what in {"myTrades", "userTrades"}:
                    self._executed[key] = None
                else:
                    self._seen.add(key)
        return rows
