"""The hot loop goes around a parser where a frame's beginning tells enough: it must make no difference."""

from collections.abc import Sequence

import pytest

from services.bench import parse
from services.bench.case import EPOCH, NORMALIZED, Case
from services.bench.market import assets
from services.bench.race import Contest
from shared.envelope import Frame
from shared.errors import PARSE_CODES
from shared.messages import encode_messages
from shared.normalizing import Progress

NAMES = [f"{case.exchange}-{case.product}-{case.feed}" for case in parse.CASES]


def begun(case: Case) -> tuple[Contest, list[Frame]]:
    contest = Contest(case, assets(case.exchange, case.product, seed=7))
    return contest, contest.frames(40)


def hot(contest: Contest, frames: Sequence[Frame]) -> Progress:
    progress = Progress()
    envelope = contest.runner.envelope(frames)
    index = contest.runner._normalizer.advance(envelope, 0, NORMALIZED, progress, lambda: False)
    assert index == len(frames)
    return progress


@pytest.mark.parametrize("case", parse.CASES, ids=NAMES)
def test_frame_by_frame_and_envelope_by_envelope_say_the_same(case: Case) -> None:
    one, frames = begun(case)
    other, same = begun(case)
    assert [frame.data for frame in frames] == [frame.data for frame in same]
    normalizer, first = other.runner._normalizer, other.runner.next
    slow = [
        message
        for number, frame in enumerate(same, first)
        for message in normalizer.frame(EPOCH, number, frame, NORMALIZED).output.messages
    ]
    progress = hot(one, frames)
    assert progress.failures == []
    assert encode_messages(progress.output.messages) == encode_messages(slow)


@pytest.mark.parametrize("case", parse.CASES, ids=NAMES)
def test_frame_that_is_cut_short_is_a_rejection_or_nothing_and_the_next_one_goes_on(case: Case) -> None:
    contest, frames = begun(case)
    hot(contest, frames)
    data = frames[-1].data
    cut = [frames[-1]._replace(data=data[:length]) for length in range(0, len(data), 7)]
    progress = hot(contest, cut)
    codes = {rejection.code for failure in progress.failures for rejection in failure.rejections}
    assert codes
    assert codes <= PARSE_CODES - {"internal"}
    assert all(message.feed != case.feed or message.feed == "book_delta" for message in progress.output.messages) or (
        case.product == "spot" and case.exchange == "mexc"  # protobuf that is cut between two fields is whole
    )
    assert hot(contest, contest.frames(30)).failures == []


def test_event_of_another_instrument_than_its_topic_says_goes_to_that_instrument() -> None:
    for feed in ("trade", "quote", "ticker", "book_delta"):
        for case in parse.CASES:
            if (case.exchange, case.product, case.feed) != ("binance", "usdm", feed):
                continue
            contest, frames = begun(case)
            hot(contest, frames)
            frame = next(one for one in contest.frames(60) if b"btcusdt@" in one.data)
            lie = frame._replace(data=frame.data.replace(b"btcusdt@", b"ethusdt@"))
            assert {message.native_symbol for message in hot(contest, [lie]).output.messages} == {"BTCUSDT"}


def test_channel_that_ends_like_another_one_is_read_as_what_it_is() -> None:
    case = next(one for one in parse.CASES if (one.exchange, one.product, one.feed) == ("mexc", "futures", "trade"))
    contest, frames = begun(case)
    hot(contest, frames)
    frame = contest.frames(1)[0]
    other = frame._replace(data=frame.data.replace(b'"push.deal"', b'"bush.deal"'))
    progress = hot(contest, [other])
    assert progress.output.messages == []
    assert [rejection.code for failure in progress.failures for rejection in failure.rejections] == ["unknown_event"]
