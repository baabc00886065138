"""Binance's order-book procedure, as far as it is the venue's own; the rest is :mod:`shared.exchanges.books`.

Spot: ids are contiguous (``U == u before + 1``). USD-M: ids skip, ``pu == u before`` links them, and the spot rule
would see gaps where there are none. Both are seeded over REST once updates flow. Source: "How to manage a local order
book correctly", spot and USD-M references.
"""

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.binance.endpoints import USDM
from shared.exchanges.binance.market import Find
from shared.exchanges.binance.values import LAST_MS, event_time, nanoseconds
from shared.exchanges.binance.wire import COIN_M, Depth, DepthSnapshot
from shared.exchanges.books import BookLevels, Books
from shared.exchanges.levels import decoded_levels, proved_levels, validated
from shared.sequencing import CONTIGUOUS, LINKED

__all__ = ["DepthBooks"]


class DepthBooks:
    """The books of one stream."""

    def __init__(self, product: str, find: Find) -> None:
        self._find = find
        self._linked = product == USDM
        self._books = Books(LINKED if self._linked else CONTIGUOUS)
        self._kept: set[str] = set()

    def delta(self, origin: Origin, event: Depth, output: Output) -> None:
        """``@depth``: absolute sizes of the levels that changed."""
        if event.stack == COIN_M:
            return
        symbol = event.symbol
        book = self._books.find(symbol)
        instrument = self._find(symbol, origin, output) if book is None else book.instrument
        bids, asks = proved_levels(event.bids, "bids"), proved_levels(event.asks, "asks")
        first, last, previous = event.first_id, event.last_id, event.previous_id
        if first > last:
            raise ParseError("wrong_type", f"U: {first} was beyond u, {last}")
        if not self._linked:
            previous = None
        elif previous is None:
            raise ParseError("missing_field", "pu was not there, which links USD-M updates")
        ts = event.ts_event if event.ts_transaction is None else event.ts_transaction
        ts_exchange = ts * 1_000_000 if 0 <= ts < LAST_MS else nanoseconds(ts, "E or T")
        if book is None:
            self._kept.add(symbol)
        elif book.follow(origin, output, first, last, previous, ts_exchange, bids, asks):
            return
        self._books.delta(
            origin,
            instrument,
            output,
            BookLevels(bids, asks),
            first=first,
            last=last,
            previous=previous,
            ts_exchange=ts_exchange,
        )

    def partial(self, origin: Origin, event: Depth, output: Output) -> None:
        """USD-M's ``@depth5``, ``@depth10``, ``@depth20``: the top of the book under the keys of an update."""
        if event.stack == COIN_M:
            return
        instrument = self._find(event.symbol, origin, output)
        bids, asks = decoded_levels(event.bids, "bids"), decoded_levels(event.asks, "asks")
        levels = BookLevels(validated(bids, "bids"), validated(asks, "asks"))
        ts_exchange = event_time(event.ts_transaction, event.ts_event)
        self._books.partial(origin, instrument, output, levels, event.last_id, ts_exchange)

    def partial_snapshot(self, origin: Origin, native_symbol: str, event: DepthSnapshot, output: Output) -> None:
        """Spot's partial depth: only the topic tells the symbol."""
        instrument = self._find(native_symbol, origin, output)
        levels, ts_exchange = _snapshot(event)
        self._books.partial(origin, instrument, output, levels, event.last_id, ts_exchange)

    def seed(self, origin: Origin, native_symbol: str, event: DepthSnapshot, output: Output) -> None:
        """A REST order book."""
        instrument = self._find(native_symbol, origin, output)
        levels, ts_exchange = _snapshot(event)
        self._kept.add(native_symbol)
        self._books.seed(origin, instrument, output, levels, event.last_id, ts_exchange)

    def inline(self, origin: Origin, event: DepthSnapshot, output: Output) -> None:
        """A REST order book among the frames, as recorders write it: for the one book that it can be meant for."""
        waiting = [one.native_symbol for one in self._books.waiting()]
        candidates = waiting or list(self._kept)
        if len(candidates) != 1:
            raise ParseError("missing_field", f"symbol: a depth snapshot named none, {len(candidates)} books were kept")
        self.seed(origin, candidates[0], event, output)

    def interrupted(self, origin: Origin, native_symbol: str | None, reason: str, output: Output) -> None:
        """As :meth:`Books.interrupted`."""
        self._books.interrupted(origin, native_symbol, reason, output)


def _snapshot(event: DepthSnapshot) -> tuple[BookLevels, int | None]:
    """Validated levels and the venue's time (spot sends none)."""
    levels = BookLevels(validated(event.bids, "bids"), validated(event.asks, "asks"))
    return levels, event_time(event.ts_transaction, event.ts_event)
