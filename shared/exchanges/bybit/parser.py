"""Which frame goes where: the state of one Bybit stream."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from shared.envelope import Frame, RestReply
from shared.errors import ParseError
from shared.exchanges.base import MOST_ROUTES, Feed, Origin, Output, Resync
from shared.exchanges.bybit.book import BookFeed
from shared.exchanges.bybit.endpoints import INSTRUMENTS_PATH
from shared.exchanges.bybit.hot import QuotePile, Quotes, TradePile, Trades
from shared.exchanges.bybit.market import candles, liquidations
from shared.exchanges.bybit.subscribe import CONTROL_OPS, INTERVALS, Topic, topic
from shared.exchanges.bybit.symbols import is_option, listed, named
from shared.exchanges.bybit.tickers import FEEDS as TICKER_FEEDS
from shared.exchanges.bybit.tickers import Tickers
from shared.exchanges.bybit.wire import FRAME_HEAD, decode
from shared.exchanges.lanes import Lane, Routes
from shared.exchanges.unlisted import Unlisted
from shared.instruments import Instrument, InstrumentTable
from shared.sequencing import DuplicateWindow

__all__ = ["BybitParser", "leading_topic"]

ASK_INSTRUMENTS_NS: Final = 60_000_000_000

_START: Final = b'{"topic":"'
_MARK: Final = b","
"""What comes behind a leading topic's quote."""


def leading_topic(data: bytes) -> bytes | None:
    """The topic where it comes first and is written plainly, as the venue does."""
    if not data.startswith(_START):
        return None
    end = data.find(b'"', len(_START))
    found = data[len(_START) : end]
    return None if end < 0 or b"\\" in found else found


class BybitParser:
    """See :class:`shared.exchanges.base.Parser`."""

    def __init__(self, product: str, table: InstrumentTable) -> None:
        self._product = product
        self._table = table
        self._lanes: dict[bytes, Lane] = {}
        self._trades = TradePile()
        self._quotes = QuotePile()
        self._tickers = Tickers(merged=product != "spot")
        self.routes = Routes(self._lanes, (self._trades, self._quotes, self._tickers), _MARK)
        self._named = Unlisted(lambda native_symbol: named(product, native_symbol))
        self._asked: int | None = None
        self._windows: dict[str, DuplicateWindow] = {}
        self._traded: dict[str, Trades] = {}
        self._quoted: dict[str, Quotes] = {}
        self._books = BookFeed()

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        """A frame off the socket; control frames give nothing."""
        data = frame[2]
        # What comes before the topic is part of the key: a frame that begins otherwise is not found.
        lane = self._lanes.get(data.partition(_MARK)[0])
        if lane is None:
            name = leading_topic(data)
            if name is not None:
                lane = self._lane(origin, name, output)
                if len(self._lanes) < MOST_ROUTES:
                    self._lanes[_START + name + b'"'] = lane
            else:
                head = decode(FRAME_HEAD, data)
                if head.topic is None:
                    if head.success is None and head.op not in CONTROL_OPS:
                        raise ParseError("unknown_event", f"a frame had no topic, op was {str(head.op)[:40]!r}")
                    return
                lane = self._lane(origin, head.topic.encode(), output)
        lane.read(origin, data, output)

    def _lane(self, origin: Origin, name: bytes, output: Output) -> Lane:
        """What takes the frames of a topic; raises ParseError for a topic or an instrument that is not known."""
        of = _topic(name)
        symbol = of.native_symbol
        instrument = self._table.get(symbol) or self._unlisted(origin, symbol, output)
        exchange = origin.exchange
        match of.feed:
            case Feed.TRADE:
                window = self._windows.setdefault(symbol, DuplicateWindow())
                trades = self._traded.setdefault(symbol, Trades(exchange, instrument, window))
                return Lane(trades.read) if instrument.inverse else self._trades.lane(trades, trades.read)
            case Feed.QUOTE:
                quotes = self._quoted.setdefault(symbol, Quotes(exchange, instrument))
                return Lane(quotes.read) if instrument.inverse else self._quotes.lane(quotes, quotes.read)
            case Feed.TICKER:
                return self._tickers.of(exchange, instrument)
            case Feed.BOOK:
                return Lane(partial(self._books.frame, instrument, of.variant))
            case Feed.LIQUIDATION:
                return Lane(lambda origin, data, output: liquidations(origin, instrument, data, output))
            case _:
                interval = INTERVALS[of.variant]
                return Lane(lambda origin, data, output: candles(origin, instrument, interval, data, output))

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> Iterator[None]:  # noqa: ARG002 - it only updates the table
        """A page of the instrument list: it updates the table and gives no message."""
        path = urlsplit(reply.url).path
        if not path.endswith(INSTRUMENTS_PATH):
            raise ParseError("unknown_event", f"a reply came from {path[:100]!r}")
        if reply.status != 200:
            raise ParseError("unknown_event", f"the instrument list was answered with status {reply.status}")
        return self._learn(listed(self._product, reply.body))

    def _learn(self, instruments: Iterable[Instrument]) -> Iterator[None]:
        yield from self._table.learn(instruments)
        for known in (self._lanes, self._traded, self._quoted):  # they hold instruments of the list before
            known.clear()

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None:
        """Drop what can't be trusted any more and ask for it. Trades keep their window of known ids."""
        if reason == "started":
            output.resyncs.append(Resync("instruments", None, reason))
        if reason == "connected":
            for quotes in self._quoted.values():
                quotes.forget()
        if feed is None or feed == Feed.BOOK:
            self._books.interrupted(origin, native_symbol, reason, output)
        if feed is None or feed in TICKER_FEEDS:
            self._tickers.interrupted(origin, native_symbol, reason, output)

    def _unlisted(self, origin: Origin, native_symbol: str, output: Output) -> Instrument:
        instrument = self._named.get(native_symbol)
        if instrument is not None:
            return instrument
        if is_option(native_symbol):
            raise ParseError("unknown_event", f"{native_symbol[:60]!r} is an option")
        if self._asked is None or origin.ts_received - self._asked >= ASK_INSTRUMENTS_NS:
            self._asked = origin.ts_received
            output.resyncs.append(Resync("instruments", None, "unknown_instrument"))
        raise ParseError("unknown_instrument", f"{native_symbol[:60]!r} is not listed in {self._product}")


def _topic(name: bytes) -> Topic:
    try:
        text = name.decode()
    except UnicodeDecodeError as error:
        raise ParseError("invalid_json", f"the topic was no UTF-8: {error}") from error
    found = topic(text)
    if found is None:
        raise ParseError("unknown_event", f"the topic was {text[:80]!r}")
    return found
