"""Whatever bytes come, decoders answer or say that they can't."""

import io
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import DecodeError, json, msgpack

from shared import capture
from shared.control import Announcement, ResyncRequest, StreamInfo, decode_control, encode_control
from shared.envelope import (
    SCHEMA_VERSION,
    Connected,
    Disconnected,
    Envelope,
    Frame,
    Mark,
    RestReply,
    Shed,
    ShedItem,
    SubscriptionRejected,
    SubscriptionSilent,
    decode_envelope,
    decode_mark,
    decode_reply,
    encode_envelope,
    encode_mark,
    encode_reply,
)
from shared.errors import PARSE_CODES, CaptureError, ParseError
from shared.messages import decode_messages, encode_messages, routing_key
from shared.quarantine import QuarantineRecord, decode_record, encode_record
from tests.unit.core.making import every_message

text = st.text(st.characters(codec="utf-8"), max_size=20)
integer = st.integers(-(2**63), 2**64 - 1)
count = st.integers(0, 2**62)
maybe_text = st.none() | text
maybe_integer = st.none() | integer

envelopes = st.builds(
    Envelope,
    st.just(SCHEMA_VERSION),
    text,
    text,
    st.sampled_from(["market", "account"]),
    text,
    count,
    count,
    st.lists(st.builds(Frame, integer, count, st.binary(max_size=40)), max_size=5),
)
marks: st.SearchStrategy[Mark] = st.one_of(
    st.builds(Connected, text, maybe_integer, maybe_integer),
    st.builds(Disconnected, text, maybe_integer, maybe_text),
    st.builds(Shed, st.lists(st.builds(ShedItem, maybe_text, maybe_text, text, integer), max_size=5)),
    st.builds(SubscriptionRejected, text, text, text, text),
    st.builds(SubscriptionSilent, text, text, text, st.floats(allow_nan=False, allow_infinity=False)),
)
replies = st.builds(RestReply, text, integer, st.binary(max_size=40))
infos = st.builds(StreamInfo, text, text, text, text)
controls = st.one_of(
    st.builds(Announcement, text, st.lists(infos, max_size=4)),
    st.builds(ResyncRequest, text, text, text, maybe_text, text),
)
records = st.builds(
    QuarantineRecord,
    text,
    text,
    text,
    text,
    integer,
    integer,
    integer,
    integer,
    integer,
    text,
    text,
    st.binary(max_size=40),
)


@given(envelopes, marks, replies, controls, records)
def test_round_trips(envelope: Envelope, mark: Mark, reply: RestReply, control: Any, record: QuarantineRecord) -> None:
    """Everything that a field can hold comes out as it went in."""
    assert decode_envelope(encode_envelope(envelope)) == envelope
    assert decode_mark(encode_mark(mark)) == mark
    assert decode_reply(encode_reply(reply)) == reply
    assert decode_control(encode_control(control)) == control
    assert decode_record(encode_record(record)) == record


DECODERS: list[Callable[[bytes], object]] = [
    decode_envelope,
    decode_mark,
    decode_reply,
    decode_control,
    decode_record,
]


def outcome(decode: Callable[[bytes], object], data: bytes) -> object:
    """What was decoded, or the error that may be raised; any other gets through."""
    try:
        return decode(data)
    except (ParseError, DecodeError) as error:
        return error


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats() | st.binary(max_size=9) | text,
    lambda children: st.lists(children, max_size=9) | st.dictionaries(text, children, max_size=5),
    max_leaves=12,
)


def packed(value: object) -> bytes:
    try:
        return msgpack.encode(value)
    except (OverflowError, RecursionError):
        return b""


garbage = st.binary(max_size=200) | values.map(packed) | values.map(json.encode)


@pytest.mark.parametrize("decode", DECODERS, ids=lambda decode: str(decode.__name__))
@given(data=garbage)
@example(data=b"[" * 100_000)
@example(data=b"\x91" * 100_000)
@example(data=b'{"a":' * 100_000)
def test_garbage_is_a_parse_error(decode: Callable[[bytes], object], data: bytes) -> None:
    """And nothing else; its code is one of the bounded list."""
    problem = outcome(decode, data)
    assert not isinstance(problem, DecodeError)
    assert not isinstance(problem, ParseError) or problem.code in PARSE_CODES


