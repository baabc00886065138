"""Frames of one stream in, canonical messages out."""

from functools import partial

import pytest

from shared.envelope import (
    SCHEMA_VERSION,
    Connected,
    Disconnected,
    Envelope,
    Frame,
    FrameKind,
    Shed,
    ShedItem,
    SubscriptionRejected,
    SubscriptionSilent,
)
from shared.exchanges.base import Output, Resync
from shared.instruments import InstrumentTable
from shared.messages import StreamStatus
from shared.normalizing import Outcome, Progress, StreamNormalizer
from tests.unit.core.making import BTC, ETH, START, TinyParser, mark_frame, reply_frame, text, tiny_venue

CONNECTED = mark_frame(Connected("wss://venue.test"))


class Stream:
    """A normalizer that is fed one frame per call, numbered as they would be."""

    def __init__(self, first: int = 0) -> None:
        venue, parsers = tiny_venue()
        self.normalizer = StreamNormalizer(venue, "spot", "tiny.spot.0", InstrumentTable([BTC, ETH]))
        self.parser: TinyParser = parsers[0]
        self.epoch = 1
        self.number = first
        if not first:
            self.send(CONNECTED)

    def outcome(self, frame: Frame) -> Outcome:
        outcome = self.normalizer.frame(self.epoch, self.number, frame, START + 5)
        self.number += 1
        return outcome

    def send(self, frame: Frame | str) -> Output:
        return self.outcome(text(frame) if isinstance(frame, str) else frame).output

    def begin(self, previous: int | None, frames: int | None, *, epoch: int | None = None) -> Output:
        """A new epoch whose mark says this of the one before."""
        self.epoch = self.epoch + 1 if epoch is None else epoch
        self.number = 0
        return self.send(mark_frame(Connected("wss://venue.test", previous, frames)))


def said(output: Output) -> list[str]:
    assert [message.part for message in output.messages] == list(range(output.parts))
    return [message.status if isinstance(message, StreamStatus) else message.feed for message in output.messages]


def codes(output: Output) -> list[str]:
    return [rejection.code for rejection in output.rejections]


def test_messages_say_where_they_come_from() -> None:
    """Stream, epoch, frame, part and both times."""
    stream = Stream()
    message = stream.send("trade BTCUSDT").messages[0]
    assert (message.exchange, message.stream, message.epoch, message.frame, message.part) == (
        "tiny",
        "tiny.spot.0",
        1,
        1,
        0,
    )
    assert (message.ts_received, message.ts_normalized) == (START, START + 5)


def test_envelope_is_its_frames_in_order() -> None:
    """Frame ``first + i`` is the i-th."""
    stream = Stream()
    frames = [text("trade BTCUSDT"), text("nonsense"), reply_frame("BTCUSDT", b"5")]
    envelope = Envelope(SCHEMA_VERSION, "tiny", "spot", "market", "tiny.spot.0", 1, 1, frames)
    outcomes = stream.normalizer.envelope(envelope, START)
    assert [(outcome.number, outcome.frame) for outcome in outcomes] == list(enumerate(frames, 1))
    assert [said(outcome.output) for outcome in outcomes] == [["trade"], [], ["book_snapshot"]]


def test_hole_is_loss() -> None:
    """The missing frames are counted and told before the frame that showed it, and every book is broken."""
    stream = Stream()
    stream.send("book BTCUSDT 10")
    stream.number += 3
    output = stream.send("trade BTCUSDT")
    assert said(output) == ["lost", "gap", "resync", "trade"]
    lost = output.messages[0]
    assert isinstance(lost, StreamStatus)
    assert (lost.native_symbol, lost.affects, lost.reason, lost.count) == (None, None, "hole", 3)
    assert stream.normalizer.lost == 3
    assert stream.parser.interruptions == [(None, None, "lost")]


def test_repeated_frames_are_left_alone() -> None:
    """A redelivery changes nothing, within an epoch and after it."""
    stream = Stream()
    stream.send("book BTCUSDT 10")
    stream.number = 1
    outcome = stream.outcome(text("book BTCUSDT 10"))
    assert outcome.repeated
    assert outcome.output.messages == []
    stream.begin(1, 2)
    stream.epoch = 1
    stream.number = 99
    assert stream.outcome(text("book BTCUSDT 99")).repeated
    assert stream.normalizer.lost == 0


