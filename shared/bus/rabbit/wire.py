"""The frames of a publish, and of an acknowledgement, as bytes (AMQP 0-9-1 sections 2.3.5 and 4.2).

Written for this one thing, and so several times cheaper than pamqp's general encoder.
"""

from functools import lru_cache
from struct import Struct
from typing import Final, NamedTuple

from shared.topology import ACCOUNT, CONTROL, FIREHOSE, MARKET, QUARANTINE, RAW

__all__ = ["CONTENT_TYPES", "Outgoing", "acknowledgement", "is_persistent", "marshal"]

_FRAME: Final = Struct(">BHI")
_METHOD: Final = Struct(">BHIHHH")  # frame header; class 60, method 40, reserved
_HEADER: Final = Struct(">BHIHHQH")  # frame header; class 60, weight, body size, property flags
_ACK: Final = Struct(">BHIHHQBB")  # frame header; class 60, method 80, delivery tag, multiple; end
_END: Final = b"\xce"
_CONTENT_TYPE: Final = 1 << 15
_DELIVERY_MODE: Final = 1 << 12
_MESSAGE_ID: Final = 1 << 7
_APP_ID: Final = 1 << 3
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
    """A message to publish; ``mandatory``: that nobody is bound for is a failure, and it is returned."""

    exchange: str
    key: bytes
    body: bytes
    mandatory: bool


def is_persistent(exchange: str, key: bytes) -> bool:
    """Whether a message outlives the broker: account data and what could not be normalized; never market data."""
    return exchange in {ACCOUNT, QUARANTINE} or (exchange == RAW and key.startswith(b"account."))


def marshal(message: Outgoing, channel: int, frame_max: int, app_id: bytes = b"", number: int = 0) -> bytes:
    """Method, header and body frames; the body is cut, since one frame over ``frame_max`` ends the connection.

    What is mandatory has ``number``, its place among all that was published on the channel, as its message id: a
    message that is returned tells no other.
    """
    exchange, key, body, mandatory = message
    name = exchange.encode()
    arguments = b"%c%b%c%b%c" % (len(name), name, len(key), key, mandatory)
    flags, properties = _properties(exchange, is_persistent(exchange, key), app_id)
    if mandatory:
        flags, properties = _with_message_id(flags, properties, app_id, b"%d" % number)
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


def acknowledgement(channel: int, tag: int, *, multiple: bool) -> bytes:
    """``basic.ack`` of a delivery, or of everything up to it."""
    return _ACK.pack(1, channel, 13, 60, 80, tag, multiple, _END[0])


@lru_cache(maxsize=256)
def _properties(exchange: str, persistent: bool, app_id: bytes) -> tuple[int, bytes]:  # noqa: FBT001
    """Flags and properties of a message without an id: the same for every one of a sender and an AMQP exchange."""
    content_type = CONTENT_TYPES[exchange]
    properties = b"%c%b%c" % (len(content_type), content_type, 2 if persistent else 1)
    if not app_id:
        return _CONTENT_TYPE | _DELIVERY_MODE, properties
    return _CONTENT_TYPE | _DELIVERY_MODE | _APP_ID, properties + b"%c%b" % (len(app_id), app_id)


def _with_message_id(flags: int, properties: bytes, app_id: bytes, message_id: bytes) -> tuple[int, bytes]:
    """It stands before the application's id."""
    before = len(properties) - (1 + len(app_id) if app_id else 0)
    text = b"%c%b" % (len(message_id), message_id)
    return flags | _MESSAGE_ID, properties[:before] + text + properties[before:]
