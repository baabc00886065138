"""Bybit's public JSON as typed structs. Source: docs/v5/websocket/public/*.mdx of the venue's documents.

Only fields that are used; prices and sizes are JSON strings, times JSON integers in milliseconds.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Generic, Literal, TypeVar

from msgspec import UNSET, DecodeError, Meta, Raw, Struct, UnsetType, ValidationError, field, json

from shared.errors import ParseError
from shared.exchanges.base import Output

__all__ = [
    "ARRAY_CANDLE",
    "ARRAY_LIQUIDATION",
    "ARRAY_TRADE",
    "FRAME_BOOK",
    "FRAME_HEAD",
    "FRAME_PLAIN_QUOTE",
    "FRAME_PLAIN_TICKER",
    "FRAME_PLAIN_TRADES",
    "FRAME_QUOTE",
    "FRAME_TICKER",
    "MAX_MILLISECONDS",
    "ArrayFrame",
    "BookFrame",
    "CandleItem",
    "Head",
    "LiquidationItem",
    "PlainTickerData",
    "TickerData",
    "TickerFrame",
    "TradeItem",
    "decode",
    "nanoseconds",
]

MAX_MILLISECONDS: Final = (2**63 - 1) // 1_000_000

ItemT = TypeVar("ItemT")
WireT = TypeVar("WireT")

Identity = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A sequence number that fits what consumers decode it into."""

Milliseconds = Annotated[int, Meta(gt=0, le=MAX_MILLISECONDS)]

Text = str | UnsetType


class Head(Struct, gc=False, frozen=True):
    """What tells control frames apart, and the topic where it does not come first."""

    topic: str | None = None
    op: str | None = None
    success: bool | None = None
    ret_msg: str = ""
    req_id: str | None = None


class QuoteData(Struct, gc=False, frozen=True):
    """The best level of each side as ``[price, size]``, or none."""

    b: list[tuple[str, str]]
    a: list[tuple[str, str]]
    u: Identity


class QuoteFrame(Struct, gc=False, frozen=True):
    """``orderbook.1.{symbol}``."""

    type: str
    data: QuoteData
    ts: int
    cts: int = 0


class PlainQuoteData(Struct, gc=False, frozen=True):
    """A quote with one level on each side."""

    b: tuple[tuple[str, str]]
    a: tuple[tuple[str, str]]
    u: Identity


class PlainQuoteFrame(Struct, gc=False, frozen=True):
    """``orderbook.1.{symbol}`` as it nearly always is."""

    type: Literal["snapshot"]
    data: PlainQuoteData
    ts: int
    cts: Milliseconds


class BookData(Struct, gc=False, frozen=True):
    """Levels as the JSON of ``[[price, size], …]``, bids falling, asks rising; ``u`` grows by one per frame."""

    b: Raw
    a: Raw
    u: Identity


class BookFrame(Struct, gc=False, frozen=True):
    """``orderbook.{depth}.{symbol}``; ``cts`` is the time of the matching engine, ``ts`` of the sender."""

    type: str
    data: BookData
    ts: int
    cts: int = 0


class TradeItem(Struct, gc=False, frozen=True):
    """One trade of ``publicTrade.{symbol}``; ``side`` is the taker's."""

    traded_at: int = field(name="T")
    side: str = field(name="S")
    size: str = field(name="v")
    price: str = field(name="p")
    trade_id: str | None = field(name="i", default=None)


class PlainTradeItem(Struct, gc=False, frozen=True):
    """A trade as it nearly always is."""

    traded_at: Milliseconds = field(name="T")
    side: Literal["Buy", "Sell"] = field(name="S")
    size: str = field(name="v")
    price: str = field(name="p")
    trade_id: Annotated[str, Meta(min_length=1)] = field(name="i")


class LiquidationItem(Struct, gc=False, frozen=True):
    """One entry of ``allLiquidation.{symbol}``; ``position`` is the side of what was liquidated: Buy is a long."""

    updated_at: int = field(name="T")
    position: str = field(name="S")
    size: str = field(name="v")
    price: str = field(name="p")


class CandleItem(Struct, gc=False, frozen=True):
    """One entry of ``kline.{interval}.{symbol}``; ``timestamp`` is when the last trade in it was made."""

    start: int
    end: int
    open: str
    close: str
    high: str
    low: str
    volume: str
    turnover: str
    confirm: bool
    timestamp: int = 0


class TickerData(Struct, gc=False, frozen=True):
    """``tickers.{symbol}``; a field that a delta leaves out is unchanged, ``""`` means that there is none.

    The order of the fields is that of the canonical ticker; the last three are funding.
    """

    last_price: Text = field(name="lastPrice", default=UNSET)
    bid_price: Text = field(name="bid1Price", default=UNSET)
    bid_size: Text = field(name="bid1Size", default=UNSET)
    ask_price: Text = field(name="ask1Price", default=UNSET)
    ask_size: Text = field(name="ask1Size", default=UNSET)
    open_price: Text = field(name="prevPrice24h", default=UNSET)
    high_price: Text = field(name="highPrice24h", default=UNSET)
    low_price: Text = field(name="lowPrice24h", default=UNSET)
    volume: Text = field(name="volume24h", default=UNSET)
    turnover: Text = field(name="turnover24h", default=UNSET)
    mark_price: Text = field(name="markPrice", default=UNSET)
    index_price: Text = field(name="indexPrice", default=UNSET)
    open_interest: Text = field(name="openInterest", default=UNSET)
    open_interest_value: Text = field(name="openInterestValue", default=UNSET)
    funding_rate: Text = field(name="fundingRate", default=UNSET)
    next_funding: Text = field(name="nextFundingTime", default=UNSET)
    funding_interval: Text = field(name="fundingIntervalHour", default=UNSET)