def test_new_epoch() -> None:
    """It is told; books start anew without a word of theirs."""
    stream = Stream()
    stream.send("book BTCUSDT 10")
    output = stream.begin(1, 2)
    assert said(output) == ["connected"]
    assert (output.resyncs, stream.normalizer.lost) == ([], 0)
    assert stream.parser.interruptions == [(None, None, "connected")]
    assert said(stream.send("delta BTCUSDT 11")) == []


def test_loss_at_the_end_of_an_epoch() -> None:
    """The next epoch's mark knows how many frames there were. Snapshots come by themselves, so none is asked for."""
    stream = Stream()
    stream.send("book BTCUSDT 10")
    output = stream.begin(1, 7)
    assert said(output) == ["lost", "connected"]
    assert output.resyncs == []
    lost = output.messages[0]
    assert isinstance(lost, StreamStatus)
    assert lost.count == stream.normalizer.lost == 5


def test_loss_of_a_whole_epoch() -> None:
    """Of an epoch that nobody saw every frame is lost."""
    stream = Stream()
    output = stream.begin(2, 40, epoch=3)
    assert said(output) == ["lost", "connected"]
    assert stream.normalizer.lost == 40


@pytest.mark.parametrize(("previous", "frames"), [(None, None), (1, None), (0, 9), (1, 1)])
def test_epochs_about_which_nothing_is_known(previous: int | None, frames: int | None) -> None:
    """Nothing is counted that is not known to be lost."""
    stream = Stream()
    assert said(stream.begin(previous, frames)) == ["connected"]
    assert stream.normalizer.lost == 0


def test_loss_at_the_beginning_of_an_epoch() -> None:
    """The mark is among the lost: the stream is lost and starts anew all the same."""
    stream = Stream()
    stream.send("book BTCUSDT 10")
    stream.epoch, stream.number = 2, 4
    output = stream.send("delta BTCUSDT 11")
    assert said(output) == ["lost", "gap", "resync"]
    assert stream.normalizer.lost == 4
    assert stream.parser.interruptions == [(None, None, "lost"), (None, None, "connected")]


def test_epoch_whose_mark_is_unreadable_starts_anew() -> None:
    """No delta of a new epoch continues a snapshot of the old one."""
    stream = Stream()
    stream.send("book BTCUSDT 10")
    stream.epoch, stream.number = 2, 0
    assert codes(stream.send(Frame(FrameKind.MARK, START, b"?"))) == ["invalid_envelope"]
    assert said(stream.send("delta BTCUSDT 11")) == []


def test_started_in_mid_life() -> None:
    """Whoever takes a stream over asks for everything it has no state for, and has lost nothing."""
    stream = Stream(first=7)
    output = stream.send("trade BTCUSDT")
    assert {(one.feed, one.native_symbol) for one in output.resyncs} == {("instruments", None), ("book", None)}
    # The trade has the number that it had for the owner before: a consumer that has it already knows it again.
    told = [(message.frame, message.part, message.feed) for message in output.messages]
    assert told == [(6, 1 << 20, "stream_status"), (7, 0, "trade")]
    assert said(stream.send("trade BTCUSDT")) == ["trade"]
    assert stream.normalizer.lost == 0


@pytest.mark.parametrize(
    ("frame", "feeds"),
    [
        ("book BTCUSDT 10", ["stream_status", "stream_status", "book_snapshot"]),
        ("broken trade BTCUSDT", ["stream_status"]),
    ],
)
def test_started_stands_before_what_came_of_the_first_frame(frame: str, feeds: list[str]) -> None:
    """Who begins books anew when told so keeps the snapshot of that very frame; a rejected frame hides nothing."""
    output = Stream(first=7).send(frame)
    published = [message for _, messages in output.batch for message in messages]
    assert [message.feed for message in published] == feeds
    assert published == output.messages, "in the order of their identities"
    assert isinstance(published[0], StreamStatus)
    assert (published[0].status, published[0].reason) == ("resync", "started")


