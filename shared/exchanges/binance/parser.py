"""Which frame goes where.

A frame of a ``/stream`` socket begins with its topic, one of a ``/ws`` socket with its event: both tell the kind
before anything is decoded, and the frame is decoded once, as what it is. Whatever begins otherwise (arrays, spot's
book tickers and depth snapshots without a wrapper, answers to requests) is looked at by its keys first.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from shared.envelope import Frame, RestReply
from shared.errors import ParseError
from shared.exchanges.base import MOST_ROUTES, Feed, Origin, Output, Resync
from shared.exchanges.binance import wire
from shared.exchanges.binance.book import DepthBooks
from shared.exchanges.binance.classify import is_data
from shared.exchanges.binance.endpoints import SPOT, asked
from shared.exchanges.binance.hot import Piles
from shared.exchanges.binance.lookup import Lookup
from shared.exchanges.binance.market import Market
from shared.exchanges.binance.symbols import listed_in
from shared.exchanges.binance.topics import (
    EVENT_HEAD,
    EVENTS,
    SHUTDOWN,
    STREAM_HEAD,
    Kind,
    event_name,
    topic_name,
    topic_of,
)
from shared.exchanges.lanes import Lane, Read, Routes
from shared.instruments import Instrument, InstrumentTable

__all__ = ["BinanceParser"]

_MARK: Final = b","
"""What comes behind a leading topic's quote."""

EventT = TypeVar("EventT")


