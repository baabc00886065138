"""Frames of one stream, numbered and packed as they leave."""

from shared.control import StreamInfo
from shared.envelope import SCHEMA_VERSION, Connected, Envelope, Frame, decode_mark, encode_envelope, encode_mark
from shared.overflow import Entry

__all__ = ["Packer"]


class Packer:
    """Gives frames their numbers: from 0 in every epoch, without a hole, whatever the buffer gave up before."""

    def __init__(self, stream: StreamInfo) -> None:
        self._stream = stream
        self._epoch = 0
        self._number = 0

    def pack(self, entries: list[Entry]) -> bytes:
        """The body of an envelope; an entry that opens an epoch is the first of them."""
        frames = [entry.frame for entry in entries]
        if entries[0].epoch is not None:
            frames[0] = self._opened(entries[0].frame, entries[0].epoch)
        info, first = self._stream, self._number
        self._number += len(frames)
        return encode_envelope(
            Envelope(SCHEMA_VERSION, info.exchange, info.product, info.plane, info.stream, self._epoch, first, frames)
        )

    def _opened(self, frame: Frame, epoch: int) -> Frame:
        """The mark that opens an epoch, told how many frames the one before had."""
        previous, frames = self._epoch, self._number
        self._epoch, self._number = epoch, 0
        if not previous:
            return frame
        opened = decode_mark(frame.data)
        if not isinstance(opened, Connected):
            raise TypeError(f"an epoch was opened by {opened!r}")
        return Frame(frame.kind, frame.ts_received, encode_mark(Connected(opened.url, previous, frames)))
