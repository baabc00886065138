"""The frames of a publish as bytes (AMQP 0-9-1 sections 2.3.5 and 4.2).

Written for this one thing, and so several times cheaper than pamqp's general encoder.
"""

from struct import Struct
from typing import Final, NamedTuple

from shared.topology import ACCOUNT, CONTROL, FIREHOSE, MARKET, QUARANTINE, RAW

__all__ = ["CONTENT_TYPES", "Outgoing", "is_persistent", "marshal"]

_FRAME: Final = Struct(">BHI")
_METHOD: Final = Struct(">BHIHHH")  # frame header; class 60, method 40, reserved
_HEADER: Final = Struct(">BHIHHQH")  # frame header; class 60, weight, body size, property flags
_END: Final = b"\xce"
_CONTENT_TYPE: Final = 1 << 15
_DELIVERY_MODE: Final = 1 << 12
_MESSAGE_ID: Final = 1 << 7
_ROUND: Final = 8  # bytes of a frame around its payload

CONTENT_TYPES: Final = {
    RAW: b"application/msgpack",
    QUARANTINE: b"application/msgpack",
    MARKET: b"application/json",
    ACCOUNT: b"application/json",
    FIREHOSE: b"application/json",
    CONTROL: b"application/json",
}
"""By AMQP exchange."""


class Outgoing(NamedTuple):
    """A message to publish; ``message_id`` only where it may be returned: by it the library finds whose it was."""

    exchange: str
    key: bytes
    body: bytes
    message_id: str | None


def is_persistent(exchange: str, key: bytes) -> bool:
    """Whether a message outlives the broker: account data and what could not be normalized; never market data."""
    return exchange in {ACCOUNT, QUARANTINE} or (exchange == RAW and key.startswith(b"account."))


def marshal(message: Outgoing, channel: int, frame_max: int) -> bytes:
    """Method, header and body frames; the body is cut, since one frame over ``frame_max`` ends the connection."""
    exchange, key, body, message_id = message
    name = exchange.encode()
    arguments = b"%c%b%c%b%c" % (len(name), name, len(key), key, 1 if message_id is not None else 0)
    properties = _properties(exchange, is_persistent(exchange, key), message_id)
    flags = _CONTENT_TYPE | _DELIVERY_MODE | (_MESSAGE_ID if message_id is not None else 0)
    parts = [
        _METHOD.pack(1, channel, 6 + len(arguments), 60, 40, 0),
        arguments,
        _END,
        _HEADER.pack(2, channel, 14 + len(properties), 60, 0, len(body), flags),
        properties,
        _END,
    ]
    room = frame_max - _ROUND
    for start in range(0, len(body), room):
        part = body[start : start + room]
        parts += (_FRAME.pack(3, channel, len(part)), part, _END)
    return b"".join(parts)


def _properties(exchange: str, persistent: bool, message_id: str | None) -> bytes:  # noqa: FBT001
    content_type = CONTENT_TYPES[exchange]
    mode = 2 if persistent else 1
    properties = b"%c%b%c" % (len(content_type), content_type, mode)
    if message_id is not None:
        text = message_id.encode()
        properties += b"%c%b" % (len(text), text)
    return properties
