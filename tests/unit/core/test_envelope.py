"""Envelopes, and what they carry."""

import pytest
from msgspec import msgpack

from shared.envelope import (
    SCHEMA_VERSION,
    Connected,
    Disconnected,
    Envelope,
    Frame,
    FrameKind,
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
from shared.errors import ParseError

FRAMES = (
    Frame(FrameKind.MARK, 1_780_000_000_000_000_000, b'{"type":"connected","url":"wss://venue.test"}'),
    Frame(FrameKind.TEXT, 1_780_000_000_000_000_001, b'{"price":"1.5"}'),
    Frame(FrameKind.BINARY, 1_780_000_000_000_000_002, b"\x00\xff"),
    Frame(FrameKind.REST, 1_780_000_000_000_000_003, b""),
)
ENVELOPE = Envelope(SCHEMA_VERSION, "tiny", "spot", "market", "tiny.spot.0", 1_780_000_000_000, 41, FRAMES)

GOLDEN = bytes.fromhex(
    "9801a474696e79a473706f74a66d61726b6574ab74696e792e73706f742e30cf0000019e7044880029949303cf18b3d491b4320000c42d7b2274"
    "797065223a22636f6e6e6563746564222c2275726c223a227773733a2f2f76656e75652e74657374227d9300cf18b3d491b4320001c40f7b22"
    "7072696365223a22312e35227d9301cf18b3d491b4320002c40200ff9302cf18b3d491b4320003c400"
)
"""What version 1 makes of ``ENVELOPE``. Recordings hold such bytes for ever."""

GOLDEN_REPLY = bytes.fromhex(
    "83a375726cb868747470733a2f2f76656e75652e746573742f6465707468a6737461747573ccc8a4626f6479c4027b7d"
)

GOLDEN_MARKS: list[tuple[Mark, bytes]] = [
    (
        Connected("wss://venue.test", 4, 17),
        b'{"type":"connected","url":"wss://venue.test","previous_epoch":4,"previous_frames":17}',
    ),
    (Connected("wss://venue.test"), b'{"type":"connected","url":"wss://venue.test"}'),
    (
        Disconnected("closed", 1006, "gone"),
        b'{"type":"disconnected","reason":"closed","code":1006,"detail":"gone"}',
    ),
    (
        Shed([ShedItem("book", "BTCUSDT", "overflow", 3), ShedItem(None, None, "expired", 1)]),
        b'{"type":"shed","items":[["book","BTCUSDT","overflow",3],[null,null,"expired",1]]}',
    ),
    (
        SubscriptionRejected("trade.X", "trade", "X", "no topic"),
        b'{"type":"subscription_rejected","topic":"trade.X","feed":"trade","native_symbol":"X","reason":"no topic"}',
    ),
    (
        SubscriptionSilent("trade.X", "trade", "X", 30.0),
        b'{"type":"subscription_silent","topic":"trade.X","feed":"trade","native_symbol":"X","seconds":30.0}',
    ),
]


def test_round_trip() -> None:
    """Every kind of frame comes out as it went in."""
    decoded = decode_envelope(encode_envelope(ENVELOPE))
    assert decoded.frames == list(FRAMES)
    assert (decoded.exchange, decoded.product, decoded.plane, decoded.stream) == (
        "tiny",
        "spot",
        "market",
        "tiny.spot.0",
    )
    assert (decoded.epoch, decoded.first) == (1_780_000_000_000, 41)


def test_version_1_is_written_and_read_for_ever() -> None:
    """Bytes of a recording made by version 1 mean today what they meant then."""
    assert encode_envelope(ENVELOPE) == GOLDEN
    assert encode_envelope(decode_envelope(GOLDEN)) == GOLDEN
    assert encode_reply(RestReply("https://venue.test/depth", 200, b"{}")) == GOLDEN_REPLY
    assert decode_reply(GOLDEN_REPLY) == RestReply("https://venue.test/depth", 200, b"{}")


@pytest.mark.parametrize(("mark", "golden"), GOLDEN_MARKS, ids=lambda value: type(value).__name__)
def test_marks(mark: Mark, golden: bytes) -> None:
    """Every mark survives its way, and what was recorded of it is still understood."""
    assert decode_mark(encode_mark(mark)) == mark
    assert decode_mark(golden) == mark


def test_later_fields_are_ignored() -> None:
    """What a later version puts behind the known fields does not matter to this one."""
    assert decode_envelope(msgpack.encode([*msgpack.decode(GOLDEN), {"added": "later"}])) == decode_envelope(GOLDEN)
    assert decode_mark(b'{"added":[],"type":"connected","url":"u"}') == Connected("u")


@pytest.mark.parametrize(
    "body",
    [
        msgpack.encode([2, *msgpack.decode(GOLDEN)[1:]]),
        msgpack.encode([2, {"everything": "else"}]),
        msgpack.encode([0]),
    ],
    ids=["same shape", "another shape", "hardly any"],
)
def test_other_schema_versions_are_named(body: bytes) -> None:
    """The text says which version came and which is understood, whatever the fields have become."""
    with pytest.raises(ParseError, match=r"invalid_envelope: schema version was [02], 1 is understood"):
        decode_envelope(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        GOLDEN[:-1],
        GOLDEN + b"\x00",
        GOLDEN.replace(b"tiny.", b"\xff\xfe\xfd\xfc."),
        msgpack.encode([1, "tiny", "spot", "market", "s", 1, 0, [[0, 1]]]),
        msgpack.encode([1, "tiny", "spot", "market", "s", 1, 0, [[0, 1, "text"]]]),
        msgpack.encode([1, "tiny", "spot", "market", "s", 1.5, 0, []]),
        msgpack.encode({"version": 1}),
        b"\x99" + GOLDEN[1:] + b"\x91" * 100_000,
    ],
)
def test_garbage_is_a_parse_error(body: bytes) -> None:
    """A body that is no envelope is rejected as one, and as nothing else."""
    with pytest.raises(ParseError) as caught:
        decode_envelope(body)
    assert caught.value.code == "invalid_envelope"


def test_unknown_plane_is_refused() -> None:
    """The plane decides where rejected frames go; there are two."""
    with pytest.raises(ParseError, match="plane was 'private'"):
        decode_envelope(msgpack.encode([1, "tiny", "spot", "private", "s", 1, 0, []]))


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"type":"party"}', b'{"type":"shed"}', b'{"type":"connected","a":' + b"[" * 99_999]
)
def test_garbage_marks_and_replies_are_parse_errors(data: bytes) -> None:
    """So is the data of a lifecycle mark or a REST reply."""
    for decode in (decode_mark, decode_reply):
        with pytest.raises(ParseError) as caught:
            decode(data)
        assert caught.value.code == "invalid_envelope"