def test_started_at_the_beginning() -> None:
    """Nothing is asked for: an epoch begins with all that is needed."""
    stream = Stream()
    assert stream.parser.interruptions == []


def test_rejected_frame_costs_no_other() -> None:
    """Its messages are taken back, the next frame is handled as ever."""
    stream = Stream()
    output = stream.send("broken trade BTCUSDT")
    assert (said(output), codes(output)) == ([], ["bad_number"])
    assert said(stream.send("trade BTCUSDT")) == ["trade"]


def test_loss_is_told_by_a_rejected_frame_too() -> None:
    """Taking messages back does not hide what is missing before them."""
    stream = Stream()
    stream.number += 2
    output = stream.send("broken trade BTCUSDT")
    assert (said(output), codes(output)) == (["lost"], ["bad_number"])


def test_defect_of_an_adapter_is_a_rejection() -> None:
    """The stream goes on, the reason is named."""
    stream = Stream()
    output = stream.send("defect trade BTCUSDT")
    assert (said(output), codes(output)) == ([], ["internal"])
    assert output.rejections[0].detail == "ZeroDivisionError: of the adapter"
    assert said(stream.send("trade BTCUSDT")) == ["trade"]


@pytest.mark.parametrize("how", ["broken", "defect"])
@pytest.mark.parametrize("what", ["book BTCUSDT 20", "delta BTCUSDT 11"])
def test_book_message_that_is_taken_back_breaks_its_book(how: str, what: str) -> None:
    """A book that moved on without its consumers is resynced; other books are not."""
    stream = Stream()
    stream.send("book BTCUSDT 10")
    stream.send("book ETHUSDT 10")
    output = stream.send(f"{how} {what}")
    assert said(output) == ["gap", "resync"]
    assert [(one.feed, one.native_symbol) for one in output.resyncs] == [("book", "BTCUSDT")]
    assert said(stream.send("delta ETHUSDT 11")) == ["book_delta"]
    assert said(stream.send("delta BTCUSDT 12")) == []


def test_defect_while_state_is_dropped_is_a_rejection() -> None:
    """Not even that ends the stream, nor keeps the frame from being handled."""
    stream = Stream()
    stream.parser.defective = True
    stream.number += 1
    output = stream.send("trade BTCUSDT")
    assert (said(output), codes(output)) == (["lost", "trade"], ["internal"])
    assert said(stream.begin(1, 3)) == ["connected"]
    assert codes(stream.send(mark_frame(Shed([ShedItem(None, None, "overflow", 1)])))) == ["internal"]


@pytest.mark.parametrize(
    "frame",
    [
        Frame(FrameKind.MARK, START, b'{"type":"connected"}'),
        Frame(FrameKind.MARK, START, b"\xff" * 9),
        Frame(FrameKind.MARK, START, b'{"type":"shed","x":' + b"[" * 100_000),
        Frame(FrameKind.REST, START, b"\x80"),
        Frame(9, START, b"what is this"),
    ],
    ids=["incomplete", "bytes", "deep", "reply", "kind"],
)
def test_garbage_of_our_own_kinds_is_rejected(frame: Frame) -> None:
    """What ingest can't have written is kept as unreadable."""
    stream = Stream()
    assert codes(stream.send(frame)) == ["invalid_envelope"]
    assert said(stream.send("trade BTCUSDT")) == ["trade"]


def test_shed_frames_are_told_and_break_what_they_concern() -> None:
    """One status per feed and instrument; the parser drops what it can't trust any more."""
    stream = Stream()
    stream.send("book BTCUSDT 10")
    items = [
        ShedItem("trade", "ETHUSDT", "overflow", 4),
        ShedItem("book", "BTCUSDT", "expired", 2),
        ShedItem(None, None, "circuit_open", 1),
    ]
    output = stream.send(mark_frame(Shed(items)))
    assert said(output) == ["shed", "shed", "gap", "resync", "shed"]
    shed = [message for message in output.messages if isinstance(message, StreamStatus) and message.status == "shed"]
    assert [(one.symbol, one.affects, one.reason, one.count) for one in shed] == [
        ("ETH/USDT", "trade", "overflow", 4),
        ("BTC/USDT", "book", "expired", 2),
        (None, None, "circuit_open", 1),
    ]
    assert stream.parser.interruptions == [
        ("trade", "ETHUSDT", "shed"),
        ("book", "BTCUSDT", "shed"),
        (None, None, "shed"),
    ]


