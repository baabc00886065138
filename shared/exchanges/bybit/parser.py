"""Which frame goes where: the state of one Bybit stream."""

from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from shared.envelope import Frame, RestReply
from shared.errors import ParseError
from shared.exchanges.base import Feed, Origin, Output, Resync
from shared.exchanges.bybit.book import BookFeed
from shared.exchanges.bybit.endpoints import INSTRUMENTS_PATH
from shared.exchanges.bybit.market import Quotes, Trades, candles, liquidations
from shared.exchanges.bybit.subscribe import CONTROL_OPS, INTERVALS, Topic, topic
from shared.exchanges.bybit.symbols import instruments, is_option, named
from shared.exchanges.bybit.tickers import FEEDS as TICKER_FEEDS
from shared.exchanges.bybit.tickers import Tickers
from shared.exchanges.bybit.wire import FRAME_HEAD, decode
from shared.instruments import Instrument, InstrumentTable

__all__ = ["BybitParser", "leading_topic"]

ASK_INSTRUMENTS_NS: Final = 60_000_000_000

_START: Final = b'{"topic":"'

_Handler = Callable[[Origin, Instrument, Topic, bytes, Output], None]


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
        self._topics: dict[bytes, Topic] = {}
        self._asked: int | None = None
        self._trades = Trades()
        self._quotes = Quotes()
        self._tickers = Tickers(merged=product != "spot")
        self._books = BookFeed()
        self._handlers: dict[Feed, _Handler] = {
            Feed.TRADE: lambda origin, one, _, data, output: self._trades.frame(origin, one, data, output),
            Feed.QUOTE: lambda origin, one, _, data, output: self._quotes.frame(origin, one, data, output),
            Feed.TICKER: lambda origin, one, _, data, output: self._tickers.frame(origin, one, data, output),
            Feed.BOOK: lambda origin, one, of, data, output: self._books.frame(origin, one, of.variant, data, output),
            Feed.LIQUIDATION: lambda origin, one, _, data, output: liquidations(origin, one, data, output),
            Feed.CANDLE: lambda origin, one, of, data, output: candles(
                origin, one, INTERVALS[of.variant], data, output
            ),
        }

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        """A frame off the socket; control frames give nothing."""
        data = frame.data
        name = leading_topic(data)
        if name is None:
            head = decode(FRAME_HEAD, data)
            if head.topic is None:
                if head.success is None and head.op not in CONTROL_OPS:
                    raise ParseError("unknown_event", f"a frame had no topic, op was {str(head.op)[:40]!r}")
                return
            name = head.topic.encode()
        of = self._topics.get(name)
        if of is None:
            of = _topic(name)
        instrument = self._table.get(of.native_symbol)
        if instrument is None:
            instrument = self._unlisted(origin, of.native_symbol, output)
        self._topics.setdefault(name, of)
        self._handlers[of.feed](origin, instrument, of, data, output)

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> None:  # noqa: ARG002 - it only updates the table
        """A page of the instrument list: it updates the table and gives no message."""
        path = urlsplit(reply.url).path
        if not path.endswith(INSTRUMENTS_PATH):
            raise ParseError("unknown_event", f"a reply came from {path[:100]!r}")
        if reply.status != 200:
            raise ParseError("unknown_event", f"the instrument list was answered with status {reply.status}")
        self._table.update(instruments(self._product, reply.body))

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None:
        """Drop what can't be trusted any more and ask for it. Trades keep their window of known ids."""
        if reason == "started":
            output.resyncs.append(Resync("instruments", None, reason))
        if reason == "connected":
            self._quotes.forget()
        if feed is None or feed == Feed.BOOK:
            self._books.interrupted(origin, native_symbol, reason, output)
        if feed is None or feed in TICKER_FEEDS:
            self._tickers.interrupted(origin, native_symbol, reason, output)

    def _unlisted(self, origin: Origin, native_symbol: str, output: Output) -> Instrument:
        instrument = named(self._product, native_symbol)
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
