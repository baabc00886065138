"""Which frame goes where: the state of one Bybit stream."""

from typing import Final
from urllib.parse import urlsplit

from shared.envelope import Frame, RestReply
from shared.errors import ParseError
from shared.exchanges.base import MOST_ROUTES, Feed, Handler, Origin, Output, Resync, Routes
from shared.exchanges.bybit.book import BookFeed
from shared.exchanges.bybit.endpoints import INSTRUMENTS_PATH
from shared.exchanges.bybit.market import Quotes, Trades, candles, liquidations
from shared.exchanges.bybit.subscribe import CONTROL_OPS, INTERVALS, Topic, topic
from shared.exchanges.bybit.symbols import instruments, is_option, named
from shared.exchanges.bybit.tickers import FEEDS as TICKER_FEEDS
from shared.exchanges.bybit.tickers import Tickers
from shared.exchanges.bybit.wire import FRAME_HEAD, decode
from shared.exchanges.unlisted import Unlisted
from shared.instruments import Instrument, InstrumentTable
from shared.sequencing import DuplicateWindow

__all__ = ["BybitParser", "leading_topic"]

ASK_INSTRUMENTS_NS: Final = 60_000_000_000

_START: Final = b'{"topic":"'

_TOPIC_AT: Final = len(_START)


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
        self._handlers: dict[bytes, Handler] = {}
        self.routes = Routes(self._handlers, b'"', _TOPIC_AT)
        self._named = Unlisted(lambda native_symbol: named(product, native_symbol))
        self._asked: int | None = None
        self._windows: dict[str, DuplicateWindow] = {}
        self._quotes: dict[str, Quotes] = {}
        self._tickers = Tickers(merged=product != "spot")
        self._books = BookFeed()

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        """A frame off the socket; control frames give nothing."""
        data = frame[2]
        # What comes before the topic is part of the key: a frame that begins otherwise is not found.
        handler = self._handlers.get(data[: data.find(b'"', _TOPIC_AT)])
        if handler is not None:
            handler(origin, data, output)
            return
        name = leading_topic(data)
        if name is not None:
            handler = self._handler(origin, name, output)
            if len(self._handlers) < MOST_ROUTES:
                self._handlers[_START + name] = handler
        else:
            head = decode(FRAME_HEAD, data)
            if head.topic is None:
                if head.success is None and head.op not in CONTROL_OPS:
                    raise ParseError("unknown_event", f"a frame had no topic, op was {str(head.op)[:40]!r}")
                return
            handler = self._handler(origin, head.topic.encode(), output)
        handler(origin, data, output)

    def _handler(self, origin: Origin, name: bytes, output: Output) -> Handler:
        """What takes the frames of a topic; raises ParseError for a topic or an instrument that is not known."""
        of = _topic(name)
        symbol = of.native_symbol
        instrument = self._table.get(symbol) or self._unlisted(origin, symbol, output)
        exchange = origin.exchange
        match of.feed:
            case Feed.TRADE:
                return Trades(exchange, instrument, self._windows.setdefault(symbol, DuplicateWindow())).frame
            case Feed.QUOTE:
                return self._quotes.setdefault(symbol, Quotes(exchange, instrument)).frame
            case Feed.TICKER:
                return self._tickers.handler(instrument)
            case Feed.BOOK:
                return lambda origin, data, output: self._books.frame(origin, instrument, of.variant, data, output)
            case Feed.LIQUIDATION:
                return lambda origin, data, output: liquidations(origin, instrument, data, output)
            case _:
                interval = INTERVALS[of.variant]
                return lambda origin, data, output: candles(origin, instrument, interval, data, output)

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> None:  # noqa: ARG002 - it only updates the table
        """A page of the instrument list: it updates the table and gives no message."""
        path = urlsplit(reply.url).path
        if not path.endswith(INSTRUMENTS_PATH):
            raise ParseError("unknown_event", f"a reply came from {path[:100]!r}")
        if reply.status != 200:
            raise ParseError("unknown_event", f"the instrument list was answered with status {reply.status}")
        self._table.update(instruments(self._product, reply.body))
        self._handlers.clear()  # they hold instruments of the list before
        self._quotes.clear()

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None:
        """Drop what can't be trusted any more and ask for it. Trades keep their window of known ids."""
        if reason == "started":
            output.resyncs.append(Resync("instruments", None, reason))
        if reason == "connected":
            for quotes in self._quotes.values():
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
