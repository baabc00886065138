"""Frames, and the envelope that carries them through the broker.

An envelope is msgpack: an array of schema version, exchange, product, plane, stream, epoch, number of its first frame,
and frames as ``[kind, ts_received, data]``. Frame ``first + i`` is the i-th. Numbers are contiguous per (stream,
epoch), starting at 0: a hole is loss between ingest and normalizer.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, Final, Literal, NamedTuple, get_args

from msgspec import DecodeError, Meta, Struct, json, msgpack

from shared.errors import ParseError

__all__ = [
    "MAX_ENVELOPE_BYTES",
    "MAX_FRAME_BYTES",
    "SCHEMA_VERSION",
    "AccountFailed",
    "Alive",
    "Authenticated",
    "Connected",
    "Disconnected",
    "Envelope",
    "Frame",
    "FrameKind",
    "Mark",
    "Plane",
    "Reconciliation",
    "ReconciliationFailed",
    "RestReply",
    "Shed",
    "ShedItem",
    "SubscriptionRejected",
    "SubscriptionSilent",
    "decode_envelope",
    "decode_mark",
    "decode_reconciliation",
    "decode_reply",
    "encode_envelope",
    "encode_mark",
    "encode_reconciliation",
    "encode_reply",
]

SCHEMA_VERSION: Final = 1

MAX_ENVELOPE_BYTES: Final = 16 * 1024 * 1024
"""What RabbitMQ 4 takes in one message by default."""
MAX_FRAME_BYTES: Final = MAX_ENVELOPE_BYTES - 64 * 1024
"""The largest frame that can travel, alone in its envelope and, where it is no good, in quarantine with the reason."""

Plane = Literal["market", "account"]


class FrameKind(IntEnum):
    """How the bytes of a frame are to be read."""

    TEXT = 0  # a WebSocket text message
    BINARY = 1  # a WebSocket binary message
    REST = 2  # an encoded RestReply
    MARK = 3  # an encoded Mark: something that happened to the stream itself
    CATCH_UP = 4  # an encoded Reconciliation: what an account's REST endpoints said after a connect (account plane)


Count = Annotated[int, Meta(ge=0, le=2**62)]
"""Far from where sums leave the 64 bits that msgpack has for them."""


class Frame(NamedTuple):
    """One thing that arrived on a stream: kind, receive time (ns UTC), bytes."""

    kind: int
    ts_received: Count
    data: bytes


class Envelope(Struct, array_like=True, gc=False, frozen=True):
    """1 to n consecutive frames of one stream."""

    version: int
    exchange: str
    product: str
    plane: str
    stream: str
    epoch: Count
    first: Count
    frames: Sequence[Frame]


class RestReply(Struct, gc=False, frozen=True):
    """A REST reply as it came; ``url`` is the full URL that was asked for, ``body`` the bytes of the reply."""

    url: str
    status: int
    body: bytes


class Connected(Struct, gc=False, frozen=True, tag="connected"):
    """A new epoch begins. ``previous_frames``: how many frames the epoch before had, null where that isn't known."""

    url: str
    previous_epoch: int | None = None
    previous_frames: int | None = None


class Disconnected(Struct, gc=False, frozen=True, tag="disconnected"):
    """The connection ended; ``reason`` is a bounded word, ``code`` the close code of RFC 6455 section 7.4."""

    reason: str
    code: int | None = None
    detail: str | None = None


class ShedItem(Struct, gc=False, frozen=True, array_like=True):
    """How many frames of one feed of one instrument were shed; both null for frames that named neither."""

    feed: str | None
    native_symbol: str | None
    reason: str
    count: int


class Shed(Struct, gc=False, frozen=True, tag="shed"):
    """Here ingest dropped frames on purpose."""

    items: list[ShedItem]


class SubscriptionRejected(Struct, gc=False, frozen=True, tag="subscription_rejected"):
    """The venue refused a topic."""

    topic: str
    feed: str
    native_symbol: str
    reason: str


class SubscriptionSilent(Struct, gc=False, frozen=True, tag="subscription_silent"):
    """The venue accepted a topic and never sent a first frame within the deadline."""

    topic: str
    feed: str
    native_symbol: str
    seconds: float


class Authenticated(Struct, gc=False, frozen=True, tag="authenticated"):
    """The venue accepted the login and every private subscription."""


