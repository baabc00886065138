"""One stream driven frame by frame through the normalizer's own stage, and books as a consumer would keep them."""

from collections.abc import Iterable
from decimal import Decimal

from shared.envelope import (
    SCHEMA_VERSION,
    Connected,
    Envelope,
    Frame,
    FrameKind,
    Mark,
    RestReply,
    encode_mark,
    encode_reply,
)
from shared.exchanges.base import Adapter, Output
from shared.instruments import Instrument, InstrumentTable
from shared.messages import BookDelta, BookSnapshot, Level, Message, decode_messages, encode_messages
from shared.normalizing import Progress, StreamNormalizer

__all__ = ["START", "Driver", "Replica", "binary", "mark", "rest", "text"]

START = 1_790_000_000_000_000_000
"""Receive time of the first frame (ns); each later frame comes a millisecond after the one before."""

STEP = 1_000_000


def text(data: bytes) -> Frame:
    """A WebSocket text frame; its time is given when it is sent."""
    return Frame(FrameKind.TEXT, 0, data)


def binary(data: bytes) -> Frame:
    """A WebSocket binary frame."""
    return Frame(FrameKind.BINARY, 0, data)


def rest(url: str, body: bytes, status: int = 200) -> Frame:
    """A REST reply as ingest injects it."""
    return Frame(FrameKind.REST, 0, encode_reply(RestReply(url, status, body)))


def mark(value: Mark) -> Frame:
    """A lifecycle mark as ingest injects it."""
    return Frame(FrameKind.MARK, 0, encode_mark(value))


def received(output: Output) -> Output:
    """The output as a consumer has it: messages encoded and decoded (a proved level array passes through as JSON)."""
    decoded = Output()
    decoded.rejections, decoded.resyncs = output.rejections, output.resyncs
    decoded.duplicates, decoded.stale = output.duplicates, output.stale
    for message in decode_messages(encode_messages(output.messages)):
        decoded.add(message)
    return decoded


class Driver:
    """Numbers and times frames as ingest does; ``skip`` makes a hole, ``wait`` lets time pass.

    Every frame goes both ways, alone and in an envelope: they must come to the same.
    """

    def __init__(self, adapter: Adapter, product: str, instruments: Iterable[Instrument] = (), first: int = 0) -> None:
        self.table = InstrumentTable(instruments)
        self.messages: list[Message] = []
        self.outputs: list[Output] = []
        self._stream = f"{adapter.name}.{product}.0"
        self._normalizer = StreamNormalizer(adapter, product, self._stream, self.table)
        self._twin = StreamNormalizer(adapter, product, self._stream, self.table)
        self._epoch = 1
        self._number = first
        self._now = START

    def send(self, *frames: Frame) -> Output:
        """Handle frames in order; what came of the last one."""
        output = Output()
        for frame in frames:
            stamped = Frame(frame.kind, self._now, frame.data)
            alone = self._normalizer.frame(self._epoch, self._number, stamped, self._now + 1_000).output
            output = received(alone)
            self._compare(alone, stamped)
            self._number += 1
            self._now += STEP
            self.messages.extend(output.messages)
            self.outputs.append(output)
        return output

    def _compare(self, alone: Output, frame: Frame) -> None:
        """What comes of the frame in an envelope is what came of it alone."""
        envelope = Envelope(SCHEMA_VERSION, "", "", "market", self._stream, self._epoch, self._number, [frame])
        progress = Progress()
        assert self._twin.advance(envelope, 0, self._now + 1_000, progress, lambda: False) == 1
        output = progress.output
        assert encode_messages(output.messages) == encode_messages(alone.messages)
        assert [one.rejections for one in progress.failures] == ([alone.rejections] if alone.rejections else [])
        assert (output.resyncs, output.stale, output.duplicates) == (alone.resyncs, alone.stale, alone.duplicates)

    def connect(self) -> Output:
        """A new epoch begins, nothing was lost on the way."""
        previous, frames = self._epoch, self._number
        self._epoch += 1
        self._number = 0
        return self.send(mark(Connected("wss://venue.test", previous, frames)))

    def skip(self, frames: int = 1) -> None:
        """So many frames never arrive."""
        self._number += frames

    def wait(self, seconds: float) -> None:
        """Time passes without a frame."""
        self._now += int(seconds * 1_000_000_000)

    @property
    def codes(self) -> list[str]:
        """The codes of all rejections so far."""
        return [rejection.code for output in self.outputs for rejection in output.rejections]


class Replica:
    """Order books rebuilt from canonical messages alone; a message that does not continue the chain is a failure."""

    def __init__(self) -> None:
        self.sequence: dict[str | None, int | None] = {}
        self._sides: dict[str | None, tuple[dict[Decimal, str], dict[Decimal, str]]] = {}

    def apply(self, messages: Iterable[Message]) -> None:
        """Follow the book messages among these, as a consumer decodes them."""
        for message in decode_messages(encode_messages([*messages])):
            if isinstance(message, BookSnapshot):
                self._sides[message.symbol] = _side(message.bids), _side(message.asks)
                self.sequence[message.symbol] = message.sequence
            elif isinstance(message, BookDelta):
                self._delta(message)

    def bids(self, symbol: str) -> list[Level]:
        """Best first."""
        return [(f"{price:f}", size) for price, size in sorted(self._sides[symbol][0].items(), reverse=True)]

    def asks(self, symbol: str) -> list[Level]:
        """Best first."""
        return [(f"{price:f}", size) for price, size in sorted(self._sides[symbol][1].items())]

    def crossed(self) -> list[str | None]:
        """Symbols whose best bid is not below their best ask."""
        return [symbol for symbol, (bids, asks) in self._sides.items() if bids and asks and max(bids) >= min(asks)]

    def _delta(self, message: BookDelta) -> None:
        assert message.symbol in self._sides, f"a delta of {message.symbol} came before any snapshot"
        expected = self.sequence[message.symbol]
        assert message.previous_sequence == expected, f"{message.previous_sequence} was linked after {expected}"
        self.sequence[message.symbol] = message.sequence
        for side, levels in zip(self._sides[message.symbol], (message.bids, message.asks), strict=True):
            for price, size in levels:
                if Decimal(size):
                    side[Decimal(price)] = size
                else:
                    side.pop(Decimal(price), None)


def _side(levels: list[Level]) -> dict[Decimal, str]:
    return {Decimal(price): size for price, size in levels}
