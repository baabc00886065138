"""The order-book procedure, the same for both products: updates cover a range of versions and are contiguous.

1. Subscribe; hold updates.
2. Fetch the book over REST; it is at a version (spot ``lastUpdateId``, futures ``version``).
3. Drop held updates that end at or before it. The first that is left must reach back to it: its first version is at
   most one more than the book's.
4. From then on the first version of each update is the last of the one before, plus one; anything else is a gap, and
   the procedure starts again.

Sizes are absolute, 0 deletes. Futures updates list their levels in no order.
"""

from collections.abc import Iterable

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.books import BookLevels, Books
from shared.exchanges.levels import proved_pairs, validated
from shared.exchanges.mexc import futures_wire, spot_wire
from shared.exchanges.mexc.futures_levels import Sizes, levels_of
from shared.exchanges.mexc.push_pb2 import (
    PublicAggreDepthsV3Api,
    PublicAggreDepthV3ApiItem,
    PublicLimitDepthsV3Api,
    PublicLimitDepthV3ApiItem,
)
from shared.exchanges.mexc.wire import nanoseconds, whole
from shared.instruments import Instrument

__all__ = ["futures_delta", "futures_seed", "spot_delta", "spot_partial", "spot_seed"]


def spot_delta(
    origin: Origin,
    instrument: Instrument,
    books: Books,
    update: PublicAggreDepthsV3Api,
    ts_exchange: int | None,
    output: Output,
) -> None:
    """``aggre.depth``: the versions ``fromVersion`` to ``toVersion``."""
    first, last = whole(update.fromVersion, "fromVersion"), whole(update.toVersion, "toVersion")
    _ordered(first, last)
    bids, asks = _spot_levels(update.bids, "bids"), _spot_levels(update.asks, "asks")
    book = books.find(instrument.native_symbol)
    if book is None or not book.follow(origin, output, first, last, None, ts_exchange, bids, asks):
        levels = BookLevels(bids, asks)
        books.delta(origin, instrument, output, levels, first=first, last=last, ts_exchange=ts_exchange)


def spot_partial(
    origin: Origin,
    instrument: Instrument,
    books: Books,
    top: PublicLimitDepthsV3Api,
    ts_exchange: int | None,
    output: Output,
) -> None:
    """``limit.depth``: the whole top of the book, which no update continues."""
    levels = BookLevels(_spot_levels(top.bids, "bids"), _spot_levels(top.asks, "asks"))
    books.partial(origin, instrument, output, levels, whole(top.version, "version"), ts_exchange)


def spot_seed(origin: Origin, instrument: Instrument, books: Books, reply: spot_wire.Depth, output: Output) -> None:
    """The book over REST."""
    levels = BookLevels(validated(reply.bids, "bids"), validated(reply.asks, "asks"))
    books.seed(origin, instrument, output, levels, reply.lastUpdateId, nanoseconds(reply.timestamp))


def futures_delta(
    origin: Origin,
    instrument: Instrument,
    sizes: Sizes,
    books: Books,
    update: futures_wire.Depth,
    ts_exchange: int | None,
    output: Output,
) -> None:
    """``push.depth``: the versions ``begin`` to ``end``; where these are null or 0 (unmerged), ``version`` alone."""
    first, last = update.begin, update.end
    if not first or not last:
        first = last = update.version
    _ordered(first, last)
    levels = levels_of(instrument, sizes, update.bids, update.asks)
    book = books.find(instrument.native_symbol)
    if book is None or not book.follow(origin, output, first, last, None, ts_exchange, *levels):
        books.delta(origin, instrument, output, levels, first=first, last=last, ts_exchange=ts_exchange)


def futures_seed(
    origin: Origin, instrument: Instrument, sizes: Sizes, books: Books, book: futures_wire.Depth, output: Output
) -> None:
    """The book over REST."""
    levels = levels_of(instrument, sizes, book.bids, book.asks)
    books.seed(origin, instrument, output, levels, book.version, nanoseconds(book.timestamp))


def _ordered(first: int, last: int) -> None:
    if first > last:
        raise ParseError("bad_number", f"an update went from version {first} to {last}")


def _spot_levels(
    items: Iterable[PublicAggreDepthV3ApiItem | PublicLimitDepthV3ApiItem], side: str
) -> list[tuple[str, str]]:
    return proved_pairs([(item.price, item.quantity) for item in items], side)
