"""Spot: binary frames are protobuf (``push.proto``), text frames JSON answers, REST replies JSON."""

from typing import Annotated, Final

from google.protobuf.message import DecodeError
from msgspec import Meta, Raw, Struct
from msgspec.json import Decoder

from shared.errors import ParseError
from shared.exchanges.mexc.push_pb2 import PushDataV3ApiWrapper

__all__ = ["Answer", "Depth", "Listing", "SymbolEntry", "answer", "depth", "listing", "push", "symbol_entry"]

_parse: Final = PushDataV3ApiWrapper.FromString


def push(data: bytes) -> PushDataV3ApiWrapper:
    """A binary frame; fields that this version does not know are skipped. Raises ParseError(``invalid_protobuf``)."""
    try:
        return _parse(data)
    except DecodeError as error:
        raise ParseError("invalid_protobuf", f"{len(data)} bytes: {error}") from error


class Answer(Struct, gc=False, frozen=True):
    """A text frame: the answer to a request, or to a ping (``msg`` is ``PONG``). ``id`` is 0 where none was sent."""

    code: int
    msg: str
    id: int | str | None = None


class Depth(Struct, gc=False, frozen=True):
    """``GET /api/v3/depth``; levels are ``[price, quantity]``, ``timestamp`` in ms."""

    lastUpdateId: Annotated[int, Meta(ge=0, le=2**63 - 1)]  # noqa: N815 - the venue's name
    bids: list[list[str]]
    asks: list[list[str]]
    timestamp: int | None = None


class SymbolEntry(Struct, gc=False, frozen=True, rename="camel"):
    """One entry of ``GET /api/v3/exchangeInfo``; precisions are numbers of decimal places."""

    symbol: str
    status: str | int
    base_asset: str
    quote_asset: str
    base_asset_precision: Annotated[int, Meta(ge=0, le=40)] | None = None
    quote_asset_precision: Annotated[int, Meta(ge=0, le=40)] | None = None


class Listing(Struct, gc=False, frozen=True):
    """``GET /api/v3/exchangeInfo``, its entries undecoded."""

    symbols: list[Raw]


answer: Final = Decoder(Answer).decode
depth: Final = Decoder(Depth).decode
listing: Final = Decoder(Listing).decode
symbol_entry: Final = Decoder(SymbolEntry).decode
