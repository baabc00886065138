"""Bybit's order-book procedure. Source: docs/v5/websocket/public/orderbook.mdx ("Process snapshot/delta").

A snapshot replaces the book whenever it comes, also in mid-stream and with ``u`` going back to 1 (the venue's service
was restarted). Each delta raises ``u`` by one, so that any other step is a gap.
"""

from shared.errors import ParseError
from shared.exchanges.base import Origin, Output
from shared.exchanges.books import Books
from shared.exchanges.bybit.wire import FRAME_BOOK, decode, nanoseconds
from shared.exchanges.levels import book_levels, validated
from shared.instruments import Instrument
from shared.sequencing import CONTIGUOUS

__all__ = ["BookFeed"]


class BookFeed:
    """``orderbook.{depth}`` with a depth above 1."""

    def __init__(self) -> None:
        self._books = Books(CONTIGUOUS)
        self._depths: dict[str, str] = {}

    def frame(self, origin: Origin, instrument: Instrument, depth: str, data: bytes, output: Output) -> None:
        """A snapshot or a delta; raises ParseError and leaves the book where it was.

        Each depth counts ``u`` for itself: an instrument has the book of the depth that came first.
        """
        frame = decode(FRAME_BOOK, data)
        kept = self._depths.get(instrument.native_symbol, depth)
        if frame.type not in {"snapshot", "delta"} or kept != depth:
            raise ParseError("unknown_event", f"orderbook.{depth} of type {frame.type[:40]!r} beside orderbook.{kept}")
        levels = book_levels(instrument, validated(frame.data.b, "bids"), validated(frame.data.a, "asks"))
        taken_at = nanoseconds(frame.ts if frame.cts is None else frame.cts, "cts")
        self._depths[instrument.native_symbol] = depth
        update = frame.data.u
        if frame.type == "snapshot":
            self._books.snapshot(origin, instrument, output, levels, update, taken_at)
        else:
            self._books.delta(origin, instrument, output, levels, first=update, last=update, ts_exchange=taken_at)

    def interrupted(self, origin: Origin, native_symbol: str | None, reason: str, output: Output) -> None:
        """Books lost something: see :meth:`shared.exchanges.books.Books.interrupted`."""
        if reason == "connected":
            self._depths.clear()
        self._books.interrupted(origin, native_symbol, reason, output)
