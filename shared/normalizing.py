"""The normalizer's decision: frames of one stream in, canonical messages out. No I/O, no clock."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Final, NamedTuple

from shared.envelope import (
    Connected,
    Disconnected,
    Envelope,
    Frame,
    FrameKind,
    Mark,
    Shed,
    SubscriptionRejected,
    SubscriptionSilent,
    decode_mark,
    decode_reply,
)
from shared.errors import ParseError
from shared.exchanges.base import Adapter, Feed, Group, Origin, Output, Parser, Rejection, Resync
from shared.exchanges.lanes import Pile, Read, Routed, Routes
from shared.instruments import InstrumentTable
from shared.messages import BookDelta, BookSnapshot, Message, Status, StreamStatus, encode_messages

__all__ = ["Failure", "Outcome", "Progress", "StreamNormalizer", "encoded", "group_by_key", "unseen"]

_DATA_KINDS: Final = frozenset({FrameKind.TEXT, FrameKind.BINARY})

_BINARY: Final = 1
"""The other data kind is 0: two comparisons cost half of a look-up."""

_NO_ROUTES: Final = Routes({}, (), b'"')

_AT_A_TIME: Final = 32
"""Frames that are laid on piles before these are read: the more, the less each costs. These take about 50 µs."""

_ASK_EPOCH_NS: Final = 10_000_000_000
_ASK_EPOCH_MAX_NS: Final = 600_000_000_000

_LONG: Final = 450
_LONGEST_HEAD: Final = 100
"""Bytes: what is left of a longer frame behind its head would cost too much to copy."""

_OWN_PART: Final = 1 << 20
"""What a normalizer says of itself stands behind any message of the frame before the first that it sees, and so ahead
of all that comes of that one: those messages keep their numbers, whoever reads the frame, so that after a crash a
consumer knows them again."""

_LOOK_EVERY: Final = 7
"""A mask: the clock is looked at after every eighth frame that is read by itself."""


class Outcome:
    """What came of one frame."""

    __slots__ = ("frame", "number", "output", "repeated")

    def __init__(self, number: int, frame: Frame, output: Output, *, repeated: bool = False) -> None:
        self.number = number
        self.frame = frame
        self.output = output
        self.repeated = repeated
        """The frame was handled before (a redelivery) and was left alone."""


class Failure(NamedTuple):
    """A frame that could not be normalized, wholly or in part."""

    number: int
    frame: Frame
    rejections: list[Rejection]


class Progress:
    """What came of the frames of one stream since somebody last looked."""

    __slots__ = ("failures", "output", "repeated")

    def __init__(self) -> None:
        self.output = Output()
        self.failures: list[Failure] = []
        self.repeated = 0


class StreamNormalizer:
    """All state that one stream needs. Feed it every frame once, in order, whatever became of the one before."""

    def __init__(self, adapter: Adapter, product: str, stream: str, instruments: InstrumentTable) -> None:
        self._origin = Origin(adapter.name, stream)
        parser = adapter.parser(product, instruments)
        self._parser: Parser = parser
        self._routes = parser.routes if isinstance(parser, Routed) else _NO_ROUTES
        self._instruments = instruments
        self._epoch: int | None = None
        self._next = 0
        self._before: tuple[int | None, int] = (None, 0)
        self._steps: Iterator[None] | None = None
        """What is left to do of the last frame."""
        self._ask_epoch_at = 0
        self._ask_epoch_ns = _ASK_EPOCH_NS
        self.lost = 0
        """Frames that never arrived, so far."""

    def envelope(self, envelope: Envelope, now: int) -> list[Outcome]:
        """What came of each frame of an envelope; ``now`` becomes ``ts_normalized`` (ns)."""
        number = envelope.first
        outcomes = []
        for frame in envelope.frames:
            outcomes.append(self.frame(envelope.epoch, number, frame, now))
            number += 1
        return outcomes

    def frame(self, epoch: int, number: int, frame: Frame, now: int) -> Outcome:
        """One frame for itself. Never raises: what can't be read is a rejection in the output."""
        output = Output()
        self._origin.ts_normalized = now
        repeated = not self._take(epoch, number, frame, output)
        self._finish(_never, output)
        return Outcome(number, frame, output, repeated=repeated)

    def advance(self, envelope: Envelope, index: int, now: int, progress: Progress, due: Callable[[], bool]) -> int:
        """An envelope's frames from ``index`` on, until they end or ``due`` (asked every few frames) says so.

        Returns the index of the next frame; of one that is not done with, its own: it is gone on with. Messages gather
        in ``progress.output``, of each routing key in the order of the frames. This is the hot loop: one call per
        envelope, nothing per frame but what the frame needs.
        """
        frames, epoch, first = envelope.frames, envelope.epoch, envelope.first
        self._origin.ts_normalized = now
        count, output = len(frames), progress.output
        while index < count:
            if self._steps is None and epoch == self._epoch and first + index == self._next and _is_data(frames[index]):
                index, stopped = self._run(frames, index, progress, due)
            else:
                number, frame = first + index, frames[index]
                if self._steps is None and not self._take(epoch, number, frame, output):
                    progress.repeated += 1
                stopped = not self._finish(due, output)
                if output.rejections:
                    _note(progress, number, frame)
                if stopped:
                    break
                index += 1
                stopped = not index & _LOOK_EVERY and due()
            if stopped:
                break
        return index

    def _finish(self, due: Callable[[], bool], output: Output) -> bool:
        """Go on with what is left to do of a frame; whether all was done before it was due."""
        if self._steps is None:
            return True
        try:
            for _ in self._steps:
                if due():
                    return False
        except Exception as error:  # noqa: BLE001 - as in _take()
            output.reject(_internal(error))
        self._steps = None
        return True

    def _run(
        self, frames: Sequence[Frame], index: int, progress: Progress, due: Callable[[], bool]
    ) -> tuple[int, bool]:
        """Frames that follow the one before, up to one that is no data: the index after them, whether it was due."""
        first, failures, count = self._next - index, len(progress.failures), len(frames)
        stopped = False
        while index < count and not stopped and _is_data(frames[index]):
            index, stopped = self._sort(frames, index, first, progress, due)
            self._settle(frames, first, progress)
            stopped = stopped or due()
        progress.failures[failures:] = sorted(progress.failures[failures:], key=_number)
        self._next = first + index
        return index, stopped

    def _sort(
        self, frames: Sequence[Frame], index: int, first: int, progress: Progress, due: Callable[[], bool]
    ) -> tuple[int, bool]:
        """Lay frames on piles, up to one that is no data: as :meth:`_run`; ``first`` is the number of the first frame.

        What is read at once is read at once.
        """
        lanes, _, mark = self._routes
        output = progress.output
        number = first + index
        for number, (kind, received, data) in enumerate(frames[index : index + _AT_A_TIME], number):  # noqa: B020 - counts on
            if kind and kind != _BINARY:
                return number - first, False
            try:
                lane = lanes[(data if len(data) < _LONG else data[:_LONGEST_HEAD]).partition(mark)[0]]
                if not lane.put((lane, number, received, data)):
                    continue
                read = lane.read
            except KeyError:  # it may be of the same routing key as one that waits, or change the lanes
                self._settle(frames, first, progress)
                read = partial(self._any, frames[number - first])
            if self._read(read, number, received, data, output):
                _note(progress, number, frames[number - first])
            if not number & _LOOK_EVERY and due():
                return number + 1 - first, True
        return number + 1 - first, False

    def _settle(self, frames: Sequence[Frame], first: int, progress: Progress) -> None:
        """Read what waits on the piles; ``first`` is the number of the first of the frames."""
        origin, output = self._origin, progress.output
        for pile in self._routes.piles:
            waiting = pile.frames
            while waiting:
                try:
                    taken = pile.take(origin, output)
                except Exception as error:  # noqa: BLE001 - as in _take()
                    self._give_up(error, frames, first, pile, progress)
                    break
                if taken == len(waiting):
                    break
                lane, number, ts_received, data = waiting[taken]
                if self._read(lane.read, number, ts_received, data, output):
                    _note(progress, number, frames[number - first])
                del waiting[: taken + 1]
            waiting.clear()

    def _give_up(
        self, error: Exception, frames: Sequence[Frame], first: int, pile: Pile[Any], progress: Progress
    ) -> None:
        """A defect in an adapter: nobody knows how far it came, and none of the pile's frames gives anything."""
        for _, number, _, _ in reversed(pile.frames):
            self._origin.frame = number
            self._failed(error, 0, progress.output)
            _note(progress, number, frames[number - first])

    def _read(self, read: Read, number: int, ts_received: int, data: bytes, output: Output) -> bool:
        """Read a frame by itself; whether any of it was rejected."""
        origin = self._origin
        origin.frame = number
        origin.ts_received = ts_received
        output.parts = 0
        try:
            read(origin, data, output)
        except Exception as error:  # noqa: BLE001 - as in _take()
            self._failed(error, 0, output)
        return bool(output.rejections)

    def _any(self, frame: Frame, origin: Origin, data: bytes, output: Output) -> None:
        """A frame without a lane."""
        del data
        self._parser.data(origin, frame, output)

    def _take(self, epoch: int, number: int, frame: Frame, output: Output) -> bool:
        """Handle one frame, whatever it is; False when it was handled before."""
        output.parts = 0
        if self._epoch is not None and (epoch < self._epoch or (epoch == self._epoch and number < self._next)):
            if epoch < self._epoch and frame.ts_received >= self._ask_epoch_at:
                # Somebody lives behind an epoch that a set clock or another process brought: it is to begin above it.
                # Ever more seldom, should two of them fight over the stream.
                self._ask_epoch_at = frame.ts_received + self._ask_epoch_ns
                self._ask_epoch_ns = min(2 * self._ask_epoch_ns, _ASK_EPOCH_MAX_NS)
                output.resyncs.append(Resync("epoch", str(self._epoch), "older_epoch"))
            return False
        origin = self._origin
        origin.epoch, origin.ts_received = epoch, frame.ts_received
        if self._epoch is None and number:
            self._take_over(number, output)
        origin.frame = number
        self._before = (self._epoch, self._next)
        self._epoch, self._next = epoch, number + 1
        if self._before != (epoch, number):
            self._continuity(epoch, number, output)
        kept = output.parts
        try:
            self._dispatch(frame, output)
        except Exception as error:  # noqa: BLE001 - a defect in an adapter must not end the stream; it is counted and kept
            self._failed(error, kept, output)
        return True

    def _take_over(self, number: int, output: Output) -> None:
        """Somebody else had the stream: nothing was lost, but books and merged tickers begin with a snapshot."""
        self._origin.frame = number - 1
        self._say(output, "resync", None, None, reason="started", part=_OWN_PART)
        output.parts = 0

    def _failed(self, error: Exception, kept: int, output: Output) -> None:
        """Take back the messages of a frame that failed. A book that has moved on with one of them is broken."""
        withdrawn = output.withdraw(self._origin.epoch, self._origin.frame, kept)
        books = [message.native_symbol for message in withdrawn if isinstance(message, BookSnapshot | BookDelta)]
        for native_symbol in dict.fromkeys(books):
            self._interrupt(Feed.BOOK, native_symbol, "lost", output)
        output.reject(error if isinstance(error, ParseError) else _internal(error))

    def _dispatch(self, frame: Frame, output: Output) -> None:
        kind = frame.kind
        if kind in _DATA_KINDS:
            self._parser.data(self._origin, frame, output)
        elif kind == FrameKind.REST:
            self._steps = self._parser.reply(self._origin, decode_reply(frame.data), output)
        elif kind == FrameKind.MARK:
            self._mark(decode_mark(frame.data), output)
        else:
            raise ParseError("invalid_envelope", f"frame kind was {kind}")

    def _continuity(self, epoch: int, number: int, output: Output) -> None:
        """Holes, new epochs, and streams that were running before this normalizer saw them."""
        before, expected = self._before
        if before is None:
            if number:
                self._interrupt(None, None, "started", output)
            return
        missing = number if epoch != before else number - expected
        if missing:
            self._lose(missing, output)
            self._interrupt(None, None, "lost", output)
        if epoch != before:
            self._interrupt(None, None, "connected", output)

    def _lose(self, count: int, output: Output) -> None:
        self.lost += count
        self._say(output, "lost", None, None, reason="hole", count=count)

    def _interrupt(self, feed: str | None, native_symbol: str | None, reason: str, output: Output) -> None:
        try:
            self._parser.interrupted(self._origin, feed, native_symbol, reason, output)
        except Exception as error:  # noqa: BLE001 - as in frame()
            output.reject(_internal(error))

    def _mark(self, mark: Mark, output: Output) -> None:
        match mark:
            case Connected():
                # Nothing is interrupted by what the epoch before lost at its end: the new one begins with snapshots.
                if missing := unseen(mark, *self._before):
                    self._lose(missing, output)
                self._say(output, "connected", None, None, detail=mark.url)
            case Disconnected():
                self._say(output, "disconnected", None, None, reason=mark.reason, detail=mark.detail)
            case Shed():
                for item in mark.items:
                    symbol, feed = item.native_symbol, item.feed
                    self._say(output, "shed", symbol, feed, reason=item.reason, count=item.count)
                    self._interrupt(feed, symbol, "shed", output)
            case SubscriptionRejected():
                symbol, feed = mark.native_symbol, mark.feed
                self._say(output, "subscription_rejected", symbol, feed, reason="venue", detail=mark.reason)
            case SubscriptionSilent():
                symbol, feed = mark.native_symbol, mark.feed
                self._say(output, "subscription_silent", symbol, feed, reason="deadline", detail=mark.topic)

    def _say(
        self,
        output: Output,
        status: Status,
        native_symbol: str | None,
        feed: str | None,
        *,
        reason: str | None = None,
        detail: str | None = None,
        count: int | None = None,
        part: int | None = None,
    ) -> None:
        origin = self._origin
        instrument = None if native_symbol is None else self._instruments.get(native_symbol)
        output.add(
            StreamStatus(
                origin.exchange,
                None if instrument is None else instrument.symbol,
                native_symbol,
                None,
                origin.ts_received,
                origin.ts_normalized,
                origin.stream,
                origin.epoch,
                origin.frame,
                output.parts if part is None else part,
                status,
                feed,
                reason,
                detail,
                count,
            )
        )