@pytest.mark.parametrize("which", range(5))
@given(data=st.data())
def test_spoiled_bytes_are_a_parse_error(which: int, data: st.DataObject) -> None:
    """Bytes that are nearly right reach every corner of a decoder."""
    encodings: list[tuple[Callable[[Any], bytes], st.SearchStrategy[Any]]] = [
        (encode_envelope, envelopes),
        (encode_mark, marks),
        (encode_reply, replies),
        (encode_control, controls),
        (encode_record, records),
    ]
    encode, strategy = encodings[which]
    spoiled = bytearray(encode(data.draw(strategy)))
    for _ in range(data.draw(st.integers(1, 3))):
        spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = data.draw(st.integers(0, 255))
    problem = outcome(DECODERS[which], bytes(spoiled))
    assert not isinstance(problem, DecodeError)
    assert not isinstance(problem, ParseError) or problem.code == "invalid_envelope"


@given(garbage)
@example(b'[{"x":' * 100_000)
def test_consumers_have_one_error_to_handle(body: bytes) -> None:
    """Of a body that is no array of messages."""
    assert isinstance(outcome(decode_messages, body), list | DecodeError)


@given(st.permutations(every_message()), st.data())
def test_spoiled_messages(messages: list[Any], data: st.DataObject) -> None:
    """Of one that nearly is, too."""
    spoiled = bytearray(encode_messages(messages))
    spoiled[data.draw(st.integers(0, len(spoiled) - 1))] = data.draw(st.integers(0, 255))
    assert isinstance(outcome(decode_messages, bytes(spoiled)), list | DecodeError)


symbols = st.text(st.characters(codec="utf-8"), max_size=300) | st.text(
    st.sampled_from([".", "%", "2", "5", "E", "_", "~", "\u5e01"]), min_size=60, max_size=260
)


@given(st.lists(symbols, unique=True, max_size=6), st.sampled_from(["trade", "quote", "book_snapshot"]))
@example(["_", "%5F", "."], "trade")
@example(["." * 100 + "a", "." * 100 + "b", "." * 101], "trade")
def test_routing_keys(names: list[str], feed: str) -> None:
    """Three words, 255 bytes at most, and no two symbols with the same."""
    keys = [routing_key(feed, "tiny", name) for name in [None, *names]]
    assert len(set(keys)) == len(keys)
    for key in keys:
        assert len(key.encode()) <= 255
        assert key.split(".")[:2] == [feed, "tiny"]
        assert key.count(".") == 2


bodies = st.lists(st.binary(min_size=1, max_size=60), max_size=6)


def readable(data: bytes) -> tuple[list[bytes], bool]:
    """What can be read of a capture file, and whether it is whole."""
    found: list[bytes] = []
    try:
        for body in capture.read(io.BytesIO(data)):
            found.append(body)  # noqa: PERF402 - what came before an error counts
    except CaptureError:
        return found, False
    return found, True


@given(bodies)
def test_captures_round_trip(written: list[bytes]) -> None:
    """Record by record."""
    assert readable(capture.MAGIC + b"".join(map(capture.encode_record, written))) == (written, True)


@given(bodies.filter(bool), st.data())
def test_damaged_captures(written: list[bytes], data: st.DataObject) -> None:
    """A flipped bit or a cut anywhere: whatever is read was written, in order, and the damage shows."""
    file = capture.MAGIC + b"".join(map(capture.encode_record, written))
    at = data.draw(st.integers(0, len(file) - 1))
    flipped = bytearray(file)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    found, whole = readable(bytes(flipped))
    assert found == written[: len(found)]
    assert not whole
    found, whole = readable(file[:at])
    assert found == written[: len(found)]
    assert not whole or len(found) < len(written)


@given(st.binary(max_size=100).filter(lambda data: not data.startswith(capture.MAGIC)))
def test_no_capture_file(data: bytes) -> None:
    """Bytes of any other kind are none."""
    assert readable(data) == ([], False)
    found, _ = readable(capture.MAGIC + data)
    assert all(zlib.crc32(body).to_bytes(4, "big") in data for body in found)
