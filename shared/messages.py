"""Canonical messages: what consumers get, whatever the venue.

JSON on the wire, tagged by ``feed``. Numbers are decimal text in plain form; times are integer nanoseconds UTC, named
for whose clock they are: ``ts_exchange`` (the venue's, null where it sends none), ``ts_received`` (ingest, when the
frame came off the socket), ``ts_normalized`` (normalizer). Sizes are in base units; ``*_native`` holds the venue's own
number where it differs.

``(epoch, frame, part)`` increases within a stream and routing key, where ``book_snapshot`` and ``book_delta`` of one
instrument count as one key. A consumer drops what is not above the last one of its key, however long the repetition.
That loses nothing: a channel delivers a prefix of what was written, key by key, and whoever takes a stream over begins
at or before the end of that prefix.
"""

from hashlib import blake2b
from typing import ClassVar, Final, Literal

from msgspec import DecodeError, Struct, json

__all__ = [
    "FEEDS",
    "MESSAGE_TYPES",
    "AnyMessage",
    "BookDelta",
    "BookSnapshot",
    "Candle",
    "Funding",
    "Level",
    "Liquidation",
    "MarkPrice",
    "Message",
    "OpenInterest",
    "Quote",
    "Side",
    "Status",
    "StreamStatus",
    "Ticker",
    "Trade",
    "decode_messages",
    "encode_messages",
    "routing_key",
    "routing_word",
    "shortened_key",
]

Side = Literal["buy", "sell", "unknown"]
Level = tuple[str, str]
"""``(price, size)``; size ``0`` in a delta deletes the level."""


class Message(Struct, frozen=True, gc=False, kw_only=False, tag_field="feed"):
    """What every message carries, in this order, before its own fields."""

    exchange: str
    symbol: str | None
    native_symbol: str | None
    ts_exchange: int | None
    ts_received: int
    ts_normalized: int
    stream: str
    epoch: int
    frame: int
    part: int

    feed: ClassVar[str] = ""
    """The tag, as Python sees it."""


class Trade(Message, frozen=True, gc=False, tag="trade"):
    """One execution; ``side`` is the taker's."""

    feed: ClassVar[str] = "trade"
    trade_id: str | None
    price: str
    size: str
    side: Side
    size_native: str | None = None


class Quote(Message, frozen=True, gc=False, tag="quote"):
    """Best bid and offer; both fields of a side that is empty are null."""

    feed: ClassVar[str] = "quote"
    bid_price: str | None
    bid_size: str | None
    ask_price: str | None
    ask_size: str | None
    sequence: int | None = None
    bid_size_native: str | None = None
    ask_size_native: str | None = None


class Ticker(Message, frozen=True, gc=False, tag="ticker"):
    """24-hour statistics, complete: partial updates are merged before anything gets out.

    ``volume`` is in base units, ``turnover`` in quote units. Null means that the venue does not give the value.
    """

    feed: ClassVar[str] = "ticker"
    last_price: str | None
    bid_price: str | None = None
    bid_size: str | None = None
    ask_price: str | None = None
    ask_size: str | None = None
    open_price: str | None = None
    high_price: str | None = None
    low_price: str | None = None
    volume: str | None = None
    turnover: str | None = None
    mark_price: str | None = None
    index_price: str | None = None
    funding_rate: str | None = None
    ts_next_funding: int | None = None
    open_interest: str | None = None


class BookSnapshot(Message, frozen=True, gc=False, tag="book_snapshot"):
    """A whole order book; replaces what a consumer had. Bids fall, asks rise, no level has size 0."""

    feed: ClassVar[str] = "book_snapshot"
    bids: list[Level]
    asks: list[Level]
    sequence: int | None
    bid_sizes_native: list[str] | None = None
    ask_sizes_native: list[str] | None = None


class BookDelta(Message, frozen=True, gc=False, tag="book_delta"):
    """Changed levels with absolute sizes; size 0 deletes.

    ``previous_sequence`` is the ``sequence`` of the book message before it; a consumer that finds another one missed
    something.
    """

    feed: ClassVar[str] = "book_delta"
    bids: list[Level]
    asks: list[Level]
    sequence: int | None
    previous_sequence: int | None
    bid_sizes_native: list[str] | None = None
    ask_sizes_native: list[str] | None = None


class Liquidation(Message, frozen=True, gc=False, tag="liquidation"):
    """A forced order; ``side`` is the side of that order (a long that is liquidated sells)."""

    feed: ClassVar[str] = "liquidation"
    side: Side
    price: str
    size: str
    average_price: str | None = None
    size_native: str | None = None


class Funding(Message, frozen=True, gc=False, tag="funding"):
    """Funding rate of a perpetual for the interval that ends at ``ts_next_funding``."""

    feed: ClassVar[str] = "funding"
    rate: str
    ts_next_funding: int | None = None
    interval_hours: int | None = None