_number: Final = attrgetter("number")


def _note(progress: Progress, number: int, frame: Frame) -> None:
    """Set the rejections of a frame aside, so that the next one begins without."""
    progress.failures.append(Failure(number, frame, progress.output.rejections))
    progress.output.rejections = []


def unseen(mark: Connected, epoch: int | None, frames: int) -> int:
    """How many frames before the new epoch never arrived, after ``frames`` of ``epoch`` did.

    Where the epoch before is one of which nothing arrived, its frames count; what was missing at the end of the one
    that did arrive nobody knows any more.
    """
    if epoch is None or mark.previous_epoch is None or mark.previous_frames is None or mark.previous_epoch < epoch:
        return 0
    return max(0, mark.previous_frames - frames) if mark.previous_epoch == epoch else mark.previous_frames


def _is_data(frame: Frame) -> bool:
    return frame[0] in _DATA_KINDS


def _never() -> bool:
    return False


def _internal(error: Exception) -> ParseError:
    return ParseError("internal", f"{type(error).__name__}: {error}")


def group_by_key(messages: Iterable[Message]) -> list[tuple[str, bytes]]:
    """AMQP messages for messages of one stream: ``(routing key, body)``, in the order in which to publish them."""
    output = Output()
    for message in messages:
        output.add(message)
    return encoded(output.drain())


def encoded(batch: list[tuple[Group, list[Message]]]) -> list[tuple[str, bytes]]:
    """``(routing key, body)`` of a drained batch."""
    return [(group.key, encode_messages(messages)) for group, messages in batch if messages]
