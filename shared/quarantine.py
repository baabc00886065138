"""Frames that could not be normalized, as they are kept: with everything needed to look at them and to try again."""

from msgspec import DecodeError, Struct, msgpack

from shared.errors import ParseError

__all__ = ["QuarantineRecord", "decode_record", "encode_record"]


class QuarantineRecord(Struct, gc=False, frozen=True):
    """One frame with the first reason; ``stream`` is the routing key where even the envelope was unreadable.

    ``kind`` is a ``FrameKind``, or -1 for a whole AMQP body that is no envelope. Times are ns UTC.
    """

    exchange: str
    product: str
    plane: str
    stream: str
    epoch: int
    frame: int
    kind: int
    ts_received: int
    ts_rejected: int
    code: str
    detail: str
    data: bytes


_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder(QuarantineRecord).decode


def encode_record(record: QuarantineRecord) -> bytes:
    """The body of one message in a quarantine queue (msgpack)."""
    return _encode(record)


def decode_record(body: bytes) -> QuarantineRecord:
    """The reverse; raises ParseError(``invalid_envelope``)."""
    try:
        return _decode(body)
    except (DecodeError, RecursionError) as error:
        raise ParseError("invalid_envelope", f"quarantine record: {error}") from error
