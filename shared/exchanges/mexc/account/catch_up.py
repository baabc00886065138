"""What is asked of MEXC over REST after a connect, and every now and then.

Sources: "Spot Account/Trade" of the spot v3 documentation (orders within 7 days, executions within 30, no cursor),
"Account and trading" of the contract v1 documentation (pages by number, at most 90 days). In this order, so that
nothing falls between two lists: open orders, orders, executions, orders that executions name and no list had, positions
and balances. Executions have to be asked for symbol by symbol, orders of spot too: those of the settings, of frames, of
open orders and of positions.

No list promises an order of its rows, so that a full reply is not followed but asked for again in smaller parts. Times
select orders by when they were made. Of orders that were made before ``since_ms`` those of the week before are asked
for, and of one week more, another one each minute (``OLDER_WEEKS``): an order that stood for long and ended while
nobody was connected is found within as many minutes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec import Raw
from typing_extensions import override

from shared.accounts.base import AccountPlan, Call, CatchUpNeeds
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.mexc.account.endpoints import asking_futures, asking_spot, named
from shared.exchanges.mexc.account.wire import complaint_of, moment_row, rows_of
from shared.exchanges.mexc.wire import decoded
from shared.exchanges.tracks import Budget, Track, Tracks

__all__ = ["UNLISTED", "FuturesCatchUp", "SpotCatchUp"]

MINUTE_MS: Final = 60_000
WEEK_MS: Final = 7 * 86_400_000
MONTH_MS: Final = 30 * 86_400_000 - 1

OLDER_WEEKS: Final = 12

UNLISTED: Final = frozenset({-1121, 10_007, 1_001})
"""Codes for a symbol that the venue does not have any more: there is nothing of it."""

MOST_REPLIES: Final = 300
MOST_BYTES: Final = 6 * 1024 * 1024
MOST_NAMED: Final = 50
"""Orders that are asked for one by one."""

MOST_PAGES: Final = 20
"""Pages of futures that a window of time may have before it is asked for in smaller parts."""

OLDER_PAGES: Final = 3

OPEN_SYMBOLS: Final = 5
SPOT_ORDERS: Final = 1_000
SPOT_TRADES: Final = 100
FUTURES_PAGE: Final = 100

Window = tuple[int, int]


class Part(NamedTuple):
    """What came of a window of time: whether all of it, whether there was room for much more, how long it lasted (ms).

    ``lasted``: between the first and the last row that came, whichever of the window they were.
    """

    whole: bool
    sparse: bool = True
    lasted: int = 0


Reading = Generator[Call, RestReply, Part]


class _CatchUp(ABC):
    """See :class:`shared.accounts.base.CatchUp`."""

    def __init__(self, plan: AccountPlan, needs: CatchUpNeeds) -> None:
        self._until = needs.until_ms
        self._since = min(needs.since_ms, needs.until_ms)
        self._symbols = dict.fromkeys((*plan.symbols, *needs.symbols))
        self._budget = Budget(MOST_REPLIES, MOST_BYTES)
        self._covered: dict[tuple[str, str], int] = {}
        self._seen: set[tuple[str, str]] = set()
        self._executed: dict[tuple[str, str], None] = {}
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
        """The least of what the lists cover; an account without a symbol has no lists."""
        return min(self._covered.values(), default=self._until)

    @abstractmethod
    def _stages(self) -> Iterator[Sequence[Track]]: ...

    @abstractmethod
    def _named(self, symbol: str, order_id: str) -> Track:
        """An order that an execution names; one that the venue does not keep any more is none."""

    def _missing(self) -> list[Track]:
        """Orders that executions name and no list had."""
        missing = [key for key in self._executed if key not in self._seen]
        self._seen.update(missing)
        return [self._named(*key) for key in missing[:MOST_NAMED]]

    def _walk(self, what: str, symbol: str, widest: int, read: Callable[[Window], Reading]) -> Track:
        """Windows from ``since_ms`` to ``until_ms``, each no wider than what comes whole."""
        key = (what, symbol)
        begin = self._covered[key] = self._since
        width = widest
        while True:
            end = min(begin + width, self._until)
            part = yield from read((begin, end))
            if part.whole:
                begin = end if end > begin else end + 1
                self._covered[key] = min(begin, self._until)
                width = min(widest, max(1, width * 2 if part.sparse else width))
            elif end <= begin:
                raise ParseError("too_large", f"{what} of {symbol or 'all'} had more in 1 ms than one reply holds")
            else:
                width = min((end - begin) // 4, max(1, part.lasted // 2))
            if begin >= self._until or self._budget.spent:
                return

    def _older(self, read: Callable[[Window], Reading]) -> Track:
        """Orders that were made before; what is more than a reply holds is left to executions and other minutes."""
        week = 1 + self._until // MINUTE_MS % OLDER_WEEKS
        for back in (0, week):
            end = max(0, self._since - back * WEEK_MS)
            yield from read((max(0, end - WEEK_MS), end))

    def _note(self, raws: Iterable[Raw], symbol: str = "", *, executions: bool = False) -> list[int]:
        """What the rows name; gives their times (ms). Rows that can't be read are the parser's to reject."""
        times = []
        for raw in raws:
            try:
                row = decoded(moment_row, raw)
            except ParseError:
                continue
            times.append(row.moment_ms())
            named_symbol = row.symbol or symbol
            if named_symbol and named_symbol not in self._symbols:
                self._symbols[named_symbol] = None
            if row.order_id is None:
                continue
            key = (named_symbol, str(row.order_id))
            if executions:
                self._executed[key] = None
            else:
                self._seen.add(key)
        return times


class SpotCatchUp(_CatchUp):
    """Spot: everything symbol by symbol."""

    @override
    def _stages(self) -> Iterator[Sequence[Track]]:
        symbols = tuple(self._symbols)
        for symbol in symbols:
            self._covered["myTrades", symbol] = self._since
        if symbols:
            groups = [symbols[at : at + OPEN_SYMBOLS] for at in range(0, len(symbols), OPEN_SYMBOLS)]
            yield [self._open(group) for group in groups]
            yield [self._orders(symbol) for symbol in symbols]
            yield [self._trades(symbol) for symbol in symbols]
            yield self._missing()
        yield [self._account()]

    def _open(self, symbols: tuple[str, ...]) -> Track:
        """A symbol that is not listed any more must not hide the orders of those that it was asked for with."""
        reply = yield asking_spot("openOrders", ("symbol", ",".join(symbols)))
        if complaint_of(reply) not in UNLISTED:
            self._note(rows_of(reply, "openOrders"))
        elif len(symbols) > 1:
            for symbol in symbols:
                yield from self._open((symbol,))

    def _orders(self, symbol: str) -> Track:
        read = partial(self._window, "allOrders", symbol)
        yield from self._walk("allOrders", symbol, WEEK_MS, read)
        yield from self._older(read)

    def _trades(self, symbol: str) -> Track:
        yield from self._walk("myTrades", symbol, MONTH_MS, partial(self._window, "myTrades", symbol))

    def _window(self, what: str, symbol: str, window: Window) -> Reading:
        most = SPOT_TRADES if what == "myTrades" else SPOT_ORDERS
        times = (("startTime", str(window[0])), ("endTime", str(window[1])))
        reply = yield asking_spot(what, ("symbol", symbol), *times, ("limit", str(most)))
        if complaint_of(reply) in UNLISTED:
            return Part(whole=True)
        rows = rows_of(reply, what)
        return _part(len(rows), most, self._note(rows, symbol, executions=what == "myTrades"))

    @override
    def _named(self, symbol: str, order_id: str) -> Track:
        yield asking_spot("order", ("symbol", symbol), ("orderId", order_id))

    def _account(self) -> Track:
        reply = yield asking_spot("account")
        rows_of(reply, "account")


OPEN: Final = "order/list/open_orders"
HISTORY: Final = "order/list/history_orders"
DEALS: Final = "order/list/order_deals"
POSITIONS: Final = "position/open_positions"
ASSETS: Final = "account/assets"


class FuturesCatchUp(_CatchUp):
    """Futures: orders and positions of all symbols at once, executions symbol by symbol."""

    @override
    def _stages(self) -> Iterator[Sequence[Track]]:
        yield [self._open()]
        yield [
            self._walk(HISTORY, "", WEEK_MS, partial(self._pages, HISTORY, "", MOST_PAGES)),
            self._older(partial(self._pages, HISTORY, "", OLDER_PAGES)),
        ]
        yield from self._executions(self._symbols)
        known = set(self._symbols)
        yield [self._list(POSITIONS), self._list(ASSETS)]
        yield from self._executions(symbol for symbol in self._symbols if symbol not in known)

    def _executions(self, symbols: Iterable[str]) -> Iterator[Sequence[Track]]:
        wanted = tuple(symbols)
        for symbol in wanted:
            self._covered[DEALS, symbol] = self._since
        yield [
            self._walk(DEALS, symbol, MONTH_MS, partial(self._pages, DEALS, symbol, MOST_PAGES)) for symbol in wanted
        ]
        yield self._missing()

    def _open(self) -> Track:
        """Every open order: without one of them those that are left would be taken for ended."""
        number, rows = 1, [Raw()] * FUTURES_PAGE
        while len(rows) >= FUTURES_PAGE:
            if number > MOST_REPLIES:
                raise ParseError("too_large", f"there were more than {MOST_REPLIES} pages of open orders")
            reply = yield asking_futures(OPEN, *_page(number))
            rows = rows_of(reply, OPEN)
            self._note(rows)
            number += 1

    def _list(self, what: str) -> Track:
        reply = yield asking_futures(what)
        self._note(rows_of(reply, what))

    def _pages(self, what: str, symbol: str, most: int, window: Window) -> Reading:
        times = (("start_time", str(window[0])), ("end_time", str(window[1])))
        of = (("symbol", symbol),) if symbol else ()
        noted: list[int] = []
        for number in range(1, most + 1):
            reply = yield asking_futures(what, *of, *times, *_page(number))
            if symbol and complaint_of(reply) in UNLISTED:
                break
            rows = rows_of(reply, what)
            noted += self._note(rows, symbol, executions=what == DEALS)
            if len(rows) < FUTURES_PAGE:
                break
        else:
            return _part(1, 1, noted)
        return _part(len(noted), most * FUTURES_PAGE, noted)

    @override
    def _named(self, symbol: str, order_id: str) -> Track:
        yield named(order_id)


def _part(rows: int, most: int, times: Sequence[int]) -> Part:
    return Part(rows < most, 2 * rows < most, max(times, default=0) - min(times, default=0))


def _page(number: int) -> tuple[tuple[str, str], ...]:
    return ("page_num", str(number)), ("page_size", str(FUTURES_PAGE))