class AccountFailed(Struct, gc=False, frozen=True, tag="account_failed"):
    """The venue refuses an account's key; ``reason`` is a bounded word, ``detail`` holds no secret."""

    reason: str
    detail: str | None = None


class ReconciliationFailed(Struct, gc=False, frozen=True, tag="reconciliation_failed"):
    """What happened while nobody was connected could not be fetched; it is tried again."""

    reason: str
    detail: str | None = None


class Alive(Struct, gc=False, frozen=True, tag="alive"):
    """Ingest holds an authenticated and reconciled connection; nothing is known to be missing up to here."""


class Reconciliation(Struct, gc=False, frozen=True):
    """All replies of one reconciliation, which covers the venue's times (ms) from ``since_ms`` to ``until_ms``."""

    since_ms: int
    until_ms: int
    replies: list[RestReply]


Mark = (
    Connected
    | Disconnected
    | Shed
    | SubscriptionRejected
    | SubscriptionSilent
    | Authenticated
    | AccountFailed
    | ReconciliationFailed
    | Alive
)


class _Head(Struct, array_like=True, gc=False, frozen=True):
    """What an envelope of any schema version begins with."""

    version: int


_PLANES: Final = frozenset(get_args(Plane))
_UNREADABLE: Final = (DecodeError, RecursionError)
"""What msgspec raises; ValidationError is a DecodeError."""

_encode_envelope = msgpack.Encoder().encode
_decode_envelope = msgpack.Decoder(Envelope).decode
_decode_head = msgpack.Decoder(_Head).decode
_encode_reply = msgpack.Encoder().encode
_decode_reply = msgpack.Decoder(RestReply).decode
_encode_reconciliation = msgpack.Encoder().encode
_decode_reconciliation = msgpack.Decoder(Reconciliation).decode
_encode_mark = json.Encoder().encode
_decode_mark: json.Decoder[Mark] = json.Decoder(Mark)


def encode_envelope(envelope: Envelope) -> bytes:
    """The body of one raw AMQP message."""
    return _encode_envelope(envelope)


def decode_envelope(body: bytes) -> Envelope:
    """The reverse; raises ParseError(``invalid_envelope``). Fields after the known ones are ignored."""
    try:
        envelope = _decode_envelope(body)
    except _UNREADABLE as error:
        raise ParseError("invalid_envelope", _other_version(body) or str(error)) from error
    if envelope.version != SCHEMA_VERSION:
        raise ParseError("invalid_envelope", _of_version(envelope.version))
    if envelope.plane not in _PLANES:
        raise ParseError("invalid_envelope", f"plane was {envelope.plane[:40]!r}")
    return envelope


def _other_version(body: bytes) -> str | None:
    """The problem, if it is that the envelope is of another schema version, whose fields may be others."""
    try:
        version = _decode_head(body).version
    except _UNREADABLE:
        return None
    return None if version == SCHEMA_VERSION else _of_version(version)


def _of_version(version: int) -> str:
    return f"schema version was {version}, {SCHEMA_VERSION} is understood"


def encode_reply(reply: RestReply) -> bytes:
    """The data of a frame of kind REST."""
    return _encode_reply(reply)


def decode_reply(data: bytes) -> RestReply:
    """The reverse; raises ParseError(``invalid_envelope``)."""
    try:
        return _decode_reply(data)
    except _UNREADABLE as error:
        raise ParseError("invalid_envelope", f"REST frame: {error}") from error


def encode_reconciliation(reconciliation: Reconciliation) -> bytes:
    """The data of a frame of kind CATCH_UP."""
    return _encode_reconciliation(reconciliation)


def decode_reconciliation(data: bytes) -> Reconciliation:
    """The reverse; raises ParseError(``invalid_envelope``)."""
    try:
        return _decode_reconciliation(data)
    except _UNREADABLE as error:
        raise ParseError("invalid_envelope", f"reconciliation frame: {error}") from error


def encode_mark(mark: Mark) -> bytes:
    """The data of a frame of kind MARK."""
    return _encode_mark(mark)


def decode_mark(data: bytes) -> Mark:
    """The reverse; raises ParseError(``invalid_envelope``)."""
    try:
        return _decode_mark.decode(data)
    except _UNREADABLE as error:
        raise ParseError("invalid_envelope", f"mark: {error}") from error
