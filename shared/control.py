"""What ingest and normalizers tell each other besides data."""

from msgspec import DecodeError, Struct, json

from shared.errors import ParseError
from shared.instruments import Instrument

__all__ = [
    "Announcement",
    "ControlMessage",
    "Holding",
    "Holdings",
    "Instruments",
    "InstrumentsRequest",
    "ResyncRequest",
    "StreamInfo",
    "decode_control",
    "encode_control",
]


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


class Holding(Struct, gc=False, frozen=True):
    """A stream that a normalizer owns. Times are wall clock nanoseconds of the normalizer's machine.

    ``since_ns``: when it took the stream; ``frames``: how many it has dealt with since then; ``last_frame_ns``: when
    the newest of them was dealt with, ``lag_ns``: how long after its ``ts_received`` that was (both null before the
    first).
    """

    stream: str
    exchange: str
    product: str
    since_ns: int
    frames: int = 0
    lag_ns: int | None = None
    last_frame_ns: int | None = None


class Holdings(Struct, gc=False, frozen=True, tag="holdings"):
    """What one normalizer owns; repeated every few seconds, and at once when it changes."""

    member: str
    host: str
    pid: int
    streams: list[Holding]


class InstrumentsRequest(Struct, gc=False, frozen=True, tag="instruments_wanted"):
    """A normalizer that is about to take streams over wants to know the instruments of a product."""

    exchange: str
    product: str


class Instruments(Struct, gc=False, frozen=True, tag="instruments"):
    """The newest instrument list of a product: what a stream that is taken over in mid-life is read with at first.

    Its own list comes as a frame behind whatever waits in it by then.
    """

    exchange: str
    product: str
    instruments: list[Instrument]


ControlMessage = Announcement | ResyncRequest | Holdings | InstrumentsRequest | Instruments

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
