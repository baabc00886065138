"""Frames on piles: read in order, none twice, none lost, whatever is among them."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, cast

import pytest

from shared.envelope import SCHEMA_VERSION, Envelope, Frame, FrameKind, RestReply
from shared.errors import ParseError
from shared.exchanges.base import Adapter, Group, Origin, Output
from shared.exchanges.lanes import Lane, Pile, Piled, Routes
from shared.instruments import InstrumentTable
from shared.messages import Message, StreamStatus, Trade
from shared.normalizing import Progress, StreamNormalizer
from tests.unit.core.making import BTC, START, text

STREAM = "piled.spot.0"


def message(origin: Origin, what: str, frame: int, part: int) -> Trade:
    return Trade(
        origin.exchange, what, what, None, START, START, origin.stream, origin.epoch, frame, part, None, "1", "1", "buy"
    )


class DigitPile(Pile[Group]):
    """Takes frames of digits, each for itself a message; ``defect`` is what a pile must not have."""

    def __init__(self) -> None:
        super().__init__()
        self.takes: list[int] = []

    def take(self, origin: Origin, output: Output) -> int:
        self.takes.append(len(self.frames))
        for lane, frame, _, data in self.frames:
            word = data.partition(b" ")[2]
            if word == b"defect":
                raise ZeroDivisionError("of the adapter")
            if not word.isdigit():
                return self.position(frame)
            if lane.state.segment is not output.segment:
                lane.state.open(output)
            lane.state.messages.append(message(origin, lane.state.symbol or "", frame, 0))
        return len(self.frames)


class PiledParser:
    """``<lane> <word>``: lanes ``a`` and ``b`` have a pile in common, ``c`` one of its own, ``d`` is read at once.

    A frame of ``e`` has no lane and makes one for ``f``. Words that a pile does not take are ``broken``, ``said`` (a
    status and a message), ``partly`` (a message and a rejection).
    """

    def __init__(self) -> None:
        self.read: list[str] = []
        self.piles = (DigitPile(), DigitPile())
        groups = {name: Group("trade", "piled", name) for name in "abcdf"}
        self.lanes: dict[bytes, Lane] = {}
        for name, pile in (("a", self.piles[0]), ("b", self.piles[0]), ("c", self.piles[1])):
            self.lanes[name.encode()] = pile.lane(groups[name], self._reader(groups[name]))
        self.lanes[b"d"] = Lane(self._reader(groups["d"]))
        self._made = self.piles[1].lane(groups["f"], self._reader(groups["f"]))
        self.lanes[b"g"] = Piled(self._refuse, groups["a"], self._reader(groups["a"]))
        self.routes = Routes(self.lanes, self.piles, b" ")

    @staticmethod
    def _refuse(frame: tuple[Any, int, int, bytes]) -> None:
        raise KeyError(frame[3])

    def _reader(self, group: Group) -> Callable[[Origin, bytes, Output], None]:
        def read(origin: Origin, data: bytes, output: Output) -> None:
            word = data.decode().partition(" ")[2]
            self.read.append(data.decode())
            if word == "broken":
                raise ParseError("bad_number", word)
            if word == "said":
                head = origin.head(BTC, None)
                output.add(StreamStatus(*head, output.parts, "gap"))
            group.put(message(origin, group.symbol or "", origin.frame, output.parts), output)
            if word == "partly":
                output.reject(ParseError("bad_number", word))

        return read

    def data(self, origin: Origin, frame: Frame, output: Output) -> None:
        lane = self.lanes.get(frame.data.partition(b" ")[0])
        if lane is not None:
            lane.read(origin, frame.data, output)
            return
        if not frame.data.startswith(b"e"):
            raise ParseError("unknown_event", frame.data.decode())
        self.lanes[b"f"] = self._made

    def reply(self, origin: Origin, reply: RestReply, output: Output) -> None: ...

    def interrupted(
        self, origin: Origin, feed: str | None, native_symbol: str | None, reason: str, output: Output
    ) -> None: ...


class _PiledVenue:
    name = "piled"

    def __init__(self) -> None:
        self.made: list[PiledParser] = []

    def parser(self, product: str, instruments: InstrumentTable) -> PiledParser:  # noqa: ARG002 - there is but one
        self.made.append(PiledParser())
        return self.made[-1]


class Run:
    """Frames of one envelope behind a first one, and what came of them."""

    def __init__(self, words: Sequence[str], pause: Callable[[], bool] = lambda: False) -> None:
        venue = _PiledVenue()
        self.normalizer = StreamNormalizer(cast("Adapter", venue), "spot", STREAM, InstrumentTable())
        self.parser = venue.made[0]
        self.progress = Progress()
        frames = [text("a 0"), *map(text, words)]
        self.stops = [0]
        while self.stops[-1] < len(frames):
            envelope = Envelope(SCHEMA_VERSION, "piled", "spot", "market", STREAM, 1, 0, frames)
            self.stops.append(self.normalizer.advance(envelope, self.stops[-1], START, self.progress, pause))
        self.output = self.progress.output

    def of(self, symbol: str) -> list[int]:
        """The frames whose messages a consumer of one symbol gets, in its order."""
        return [one.frame for group, found in self.output.batch if group.symbol == symbol for one in found]


def identities(messages: Sequence[Message]) -> list[tuple[int, int]]:
    return [(one.frame, one.part) for one in messages]


def test_each_key_has_its_messages_in_order() -> None:
    run = Run(["a 1", "c 1", "b 1", "a 2", "d 1", "c 2", "b 2", "a 3"])
    assert (run.of("a"), run.of("b"), run.of("c"), run.of("d")) == ([0, 1, 4, 8], [3, 7], [2, 6], [5])
    assert identities(run.output.messages) == [(frame, 0) for frame in range(9)]
    assert run.parser.read == ["a 0", "d 1"], "the first frame of a stream is read by itself"


def test_what_a_pile_does_not_take_is_read_in_its_place() -> None:
    run = Run(["a 1", "a x", "b 2", "a y", "a z", "b 3"])
    assert (run.of("a"), run.of("b")) == ([0, 1, 2, 4, 5], [3, 6])
    assert run.parser.read == ["a 0", "a x", "a y", "a z"]


def test_a_rejected_frame_costs_no_other() -> None:
    run = Run(["a 1", "c broken", "a broken", "b 1", "a partly", "a 2"])
    assert (run.of("a"), run.of("b"), run.of("c")) == ([0, 1, 5, 6], [4], [])
    assert [(one.number, one.frame.data) for one in run.progress.failures] == [
        (2, b"c broken"),
        (3, b"a broken"),
        (5, b"a partly"),
    ]


def test_failures_are_in_the_order_of_the_frames() -> None:
    run = Run(["c broken", "a broken", "c broken", "a broken"])
    assert [one.number for one in run.progress.failures] == [1, 2, 3, 4]


def test_nothing_waits_when_a_frame_without_a_lane_is_read() -> None:
    """It may go where something waits for, and may make lanes."""
    run = Run(["a 1", "f 1", "b 1", "e 1", "f 2", "c 3", "g 4", "a 5"])
    assert (run.of("a"), run.of("b"), run.of("f"), run.of("c")) == ([0, 1, 7, 8], [3], [5], [6])
    assert [one.number for one in run.progress.failures] == [2], "there was no lane for it yet"


def test_a_status_is_not_overtaken() -> None:
    run = Run(["a 1", "b 1", "a said", "a 2", "b 2"])
    published = [one for _, found in run.output.batch for one in found]
    at = next(index for index, one in enumerate(published) if isinstance(one, StreamStatus))
    before, after = ([one.frame for one in some if one.symbol == "a"] for some in (published[:at], published[at:]))
    assert (before, after) == ([0, 1], [3, 4])


def test_defect_of_a_pile_is_a_rejection_of_what_waits_there() -> None:
    run = Run(["a 1", "c 1", "a defect", "b 2", "c 2"])
    assert (run.of("a"), run.of("b"), run.of("c")) == ([0], [], [2, 5])
    assert [(one.number, one.rejections[0].code) for one in run.progress.failures] == [
        (1, "internal"),
        (3, "internal"),
        (4, "internal"),
    ]


@pytest.mark.parametrize("word", ["a 1", "d 1"], ids=["piled", "at once"])
def test_a_long_envelope_is_handled_in_slices(word: str) -> None:
    run = Run([word] * 200, pause=lambda: True)
    assert len(run.stops) > 6
    assert max(end - begin for begin, end in pairwise(run.stops)) < 40
    assert identities(run.output.messages) == [(frame, 0) for frame in range(201)]


def test_frames_of_a_pile_are_read_together() -> None:
    run = Run(["a 1", "c 1", "b 1"] * 60)
    for pile in run.parser.piles:
        assert max(pile.takes) > 8
        assert pile.frames == []


def test_other_kinds_of_frames_end_a_run() -> None:
    venue = _PiledVenue()
    normalizer = StreamNormalizer(cast("Adapter", venue), "spot", STREAM, InstrumentTable())
    progress = Progress()
    frames = [text("a 0"), text("a 1"), Frame(FrameKind.MARK, START, b"?"), text("a 2"), Frame(-1, START, b"a 3")]
    envelope = Envelope(SCHEMA_VERSION, "piled", "spot", "market", STREAM, 1, 0, frames)
    assert normalizer.advance(envelope, 0, START, progress, lambda: False) == 5
    assert [one.frame for one in progress.output.messages] == [0, 1, 3]
    assert [(one.number, one.rejections[0].code) for one in progress.failures] == [
        (2, "invalid_envelope"),
        (4, "invalid_envelope"),
    ]
