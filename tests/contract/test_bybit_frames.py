from pathlib import Path

import pytest
from msgspec import json

from shared.exchanges.bybit import ADAPTER
from shared.messages import OpenInterest, StreamStatus, Ticker, Trade
from tests.contract.conformance import check_messages
from tests.contract.driving import Driver, Replica, text
from tests.support.paths import SHARED, needs_shared

pytestmark = needs_shared

FRAMES = SHARED / "frames" / "bybit"
SYNTHETIC = FRAMES / "synthetic"

CONTROL = "control"
"""An answer, a pong, or what a client sends: no message, no rejection."""

# What is no message, line by line; every other line gives one or is explained by its test.
SPECIAL = {
    "auth_replies.real.jsonl": dict.fromkeys((1, 2, 3), CONTROL),
    # Lines 17 to 20 are order entry, 24 is the system's own status: other sockets of the venue.
    "docs_examples_control_and_trade.jsonl": dict.fromkeys((*range(1, 17), 21, 22, 23), CONTROL)
    | dict.fromkeys((17, 18, 19, 20, 24), "unknown_event"),
    # ADL alerts, the full book, insurance pools, price limits, the RPI book, an option; line 4 is no frame at all.
    "docs_examples_public.jsonl": dict.fromkeys((1, 3, 5, 7, 8, 13), "unknown_event") | {4: "wrong_type"},
    "linear_orderbook500_xrpusdt_20241201.real.jsonl": {},
    "linear_wire_singles_20260923.real_trimmed.jsonl": dict.fromkeys((1, 4, 5, 6), CONTROL),
    # 4 is order entry, 5 a depth-1 delta as older versions sent it, 7 no topic of the venue's, 11 an option.
    "public_fixtures_nautilus.jsonl": dict.fromkeys((1, 2, 8, 9), CONTROL)
    | dict.fromkeys((4, 5, 7, 11), "unknown_event"),
    # 2 is an option, 4 and 8 topics that are gone, 12 order entry, 15 an older version's answer.
    "public_samples_ccxt.jsonl": dict.fromkeys((10, 11, 13, 14, 16), CONTROL)
    | dict.fromkeys((2, 4, 8, 12, 15), "unknown_event"),
}
WITHOUT_SNAPSHOT = {"linear_wire_singles_20260923.real_trimmed.jsonl": {3, 7}, "public_samples_ccxt.jsonl": {5}}
"""Deltas of books and tickers whose snapshot is not in the file."""


def replay(path: Path, product: str = "linear") -> Driver:
    driver = Driver(ADAPTER, product)
    for line in path.read_bytes().splitlines():
        driver.send(text(line))
    for output in driver.outputs:
        check_messages(output)
    return driver


def final_side(path: Path, side: str) -> dict[str, str]:
    """One side of a book, straight from the venue's frames."""
    frames = [json.decode(line) for line in path.read_bytes().splitlines()]
    levels = {price: size for frame in frames for price, size in frame["data"][side]}
    return {price: size for price, size in levels.items() if size != "0"}


@pytest.mark.parametrize("name", SPECIAL)
def test_each_line_gives_messages_or_the_right_rejection(name: str) -> None:
    driver = replay(FRAMES / name)
    waiting = WITHOUT_SNAPSHOT.get(name, set())
    found = {}
    for line, output in enumerate(driver.outputs, start=1):
        if output.rejections:
            found[line] = ",".join(rejection.code for rejection in output.rejections)
        elif line in waiting:
            assert output.messages == []
        elif not output.messages:
            found[line] = CONTROL
    assert found == SPECIAL[name]


def test_private_and_rest_files_are_no_market_data() -> None:
    files = [*FRAMES.glob("private_*.jsonl"), *FRAMES.glob("*private.jsonl"), *FRAMES.glob("rest_*.jsonl")]
    files.append(SYNTHETIC / "private_lifecycle.synthetic.jsonl")
    assert len(files) >= 5
    for path in files:
        driver = replay(path)
        assert driver.messages == []
        assert set(driver.codes) == {"unknown_event"}, path.name
        controls = [output for output in driver.outputs if not output.rejections]
        assert len(controls) <= 3, path.name


