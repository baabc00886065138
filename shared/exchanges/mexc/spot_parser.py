"""Spot: which frame goes where, and what a stream must remember."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeVar

from shared.envelope import Frame, FrameKind, RestReply
from shared.errors import ParseError
from shared.exchanges.base import MOST_ROUTES, Origin, Output, Resync
from shared.exchanges.books import Books
from shared.exchanges.lanes import Lane, Routes
from shared.exchanges.mexc import book, spot_market, spot_wire
from shared.exchanges.mexc.endpoints import SPOT_DEPTH, SPOT_INSTRUMENTS, depth_symbol, path_of
from shared.exchanges.mexc.parser import Listed, Windows
from shared.exchanges.mexc.push_pb2 import PublicAggreBookTickerV3Api, PublicBookTickerV3Api, PushDataV3ApiWrapper
from shared.exchanges.mexc.spot_hot import DealPile, QuotePile, Quotes, TickerPile, Tickers, Trades
from shared.exchanges.mexc.symbols import spot_listed
from shared.exchanges.mexc.topics import spot_channel
from shared.exchanges.mexc.wire import LAST_MS, MILLISECOND, decoded, nanoseconds, whole
from shared.instruments import Instrument, InstrumentTable
from shared.sequencing import CONTIGUOUS

__all__ = ["SpotParser"]

Handler = Callable[[Origin, Instrument, PushDataV3ApiWrapper, Output], None]

ItemT = TypeVar("ItemT")

_CHANNEL_TAG: Final = 0x0A
_AFTER_CHANNEL: Final = b"\x1a"
"""The tag of the symbol; no byte of a channel, nor its length, is the same."""

_HOT: Final = frozenset({"publicAggreDeals", "publicAggreBookTicker", "publicAggreDepths", "publicMiniTicker"})


class SpotParser:
    """One stream of spot."""

    def __init__(self, instruments: InstrumentTable) -> None:
        self._table = instruments
        self._listed = Listed(instruments)
        self._books = Books(CONTIGUOUS)
        self._windows = Windows()
        self._trades: dict[str, Trades] = {}
        self._quotes: dict[str, Quotes] = {}
        self._tickers: dict[str, Tickers] = {}
        self._lanes: dict[bytes, Lane] = {}
        self._deal_pile, self._quote_pile, self._ticker_pile = DealPile(), QuotePile(), TickerPile()
        self.routes = Routes(self._lanes, (self._deal_pile, self._quote_pile, self._ticker_pile), _AFTER_CHANNEL)
        self._handlers: Final[dict[str, Handler]] = {
            "publicAggreDeals": self._deals,
            "publicAggreBookTicker": self._book_ticker,
            "publicBookTickerBatch": self._book_ticker_batch,
            "publicAggreDepths": self._depths,
            "publicLimitDepths": self._limit_depths,
            "publicSpotKline": self._kline,
            "publicMiniTicker": self._mini_ticker,
        }

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        """A text frame is an answer and gives nothing; a binary frame is a push."""
        data = frame.data
        lane = self._lanes.get(data.partition(_AFTER_CHANNEL)[0])
        if lane is not None:
            lane.read(origin, data, output)
        elif data[:1] == b"{" or frame.kind == FrameKind.TEXT:
            decoded(spot_wire.answer, data)
        else:
            self._push(origin, data, output)

    def _push(self, origin: Origin, data: bytes, output: Output) -> None:
        push = spot_wire.push(data)
        body = push.WhichOneof("body")
        if body is None:
            _bodiless(push)
            return
        handler = self._handlers.get(body)
        if handler is not None:
            symbol = push.symbol or spot_channel(push.channel)[1] or ""
            instrument = self._listed.find(origin, symbol, output)
            if body in _HOT and push.symbol and data[0] == _CHANNEL_TAG and len(self._lanes) < MOST_ROUTES:
                self._lanes[data.partition(_AFTER_CHANNEL)[0]] = self._lane(origin, body, instrument)
            handler(origin, instrument, push, output)
        elif body == "publicMiniTickers":
            self._mini_tickers(origin, push, output)
        else:
            raise ParseError("unknown_event", f"{body} on {push.channel[:120]}")

    def _lane(self, origin: Origin, body: str, instrument: Instrument) -> Lane:
        """The lane of the frames that begin with one channel: what turns out to be of another is read all the same."""
        native_symbol = instrument.native_symbol

        def depths(origin: Origin, data: bytes, output: Output) -> None:
            push = spot_wire.push(data)
            update = push.publicAggreDepths
            if push.symbol == native_symbol and update.toVersion:
                book.spot_delta(origin, instrument, self._books, update, _sent(push), output)
            else:
                self._push(origin, data, output)

        match body:
            case "publicAggreDeals":
                return self._deal_pile.lane(self._trades_of(origin, instrument), self._push)
            case "publicAggreBookTicker":
                return self._quote_pile.lane(self._quotes_of(origin, instrument), self._push)
            case "publicMiniTicker":
                return self._ticker_pile.lane(self._tickers_of(origin, instrument), self._push)
            case _:
                return Lane(depths)

    def _trades_of(self, origin: Origin, instrument: Instrument) -> Trades:
        native_symbol = instrument.native_symbol
        found = self._trades.get(native_symbol)
        if found is None:
            found = Trades(origin.exchange, instrument, self._windows.of(native_symbol))
            self._trades[native_symbol] = found
        return found

    def _quotes_of(self, origin: Origin, instrument: Instrument) -> Quotes:
        found = self._quotes.get(instrument.native_symbol)
        if found is None:
            found = self._quotes[instrument.native_symbol] = Quotes(origin.exchange, instrument)
        return found

    def _tickers_of(self, origin: Origin, instrument: Instrument) -> Tickers:
        found = self._tickers.get(instrument.native_symbol)
        if found is None:
            found = self._tickers[instrument.native_symbol] = Tickers(origin.exchange, instrument)
        return found

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> Iterator[None] | None:
        """The instrument list, or the book that seeds an instrument's deltas."""
        path = path_of(reply.url)
        if reply.status != 200:
            raise ParseError("unknown_event", f"{path} was answered with HTTP status {reply.status}")
        if path.endswith(SPOT_INSTRUMENTS):
            return self._learn(spot_listed(reply.body))
        if path.endswith(SPOT_DEPTH):
            depth = decoded(spot_wire.depth, reply.body)
            instrument = self._listed.find(origin, depth_symbol(reply.url) or "", output)
            book.spot_seed(origin, instrument, self._books, depth, output)
        else:
            raise ParseError("unknown_event", f"a reply of {path}")
        return None

    def _learn(self, instruments: Iterable[Instrument]) -> Iterator[None]:
        yield from self._table.learn(instruments)
        # They hold instruments of the list before.
        for known in (self._lanes, self._trades, self._quotes, self._tickers):
            known.clear()

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None:
        """Books start anew or ask for a snapshot; the next quote is told even if it is the last one again."""
        if reason == "started":
            output.resyncs.append(Resync("instruments", None, reason))
        if feed in {None, "book"}:
            self._books.interrupted(origin, native_symbol, reason, output)
        if feed in {None, "quote"}:
            for symbol, quotes in self._quotes.items():
                if native_symbol in {None, symbol}:
                    quotes.forget()

    def _deals(self, origin: Origin, instrument: Instrument, push: PushDataV3ApiWrapper, output: Output) -> None:
        deals = _some(push.publicAggreDeals.deals, "deals")
        self._trades_of(origin, instrument).take(origin, deals, _sent(push), output)

    def _book_ticker(self, origin: Origin, instrument: Instrument, push: PushDataV3ApiWrapper, output: Output) -> None:
        body = push.publicAggreBookTicker
        self._quote(origin, instrument, body, body.version, _sent(push), output)

    def _book_ticker_batch(
        self, origin: Origin, instrument: Instrument, push: PushDataV3ApiWrapper, output: Output
    ) -> None:
        body = push.publicBookTickerBatch
        for item in _some(body.items, "items"):
            try:
                self._quote(origin, instrument, item, body.version, _sent(push), output)
            except ParseError as error:
                output.reject(error)

    def _quote(
        self,
        origin: Origin,
        instrument: Instrument,
        body: PublicAggreBookTickerV3Api | PublicBookTickerV3Api,
        version: str,
        sent: int | None,
        output: Output,
    ) -> None:
        sequence = whole(version, "version") if version else None
        self._quotes_of(origin, instrument).take(origin, body, sequence, sent, output)

    def _depths(self, origin: Origin, instrument: Instrument, push: PushDataV3ApiWrapper, output: Output) -> None:
        book.spot_delta(origin, instrument, self._books, push.publicAggreDepths, _sent(push), output)

    def _limit_depths(self, origin: Origin, instrument: Instrument, push: PushDataV3ApiWrapper, output: Output) -> None:
        book.spot_partial(origin, instrument, self._books, push.publicLimitDepths, _sent(push), output)

    def _kline(self, origin: Origin, instrument: Instrument, push: PushDataV3ApiWrapper, output: Output) -> None:
        spot_market.candle(origin, instrument, push.publicSpotKline, _sent(push), output)

    def _mini_ticker(self, origin: Origin, instrument: Instrument, push: PushDataV3ApiWrapper, output: Output) -> None:
        self._tickers_of(origin, instrument).take(origin, push.publicMiniTicker, _sent(push), output)

    def _mini_tickers(self, origin: Origin, push: PushDataV3ApiWrapper, output: Output) -> None:
        for item in _some(push.publicMiniTickers.items, "items"):
            try:
                instrument = self._listed.find(origin, item.symbol, output)
                self._tickers_of(origin, instrument).take(origin, item, _sent(push), output)
            except ParseError as error:
                output.reject(error)


def _some(items: Sequence[ItemT], field: str) -> Sequence[ItemT]:
    """The items of a body; raises ParseError(``missing_field``) where it has none."""
    if not items:
        raise ParseError("missing_field", f"{field} was empty")
    return items


def _sent(push: PushDataV3ApiWrapper) -> int | None:
    """When the venue sent the frame (ns); candles carry only when it was made."""
    ms = push.sendTime
    return ms * MILLISECOND if 0 < ms <= LAST_MS else nanoseconds(ms or push.createTime)


def _bodiless(push: PushDataV3ApiWrapper) -> None:
    """The venue sends frames with a channel and nothing else now and then; they say nothing."""
    if not push.channel:
        raise ParseError("invalid_protobuf", "a frame had neither channel nor body")
    if spot_channel(push.channel)[0] is None:
        raise ParseError("unknown_event", f"a frame of {push.channel[:120]} had no known body")
