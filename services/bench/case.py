"""What is measured: frames of one feed of one product, and the least that could be done with them."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from msgspec import json

from services.bench.market import Asset
from shared.envelope import Frame, RestReply
from shared.messages import Message

__all__ = ["EPOCH", "NORMALIZED", "STREAM", "Case", "Floor", "encode"]

STREAM: Final = "bench.0"
EPOCH: Final = 0
NORMALIZED: Final = 1_760_000_000_000_000_000
"""When all frames are normalized (ns)."""

Floor = Callable[[Sequence[Frame], int], bytes]
"""Frames and the number of the first to the JSON of their messages: msgspec (or protobuf) decodes the wire's fields as
text, and the message that a normalizer would make of them is encoded. No state, no mapping (symbols, sides and sizes
leave as the venue wrote them), no check."""


class Case(NamedTuple):
    """One line of the table.

    ``opening`` gives the frame that an instrument's feed begins with, None where it begins with any; ``seed`` the REST
    reply that makes the first update of a book (the frame given) continue a book.
    """

    exchange: str
    product: str
    feed: str
    frame: Callable[[Asset], bytes]
    floor: Floor
    opening: Callable[[Asset], bytes] | None = None
    seed: Callable[[bytes], RestReply] | None = None


_encode: Final = json.Encoder().encode


def encode(messages: list[Message]) -> bytes:
    """What a normalizer does at the end of a batch."""
    return _encode(messages)
