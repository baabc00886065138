"""Futures: trades, quotes and book updates of one contract, which come by the thousand.

Frames begin with the contract and end with the channel and a time of 13 digits. What stands before that is a guess at
the channel, which the decoder then holds the frame to: what is otherwise is not taken, and goes the long way.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Final, Generic, Literal, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import Decoder

from shared.errors import ParseError
from shared.exchanges.base import Group, Origin, Output
from shared.exchanges.books import Books
from shared.exchanges.levels import base_size, number
from shared.exchanges.mexc import book, futures_wire
from shared.exchanges.mexc.futures_levels import Sizes, levels_of, top_of
from shared.exchanges.mexc.futures_wire import Deal, Deals, Depth
from shared.exchanges.mexc.market import SIDES
from shared.exchanges.mexc.wire import LAST_MS, MILLISECOND, nanoseconds, text
from shared.instruments import Instrument
from shared.messages import Level, OpenInterest, Quote, Ticker, Trade
from shared.numbers import PROVED, is_zero, proves
from shared.sequencing import DuplicateWindow

__all__ = ["Contract"]

DataT = TypeVar("DataT")
ChannelT = TypeVar("ChannelT", bound=str)


_Take = Callable[[Origin, bytes, Output], bool]


class _Push(Struct, Generic[DataT, ChannelT], gc=False, frozen=True):
    symbol: str
    data: DataT
    channel: ChannelT
    ts: int


_decode_deals: Final = Decoder(_Push[Deals, Literal["push.deal"]]).decode
_decode_depth: Final = Decoder(_Push[Depth, Literal["push.depth"]]).decode
_decode_full: Final = Decoder(_Push[Depth, Literal["push.depth.full"]]).decode

_decode_ticker: Final = Decoder(_Push[futures_wire.Ticker, Literal["push.ticker"]]).decode

_KIND: Final = slice(-27, -21)
"""The end of the channel's name, before ``","ts":1790000000123}``."""


def ticker_of(native_symbol: str, data: bytes) -> _Push[futures_wire.Ticker, Literal["push.ticker"]] | None:
    """The ticker that a frame is, if it is one of this contract and as it usually is."""
    try:
        push = _decode_ticker(data)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return None
    usual = push.symbol == native_symbol and push.data.symbol in {None, native_symbol} and 0 < push.ts <= LAST_MS
    return push if usual else None


