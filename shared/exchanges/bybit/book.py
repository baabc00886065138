"""Bybit's order-book procedure. Source: docs/v5/websocket/public/orderbook.mdx ("Process snapshot/delta").

A snapshot replaces the book whenever it comes, also in mid-stream and with ``u`` going back to 1 (the venue's service
was restarted). Each delta raises ``u`` by one, so that any other step is a gap.
"""

from msgspec import DecodeError

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.books import BookLevels, Books
from shared.exchanges.bybit.wire import FRAME_BOOK, MAX_MILLISECONDS, decode, nanoseconds
from shared.exchanges.levels import book_levels, decoded_levels, proved_levels, validated
from shared.instruments import Instrument
from shared.sequencing import CONTIGUOUS

__all__ = ["BookFeed"]


_decode_book = FRAME_BOOK.decode


class BookFeed:
    """``orderbook.{depth}`` with a depth above 1."""

    def __init__(self) -> None:
        self._books = Books(CONTIGUOUS)
        self._depths: dict[str, str] = {}

    def frame(self, instrument: Instrument, depth: str, origin: Origin, data: bytes, output: Output) -> None:
        """A snapshot or a delta; raises ParseError and leaves the book where it was.

        Each depth counts ``u`` for itself: an instrument has the book of the depth that came first.
        """
        try:
            frame = _decode_book(data)
        except DecodeError:
            frame = decode(FRAME_BOOK, data)
        native_symbol, kind, ts, sides = instrument.native_symbol, frame.type, frame.cts or frame.ts, frame.data
        kept = self._depths.get(native_symbol)
        if kind not in _KINDS or (kept is not None and kept != depth):
            raise ParseError("unknown_event", f"orderbook.{depth} of type {kind[:40]!r} beside orderbook.{kept}")
        taken_at = ts * 1_000_000 if 0 < ts <= MAX_MILLISECONDS else nanoseconds(ts, "cts")
        update = sides.u
        if kind == "delta" and not instrument.inverse:
            plain_bids, plain_asks = proved_levels(sides.b, "bids"), proved_levels(sides.a, "asks")
            book = None if kept is None else self._books.find(native_symbol)
            if book is not None and book.follow(origin, output, update, update, None, taken_at, plain_bids, plain_asks):
                return
            levels = BookLevels(plain_bids, plain_asks)
        else:
            bids, asks = decoded_levels(sides.b, "bids"), decoded_levels(sides.a, "asks")
            levels = book_levels(instrument, validated(bids, "bids"), validated(asks, "asks"))
        if kept is None:
            self._depths[native_symbol] = depth
        if kind == "delta":
            self._books.delta(origin, instrument, output, levels, first=update, last=update, ts_exchange=taken_at)
        else:
            self._books.snapshot(origin, instrument, output, levels, update, taken_at)

    def interrupted(self, origin: Origin, native_symbol: str | None, reason: str, output: Output) -> None:
        """Books lost something: see :meth:`shared.exchanges.books.Books.interrupted`."""
        if reason == "connected":
            self._depths.clear()
        self._books.interrupted(origin, native_symbol, reason, output)


_KINDS = frozenset({"snapshot", "delta"})
