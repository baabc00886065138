"""What a venue's conformance tests are made of: sample frames and what must come of them, and ways to spoil a frame."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from msgspec import json

from shared.envelope import Frame
from shared.exchanges.base import Ack, Feed, Overflow
from tests.contract.driving import binary, rest, text

__all__ = [
    "HUGE",
    "JUNK",
    "AckSample",
    "BookScript",
    "Listing",
    "Path",
    "Sample",
    "broken_tokens",
    "places",
    "with_extra",
    "with_token",
]

Path = tuple[str | int, ...]
"""Where a value sits in a JSON document: keys and indexes."""

HUGE = "1152921504606846977"
"""2**60 + 1: a float would make 1152921504606846976 of it."""


class Sample(NamedTuple):
    """A frame, and what must come of it.

    ``feeds``: tags of its messages, in order. ``route``, ``native_symbol``, ``overflow``: what ``classify`` must tell
    (None where the frame's beginning doesn't show it). ``before``: frames that must precede it. ``numbers``: where
    decimal numbers sit that get out. ``url``: set where ``data`` is the body of a REST reply.
    """

    product: str
    name: str
    data: bytes
    feeds: tuple[str, ...]
    route: Feed | None
    native_symbol: str | None
    overflow: Overflow = Overflow.SHED
    before: tuple[Frame, ...] = ()
    numbers: tuple[Path, ...] = ()
    binary: bool = False
    url: str | None = None

    def frame(self, data: bytes | None = None) -> Frame:
        """The sample, or other bytes in its place, as a frame."""
        content = self.data if data is None else data
        if self.url is not None:
            return rest(self.url, content)
        return binary(content) if self.binary else text(content)


class AckSample(NamedTuple):
    """An answer to a subscription request and how it must be read; None: no answer to a subscription."""

    product: str
    data: bytes
    ack: Ack | None


class BookScript(NamedTuple):
    """The life of one book.

    ``seeding`` makes it live. ``deltas``: at least four that continue it, one book_delta each. ``reseeding`` makes the
    book whole again after ``deltas`` came with a hole; ``after`` is one more delta that continues it then.
    ``broken``: the first delta with a number that is none.
    """

    product: str
    native_symbol: str
    seeding: tuple[Frame, ...]
    deltas: tuple[Frame, ...]
    reseeding: tuple[Frame, ...]
    after: Frame
    broken: Frame


class Listing(NamedTuple):
    """The body of an instrument list and the unified symbols that it gives, by native symbol."""

    product: str
    body: bytes
    symbols: dict[str, str]


JUNK: tuple[bytes, ...] = (
    b"",
    b" ",
    b"null",
    b"true",
    b"0",
    b'"text"',
    b"[]",
    b"[null]",
    b"[[]]",
    b"{}",
    b'""',
    b"-1.5",
    b'{"data":[]}',
    b'{"result":null}',
    b'{"stream":"x","data":[]}',
    b'{"stream":"!ticker@arr","data":[]}',
    b'{"channel":"push.deal","data":[],"symbol":"BTC_USDT"}',
    b"[[[1]]]",
    b'{"topic":1,"data":2}',
    b"\xff\xfe\x00",
    b"\x00" * 64,
    b"{" * 32,
    b"[" * 100_000,
    b'{"a":' * 100_000,
    "币安人生".encode(),
    "币安人生".encode()[:-1],
)
"""Bytes that are no frame of any venue."""

_encode = json.Encoder(decimal_format="number").encode
_HOLE = "\u2300hole\u2300"


def _decode(data: bytes) -> Any:
    return json.Decoder(float_hook=Decimal).decode(data)


def with_token(data: bytes, path: Path, token: str) -> bytes:
    """The JSON document with the value at ``path`` replaced by ``token``, which need not be JSON."""
    document = _decode(data)
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = _HOLE
    return bytes(_encode(document)).replace(f'"{_HOLE}"'.encode(), token.encode())


def places(data: bytes) -> Iterator[tuple[Path, Any]]:
    """Every value in a JSON document below its top, with its path."""
    yield from _places(_decode(data), ())


def _places(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key), item
        yield from _places(item, (*path, key))


def with_extra(data: bytes) -> bytes:
    """The JSON document with an unknown field in each of its objects."""
    return bytes(_encode(_extended(_decode(data))))


def _extended(value: Any) -> Any:
    if isinstance(value, dict):
        return {"zzz_new": {"a": [1]}} | {key: _extended(item) for key, item in value.items()}
    return [_extended(item) for item in value] if isinstance(value, list) else value


def broken_tokens() -> Iterator[str]:
    """JSON tokens, and what is none, that are no decimal number."""
    yield from ('""', '"NaN"', '"Infinity"', '"-Infinity"', '"1,5"', '"0x10"', '"1e999999"', '" 1"', "true", "[]", "{}")
    yield from ("NaN", "Infinity", "-Infinity")
