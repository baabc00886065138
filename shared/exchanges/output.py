"""Where a frame comes from, and what came of it: what a parser is given and what it fills.

Import these from :mod:`shared.exchanges.base`, which describes the parser that uses them.
"""

from typing import Final, NamedTuple

from shared.errors import ParseError
from shared.instruments import Instrument
from shared.messages import Message, routing_key

__all__ = ["Group", "Head", "Origin", "Output", "Rejection", "Resync"]


class Origin:
    """Where the frame in hand comes from; one object per stream, its fields overwritten frame by frame."""

    __slots__ = ("epoch", "exchange", "frame", "stream", "ts_normalized", "ts_received")

    def __init__(self, exchange: str, stream: str) -> None:
        self.exchange = exchange
        self.stream = stream
        self.epoch = 0
        self.frame = 0
        self.ts_received = 0
        self.ts_normalized = 0

    def head(self, instrument: Instrument, ts_exchange: int | None, ts_received: int | None = None) -> "Head":
        """The first nine fields of every message of this frame about one instrument; ``part`` follows them.

        ``ts_received`` only for a message that an earlier, held back frame brought.
        """
        return (
            self.exchange,
            instrument.symbol,
            instrument.native_symbol,
            ts_exchange,
            self.ts_received if ts_received is None else ts_received,
            self.ts_normalized,
            self.stream,
            self.epoch,
            self.frame,
        )


Head = tuple[str, str | None, str | None, int | None, int, int, str, int, int]


class Rejection(NamedTuple):
    """Why a frame, or one element of it, became no message. ``code`` is one of ``PARSE_CODES``."""

    code: str
    detail: str


class Resync(NamedTuple):
    """A parser's wish: see :class:`shared.control.ResyncRequest`."""

    feed: str
    native_symbol: str | None
    reason: str


class Group:
    """Messages of one routing key in the batch in hand. Hot code keeps the group of its instrument and feed.

    A group belongs to a segment of a batch, and opens itself anew in the next one::

        if group.segment is not output.segment:
            group.open(output)
        group.messages.append(message)
        output.parts += 1
    """

    __slots__ = ("exchange", "feed", "key", "messages", "segment", "symbol")

    def __init__(self, feed: str, exchange: str, symbol: str | None) -> None:
        self.feed = feed
        self.exchange = exchange
        self.symbol = symbol
        self.key = routing_key(feed, exchange, symbol)
        self.segment: object | None = None
        self.messages: list[Message] = []

    def open(self, output: "Output") -> None:
        """Begin a list in the output's batch; the group's messages go there from now on."""
        self.segment = output.segment
        self.messages = []
        output.batch.append((self, self.messages))

    def put(self, message: Message, output: "Output") -> None:
        """The next message of the frame in hand."""
        if self.segment is not output.segment:
            self.open(output)
        self.messages.append(message)
        output.parts += 1

    def close(self) -> None:
        """The next message begins a list of its own, behind everything that the batch holds by then."""
        self.segment = None


class Output:
    """What came of frames: messages by routing key, rejections, wishes. ``part`` of a message is ``output.parts``.

    ``parts`` counts the messages of the frame in hand; whoever goes on to the next frame sets it to 0. A status must
    not be overtaken by, nor overtake, what it is about: it begins a new segment, in which every key opens anew.
    """

    __slots__ = ("_groups", "batch", "duplicates", "parts", "rejections", "resyncs", "segment", "stale")

    def __init__(self) -> None:
        self.batch: list[tuple[Group, list[Message]]] = []
        self.segment: object = object()
        self.parts = 0
        self.rejections: list[Rejection] = []
        self.resyncs: list[Resync] = []
        self.duplicates = 0
        self.stale = 0
        self._groups: dict[tuple[str, str | None], Group] = {}

    def add(self, message: Message) -> None:
        """Take a message; for feeds that no group is kept of (one feed of one instrument must go one way only)."""
        key = feed, symbol = message.feed, message.symbol
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(feed, message.exchange, symbol)
        if feed == STATUS:
            if self.batch and self.batch[-1][0].feed != STATUS:
                self.segment = object()
        elif feed in _SIBLINGS and (sibling := self._groups.get((_SIBLINGS[feed], symbol))) is not None:
            sibling.close()
        if group.segment is not self.segment:
            group.open(self)
        group.messages.append(message)
        self.parts += 1

    def drain(self) -> list[tuple[Group, list[Message]]]:
        """The batch, in the order in which its lists are to be published; a new one begins."""
        batch, self.batch, self.segment = self.batch, [], object()
        return batch

    @property
    def messages(self) -> list[Message]:
        """All messages of the batch, in the order in which they came of the frames."""
        found = [message for _, messages in self.batch for message in messages]
        found.sort(key=_identity)
        return found

    def withdraw(self, epoch: int, frame: int, part: int) -> list[Message]:
        """Take back the messages of a frame from this part on: the frame turned out to be unusable.

        Later frames of other routing keys may have been read before it; they stay.
        """
        withdrawn = []
        for _, messages in self.batch:
            while messages and _is_of(messages[-1], epoch, frame, part):
                withdrawn.append(messages.pop())
        self.parts = part
        return withdrawn

    def reject(self, error: ParseError) -> None:
        """One element of a frame is bad; the others go on."""
        self.rejections.append(Rejection(error.code, error.detail))


STATUS: Final = "stream_status"

_SIBLINGS: Final = {"book_snapshot": "book_delta", "book_delta": "book_snapshot"}
"""Feeds with one order between them: where they alternate, each begins a list anew."""


def _identity(message: Message) -> tuple[int, int, int]:
    return message.epoch, message.frame, message.part


def _is_of(message: Message, epoch: int, frame: int, part: int) -> bool:
    return message.frame == frame and message.epoch == epoch and message.part >= part