def test_every_file_is_looked_at() -> None:
    seen = {path.name for path in FRAMES.glob("*.jsonl")}
    assert {name for name in seen if not name.startswith(("private_", "rest_")) and "private" not in name} == set(
        SPECIAL
    )


def test_recorded_book_replays_without_a_gap() -> None:
    path = FRAMES / "linear_orderbook500_xrpusdt_20241201.real.jsonl"
    driver = replay(path)
    assert [message.feed for message in driver.messages] == ["book_snapshot", *["book_delta"] * 49]
    replica = Replica()
    replica.apply(driver.messages)
    assert replica.crossed() == []
    assert dict(replica.bids("XRP/USDT:USDT")) == final_side(path, "b")
    assert dict(replica.asks("XRP/USDT:USDT")) == final_side(path, "a")


@pytest.mark.parametrize("name", ["linear_book50_trades_tickers", "linear_book50_restart_u1"])
def test_books_end_as_expected(name: str) -> None:
    driver = replay(SYNTHETIC / f"{name}.synthetic.jsonl")
    expected = json.decode((SYNTHETIC / f"{name}.expected.json").read_bytes())
    replica = Replica()
    replica.apply(driver.messages)
    symbol = "BTC/USDT:USDT"
    assert driver.codes == []
    assert not any(isinstance(message, StreamStatus) for message in driver.messages)
    assert replica.bids(symbol) == [tuple(level) for level in expected["b"]]
    assert replica.asks(symbol) == [tuple(level) for level in expected["a"]]
    assert replica.sequence[symbol] == expected["u"]


def test_tickers_end_as_expected() -> None:
    driver = replay(SYNTHETIC / "linear_book50_trades_tickers.synthetic.jsonl")
    expected = json.decode((SYNTHETIC / "linear_book50_trades_tickers.expected.json").read_bytes())["ticker"]
    last = [message for message in driver.messages if isinstance(message, Ticker)][-1]
    assert last.last_price == expected["lastPrice"]
    assert (last.bid_price, last.bid_size) == (expected["bid1Price"], expected["bid1Size"])
    assert (last.ask_price, last.ask_size) == (expected["ask1Price"], expected["ask1Size"])
    assert (last.mark_price, last.index_price) == (expected["markPrice"], expected["indexPrice"])
    assert (last.volume, last.turnover) == (expected["volume24h"], expected["turnover24h"])
    assert last.funding_rate == expected["fundingRate"]
    interests = [message for message in driver.messages if isinstance(message, OpenInterest)]
    assert [message.open_interest for message in interests] == [expected["openInterest"]]


def test_trades_of_the_long_file_all_come_out() -> None:
    path = SYNTHETIC / "linear_book50_trades_tickers.synthetic.jsonl"
    driver = replay(path)
    rows = [json.decode(line) for line in path.read_bytes().splitlines()]
    wanted = [row["i"] for frame in rows if frame["topic"] == "publicTrade.BTCUSDT" for row in frame["data"]]
    assert [message.trade_id for message in driver.messages if isinstance(message, Trade)] == wanted


def test_removed_delta_is_a_gap_and_nothing_follows() -> None:
    driver = replay(SYNTHETIC / "linear_book50_gap.synthetic.jsonl")
    deltas = [output for output in driver.outputs if any(message.feed == "book_delta" for message in output.messages)]
    assert len(deltas) == 149
    statuses = [(message.frame, message.status) for message in driver.messages if isinstance(message, StreamStatus)]
    assert statuses == [(150, "gap"), (150, "resync")]
    assert driver.outputs[150].resyncs == [("book", "BTCUSDT", "sequence")]
    assert all(output.messages == [] for output in driver.outputs[151:])


def test_restart_snapshot_is_no_gap() -> None:
    driver = replay(SYNTHETIC / "linear_book50_restart_u1.synthetic.jsonl")
    kinds = [message.feed for message in driver.messages]
    assert kinds == ["book_snapshot", *["book_delta"] * 149, "book_snapshot", *["book_delta"] * 149]
