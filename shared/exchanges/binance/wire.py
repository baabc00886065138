"""Binance's JSON as typed structs, and their decoders.

Only the fields that are used; unknown ones are ignored. Numbers stay text, times are milliseconds (the ``timeUnit``
query is never sent). The key of each field is the ``name`` in its definition. ``stack`` (``st``, USD-M since
2026-06-30) tells USD-M (1) from COIN-M (2), which share the all-market streams.
"""

from collections.abc import Callable
from typing import Annotated, Final, Generic, Literal, TypeVar

from msgspec import DecodeError, Meta, Raw, Struct, ValidationError, field, json

from shared.errors import ParseError

__all__ = [
    "UNREADABLE",
    "AggregateTrade",
    "BookTicker",
    "Combined",
    "Control",
    "Depth",
    "DepthSnapshot",
    "ForceOrder",
    "Kline",
    "Levels",
    "MarkPriceUpdate",
    "MiniTicker24h",
    "OpenInterestReply",
    "PlainAggregateTrade",
    "PlainQuote",
    "PlainSpotQuote",
    "PlainSpotTicker",
    "PlainTrade",
    "PlainUsdmQuote",
    "PlainUsdmTicker",
    "Probe",
    "Ticker24h",
    "TradeEvent",
    "decode_combined_raw",
    "decode_control",
    "decode_elements",
    "decode_open_interest",
    "decode_probe",
    "decode_snapshot",
    "decoders",
    "parse_error",
]

DataT = TypeVar("DataT")

COIN_M: Final = 2

LAST_MS: Final = 10**13
"""Exclusive; the year 2286. A time beyond is none in milliseconds."""

Id = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Milliseconds = Annotated[int, Meta(ge=0, lt=LAST_MS)]
NotCoinM = Annotated[int, Meta(ge=1, le=1)]
Levels = list[tuple[str, ...]]
"""Price, size; more columns are ignored."""


class Combined(Struct, Generic[DataT], gc=False):
    """A frame of a ``/stream`` socket: the event in its wrapper."""

    data: DataT


class TradeEvent(Struct, tag_field="e", tag="trade", gc=False):
    """``<s>@trade``. ``execution`` (USD-M only): MARKET, or what did not come from the order book."""

    symbol: str = field(name="s")
    trade_id: Id = field(name="t")
    price: str = field(name="p")
    size: str = field(name="q")
    ts_trade: int = field(name="T")
    buyer_is_maker: bool = field(name="m")
    execution: str | None = field(name="X", default=None)
    stack: int | None = field(name="st", default=None)


class AggregateTrade(Struct, tag_field="e", tag="aggTrade", gc=False):
    """``<s>@aggTrade``: fills of one taker order at one price."""

    symbol: str = field(name="s")
    trade_id: Id = field(name="a")
    price: str = field(name="p")
    size: str = field(name="q")
    ts_trade: int = field(name="T")
    buyer_is_maker: bool = field(name="m")
    stack: int | None = field(name="st", default=None)


class BookTicker(Struct, tag_field="e", tag="bookTicker", gc=False):
    """``<s>@bookTicker``; spot sends neither ``e`` nor times."""

    symbol: str = field(name="s")
    update_id: Id = field(name="u")
    bid_price: str = field(name="b")
    bid_size: str = field(name="B")
    ask_price: str = field(name="a")
    ask_size: str = field(name="A")
    ts_transaction: int | None = field(name="T", default=None)
    ts_event: int | None = field(name="E", default=None)
    stack: int | None = field(name="st", default=None)


class PlainTrade(Struct, tag_field="e", tag="trade", gc=False, frozen=True):
    """A trade as it nearly always is."""

    symbol: str = field(name="s")
    trade_id: Id = field(name="t")
    price: str = field(name="p")
    size: str = field(name="q")
    ts_trade: Milliseconds = field(name="T")
    buyer_is_maker: bool = field(name="m")
    execution: Literal["MARKET"] | None = field(name="X", default=None)
    stack: NotCoinM | None = field(name="st", default=None)


class PlainAggregateTrade(Struct, tag_field="e", tag="aggTrade", gc=False, frozen=True):
    """The same of an aggregate trade."""

    symbol: str = field(name="s")
    trade_id: Id = field(name="a")
    price: str = field(name="p")
    size: str = field(name="q")
    ts_trade: Milliseconds = field(name="T")
    buyer_is_maker: bool = field(name="m")
    stack: NotCoinM | None = field(name="st", default=None)


