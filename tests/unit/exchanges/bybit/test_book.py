import pytest

from shared.exchanges.bybit import ADAPTER
from shared.messages import BookDelta, BookSnapshot, StreamStatus
from tests.contract.driving import Driver, Replica, text
from tests.unit.exchanges.bybit.frames import TS, book

BIDS = [("100.0", "2"), ("99.5", "1.50")]
ASKS = [("100.5", "3"), ("101.0", "0.7")]


def live(product: str = "linear", symbol: str = "BTCUSDT") -> Driver:
    driver = Driver(ADAPTER, product)
    driver.send(text(book("snapshot", BIDS, ASKS, 500, symbol)))
    return driver


def test_snapshot() -> None:
    (message,) = live().messages
    assert isinstance(message, BookSnapshot)
    assert (message.bids, message.asks, message.sequence) == (BIDS, ASKS, 500)
    assert (message.ts_exchange, message.bid_sizes_native) == (TS * 1_000_000, None)


def test_delta_names_what_it_follows() -> None:
    (message,) = live().send(text(book("delta", [("99.5", "0")], [("100.75", "1")], 501))).messages
    assert isinstance(message, BookDelta)
    assert (message.bids, message.asks) == ([("99.5", "0")], [("100.75", "1")])
    assert (message.previous_sequence, message.sequence) == (500, 501)


def test_snapshot_in_mid_stream_replaces_the_book_whatever_its_id() -> None:
    driver = live()
    for update in (1, 900, 500, 500):
        (message,) = driver.send(text(book("snapshot", [("90", "1")], [("91", "1")], update))).messages
        assert isinstance(message, BookSnapshot)
        (after,) = driver.send(text(book("delta", [("89", "1")], [], update + 1))).messages
        assert isinstance(after, BookDelta)
    replica = Replica()
    replica.apply(driver.messages)
    assert replica.bids("BTC/USDT:USDT") == [("90", "1"), ("89", "1")]


@pytest.mark.parametrize("update", [502, 510, 2**62])
def test_any_other_step_forward_is_a_gap(update: int) -> None:
    driver = live()
    output = driver.send(text(book("delta", [("99.5", "0")], [], update)))
    gap, resync = output.messages
    assert isinstance(gap, StreamStatus)
    assert isinstance(resync, StreamStatus)
    assert (gap.status, resync.status, gap.detail) == ("gap", "resync", f"ids {update} to {update} after 500")


@pytest.mark.parametrize("update", [500, 499, 1])
def test_step_back_is_stale(update: int) -> None:
    driver = live()
    assert driver.send(text(book("delta", [("99.5", "0")], [], update))).stale == 1
    assert len(driver.send(text(book("delta", [("99.5", "0")], [], 501))).messages) == 1


def test_snapshot_is_sorted_and_has_no_empty_levels() -> None:
    driver = Driver(ADAPTER, "spot")
    data = book("snapshot", [("9", "1"), ("10", "2"), ("9.5", "0.000")], [("12", "0"), ("11.5", "1"), ("11", "4")], 1)
    (message,) = driver.send(text(data)).messages
    assert isinstance(message, BookSnapshot)
    assert message.bids == [("10", "2"), ("9", "1")]
    assert message.asks == [("11", "4"), ("11.5", "1")]


def test_inverse_sizes_are_in_base_units() -> None:
    driver = Driver(ADAPTER, "inverse")
    driver.send(text(book("snapshot", [("80000", "400")], [("100000", "900")], 1, "BTCUSD")))
    driver.send(text(book("delta", [("80000", "0")], [("100000", "500")], 2, "BTCUSD")))
    snapshot, delta = driver.messages
    assert isinstance(snapshot, BookSnapshot)
    assert (snapshot.bids, snapshot.bid_sizes_native) == ([("80000", "0.005")], ["400"])
    assert isinstance(delta, BookDelta)
    assert (delta.bids, delta.bid_sizes_native) == ([("80000", "0")], ["0"])
    assert (delta.asks, delta.ask_sizes_native) == ([("100000", "0.005")], ["500"])


@pytest.mark.parametrize(
    ("level", "code"),
    [(("1", ""), "bad_number"), (("-1", "1"), "bad_number"), (("1",), "wrong_type"), (("x", "1"), "bad_number")],
)
def test_bad_level_rejects_the_frame_whole(level: tuple[str, ...], code: str) -> None:
    driver = live()
    output = driver.send(text(book("delta", [("99.5", "9"), level], [], 501)))  # type: ignore[list-item]
    assert ([one.code for one in output.rejections], output.messages) == ([code], [])


def test_extra_columns_are_ignored() -> None:
    (message,) = live().send(text(book("delta", [("99.5", "9", "7")], [], 501))).messages  # type: ignore[list-item]
    assert isinstance(message, BookDelta)
    assert message.bids == [("99.5", "9")]


@pytest.mark.parametrize("update", [-1, 2**63, "5", 1.5, None])
def test_bad_id_is_rejected(update: object) -> None:
    driver = live()
    driver.send(text(book("delta", [], [], update)))  # type: ignore[arg-type]
    assert driver.codes == ["wrong_type"]


def test_unknown_type_is_no_book() -> None:
    driver = live()
    driver.send(text(book("patch", [], [], 501)))
    assert driver.codes == ["unknown_event"]


@pytest.mark.parametrize("depth", [50, 200, 500, 1000])
def test_depths_above_one_are_books(depth: int) -> None:
    driver = Driver(ADAPTER, "linear")
    driver.send(text(book("snapshot", BIDS, ASKS, 5, depth=depth)))
    driver.send(text(book("delta", [("99.5", "2")], [], 6, depth=depth)))
    assert [message.feed for message in driver.messages] == ["book_snapshot", "book_delta"]


def test_second_depth_of_an_instrument_does_not_mix_with_the_first() -> None:
    driver = live()
    driver.send(text(book("snapshot", BIDS, ASKS, 7, depth=200)))
    driver.send(text(book("delta", [("99.5", "2")], [], 8, depth=200)))
    assert driver.codes == ["unknown_event", "unknown_event"]
    assert len(driver.send(text(book("delta", [("99.5", "2")], [], 501))).messages) == 1
    driver.connect()
    driver.send(text(book("snapshot", BIDS, ASKS, 7, depth=200)))
    assert driver.messages[-1].feed == "book_snapshot"


def test_books_of_two_instruments_break_apart() -> None:
    driver = live()
    driver.send(text(book("snapshot", BIDS, ASKS, 10, "ETHUSDT")))
    driver.send(text(book("delta", [], [("101.0", "1")], 13, "ETHUSDT")))
    (message,) = driver.send(text(book("delta", [], [("101.0", "1")], 501))).messages
    assert message.feed == "book_delta"
