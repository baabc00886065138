"""What the tests of the core are about: instruments, frames, messages, and a venue as small as can be."""

from typing import cast

from shared.control import StreamInfo
from shared.envelope import Frame, FrameKind, Mark, RestReply, encode_mark, encode_reply
from shared.errors import ParseError
from shared.exchanges.base import Adapter, Feed, Origin, Output, Resync
from shared.exchanges.books import BookLevels, Books
from shared.exchanges.levels import book_levels, validated
from shared.instruments import Instrument, InstrumentKind, InstrumentTable
from shared.messages import (
    BookDelta,
    BookSnapshot,
    Candle,
    Funding,
    Level,
    Liquidation,
    MarkPrice,
    Message,
    OpenInterest,
    Quote,
    Status,
    StreamStatus,
    Ticker,
    Trade,
)
from shared.sequencing import CONTIGUOUS

__all__ = [
    "BTC",
    "COIN",
    "ETH",
    "SECOND",
    "START",
    "STREAM",
    "TinyParser",
    "delta",
    "every_message",
    "levels",
    "mark_frame",
    "reply_frame",
    "snapshot",
    "status",
    "text",
    "tiny_venue",
    "trade",
]

SECOND = 1_000_000_000
START = 1_780_000_000 * SECOND
STREAM = StreamInfo("tiny", "spot", "market", "tiny.spot.0")

BTC = Instrument("tiny", "spot", "BTC/USDT", "BTCUSDT", "BTC", "USDT", None, InstrumentKind.SPOT)
ETH = Instrument("tiny", "spot", "ETH/USDT", "ETHUSDT", "ETH", "USDT", None, InstrumentKind.SPOT)
COIN = Instrument(
    "tiny", "inverse", "BTC/USD:BTC", "BTCUSD", "BTC", "USD", "BTC", InstrumentKind.PERPETUAL, "100", inverse=True
)

_Head = tuple[str, str | None, str | None, int | None, int, int, str, int, int, int]


def _head(symbol: str | None, frame: int, part: int) -> _Head:
    native = None if symbol is None else symbol.replace("/", "")
    return ("tiny", symbol, native, None, START, START + 1, STREAM.stream, 1, frame, part)


def trade(symbol: str = "BTC/USDT", *, frame: int = 0, part: int = 0) -> Trade:
    return Trade(*_head(symbol, frame, part), "t1", "64000.10", "0.5", "buy")


def snapshot(symbol: str = "BTC/USDT", *, frame: int = 0, part: int = 0) -> BookSnapshot:
    return BookSnapshot(*_head(symbol, frame, part), [("99", "1")], [("101", "2")], 7)


def delta(symbol: str = "BTC/USDT", *, frame: int = 0, part: int = 0) -> BookDelta:
    return BookDelta(*_head(symbol, frame, part), [("99", "0")], [], 8, 7)


def status(symbol: str | None = "BTC/USDT", said: Status = "gap", *, frame: int = 0, part: int = 0) -> StreamStatus:
    return StreamStatus(*_head(symbol, frame, part), said, "book")


def every_message() -> list[Message]:
    """One of each kind, with every field set."""
    head = _head("BTC/USDT", 3, 0)
    return [
        Trade(*head, "t1", "64000.10", "0.5", "sell", "5"),
        Quote(*head, "1", "2", "3", "4", 9, "20", "40"),
        Ticker(*head, "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "-0.1", START, "14"),
        BookSnapshot(*head, [("99", "1")], [("101", "2")], 7, ["10"], ["20"]),
        BookDelta(*head, [("99", "0")], [("101", "2")], 8, 7, ["0"], ["20"]),
        Liquidation(*head, "buy", "63000", "0.1", "62999.5", "1"),
        Funding(*head, "-0.0001", START, 8),
        MarkPrice(*head, "64000", "64001"),
        OpenInterest(*head, "1000", "64000000", "10"),
        Candle(*head, "1m", START, START + 60 * SECOND, "1", "3", "0.5", "2", "10", "20", 5, closed=True),
        StreamStatus(*head, "shed", "trade", "overflow", "detail", 4),
    ]


def levels(bids: list[Level] | None = None, asks: list[Level] | None = None) -> BookLevels:
    return BookLevels(bids or [], asks or [])


def text(data: str, at: int = START) -> Frame:
    return Frame(FrameKind.TEXT, at, data.encode())


def mark_frame(mark: Mark, at: int = START) -> Frame:
    return Frame(FrameKind.MARK, at, encode_mark(mark))


def reply_frame(url: str, body: bytes, at: int = START) -> Frame:
    return Frame(FrameKind.REST, at, encode_reply(RestReply(url, 200, body)))


class TinyParser:
    """Understands ``trade <symbol>``, ``book <symbol> <id>`` (a snapshot), ``delta <symbol> <id>``.

    ``broken …`` is rejected after its messages were made, ``defect …`` and a defect in ``interrupted`` are what an
    adapter must not have. A REST reply is a snapshot.
    """

    def __init__(self, instruments: InstrumentTable) -> None:
        self.instruments = instruments
        self.books = Books(CONTIGUOUS)
        self.interruptions: list[tuple[str | None, str | None, str]] = []
        self.defective = False

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        words = frame.data.decode().split()
        how = words.pop(0) if words[0] in {"broken", "defect"} else None
        instrument = self.instruments.get(words[1])
        if instrument is None:
            raise ParseError("unknown_instrument", words[1])
        self._one(origin, instrument, words, output)
        if how == "broken":
            raise ParseError("bad_number", "broken at its end")
        if how == "defect":
            raise ZeroDivisionError("of the adapter")

    def _one(self, origin: Origin, instrument: Instrument, words: list[str], output: Output) -> None:
        if words[0] == "trade":
            part = output.parts
            output.add(Trade(*origin.head(instrument, None), part, None, "1", "2", "unknown"))
        elif words[0] == "book":
            whole = book_levels(instrument, validated([("1", words[2])], "bids"), [])
            self.books.snapshot(origin, instrument, output, whole, int(words[2]), None)
        else:
            last = int(words[2])
            changed = book_levels(instrument, validated([("1", words[2])], "bids"), [])
            self.books.delta(origin, instrument, output, changed, first=last, last=last)

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> None:
        instrument = self.instruments.get(reply.url)
        if instrument is None:
            raise ParseError("unknown_instrument", reply.url)
        self.books.seed(origin, instrument, output, levels([("1", "2")]), int(reply.body), None)

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None:
        self.interruptions.append((feed, native_symbol, reason))
        if self.defective:
            raise KeyError("of the adapter")
        if reason == "started":
            output.resyncs.append(Resync("instruments", None, reason))
        if feed in {None, Feed.BOOK}:
            self.books.interrupted(origin, native_symbol, reason, output)


class _TinyVenue:
    name = "tiny"

    def __init__(self) -> None:
        self.made: list[TinyParser] = []

    def parser(self, product: str, instruments: InstrumentTable) -> TinyParser:  # noqa: ARG002 - there is but one
        self.made.append(TinyParser(instruments))
        return self.made[-1]


def tiny_venue() -> tuple[Adapter, list[TinyParser]]:
    """An adapter as far as a normalizer needs one, and the parsers that it will have made."""
    venue = _TinyVenue()
    return cast("Adapter", venue), venue.made
