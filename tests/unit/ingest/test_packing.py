from services.ingest.packing import Packer
from shared.control import StreamInfo
from shared.envelope import Connected, Envelope, Frame, FrameKind, decode_envelope, decode_mark, encode_mark
from shared.exchanges.base import DATA
from shared.overflow import Entry

INFO = StreamInfo("bybit", "linear", "market", "bybit.linear.0")


def opener(epoch: int) -> Entry:
    return Entry(Frame(FrameKind.MARK, 1, encode_mark(Connected("ws://venue"))), DATA, 0, epoch)


def frames(count: int) -> list[Entry]:
    return [Entry(Frame(FrameKind.TEXT, number, b"x"), DATA, 0) for number in range(count)]


def packed(packer: Packer, *entries: Entry) -> Envelope:
    return decode_envelope(packer.pack([*entries]))


def test_numbers_run_through_an_epoch_and_begin_again_with_the_next() -> None:
    packer = Packer(INFO)
    first = packed(packer, opener(7), *frames(2))
    second = packed(packer, *frames(3))
    third = packed(packer, opener(9), *frames(1))
    assert [(one.epoch, one.first, len(one.frames)) for one in (first, second, third)] == [
        (7, 0, 3),
        (7, 3, 3),
        (9, 0, 2),
    ]
    assert (first.exchange, first.product, first.plane, first.stream) == ("bybit", "linear", "market", "bybit.linear.0")


def test_an_epoch_is_told_of_the_one_before() -> None:
    packer = Packer(INFO)
    first = packed(packer, opener(7), *frames(4))
    second = packed(packer, opener(8))
    assert decode_mark(first.frames[0].data) == Connected("ws://venue")
    assert decode_mark(second.frames[0].data) == Connected("ws://venue", 7, 5)
    assert second.frames[0].ts_received == 1
