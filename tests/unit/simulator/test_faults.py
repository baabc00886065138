import pytest

from services.simulator import Fault, FaultError, SimulatorSettings
from services.simulator.faults import MOST_ACTIVE, FaultBoard
from services.simulator.mutations import change_first_number, extra_fields, unknown_event, unknown_symbol
from services.simulator.strikes import struck
from services.simulator.topics import Topic
from services.simulator.venues.base import Venue
from services.simulator.venues.registry import make_venue
from tests.unit.simulator.client import START_NS, market

WHERE = ("bybit", "linear")


@pytest.fixture
def bybit() -> Venue:
    return make_venue(*WHERE, {"BTCUSDT": market(*WHERE, "BTCUSDT")}, SimulatorSettings())


@pytest.fixture
def book(bybit: Venue) -> Topic:
    topic = bybit.find("orderbook.50.BTCUSDT")
    assert topic is not None
    topic.start(START_NS)
    return topic


def test_a_fault_happens_as_often_as_asked_and_only_where_asked(book: Topic) -> None:
    board = FaultBoard()
    board.add(Fault("gap", exchange="bybit", product="linear", symbol="BTCUSDT", count=2))
    assert not list(board.strike("mexc", "spot", book))
    for _ in range(2):
        assert [fault.kind for fault in board.strike(*WHERE, book)] == ["gap"]
    assert not list(board.strike(*WHERE, book))
    assert (len(board), board.frames, board.done) == (0, False, {"gap": 2})


def test_a_board_is_bounded() -> None:
    board = FaultBoard()
    for _ in range(MOST_ACTIVE):
        board.add(Fault("duplicate"))
    with pytest.raises(FaultError, match="waiting already"):
        board.add(Fault("duplicate"))
    board.clear()
    assert (len(board), board.frames) == (0, False)


def test_a_fault_with_count_zero_does_not_wait() -> None:
    board = FaultBoard()
    board.add(Fault("gap", count=0))
    assert len(board) == 0


def test_held_frames_follow_the_next_one_and_several_faults_strike_together(bybit: Venue, book: Topic) -> None:
    board = FaultBoard()
    (message,) = book.greet(START_NS)
    board.add(Fault("out_of_order"))
    assert struck(board, bybit, book, {**message, "n": 1}) == []
    assert board.frames
    board.add(Fault("duplicate"))
    outgoing = struck(board, bybit, book, {**message, "n": 2})
    assert [one.payload[-2:] for one in outgoing] == [b"2}", b"2}", b"1}"]
    assert not board.frames


@pytest.mark.parametrize(
    ("text", "expected"),
    [("NaN", {"a": 1, "b": [["x", "NaN"]], "c": "2"}), (None, {"a": 1, "b": [["x", {"unexpected": True}]], "c": "2"})],
)
def test_the_first_number_is_changed_and_nothing_else(text: str | None, expected: object) -> None:
    message = {"a": 1, "b": [["x", "1.5"]], "c": "2"}
    assert change_first_number(message, text) == expected
    assert message == {"a": 1, "b": [["x", "1.5"]], "c": "2"}


def test_a_message_without_numbers_stays_as_it_is() -> None:
    assert change_first_number({"e": "x", "t": 7}, "NaN") == {"e": "x", "t": 7}


def test_unknown_kinds_and_fields_keep_the_data() -> None:
    assert unknown_event({"topic": "tickers.BTCUSDT", "data": 1}, protobuf=False)["topic"] == "mystery.BTCUSDT"
    assert unknown_event({"channel": "push.deal"}, protobuf=False) == {"channel": "push.mystery"}
    assert unknown_event({"u": 1}, protobuf=False) == {"u": 1, "e": "mysteryUpdate"}
    assert unknown_event({"channel": "c", "publicAggreDeals": {}}, protobuf=True) == {"channel": "c", "399": "?"}
    assert extra_fields({"data": {"x": 1}}, protobuf=False)["data"] == {"x": 1, "zzNew": "1"}
    assert extra_fields({"channel": "c"}, 5, protobuf=True) == {"channel": "c", "9999": "xxxxx"}


def test_another_symbol_has_the_same_length_in_both_cases() -> None:
    payload = b'{"stream":"btcusdt@trade","s":"BTCUSDT"}'
    assert unknown_symbol(payload, "BTCUSDT") == b'{"stream":"qqqusdt@trade","s":"QQQUSDT"}'
