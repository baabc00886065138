"""What ingest and normalizers tell each other besides data."""

from msgspec import DecodeError, Struct, json

from shared.errors import ParseError

__all__ = ["Announcement", "ControlMessage", "ResyncRequest", "StreamInfo", "decode_control", "encode_control"]


class StreamInfo(Struct, gc=False, frozen=True):
    """One stream that an ingest process feeds."""

    exchange: str
    product: str
    plane: str
    stream: str


class Announcement(Struct, gc=False, frozen=True, tag="streams"):
    """The streams of one ingest process; repeated every few seconds, so that whoever starts later learns of them."""

    ingest: str
    streams: list[StreamInfo]


class ResyncRequest(Struct, gc=False, frozen=True, tag="resync"):
    """A normalizer has no trustworthy state for a feed of an instrument and asks for what restores it.

    ``feed`` is a subscription feed (``book``, ``ticker``) or ``instruments``; a null ``native_symbol`` means all
    instruments of the stream. With ``epoch`` the stream is to begin anew above the epoch that stands in
    ``native_symbol``: what comes of an older one would be taken for a repetition.
    """

    exchange: str
    stream: str
    feed: str
    native_symbol: str | None
    reason: str


ControlMessage = Announcement | ResyncRequest

_encode = json.Encoder().encode
_decode: json.Decoder[ControlMessage] = json.Decoder(ControlMessage)


def encode_control(message: ControlMessage) -> bytes:
    """The body of one control message."""
    return _encode(message)


def decode_control(body: bytes) -> ControlMessage:
    """The reverse; raises ParseError(``invalid_envelope``)."""
    try:
        return _decode.decode(body)
    except (DecodeError, RecursionError) as error:
        raise ParseError("invalid_envelope", f"control message: {error}") from error