class PlainSpotQuote(Struct, tag_field="e", tag="bookTicker", gc=False, frozen=True):
    """A quote as it nearly always is."""

    update_id: Id = field(name="u")
    symbol: str = field(name="s")
    bid_price: str = field(name="b")
    bid_size: str = field(name="B")
    ask_price: str = field(name="a")
    ask_size: str = field(name="A")
    ts_transaction: None = field(name="T", default=None)
    ts_event: None = field(name="E", default=None)


class PlainUsdmQuote(Struct, tag_field="e", tag="bookTicker", gc=False, frozen=True):
    """The same of USD-M."""

    update_id: Id = field(name="u")
    symbol: str = field(name="s")
    bid_price: str = field(name="b")
    bid_size: str = field(name="B")
    ask_price: str = field(name="a")
    ask_size: str = field(name="A")
    ts_transaction: Milliseconds = field(name="T")
    ts_event: int | None = field(name="E", default=None)
    stack: NotCoinM | None = field(name="st", default=None)


PlainQuote = PlainSpotQuote | PlainUsdmQuote


class PlainSpotTicker(Struct, tag_field="e", tag="24hrTicker", gc=False, frozen=True):
    """A ticker as it nearly always is."""

    ts_event: Milliseconds = field(name="E")
    symbol: str = field(name="s")
    last_price: str = field(name="c")
    bid_price: str = field(name="b")
    bid_size: str = field(name="B")
    ask_price: str = field(name="a")
    ask_size: str = field(name="A")
    open_price: str = field(name="o")
    high_price: str = field(name="h")
    low_price: str = field(name="l")
    volume: str = field(name="v")
    turnover: str = field(name="q")
    stack: NotCoinM | None = field(name="st", default=None)


class PlainUsdmTicker(Struct, tag_field="e", tag="24hrTicker", gc=False, frozen=True):
    """The same of USD-M, which has no bid and ask."""

    ts_event: Milliseconds = field(name="E")
    symbol: str = field(name="s")
    last_price: str = field(name="c")
    open_price: str = field(name="o")
    high_price: str = field(name="h")
    low_price: str = field(name="l")
    volume: str = field(name="v")
    turnover: str = field(name="q")
    bid_price: None = field(name="b", default=None)
    bid_size: None = field(name="B", default=None)
    ask_price: None = field(name="a", default=None)
    ask_size: None = field(name="A", default=None)
    stack: NotCoinM | None = field(name="st", default=None)


class Depth(Struct, tag_field="e", tag="depthUpdate", gc=False):
    """``<s>@depth``, USD-M's partial depth: levels as JSON. ``previous_id`` and the transaction time are USD-M's."""

    symbol: str = field(name="s")
    ts_event: int = field(name="E")
    first_id: Id = field(name="U")
    last_id: Id = field(name="u")
    bids: Raw = field(name="b")
    asks: Raw = field(name="a")
    previous_id: Id | None = field(name="pu", default=None)
    ts_transaction: int | None = field(name="T", default=None)
    stack: int | None = field(name="st", default=None)


class DepthSnapshot(Struct, gc=False):
    """The REST order book, and spot's partial depth; names no symbol. Times are USD-M's."""

    last_id: Id = field(name="lastUpdateId")
    bids: Levels
    asks: Levels
    ts_event: int | None = field(name="E", default=None)
    ts_transaction: int | None = field(name="T", default=None)


class Ticker24h(Struct, tag_field="e", tag="24hrTicker", gc=False):
    """``<s>@ticker``; USD-M has no bid and ask."""

    symbol: str = field(name="s")
    ts_event: int = field(name="E")
    last_price: str = field(name="c")
    open_price: str | None = field(name="o", default=None)
    high_price: str | None = field(name="h", default=None)
    low_price: str | None = field(name="l", default=None)
    volume: str | None = field(name="v", default=None)
    turnover: str | None = field(name="q", default=None)
    bid_price: str | None = field(name="b", default=None)
    bid_size: str | None = field(name="B", default=None)
    ask_price: str | None = field(name="a", default=None)
    ask_size: str | None = field(name="A", default=None)
    stack: int | None = field(name="st", default=None)