class MarkPrice(Message, frozen=True, gc=False, tag="mark_price"):
    """Mark price, with the index price where the venue sends both."""

    feed: ClassVar[str] = "mark_price"
    mark_price: str
    index_price: str | None = None


class OpenInterest(Message, frozen=True, gc=False, tag="open_interest"):
    """Open contracts in base units, with the value in quote units where the venue sends it."""

    feed: ClassVar[str] = "open_interest"
    open_interest: str
    open_interest_value: str | None = None
    open_interest_native: str | None = None


class Candle(Message, frozen=True, gc=False, tag="candle"):
    """OHLCV of one interval (``1m``, ``5m``, ``1h``, ``1d`` …); ``closed`` is null where the venue doesn't say."""

    feed: ClassVar[str] = "candle"
    interval: str
    ts_open: int
    ts_close: int | None
    open: str
    high: str
    low: str
    close: str
    volume: str | None
    turnover: str | None = None
    trades: int | None = None
    closed: bool | None = None
    volume_native: str | None = None


Status = Literal[
    "connected",  # a new epoch begins: all books of the stream start anew
    "disconnected",
    "subscription_rejected",  # this feed of this instrument will not come
    "subscription_silent",  # accepted, but no first frame within the deadline
    "shed",  # ingest dropped `count` frames here on purpose
    "lost",  # `count` frames never arrived (a hole in the frame numbers)
    "gap",  # the venue's own sequence broke
    "resync",  # a snapshot was asked for; reason `started`: another normalizer from here on, and nothing is missing
    "live",  # what was broken is whole again
]


class StreamStatus(Message, frozen=True, gc=False, tag="stream_status"):
    """A break, or its cure, in a stream: of the whole stream where ``native_symbol`` is null, else of one instrument.

    ``symbol`` is null as well where the instrument is not listed.

    ``affects`` names the feed concerned (null: all of them), ``reason`` a bounded word, ``count`` frames concerned.
    """

    feed: ClassVar[str] = "stream_status"
    status: Status
    affects: str | None = None
    reason: str | None = None
    detail: str | None = None
    count: int | None = None


AnyMessage = (
    Trade
    | Quote
    | Ticker
    | BookSnapshot
    | BookDelta
    | Liquidation
    | Funding
    | MarkPrice
    | OpenInterest
    | Candle
    | StreamStatus
)

MESSAGE_TYPES: tuple[type[Message], ...] = (
    Trade,
    Quote,
    Ticker,
    BookSnapshot,
    BookDelta,
    Liquidation,
    Funding,
    MarkPrice,
    OpenInterest,
    Candle,
    StreamStatus,
)
FEEDS: frozenset[str] = frozenset(kind.feed for kind in MESSAGE_TYPES)

MAX_KEY_BYTES: Final = 255

WHOLE_STREAM: Final = "_"
"""The symbol word of a routing key where a message concerns a whole stream."""

_encode = json.Encoder().encode
_decode = json.Decoder(list[AnyMessage]).decode


def encode_messages(messages: list[Message]) -> bytes:
    """The body of one AMQP message: a JSON array, in order."""
    return _encode(messages)


def decode_messages(body: bytes) -> list[AnyMessage]:
    """The reverse, for consumers; raises ``msgspec.DecodeError`` (``msgspec.ValidationError`` is one)."""
    try:
        return _decode(body)
    except RecursionError as error:
        raise DecodeError(str(error)) from error


def routing_key(feed: str, exchange: str, symbol: str | None) -> str:
    """``<feed>.<exchange>.<symbol>``, at most 255 bytes (AMQP 0-9-1 short string), another one for every symbol.

    In the symbol ``%`` and ``.`` are written ``%25`` and ``%2E``, since ``.`` separates words; a symbol ``_`` is
    ``%5F``, since ``_`` stands for the whole stream. What would be longer is cut and ends with ``%~`` and a digest.
    """
    return shortened_key(f"{feed}.{exchange}.{routing_word(symbol)}")


def routing_word(symbol: str | None) -> str:
    """A symbol as one word of a routing key; see :func:`routing_key`."""
    if symbol is None:
        return WHOLE_STREAM
    return "%5F" if symbol == WHOLE_STREAM else symbol.replace("%", "%25").replace(".", "%2E")


def shortened_key(key: str) -> str:
    """The key, or a shorter one that stands for it; see :func:`routing_key`."""
    encoded = key.encode()
    return key if len(encoded) <= MAX_KEY_BYTES else _shortened(encoded)


def _shortened(key: bytes) -> str:
    end = "%~" + blake2b(key, digest_size=16).hexdigest()
    kept = key[: MAX_KEY_BYTES - len(end)]
    if b"%" in kept[-2:]:
        kept = kept[: kept.rindex(b"%")]
    return kept.decode(errors="ignore") + end