def test_statuses_name_instruments_that_are_not_listed() -> None:
    """A topic is often refused just because there is no such instrument: the status says which."""
    stream = Stream()
    output = stream.send(mark_frame(SubscriptionRejected("trade.XYZ", "trade", "XYZ", "unknown symbol")))
    status = output.messages[0]
    assert isinstance(status, StreamStatus)
    assert (status.status, status.symbol, status.native_symbol) == ("subscription_rejected", None, "XYZ")
    assert (status.affects, status.reason, status.detail) == ("trade", "venue", "unknown symbol")


def test_other_marks_become_statuses() -> None:
    """Everything that happened to the stream reaches the consumer."""
    stream = Stream()
    silent = stream.send(mark_frame(SubscriptionSilent("trade.BTC", "trade", "BTCUSDT", 30.0))).messages[0]
    ended = stream.send(mark_frame(Disconnected("closed", 1006, "gone"))).messages[0]
    assert isinstance(silent, StreamStatus)
    assert isinstance(ended, StreamStatus)
    assert (silent.status, silent.symbol, silent.reason, silent.detail) == (
        "subscription_silent",
        "BTC/USDT",
        "deadline",
        "trade.BTC",
    )
    assert (ended.status, ended.symbol, ended.reason, ended.detail) == ("disconnected", None, "closed", "gone")


def test_envelopes_give_what_their_frames_give() -> None:
    """The hot way through an envelope, in pieces or at once, comes to what single frames come to."""
    words = ["book BTCUSDT 10", "delta BTCUSDT 11", "broken delta BTCUSDT 12", "trade ETHUSDT", "defect trade BTCUSDT"]
    words += ["delta BTCUSDT 13", "book BTCUSDT 20", "nonsense", "delta BTCUSDT 21", "trade BTCUSDT"] * 9
    frames = [CONNECTED, *map(text, words), mark_frame(Shed([ShedItem("book", "BTCUSDT", "overflow", 1)]))]
    parts = [(1, 0, frames[:4]), (1, 2, frames[2:30]), (1, 33, frames[33:]), (3, 0, [CONNECTED, *frames[1:9]])]
    envelopes = [
        Envelope(SCHEMA_VERSION, "tiny", "spot", "market", "tiny.spot.0", epoch, first, some)
        for epoch, first, some in parts
    ]
    single, whole, piecewise = (
        StreamNormalizer(tiny_venue()[0], "spot", "tiny.spot.0", InstrumentTable([BTC, ETH])) for _ in range(3)
    )
    outcomes = [outcome for envelope in envelopes for outcome in single.envelope(envelope, START)]
    for normalizer, pause in ((whole, False), (piecewise, True)):
        progress = Progress()
        for envelope in envelopes:
            index = 0
            while index < len(envelope.frames):
                index = normalizer.advance(envelope, index, START, progress, partial(bool, pause))
        assert progress.output.messages == [message for outcome in outcomes for message in outcome.output.messages]
        assert progress.output.resyncs == [wish for outcome in outcomes for wish in outcome.output.resyncs]
        assert [(one.number, one.rejections) for one in progress.failures] == [
            (outcome.number, outcome.output.rejections) for outcome in outcomes if outcome.output.rejections
        ]
        assert progress.repeated == sum(outcome.repeated for outcome in outcomes) > 0
        assert normalizer.lost == single.lost > 0


def test_a_new_life_of_an_older_epoch_is_asked_to_begin_above_the_known_one() -> None:
    """An ingest whose clock was set back would be taken for a repetition, for as long as the clock was behind."""
    stream = Stream()
    stream.begin(None, None, epoch=500)
    output = stream.begin(None, None, epoch=400)
    assert said(output) == []
    assert output.resyncs == [Resync("epoch", "500", "older_epoch")]
    assert stream.send("trade BTCUSDT").resyncs == []
    assert stream.begin(None, None, epoch=501).resyncs == []
