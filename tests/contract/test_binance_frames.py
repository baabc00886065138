"""Recorded frames and quoted samples of the venue, read by the normalizer's own stage."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from msgspec import Raw, Struct, json

from shared.envelope import Frame, FrameKind, RestReply, encode_reply
from shared.exchanges.base import FrameClass, Output
from shared.exchanges.binance import ADAPTER
from shared.instruments import InstrumentTable
from shared.messages import Message, StreamStatus
from shared.normalizing import StreamNormalizer
from tests.contract.driving import Replica
from tests.support.paths import SHARED, needs_shared

pytestmark = needs_shared

FOLDER = SHARED / "frames" / "binance"
NOW = 1_790_000_000_000_000_000


def lines(name: str) -> list[bytes]:
    return (FOLDER / name).read_bytes().splitlines()


def stream(product: str) -> StreamNormalizer:
    """No list of instruments: the naming rule has to do."""
    return StreamNormalizer(ADAPTER, product, f"binance.{product}.0", InstrumentTable())


def alone(product: str, data: bytes) -> Output:
    """What comes of a frame that nothing precedes."""
    return stream(product).frame(1, 0, Frame(FrameKind.TEXT, NOW, data), NOW).output


class Samples(NamedTuple):
    """A file of unrelated frames: messages per feed in all, and the rejections of each line (counted from 1)."""

    name: str
    product: str
    feeds: dict[str, int]
    rejections: dict[int, list[str]]


U, M, I = ["unknown_event"], ["missing_field"], ["unknown_instrument"]  # noqa: E741 - a table reads best narrow

SAMPLES = (
    Samples(
        "spot_public_docs_examples.jsonl", "spot",
        {"trade": 2, "candle": 1, "ticker": 2, "quote": 1},
        # requests of a client (3 to 11), events that no feed has, an empty object, a snapshot that names no symbol
        dict.fromkeys((3, 5, 7, 9, 11, 13, 16, 19, 21, 23), U) | {24: M},
    ),
    Samples(
        "spot_fixtures_gct.jsonl", "spot", {"ticker": 1, "candle": 1, "trade": 1},
        dict.fromkeys((5, 6, 7, 8), U),  # account events
    ),
    Samples("usdm_public_fixtures_nautilus.jsonl", "usdm", {
        "trade": 2, "quote": 1, "candle": 2, "liquidation": 1, "mark_price": 1, "funding": 1, "ticker": 1,
    }, {}),
    Samples(
        "public_samples_ccxt.jsonl", "spot", {"trade": 2, "candle": 1, "ticker": 2},
        # USD-M and account events, replies of the WS-API and of REST (14)
        dict.fromkeys((1, 2, 3, 8, 10, 11, 15, 16, 17, 18, 19, 20, 21, 23), U) | {14: M},
    ),
    Samples(
        "public_samples_ccxt.jsonl", "usdm",
        {"liquidation": 1, "mark_price": 1, "funding": 1, "ticker": 1},
        # 2 is a COIN-M order from before they were marked, 4 to 12 are spot events of instruments quoted in BTC
        dict.fromkeys((3, 8, 10, 15, 16, 17, 18, 19, 20, 21, 23), U)
        | dict.fromkeys((2, 4, 6, 7, 9, 12), I) | {14: M},
    ),
    Samples("private_samples_ccxt.jsonl", "spot", {}, dict.fromkeys(range(1, 12), U)),
    Samples("private_samples_ccxt.jsonl", "usdm", {}, dict.fromkeys(range(1, 12), U)),
    Samples("spot_private_docs_examples.jsonl", "spot", {}, dict.fromkeys(range(1, 7), U)),
    Samples("spot_private_fixtures_nautilus.jsonl", "spot", {}, dict.fromkeys(range(1, 12), U)),
    Samples("spot_wsapi_docs_examples.jsonl", "spot", {}, dict.fromkeys(range(1, 16), U)),
    Samples("usdm_private_fixtures_nautilus.jsonl", "usdm", {}, dict.fromkeys(range(1, 15), U)),
    Samples("synthetic/spot_private_lifecycle.synthetic.jsonl", "spot", {}, dict.fromkeys(range(1, 11), U)),
)  # fmt: skip


@pytest.mark.parametrize("samples", SAMPLES, ids=[f"{each.name}-{each.product}" for each in SAMPLES])
def test_samples_give_messages_or_the_right_rejection(samples: Samples) -> None:
    feeds: Counter[str] = Counter()
    rejections: dict[int, list[str]] = {}
    for number, data in enumerate(lines(samples.name), 1):
        output = alone(samples.product, data)
        feeds.update(message.feed for message in output.messages)
        if output.rejections:
            rejections[number] = [rejection.code for rejection in output.rejections]
    assert feeds == samples.feeds
    assert rejections == samples.rejections


# Line and product of files that hold frames of both: as told by the list beside them.
MIXED = (
    (
        "public_fixtures_jkorf", "Spot/",
        {"trade": 3, "quote": 2, "candle": 2, "ticker": 4, "book_snapshot": 2, "liquidation": 1, "mark_price": 1,
         "funding": 1},
        {6: U, 10: U * 2, 13: U, 14: U, 20: U},  # rolling ticker, indices, continuous contract, contract changes
    ),
    (
        "singles_2022.real", ".spot",
        {"trade": 3, "mark_price": 3, "funding": 3, "book_snapshot": 3, "quote": 3, "ticker": 6, "candle": 3},
        {4: U, 5: I * 2, 15: I, 20: I, 23: I, 26: U},  # options; COIN-M from before it was marked
    ),
)  # fmt: skip


@pytest.mark.parametrize(("name", "spot", "feeds", "rejected"), MIXED, ids=[each[0] for each in MIXED])
def test_samples_of_both_products(name: str, spot: str, feeds: dict[str, int], rejected: dict[int, list[str]]) -> None:
    told: Counter[str] = Counter()
    rejections: dict[int, list[str]] = {}
    sources = lines(f"{name}.src.txt")
    for number, (data, source) in enumerate(zip(lines(f"{name}.jsonl"), sources, strict=True), 1):
        output = alone("spot" if spot.encode() in source else "usdm", data)
        told.update(message.feed for message in output.messages)
        if output.rejections:
            rejections[number] = [rejection.code for rejection in output.rejections]
    assert told == feeds
    assert rejections == rejected


CAPTURES = (
    (
        "spot_btcusdt_depth100ms_bookTicker_trade_20240808", "spot",
        {"quote": 4_346, "trade": 1_123, "book_snapshot": 1, "book_delta": 528},
    ),
    ("spot_btcusdt_depth100ms_only_20240808", "spot", {"book_snapshot": 1, "book_delta": 2_997}),
    (
        "usdm_btcusdt_depth0ms_bookTicker_trade_20240808", "usdm",
        {"quote": 4_598, "trade": 912, "book_snapshot": 1, "book_delta": 485},
    ),
    (
        "usdm_mixed_20210722", "usdm",
        {"quote": 613, "trade": 91, "candle": 67, "book_snapshot": 4, "book_delta": 752},
    ),
)  # fmt: skip


class Rest(Struct):
    """A line of a file of REST replies."""

    url: str
    recv: str
    body: Raw


def times(name: str, count: int) -> list[int]:
    """When each frame was received (ns)."""
    for suffix, scale in ((".recv_ns.txt", 1), (".recv_s.txt", 1_000_000_000)):
        if (FOLDER / f"{name}{suffix}").is_file():
            return [round(float(each) * scale) if scale > 1 else int(each) for each in lines(f"{name}{suffix}")]
    return [NOW + index for index in range(count)]


def capture(name: str) -> Iterator[Frame]:
    """The frames of a capture with the REST replies that its recorder got, in the order of their receipt."""
    data = lines(f"{name}.real.jsonl")
    frames = [Frame(FrameKind.TEXT, at, each) for at, each in zip(times(name, len(data)), data, strict=True)]
    replies = FOLDER / f"{name}.rest.jsonl"
    for line in replies.read_bytes().splitlines() if replies.is_file() else ():
        reply = json.decode(line, type=Rest)
        at = round(float(reply.recv) * 1_000_000_000)
        frames.append(Frame(FrameKind.REST, at, encode_reply(RestReply(reply.url, 200, bytes(reply.body)))))
    yield from sorted(frames, key=lambda frame: frame.ts_received)


@pytest.mark.parametrize(("name", "product", "feeds"), CAPTURES, ids=[each[0] for each in CAPTURES])
def test_capture_replays_without_a_gap(name: str, product: str, feeds: dict[str, int]) -> None:
    normalizer = stream(product)
    replica = Replica()
    messages: list[Message] = []
    for number, frame in enumerate(capture(name)):
        output = normalizer.frame(1, number, frame, NOW).output
        assert output.rejections == []
        assert output.resyncs == []
        replica.apply(output.messages)
        if number % 50 == 0:
            assert replica.crossed() == []
        messages.extend(output.messages)
    assert not [message for message in messages if isinstance(message, StreamStatus)]
    assert Counter(message.feed for message in messages) == feeds


@pytest.mark.parametrize(("name", "product", "feeds"), CAPTURES, ids=[each[0] for each in CAPTURES])
def test_frames_of_captures_are_classified_as_they_are_read(name: str, product: str, feeds: dict[str, int]) -> None:
    normalizer = stream(product)
    classified: Counter[str] = Counter()
    for number, frame in enumerate(capture(name)):
        output = normalizer.frame(1, number, frame, NOW).output
        if frame.kind != FrameKind.TEXT:
            continue
        route = ADAPTER.classify(product, frame.data, binary=False)
        assert route.frame_class is FrameClass.DATA
        assert route.feed is not None
        classified[route.feed] += 1
        for message in output.messages:
            assert message.native_symbol == (route.native_symbol or message.native_symbol)
    assert set(classified) == {feed.split("_")[0] for feed in feeds}
