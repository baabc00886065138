r"""Capture files: raw envelopes of any number of streams, in the order in which they were seen.

``TIDEGATE-CAPTURE 1\\n``, then records of length (4 bytes, big endian), CRC-32 of the body (4 bytes, big endian) and
body (an encoded envelope, so never empty: zeros at the end of a file are no records). A file that ends within a record
was cut off; what is before is whole.
"""

import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

from shared.errors import CaptureError

__all__ = ["MAGIC", "encode_record", "read"]

MAGIC: Final = b"TIDEGATE-CAPTURE 1\n"
_HEAD: Final = struct.Struct(">II")
MAX_RECORD: Final = 256 * 1024 * 1024


def encode_record(body: bytes) -> bytes:
    """One record of a file."""
    return _HEAD.pack(len(body), zlib.crc32(body)) + body


def read(file: BinaryIO) -> Iterator[bytes]:
    """The envelopes' bodies in order; raises CaptureError that says at which offset the file is damaged."""
    magic = file.read(len(MAGIC))
    if magic != MAGIC:
        raise CaptureError(f"is no capture file: it begins with {magic[:20]!r}")
    offset = len(MAGIC)
    while head := file.read(_HEAD.size):
        if len(head) < _HEAD.size:
            raise CaptureError(f"ends within a record head at offset {offset}")
        length, checksum = _HEAD.unpack(head)
        if not 0 < length <= MAX_RECORD:
            raise CaptureError(f"has a record of {length} bytes at offset {offset}; 1 to {MAX_RECORD} are possible")
        body = file.read(length)
        if len(body) < length:
            raise CaptureError(f"ends within a record at offset {offset}: {len(body)} of {length} bytes are there")
        if zlib.crc32(body) != checksum:
            raise CaptureError(f"has a damaged record at offset {offset}")
        yield body
        offset += _HEAD.size + length
