"""The load generator's frames are what the venue sends, and each of them is counted once."""

from collections import Counter
from itertools import count

import pytest

from services.bench.measuring.consumer import FIRST_PART
from services.bench.measuring.frames import COINS, LOOP_FRAMES, build, instrument_list, script
from shared.envelope import Frame, FrameKind, RestReply, encode_reply
from shared.exchanges import adapter
from shared.exchanges.bybit.endpoints import INSTRUMENTS_PATH
from shared.instruments import InstrumentTable
from shared.normalizing import StreamNormalizer, group_by_key

AGAIN = 20_000


@pytest.fixture(scope="module")
def loop() -> list[bytes]:
    return build(LOOP_FRAMES)


def test_every_frame_makes_messages_also_when_the_loop_comes_again(loop: list[bytes]) -> None:
    normalizer = StreamNormalizer(adapter("bybit"), "linear", "bybit.linear.0", InstrumentTable())
    reply = RestReply(f"http://venue{INSTRUMENTS_PATH}", 200, instrument_list())
    numbers = count()
    normalizer.frame(1, next(numbers), Frame(FrameKind.REST, 1, encode_reply(reply)), 1)
    feeds: Counter[str] = Counter()
    for data in [*loop, *loop[:AGAIN]]:
        output = normalizer.frame(1, next(numbers), Frame(FrameKind.TEXT, 1, data), 1).output
        assert not output.rejections, data
        messages = output.messages
        assert sum(body.count(FIRST_PART) for _, body in group_by_key(messages)) == 1, data
        feeds[messages[0].feed] += 1
    assert feeds["book_snapshot"] == 2 * len(COINS)
    assert min(feeds["trade"], feeds["quote"], feeds["book_delta"]) > AGAIN
    assert feeds.total() == LOOP_FRAMES + AGAIN


def test_frames_are_the_same_every_time(loop: list[bytes]) -> None:
    assert build(1_000) == build(1_000)
    assert build(1_000, seed=2) != build(1_000)


def test_the_script_holds_the_frames_one_behind_the_other(loop: list[bytes]) -> None:
    payloads = [loop[0], loop[-1], b"", b"x" * 125, b"x" * 126, b"x" * 65_536]
    frames = script(payloads)
    starts = [0, *frames.ends[:-1]]
    assert frames.ends[-1] == len(frames.data)
    for payload, start, end in zip(payloads, starts, frames.ends, strict=True):
        assert frames.data[start] == 0x81
        assert frames.data[start:end].endswith(payload)
        assert end - start - len(payload) == (2 if len(payload) < 126 else 4 if len(payload) < 65_536 else 10)
