"""The best levels of a frame, cut out of its bytes where that is safe."""

import pytest

from shared.envelope import SCHEMA_VERSION, Envelope, Frame, FrameKind
from shared.exchanges.mexc import ADAPTER
from shared.exchanges.mexc.futures_top import LONGEST, top_of
from shared.instruments import InstrumentTable
from shared.normalizing import Progress, StreamNormalizer
from tests.contract.driving import START
from tests.unit.exchanges.mexc.frames import CONTRACTS, SENT, futures


def full(asks: str, bids: str, version: str = "7") -> bytes:
    return futures("push.depth.full", f'{{"asks":{asks},"bids":{bids},"version":{version}}}')


@pytest.mark.parametrize(
    ("asks", "bids", "top"),
    [
        ("[[100.2,3,1],[100.3,4,2]]", "[[100.1,5,1],[100,6,2]]", ("100.1", "5", "100.2", "3")),
        ("[[100.3,4,2],[100.2,3,1]]", "[[99.9,6,2],[100.1,5,1]]", ("100.1", "5", "100.2", "3")),
        ("[[100000.5,3,1],[99999.5,4,2]]", "[[999.5,5,1],[1000.5,6,2]]", ("1000.5", "6", "99999.5", "4")),
        ("[[0.5,3,1]]", "[[0.49,5,0]]", ("0.49", "5", "0.5", "3")),
        ("[[7,10,1]]", "[[6,20,1]]", ("6", "20", "7", "10")),
    ],
    ids=["sorted", "unsorted", "of other lengths", "below one", "whole"],
)
def test_best_levels(asks: str, bids: str, top: tuple[str, str, str, str]) -> None:
    assert top_of(full(asks, bids)) == top
    assert top_of(full(asks, bids)) == top, "when the prices are remembered, too"


@pytest.mark.parametrize(
    ("asks", "bids"),
    [
        ("[]", "[[1,2,3]]"),
        ("[[2,1,1]]", "[]"),
        ("[[2,0,1]]", "[[1,2,3]]"),
        ("[[2,1,1],[3,0,0]]", "[[1,2,3]]"),
        ("[[2,1.5,1]]", "[[1,2,3]]"),
        ("[[2e1,1,1]]", "[[1,2,3]]"),
        ("[[-2,1,1]]", "[[1,2,3]]"),
        ('[["2",1,1]]', "[[1,2,3]]"),
        ("[[2,1]]", "[[1,2,3]]"),
        ("[[2,1,1,1]]", "[[1,2,3]]"),
        ("[[2,1],[3,4,5,6]]", "[[1,2,3]]"),
        ('[[2,1,"1,[1,1,1"]]', "[[1,2,3]]"),
        ("[[2,1,1]] ", "[[1,2,3]]"),
        (f"[[{'2' * 90},1,1]]", "[[1,2,3]]"),
        (f"[[2,{'1' * 19},1]]", "[[1,2,3]]"),
        ("[" + ",".join(["[2,1,1]"] * (LONGEST // 7)) + "]", "[[1,2,3]]"),
        ("null", "[[1,2,3]]"),
    ],
)
def test_other_frames_are_left_to_those_who_read_number_by_number(asks: str, bids: str) -> None:
    assert top_of(full(asks, bids)) is None


def test_other_orders_and_fields_are_left_as_well() -> None:
    levels = '"asks":[[2,1,1]],"bids":[[1,2,3]]'
    assert top_of(futures("push.depth.full", f'{{{levels},{levels},"version":7}}')) is None
    assert top_of(futures("push.depth.full", f'{{"version":7,{levels}}}')) is None
    assert top_of(futures("push.depth", f'{{{levels},"version":7}}')) is None
    assert top_of(futures("push.depth.full", f'{{{levels},"version":7,"begin":5}}')) is None
    assert top_of(b"") is None


def test_a_quote_with_a_time_of_few_digits_keeps_its_place() -> None:
    """Where the time is shorter the end of the frame looks like that of a book's update, which is read at once."""
    frames = [full("[[200,1,1]]", f"[[{price},1,1]]") for price in range(100, 110)]
    frames[7] = frames[7].replace(str(SENT).encode(), str(SENT)[:8].encode())
    stream = StreamNormalizer(ADAPTER, "futures", "mexc.futures.0", InstrumentTable(CONTRACTS))
    progress = Progress()
    sent = [Frame(FrameKind.TEXT, START, frame) for frame in frames]
    envelope = Envelope(SCHEMA_VERSION, "mexc", "futures", "market", "mexc.futures.0", 1, 0, sent)
    assert stream.advance(envelope, 0, START, progress, lambda: False) == len(frames)
    published = [message.frame for _, messages in progress.output.batch for message in messages]
    assert published == [*range(10)]
