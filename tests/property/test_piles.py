"""Frames of one stream in one envelope, in whatever pieces, come to what each of them comes to by itself."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.envelope import SCHEMA_VERSION, Envelope, Frame, FrameKind
from shared.exchanges import adapter
from shared.exchanges.base import Output
from shared.instruments import Instrument, InstrumentTable
from shared.messages import encode_messages
from shared.normalizing import Progress, StreamNormalizer
from tests.contract.driving import START
from tests.contract.samples import Sample
from tests.unit.exchanges.binance import samples as binance
from tests.unit.exchanges.bybit import samples as bybit
from tests.unit.exchanges.mexc import samples as mexc


class Stream(NamedTuple):
    """A product's frames as they come: of samples, what precedes them as well."""

    exchange: str
    product: str
    listed: Sequence[Instrument]
    frames: Sequence[Frame]


def _stream(
    exchange: str, product: str, listed: Mapping[str, Sequence[Instrument]], samples: Sequence[Sample]
) -> Stream:
    frames = [frame for one in samples if one.product == product for frame in (*one.before, one.frame())]
    return Stream(exchange, product, listed[product], frames)


STREAMS = [
    *(_stream("binance", product, binance.LISTED, binance.SAMPLES) for product in ("spot", "usdm")),
    *(_stream("bybit", product, bybit.LISTED, bybit.SAMPLES) for product in ("spot", "linear", "inverse")),
    *(_stream("mexc", product, mexc.LISTED, mexc.SAMPLES) for product in ("spot", "futures")),
]

DIGIT = re.compile(rb"[0-9]")
TOKENS = [b"", b"0", b"00", b"-1", b"1e5", b"0.0", b".", b'""', b"null", b"9" * 90, b"[]", b"x", b"5.5", b"7e3"]


@st.composite
def changed(draw: st.DrawFn, frame: Frame) -> Frame:
    """The frame with some digits changed, as the next one of a topic has, or with something else in their place."""
    data, digits = frame.data, [match.start() for match in DIGIT.finditer(frame.data)]
    if not digits or frame.kind not in {FrameKind.TEXT, FrameKind.BINARY}:
        return frame
    for at in draw(st.lists(st.sampled_from(digits), max_size=4)):
        data = data[:at] + draw(st.sampled_from([b"0", b"1", b"7"])) + data[at + 1 :]
    if draw(st.integers(0, 5)) == 0:
        at = draw(st.sampled_from(digits))
        data = data[:at] + draw(st.sampled_from(TOKENS)) + data[at + draw(st.integers(1, 6)) :]
    return Frame(frame.kind, frame.ts_received, data)


@st.composite
def sequences(draw: st.DrawFn, stream: Stream) -> list[Frame]:
    """Some of the stream's frames, each again and again and changed a little."""
    some = draw(st.lists(st.sampled_from(stream.frames), min_size=1, max_size=6))
    frames = [draw(changed(frame)) for frame in [*some, *draw(st.lists(st.sampled_from(some), max_size=50))]]
    return [Frame(frame.kind, START + number, frame.data) for number, frame in enumerate(frames)]


def by_key(outputs: Sequence[Output]) -> dict[str, bytes]:
    """What a consumer of each routing key gets, in order."""
    found: dict[str, bytes] = {}
    for output in outputs:
        for group, messages in output.batch:
            if messages:
                found[group.key] = found.get(group.key, b"") + encode_messages(messages)[1:-1] + b"\n"
    return {key: body.replace(b"},{", b"}\n{") for key, body in found.items()}


@pytest.mark.parametrize("stream", STREAMS, ids=[f"{one.exchange}-{one.product}" for one in STREAMS])
@settings(deadline=None)
@given(data=st.data())
def test_frames_together_come_to_what_they_come_to_alone(stream: Stream, data: st.DataObject) -> None:
    frames = data.draw(sequences(stream))
    pauses = iter(data.draw(st.lists(st.booleans(), max_size=20)))
    venue = adapter(stream.exchange)

    def normalizer() -> StreamNormalizer:
        name = f"{stream.exchange}.{stream.product}.0"
        return StreamNormalizer(venue, stream.product, name, InstrumentTable(stream.listed))

    def pause() -> bool:
        return next(pauses, False)

    alone, together = normalizer(), normalizer()
    outcomes = [alone.frame(1, number, frame, START) for number, frame in enumerate(frames)]
    envelope = Envelope(SCHEMA_VERSION, "", "", "market", "", 1, 0, frames)
    progress, index = Progress(), 0
    while index < len(frames):
        index = together.advance(envelope, index, START, progress, pause)
    outputs = [outcome.output for outcome in outcomes]
    output = progress.output
    assert by_key([output]) == by_key(outputs)
    assert [(one.number, one.rejections) for one in progress.failures] == [
        (one.number, one.output.rejections) for one in outcomes if one.output.rejections
    ]
    assert output.duplicates == sum(one.duplicates for one in outputs)
    assert output.stale == sum(one.stale for one in outputs)
    assert sorted(output.resyncs, key=str) == sorted((wish for one in outputs for wish in one.resyncs), key=str)


def test_piles_are_used() -> None:
    """Or the property would say nothing: frames of a topic wait for each other."""
    kinds: Callable[[Sequence[Frame]], list[Frame]] = lambda frames: [one for one in frames if one.kind <= 1]  # noqa: E731
    for stream in STREAMS:
        normalizer = StreamNormalizer(adapter(stream.exchange), stream.product, "x", InstrumentTable(stream.listed))
        for number, frame in enumerate(stream.frames):
            normalizer.frame(1, number, Frame(frame.kind, START, frame.data), START)
        waiting = 0
        routes = normalizer._routes
        for frame in kinds(stream.frames):
            lane = routes.lanes.get(frame.data.partition(routes.mark)[0])
            if lane is not None:
                try:
                    waiting += not lane.put((lane, 0, 0, frame.data))
                except KeyError:
                    continue
        assert (waiting > 0) is (stream.product != "inverse"), stream.product