class BinanceParser:
    """The state of one stream of one product."""

    def __init__(self, product: str, instruments: InstrumentTable) -> None:
        self._product = product
        self._lookup = Lookup(product, instruments)
        self._market = Market(self._lookup.find)
        self._books = DepthBooks(product, self._lookup.find)
        self._lanes: dict[bytes, Lane] = {}
        self._piles = Piles(product, self._market)
        self.routes = Routes(self._lanes, self._piles.all, _MARK)
        self._wrapped: dict[Kind, Read] = {}
        self._plain: dict[Kind, Read] = {}
        market, books = self._market, self._books
        self._handle(Kind.TRADE, wire.TradeEvent, market.trade)
        self._handle(Kind.AGGREGATE_TRADE, wire.AggregateTrade, market.aggregate_trade)
        self._handle(Kind.BOOK_TICKER, wire.BookTicker, market.quote)
        self._handle(Kind.DEPTH, wire.Depth, books.delta)
        self._handle(Kind.TICKER, wire.Ticker24h, market.ticker)
        self._handle(Kind.MINI_TICKER, wire.MiniTicker24h, market.ticker)
        self._handle(Kind.KLINE, wire.Kline, market.candle)
        if product != SPOT:
            self._handle(Kind.PARTIAL_DEPTH, wire.Depth, books.partial)
            self._handle(Kind.MARK_PRICE, wire.MarkPriceUpdate, market.mark_price)
            self._handle(Kind.FORCE_ORDER, wire.ForceOrder, market.liquidation)

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        """A frame of kind TEXT; binary ones are not documented and read alike."""
        data = frame[2]
        lane = self._lanes.get(data.partition(_MARK)[0])
        read = self._route(origin, data, output) if lane is None else lane.read
        try:
            read(origin, data, output)
        except wire.UNREADABLE as error:
            raise wire.parse_error(error) from error

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> Iterator[None] | None:
        """A REST reply: an instrument list, an order book, or polled open interest."""
        request = asked(self._product, reply.url)
        if request is None:
            raise ParseError("unknown_event", f"{reply.url[:200]} is no request of this venue")
        if reply.status != 200 or reply.body.startswith(b'{"code":'):
            text = reply.body[:200].decode(errors="replace")
            raise ParseError("unknown_event", f"{request.what} was answered with {reply.status} {text}")
        try:
            return self._reply(origin, request.what, request.native_symbol, reply.body, output)
        except wire.UNREADABLE as error:
            raise wire.parse_error(error) from error

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None:
        """Only books break. What was last told of the rest is still so, until a new epoch begins."""
        if reason == "started":
            output.resyncs.append(Resync("instruments", None, reason))
        if feed is None or feed == Feed.BOOK:
            self._books.interrupted(origin, native_symbol, reason, output)
        if reason == "connected":
            self._market.begin()

    def _handle(self, kind: Kind, event: type[EventT], handle: Callable[[Origin, EventT, Output], None]) -> None:
        decode, decode_wrapped = wire.decoders(event)

        def plain(origin: Origin, data: bytes, output: Output) -> None:
            handle(origin, decode(data), output)

        def wrapped(origin: Origin, data: bytes, output: Output) -> None:
            try:
                event = decode_wrapped(data).data
            except wire.UNREADABLE as error:
                raise wire.parse_error(error) from error
            handle(origin, event, output)

        self._plain[kind] = plain
        self._wrapped[kind] = wrapped

    def _route(self, origin: Origin, data: bytes, output: Output) -> Read:
        """What reads a frame; its lane is remembered where it begins with a topic."""
        if not data.startswith(STREAM_HEAD):
            return self._look
        name = topic_name(data)
        topic = topic_of(name)
        read = None if topic is None or topic.native_symbol is None else self._wrapped.get(topic.kind)
        if topic is None or topic.native_symbol is None or read is None:
            return self._look
        if self._lookup.get(topic.native_symbol) is not None and len(self._lanes) < MOST_ROUTES:
            lane = self._piles.lane(topic, read, origin, output)
            if lane is not None:
                self._lanes[STREAM_HEAD + name + b'"'] = lane
        return read

    def _look(self, origin: Origin, data: bytes, output: Output) -> None:
        """A frame whose beginning didn't tell all."""
        if data.lstrip()[:1] == b"[":
            self._elements(origin, data, output)
        elif data.startswith(EVENT_HEAD):
            self._event(origin, event_name(data), data, output)
        else:
            self._probe(origin, data, output)

    def _elements(self, origin: Origin, data: bytes, output: Output) -> None:
        """``!ticker@arr`` and its like: one bad element costs the others nothing."""
        for element in wire.decode_elements(data):
            try:
                self._element(origin, bytes(element), output)
            except ParseError as error:
                output.reject(error)
            except wire.UNREADABLE as error:
                output.reject(wire.parse_error(error))

    def _element(self, origin: Origin, data: bytes, output: Output) -> None:
        probe = wire.decode_probe(data)
        if probe.stream is not None:
            raise ParseError("wrong_type", "a frame was an element of an array")
        self._keys(origin, probe, data, output)

    def _probe(self, origin: Origin, data: bytes, output: Output) -> None:
        probe = wire.decode_probe(data)
        if probe.stream is None:
            if is_data(data):
                self._keys(origin, probe, data, output)
            return
        payload = bytes(probe.data)
        topic = topic_of(probe.stream.encode())
        if payload[:1] == b"[":
            self._elements(origin, payload, output)
        elif topic is not None and topic.kind is Kind.PARTIAL_DEPTH and topic.native_symbol is not None:
            self._partial(origin, topic.native_symbol, payload, output)
        elif payload:
            self._keys(origin, wire.decode_probe(payload), payload, output)
        else:
            raise ParseError("missing_field", "data was not there")

    def _partial(self, origin: Origin, native_symbol: str, payload: bytes, output: Output) -> None:
        handler = self._plain.get(Kind.PARTIAL_DEPTH)
        if handler is None:
            self._books.partial_snapshot(origin, native_symbol, wire.decode_snapshot(payload), output)
        else:
            handler(origin, payload, output)

    def _keys(self, origin: Origin, probe: wire.Probe, data: bytes, output: Output) -> None:
        """An object without wrapper, by the keys that it has."""
        if probe.event is not None:
            self._event(origin, probe.event.encode(), data, output)
        elif probe.last_id:
            self._books.inline(origin, wire.decode_snapshot(data), output)
        elif probe.update_id:
            self._plain[Kind.BOOK_TICKER](origin, data, output)
        else:
            raise ParseError("unknown_event", "the frame had neither stream, e, u nor lastUpdateId")

    def _event(self, origin: Origin, name: bytes, data: bytes, output: Output) -> None:
        kind = EVENTS.get(name)
        handler = None if kind is None else self._plain.get(kind)
        if handler is not None:
            handler(origin, data, output)
        elif name != SHUTDOWN:
            text = name[:40].decode(errors="replace")
            raise ParseError("unknown_event", f"{text!r} is no event that {self._product} streams are read for")

    def _reply(
        self, origin: Origin, what: str, native_symbol: str | None, body: bytes, output: Output
    ) -> Iterator[None] | None:
        if what == "exchangeInfo":
            return self._learn(listed_in(self._product, body))
        if what == "openInterest":
            self._market.open_interest(origin, wire.decode_open_interest(body), output)
        elif native_symbol is None:
            raise ParseError("missing_field", "symbol: the URL of a depth reply named none")
        else:
            self._books.seed(origin, native_symbol, wire.decode_snapshot(body), output)
        return None

    def _learn(self, instruments: Iterable[Instrument]) -> Iterator[None]:
        yield from self._lookup.learn(instruments)
        self._lanes.clear()
        self._market.relist()