class Contract:
    """One contract's hot frames, and what is remembered of its trades and quotes."""

    def __init__(self, exchange: str, instrument: Instrument, books: Books, window: DuplicateWindow) -> None:
        self.instrument = instrument
        self.sizes = Sizes(instrument)
        self._native = instrument.native_symbol
        self._counted = instrument.contract_size != "1"
        self._native_sizes = self._counted or instrument.inverse
        self._books = books
        self._window = window
        self._trades = Group("trade", exchange, instrument.symbol)
        self._quotes = Group("quote", exchange, instrument.symbol)
        self._tickers = Group("ticker", exchange, instrument.symbol)
        self._interests = Group("open_interest", exchange, instrument.symbol)
        self._told: _Sides | None = None
        self._held: str | None = None
        self.kinds: dict[bytes, _Take] = {
            b"h.deal": self._deal,
            b".depth": self._depth,
            b"h.full": self._full,
        }
        """By the end of the channel's name; each says whether it took the frame."""

    def take(self, origin: Origin, data: bytes, output: Output) -> bool:
        """A frame off the socket; False, and nothing done, for what goes the long way. Raises ParseError."""
        kind = self.kinds.get(data[_KIND])
        try:
            return kind is not None and kind(origin, data, output)
        except (DecodeError, UnicodeDecodeError, RecursionError):
            return False  # the long way says what is wrong

    def forget(self, feed: str | None) -> None:
        """The next quote and open interest are told, whatever they are; None: both."""
        if feed in {None, "quote"}:
            self._told = None
        if feed in {None, "open_interest"}:
            self._held = None

    def statistics(self, message: Ticker, interest: OpenInterest | None, output: Output) -> None:
        """Tell a ticker, and the open interest where it changed."""
        group = self._tickers
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(message)
        output.parts += 1
        if interest is None:
            return
        held = interest.open_interest_native or interest.open_interest
        if held != self._held:
            self._held = held
            group = self._interests
            if group.segment is not output.segment:
                group.open(output)
            group.messages.append(interest)
            output.parts += 1

    def _deal(self, origin: Origin, data: bytes, output: Output) -> bool:
        push = _decode_deals(data)
        if push.symbol != self._native or not 0 < push.ts <= LAST_MS:
            return False
        self.trades(origin, push.data, push.ts * MILLISECOND, output)
        return True

    def trades(self, origin: Origin, deals: list[Deal], sent: int | None, output: Output) -> None:
        """``push.deal``: one that can't be read is rejected alone; deals without an id (before 2025) are all new."""
        group, window, instrument = self._trades, self._window, self.instrument
        sizes = self.sizes if self._counted and not instrument.inverse else None
        if group.segment is not output.segment:
            group.open(output)
        for deal in deals:
            price, contracts, ts = str(deal.price, "latin-1"), str(deal.contracts, "latin-1"), deal.time or 0
            trade_id = deal.trade_id
            try:
                if price not in PROVED and not proves(price):
                    price = number(text(deal.price), "p")
                if contracts not in PROVED and not proves(contracts):
                    contracts = number(text(deal.contracts), "v")
                size = base_size(instrument, contracts, price) if sizes is None else sizes[contracts]
                ts_exchange = ts * MILLISECOND if 0 < ts <= LAST_MS else nanoseconds(ts) or sent
            except ParseError as error:
                output.reject(error)
                continue
            if trade_id is not None and trade_id != "":
                trade_id = str(trade_id)
                if trade_id in window.new or trade_id in window.old:
                    output.duplicates += 1
                    continue
                window.new.add(trade_id)
            group.messages.append(
                Trade(
                    origin.exchange,
                    instrument.symbol,
                    self._native,
                    ts_exchange,
                    origin.ts_received,
                    origin.ts_normalized,
                    origin.stream,
                    origin.epoch,
                    origin.frame,
                    output.parts,
                    trade_id or None,
                    price,
                    size,
                    SIDES.get(deal.taker, "unknown"),
                    contracts if self._native_sizes else None,
                )
            )
            output.parts += 1
        window.turn()

    def _depth(self, origin: Origin, data: bytes, output: Output) -> bool:
        push = _decode_depth(data)
        if push.symbol != self._native or not 0 < push.ts <= LAST_MS:
            return False
        book.futures_delta(origin, self.instrument, self.sizes, self._books, push.data, push.ts * MILLISECOND, output)
        return True

    def _full(self, origin: Origin, data: bytes, output: Output) -> bool:
        push = _decode_full(data)
        if push.symbol != self._native or not 0 < push.ts <= LAST_MS:
            return False
        self.quote(origin, push.data, push.ts * MILLISECOND, output)
        return True

    def quote(self, origin: Origin, top: Depth, sent: int | None, output: Output) -> None:
        """``push.depth.full``: its best levels, told when they change."""
        bid: str | None
        ask: str | None
        bid_size: str | None
        ask_size: str | None
        bid_native: str | None
        ask_native: str | None
        best_bid, best_ask = top_of(top.bids, highest=True), top_of(top.asks, highest=False)
        if best_bid is not None and best_ask is not None and self._counted and not self.instrument.inverse:
            bid, bid_native = best_bid
            ask, ask_native = best_ask
            bid_size, ask_size = self.sizes[bid_native], self.sizes[ask_native]
        else:
            levels = levels_of(self.instrument, self.sizes, top.bids, top.asks)
            bid, bid_size, bid_native = _best(levels.bids, levels.bid_sizes_native, highest=True)
            ask, ask_size, ask_native = _best(levels.asks, levels.ask_sizes_native, highest=False)
        sides = bid, bid_native or bid_size, ask, ask_native or ask_size
        if sides == self._told:
            output.duplicates += 1
            return
        self._told = sides
        group = self._quotes
        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(
            Quote(
                origin.exchange,
                self.instrument.symbol,
                self._native,
                sent,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                output.parts,
                bid,
                bid_size,
                ask,
                ask_size,
                top.version,
                bid_native,
                ask_native,
            )
        )
        output.parts += 1


_Sides = tuple[str | None, str | None, str | None, str | None]


def _best(levels: list[Level], native: list[str] | None, *, highest: bool) -> tuple[str | None, str | None, str | None]:
    """Price, size in base units, contracts (None where these are the same)."""
    sizes = [size for _, size in levels] if native is None else native
    there = [(Decimal(levels[index][0]), -index) for index, size in enumerate(sizes) if not is_zero(size)]
    if not there:
        return None, None, None
    index = -(max(there) if highest else min(there))[1]
    price, size = levels[index]
    return price, size, None if native is None else native[index]
