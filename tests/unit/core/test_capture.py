"""Capture files."""

import io
from collections.abc import Iterator

import pytest

from shared.capture import MAGIC, encode_record, read
from shared.errors import CaptureError

BODIES = [b"first", b"\x00" * 40, b"third"]
FILE = MAGIC + b"".join(map(encode_record, BODIES))
ENDS = [len(MAGIC) + sum(8 + len(body) for body in BODIES[:count]) for count in range(len(BODIES) + 1)]


def before_damage(data: bytes) -> tuple[list[bytes], str | None]:
    """The bodies that can be read, and what is said then."""
    found: list[bytes] = []

    def bodies() -> Iterator[None]:
        for body in read(io.BytesIO(data)):
            found.append(body)
            yield

    try:
        for _ in bodies():
            pass
    except CaptureError as error:
        return found, str(error)
    return found, None


def test_round_trip() -> None:
    """Envelopes come out as they went in, and in that order; a capture may be empty."""
    assert before_damage(FILE) == (BODIES, None)
    assert before_damage(MAGIC) == ([], None)


def test_format_for_ever() -> None:
    """Length and CRC-32, big endian, before each body."""
    assert encode_record(b"123456789") == bytes.fromhex("00000009cbf43926") + b"123456789"
    assert MAGIC == b"TIDEGATE-CAPTURE 1\n"


@pytest.mark.parametrize("length", range(len(FILE)))
def test_truncated(length: int) -> None:
    """What is before the cut is read, then the offset of the damaged record is named; between records nothing is."""
    found, problem = before_damage(FILE[:length])
    whole = sum(end <= length for end in ENDS[1:])
    assert found == BODIES[:whole]
    if length in ENDS:
        assert problem is None
    elif length < len(MAGIC):
        assert problem is not None
        assert problem.startswith("is no capture file")
    else:
        assert problem is not None
        assert f"at offset {ENDS[whole]}" in problem


@pytest.mark.parametrize("position", range(len(FILE)))
def test_damaged_byte(position: int) -> None:
    """No damage passes for an envelope, in the head of a record or in its body."""
    spoiled = bytearray(FILE)
    spoiled[position] ^= 1 << position % 8
    found, problem = before_damage(bytes(spoiled))
    whole = sum(end <= position for end in ENDS[1:])
    assert found == BODIES[:whole]
    assert problem is not None


def test_zeros_at_the_end_are_no_records() -> None:
    """A machine that lost power leaves such files."""
    found, problem = before_damage(FILE + b"\x00" * 64)
    assert found == BODIES
    assert problem == f"has a record of 0 bytes at offset {len(FILE)}; 1 to 268435456 are possible"


def test_absurd_length_is_not_read() -> None:
    """A damaged length does not become an attempt to read gigabytes."""
    assert before_damage(MAGIC + b"\xff" * 8)[1] == (
        f"has a record of 4294967295 bytes at offset {len(MAGIC)}; 1 to 268435456 are possible"
    )
