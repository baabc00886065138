"""What is asked of Bybit over REST after a connect, and every now and then.

Sources: docs/v5/order/{open-order,order-list,execution}.mdx, docs/v5/position/position.mdx,
docs/v5/account/wallet-balance.mdx. In this order, so that nothing falls between two lists: open orders, then those that
have ended (the 500 that the venue keeps at hand, whenever they were created, and the order history of the time in
question), then executions, then the orders that executions name and no list had, then positions and the wallet.

Histories take windows of at most 7 days and give them from the newest row to the oldest. What is complete has to grow
from ``since_ms`` on: windows begin small, grow while they are nearly empty, and one with more pages than
:data:`WINDOW_PAGES` is asked for again as a smaller one.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Final

from msgspec import Raw

from shared.accounts.base import AccountPlan, Call, CatchUpNeeds
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.bybit.account.endpoints import (
    EXECUTIONS,
    OPEN_ORDERS,
    ORDER_HISTORY,
    POSITIONS,
    SETTLE_COINS,
    UNIFIED,
    WALLET,
)
from shared.exchanges.bybit.account.wire import EXECUTION_ROW, ORDER_ROW, Page, page
from shared.exchanges.bybit.wire import decode
from shared.exchanges.tracks import Budget, Track, Tracks

__all__ = ["BybitCatchUp"]

HOUR_MS: Final = 3_600_000
WEEK_MS: Final = 7 * 24 * HOUR_MS
WINDOW_PAGES: Final = 12
LIST_PAGES: Final = 40
"""Of open orders, positions, recently closed orders."""

MOST_REPLIES: Final = 150
MOST_BYTES: Final = 6 * 1024 * 1024
MOST_NAMED: Final = 50
"""Orders that are asked for one by one."""

Parameters = tuple[tuple[str, str], ...]


class BybitCatchUp:
    """See :class:`shared.accounts.base.CatchUp`."""

    def __init__(self, plan: AccountPlan, needs: CatchUpNeeds) -> None:
        self._products = plan.products
        self._since = min(needs.since_ms, needs.until_ms)
        self._until = needs.until_ms
        self._budget = Budget(MOST_REPLIES, MOST_BYTES)
        self._covered: dict[tuple[str, str], int] = {}
        self._seen: set[str] = set()
        self._executed: dict[str, str] = {}
        """Orders that executions name, and their product."""
        self._tracks = Tracks(self._stages())

    def begin(self) -> Sequence[Call]:
        """The open orders."""
        return self._tracks.begin()

    def replied(self, call: Call, reply: RestReply) -> Sequence[Call]:
        """Raises ParseError for a reply that is no page, or a refusal."""
        self._budget.spend(reply)
        return self._tracks.replied(call, reply)

    @property
    def covered_ms(self) -> int:
        """The least of what the histories cover."""
        return min(self._covered.values(), default=self._since)

    def _stages(self) -> Iterator[Sequence[Track]]:
        yield [self._orders(*one) for one in self._settled()]
        yield [
            *(self._orders(*one, ("openOnly", "1")) for one in self._settled()),
            *(self._history(ORDER_HISTORY, product) for product in self._products),
        ]
        yield [self._history(EXECUTIONS, product) for product in self._products]
        missing = [(product, one) for one, product in self._executed.items() if one not in self._seen]
        yield [self._named(product, one) for product, one in missing[:MOST_NAMED]]
        contracts = [one for one in self._settled() if one[0] != "spot"]
        yield [*(self._positions(*one) for one in contracts), self._wallet()]

    def _settled(self) -> list[tuple[str, str | None]]:
        return [(product, settle) for product in self._products for settle in SETTLE_COINS[product]]

    def _orders(self, product: str, settle: str | None, *more: tuple[str, str]) -> Track:
        parameters = (*_list(product, settle), *(more or (("openOnly", "0"),)), ("limit", "50"))
        yield from self._pages(OPEN_ORDERS, parameters, LIST_PAGES)

    def _positions(self, product: str, settle: str | None) -> Track:
        yield from self._pages(POSITIONS, (*_list(product, settle), ("limit", "200")), LIST_PAGES)

    def _named(self, product: str, order_id: str) -> Track:
        yield from self._pages(ORDER_HISTORY, (("category", product), ("orderId", order_id)), 1)

    def _wallet(self) -> Track:
        reply = yield Call("GET", WALLET, (("accountType", UNIFIED),))
        page(reply.status, reply.body, WALLET)

    def _history(self, path: str, product: str) -> Track:
        """Window by window from ``since_ms`` on, until ``until_ms`` or until enough has been fetched."""
        begin, width = self._since, HOUR_MS
        self._covered[path, product] = begin
        limit = "100" if path == EXECUTIONS else "50"
        while True:
            end = min(begin + width, self._until)
            parameters = (("category", product), ("startTime", str(begin)), ("endTime", str(end)), ("limit", limit))
            pages, cut = yield from self._pages(path, parameters, WINDOW_PAGES)
            if cut is None:
                self._covered[path, product] = begin = end
                if end >= self._until or self._budget.spent:
                    return
                width = min(WEEK_MS, width * 4 if pages == 1 else width * 2 if pages * 4 <= WINDOW_PAGES else width)
            elif end - begin <= 1:
                raise ParseError("too_large", f"{path} had more than {WINDOW_PAGES} pages in 1 ms")
            else:
                full = end - min(max(begin, _time(path, cut.rows[-1])), end)
                width = max(1, min((end - begin) // 8, full // 2))

    def _pages(
        self, path: str, parameters: Parameters, most: int
    ) -> Generator[Call, RestReply, tuple[int, Page | None]]:
        """A list page by page: how many there were, and the last one of these where there are more than so many."""
        cursor: str | None = None
        listed: Page | None = None
        for number in range(1, most + 1):
            reply = yield Call("GET", path, parameters if cursor is None else (*parameters, ("cursor", cursor)))
            listed = page(reply.status, reply.body, path)
            self._note(path, dict(parameters)["category"], listed.rows)
            if listed.is_last(cursor):
                return number, None
            cursor = listed.cursor
        return most, listed

    def _note(self, path: str, product: str, rows: list[Raw]) -> None:
        """Remember which orders there were. Rows that can't be read are the parser's to reject."""
        for raw in rows:
            try:
                if path == EXECUTIONS:
                    order_id = decode(EXECUTION_ROW, raw).order_id
                    if order_id:
                        self._executed[order_id] = product
                elif path != POSITIONS:
                    self._seen.add(decode(ORDER_ROW, raw).order_id)
            except ParseError:
                continue


def _list(product: str, settle: str | None) -> Parameters:
    return (("category", product),) if settle is None else (("category", product), ("settleCoin", settle))


def _time(path: str, raw: Raw) -> int:
    """The time (ms) that a history is sorted by; 0 where a row has none."""
    try:
        text = decode(EXECUTION_ROW, raw).exec_time if path == EXECUTIONS else decode(ORDER_ROW, raw).created_time
    except ParseError:
        return 0
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 19 else 0