class MiniTicker24h(Ticker24h, tag_field="e", tag="24hrMiniTicker", gc=False):
    """``<s>@miniTicker``: the ticker without bid and ask."""


class MarkPriceUpdate(Struct, tag_field="e", tag="markPriceUpdate", gc=False):
    """``<s>@markPrice``. Dated futures have an empty rate and 0 for the time of the next funding."""

    symbol: str = field(name="s")
    ts_event: int = field(name="E")
    mark_price: str = field(name="p")
    index_price: str | None = field(name="i", default=None)
    rate: str | None = field(name="r", default=None)
    ts_next_funding: int | None = field(name="T", default=None)
    stack: int | None = field(name="st", default=None)


class Order(Struct, gc=False):
    """The order of a liquidation; ``side`` is the order's."""

    symbol: str = field(name="s")
    side: str = field(name="S")
    size: str = field(name="q")
    price: str = field(name="p")
    ts_trade: int = field(name="T")
    average_price: str | None = field(name="ap", default=None)


class ForceOrder(Struct, tag_field="e", tag="forceOrder", gc=False):
    """``<s>@forceOrder``."""

    order: Order = field(name="o")
    stack: int | None = field(name="st", default=None)


class Bar(Struct, gc=False):
    """The candle of a kline event; ``ts_close`` is its last millisecond."""

    ts_open: int = field(name="t")
    ts_close: int = field(name="T")
    interval: str = field(name="i")
    open: str = field(name="o")
    high: str = field(name="h")
    low: str = field(name="l")
    close: str = field(name="c")
    volume: str = field(name="v")
    turnover: str = field(name="q")
    trades: Id = field(name="n")
    closed: bool = field(name="x")


class Kline(Struct, tag_field="e", tag="kline", gc=False):
    """``<s>@kline_<interval>``."""

    symbol: str = field(name="s")
    ts_event: int = field(name="E")
    bar: Bar = field(name="k")
    stack: int | None = field(name="st", default=None)


class OpenInterestReply(Struct, gc=False):
    """``GET /fapi/v1/openInterest``."""

    symbol: str
    open_interest: str = field(name="openInterest")
    ts_exchange: int = field(name="time")


class Probe(Struct, gc=False):
    """The keys that tell what a frame is, where its first bytes did not."""

    event: str | None = field(name="e", default=None)
    stream: str | None = None
    data: Raw = Raw(b"")
    update_id: Raw = field(name="u", default=Raw(b""))
    last_id: Raw = field(name="lastUpdateId", default=Raw(b""))


class Complaint(Struct, gc=False):
    """What an error is."""

    code: int | None = None
    msg: str = ""


class Control(Struct, gc=False):
    """The answer to SUBSCRIBE: ``{"result":null,"id":1}``, ``{"code":2,"msg":"…"}`` or ``{"error":{…},"id":1}``."""

    id: int | str | None = None
    result: Raw = Raw(b"")
    error: Complaint | None = None
    code: int | None = None
    msg: str = ""
    status: Raw = Raw(b"")


def decoders(kind: type[DataT]) -> tuple[Callable[[bytes], DataT], Callable[[bytes], Combined[DataT]]]:
    """Decoders of an event alone and of an event in its wrapper."""
    return json.Decoder(kind).decode, json.Decoder(Combined[kind]).decode  # type: ignore[valid-type]


UNREADABLE: Final = (DecodeError, UnicodeDecodeError, RecursionError)
"""What decoders raise."""

decode_probe: Final = json.Decoder(Probe).decode
decode_combined_raw: Final = json.Decoder(Combined[Raw]).decode
decode_elements: Final = json.Decoder(Annotated[list[Raw], Meta(min_length=1)]).decode
decode_snapshot: Final = json.Decoder(DepthSnapshot).decode
decode_open_interest: Final = json.Decoder(OpenInterestReply).decode
decode_control: Final = json.Decoder(Control).decode


def parse_error(error: DecodeError | UnicodeDecodeError | RecursionError) -> ParseError:
    """What a decoder complained of, as a rejection: ``missing_field``, ``wrong_type`` or ``invalid_json``."""
    text = str(error)
    if not isinstance(error, ValidationError):
        return ParseError("invalid_json", text)
    return ParseError("missing_field" if "missing required field" in text else "wrong_type", text)