class PlainTickerData(Struct, gc=False, frozen=True):
    """What a delta changes; one with funding is none of these. The first seven fields come often, the others seldom."""

    last_price: Text = field(name="lastPrice", default=UNSET)
    bid_price: Text = field(name="bid1Price", default=UNSET)
    bid_size: Text = field(name="bid1Size", default=UNSET)
    ask_price: Text = field(name="ask1Price", default=UNSET)
    ask_size: Text = field(name="ask1Size", default=UNSET)
    volume: Text = field(name="volume24h", default=UNSET)
    turnover: Text = field(name="turnover24h", default=UNSET)
    open_price: Text = field(name="prevPrice24h", default=UNSET)
    high_price: Text = field(name="highPrice24h", default=UNSET)
    low_price: Text = field(name="lowPrice24h", default=UNSET)
    mark_price: Text = field(name="markPrice", default=UNSET)
    index_price: Text = field(name="indexPrice", default=UNSET)
    open_interest: Text = field(name="openInterest", default=UNSET)
    open_interest_value: Text = field(name="openInterestValue", default=UNSET)
    funding_rate: UnsetType = field(name="fundingRate", default=UNSET)
    next_funding: UnsetType = field(name="nextFundingTime", default=UNSET)
    funding_interval: UnsetType = field(name="fundingIntervalHour", default=UNSET)


class PlainTickerFrame(Struct, gc=False, frozen=True):
    """A delta without funding."""

    type: Literal["delta"]
    data: PlainTickerData
    ts: Milliseconds


class TickerFrame(Struct, gc=False, frozen=True):
    """A ticker, whole (``snapshot``) or in part (``delta``)."""

    type: str
    data: TickerData
    ts: int


class _Items(Struct, Generic[ItemT], gc=False, frozen=True):
    data: Annotated[list[ItemT], Meta(min_length=1)]


def decode(decoder: json.Decoder[WireT], data: bytes | Raw) -> WireT:
    """Decode; raises ParseError: ``invalid_json``, ``wrong_type`` or ``missing_field``."""
    try:
        return decoder.decode(data)
    except ValidationError as error:
        code = "missing_field" if "missing required field" in str(error) else "wrong_type"
        raise ParseError(code, str(error)) from error
    except (DecodeError, UnicodeDecodeError) as error:
        raise ParseError("invalid_json", str(error)) from error
    except RecursionError as error:
        raise ParseError("invalid_json", "was nested too deep") from error


class ArrayFrame(Generic[ItemT]):
    """Frames whose ``data`` is an array: one element that cannot be read does not take the others with it."""

    def __init__(self, whole: json.Decoder[_Items[ItemT]], item: json.Decoder[ItemT]) -> None:
        self.decoder = whole
        self._item = item

    def items(self, data: bytes, output: Output) -> list[ItemT]:
        """The elements that can be read, the others as rejections; raises ParseError where there is no array."""
        try:
            return decode(self.decoder, data).data
        except ParseError as error:
            if error.code == "invalid_json":
                raise
        return [*self._readable(decode(_RAW_ITEMS, data).data, output)]

    def _readable(self, raws: list[Raw], output: Output) -> Iterator[ItemT]:
        for raw in raws:
            try:
                yield decode(self._item, raw)
            except ParseError as error:
                output.reject(error)


_RAW_ITEMS: Final = json.Decoder(_Items[Raw])

FRAME_HEAD: Final = json.Decoder(Head)
FRAME_BOOK: Final = json.Decoder(BookFrame)
FRAME_QUOTE: Final = json.Decoder(QuoteFrame)
FRAME_PLAIN_QUOTE: Final = json.Decoder(PlainQuoteFrame)
FRAME_PLAIN_TRADES: Final = json.Decoder(_Items[PlainTradeItem])
FRAME_PLAIN_TICKER: Final = json.Decoder(PlainTickerFrame)
FRAME_TICKER: Final = json.Decoder(TickerFrame)
ARRAY_TRADE: Final = ArrayFrame(json.Decoder(_Items[TradeItem]), json.Decoder(TradeItem))
ARRAY_LIQUIDATION: Final = ArrayFrame(json.Decoder(_Items[LiquidationItem]), json.Decoder(LiquidationItem))
ARRAY_CANDLE: Final = ArrayFrame(json.Decoder(_Items[CandleItem]), json.Decoder(CandleItem))


def nanoseconds(milliseconds: int, name: str) -> int | None:
    """Milliseconds since 1970 as nanoseconds, 0 as None; raises ParseError(``bad_time``) outside what 63 bits hold."""
    if 0 < milliseconds <= MAX_MILLISECONDS:
        return milliseconds * 1_000_000
    if milliseconds == 0:
        return None
    raise ParseError("bad_time", f"{name} was {milliseconds}")
