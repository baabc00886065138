"""Control messages, quarantine records, and the names that they go by."""

import pytest

from shared.control import (
    Announcement,
    ControlMessage,
    Holding,
    Holdings,
    Instruments,
    InstrumentsRequest,
    ResyncRequest,
    StreamInfo,
    decode_control,
    encode_control,
)
from shared.errors import ParseError
from shared.instruments import Instrument, InstrumentKind
from shared.quarantine import QuarantineRecord, decode_record, encode_record

RECORD = QuarantineRecord("tiny", "spot", "market", "tiny.spot.0", 7, 9, 1, 10, 11, "bad_number", "why", b"\x00\xff")

HOLDINGS = (
    b'{"type":"holdings","member":"h:1:ab12","host":"h","pid":1,"streams":[{"stream":"tiny.spot.0","exchange":"tiny",'
    b'"product":"spot","since_ns":5,"frames":0,"lag_ns":null,"last_frame_ns":null}]}'
)
INSTRUMENTS = (
    b'{"type":"instruments","exchange":"tiny","product":"spot","instruments":[{"exchange":"tiny","product":"spot",'
    b'"symbol":"A/B","native_symbol":"AB","base":"A","quote":"B","settle":null,"kind":"spot","contract_size":"1",'
    b'"inverse":false,"expiry":null,"tick_size":null,"size_step":null,"active":true}]}'
)
MESSAGES: list[tuple[ControlMessage, bytes]] = [
    (
        Announcement("i1", [StreamInfo("tiny", "spot", "market", "tiny.spot.0")]),
        b'{"type":"streams","ingest":"i1","streams":[{"exchange":"tiny","product":"spot","plane":"market","stream":"tiny.spot.0"}]}',
    ),
    (
        ResyncRequest("tiny", "tiny.spot.0", "book", None, "started"),
        b'{"type":"resync","exchange":"tiny","stream":"tiny.spot.0","feed":"book","native_symbol":null,"reason":"started"}',
    ),
    (
        Holdings("h:1:ab12", "h", 1, [Holding("tiny.spot.0", "tiny", "spot", 5)]),
        HOLDINGS,
    ),
    (
        InstrumentsRequest("tiny", "spot"),
        b'{"type":"instruments_wanted","exchange":"tiny","product":"spot"}',
    ),
    (
        Instruments("tiny", "spot", [Instrument("tiny", "spot", "A/B", "AB", "A", "B", None, InstrumentKind.SPOT)]),
        INSTRUMENTS,
    ),
]


@pytest.mark.parametrize(("message", "golden"), MESSAGES, ids=lambda value: type(value).__name__)
def test_control_messages(message: ControlMessage, golden: bytes) -> None:
    """What one process writes another reads, today's and yesterday's."""
    assert encode_control(message) == golden
    assert decode_control(golden) == message


@pytest.mark.parametrize(
    "body", [b"", b"null", b'{"type":"party"}', b'{"type":"resync"}', b'{"type":"resync","a":' + b"[" * 99_999]
)
def test_garbage_on_control_is_a_parse_error(body: bytes) -> None:
    """Whoever writes nonsense to the control exchange stops nobody."""
    with pytest.raises(ParseError) as caught:
        decode_control(body)
    assert caught.value.code == "invalid_envelope"


def test_quarantine_record() -> None:
    """A rejected frame is kept with its bytes and its reason."""
    assert decode_record(encode_record(RECORD)) == RECORD


@pytest.mark.parametrize("body", [b"", b"\x80", encode_record(RECORD)[:-1], b"\x81\xa1a" + b"\x91" * 99_999])
def test_garbage_in_quarantine_is_a_parse_error(body: bytes) -> None:
    """Listing quarantine ends at no record."""
    with pytest.raises(ParseError) as caught:
        decode_record(body)
    assert caught.value.code == "invalid_envelope"
