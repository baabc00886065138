import pytest
from msgspec import json

from shared.envelope import Shed, ShedItem
from shared.exchanges.base import Output, Resync
from shared.exchanges.bybit import ADAPTER
from shared.messages import Funding, MarkPrice, OpenInterest, StreamStatus, Ticker
from tests.contract.driving import Driver, mark, text
from tests.unit.exchanges.bybit.frames import TS, ticker, ticker_fields


def drive(product: str = "linear") -> Driver:
    return Driver(ADAPTER, product)


def live(product: str = "linear", symbol: str = "BTCUSDT") -> Driver:
    driver = drive(product)
    driver.send(text(ticker("snapshot", ticker_fields(), symbol)))
    assert driver.codes == []
    return driver


def the_ticker(output: Output) -> Ticker:
    (message,) = [message for message in output.messages if isinstance(message, Ticker)]
    return message


def delta(**fields: str) -> bytes:
    return ticker("delta", fields, ts=TS + 100)


def tags(output: Output) -> list[str]:
    return [message.feed for message in output.messages]


def test_snapshot_brings_all_that_tickers_bring() -> None:
    driver = live()
    ticker_message, funding, marked, interest = driver.messages
    assert ticker_message == the_ticker(driver.outputs[0])
    assert isinstance(funding, Funding)
    assert (funding.rate, funding.ts_next_funding, funding.interval_hours) == (
        "-0.00012500",
        1_790_006_400_000_000_000,
        8,
    )
    assert isinstance(marked, MarkPrice)
    assert (marked.mark_price, marked.index_price) == ("84000.55", "84010.12")
    assert isinstance(interest, OpenInterest)
    assert (interest.open_interest, interest.open_interest_value) == ("51234.567", "4303731807.72")
    assert interest.open_interest_native is None


def test_ticker_fields() -> None:
    message = the_ticker(live().outputs[0])
    assert message.last_price == "84000.10"
    assert (message.bid_price, message.bid_size) == ("84000.00", "3.210")
    assert (message.ask_price, message.ask_size) == ("84000.10", "1.050")
    assert (message.open_price, message.high_price, message.low_price) == ("82979.40", "84500.00", "82100.00")
    assert (message.volume, message.turnover) == ("73210.4560", "6123456789.1234")
    assert (message.mark_price, message.index_price) == ("84000.55", "84010.12")
    assert (message.funding_rate, message.ts_next_funding) == ("-0.00012500", 1_790_006_400_000_000_000)
    assert (message.open_interest, message.ts_exchange) == ("51234.567", TS * 1_000_000)


def test_delta_changes_what_it_names_and_nothing_else() -> None:
    driver = live()
    before = the_ticker(driver.outputs[0])
    output = driver.send(text(delta(ask1Size="9.9")))
    assert tags(output) == ["ticker"]
    after = the_ticker(output)
    assert (after.ask_size, after.ts_exchange) == ("9.9", (TS + 100) * 1_000_000)
    same = ("last_price", "bid_price", "bid_size", "ask_price", "volume", "mark_price", "funding_rate", "open_interest")
    assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]


def test_side_that_fills_again_has_its_price() -> None:
    """A size of 0 empties a side; the delta that fills it need not repeat the price."""
    driver = live()
    empty = the_ticker(driver.send(text(delta(ask1Size="0"))))
    assert (empty.ask_price, empty.ask_size) == (None, None)
    still = the_ticker(driver.send(text(delta(bid1Size="4.000"))))
    assert (still.ask_price, still.ask_size, still.bid_size) == (None, None, "4.000")
    filled = the_ticker(driver.send(text(delta(ask1Size="2.000"))))
    assert (filled.ask_price, filled.ask_size) == ("84000.10", "2.000")


def test_rarer_values_come_when_they_change() -> None:
    driver = live()
    assert tags(driver.send(text(delta(markPrice="84001.00")))) == ["ticker", "mark_price"]
    assert tags(driver.send(text(delta(markPrice="84001.00")))) == ["ticker"]
    assert tags(driver.send(text(delta(fundingRate="0.0001")))) == ["ticker", "funding"]
    assert tags(driver.send(text(delta(fundingRate="0.0001", nextFundingTime="1790035200000")))) == [
        "ticker",
        "funding",
    ]
    assert tags(driver.send(text(delta(openInterest="51234.568")))) == ["ticker", "open_interest"]
    assert tags(driver.send(text(delta(openInterestValue="4303731900.00")))) == ["ticker"]
    assert tags(driver.send(text(ticker("snapshot", ticker_fields())))) == [
        "ticker",
        *["funding", "mark_price", "open_interest"],
    ]
    assert tags(driver.send(text(ticker("snapshot", ticker_fields())))) == ["ticker"]


def test_delta_without_a_snapshot_gives_nothing() -> None:
    driver = drive()
    output = driver.send(text(delta(lastPrice="1")))
    assert (output.messages, output.rejections, output.resyncs, output.stale) == ([], [], [], 1)


def test_missing_snapshot_is_asked_for_ever_more_seldom() -> None:
    driver = drive()
    asked = []
    for second in range(100):
        asked += [second] * len(driver.send(text(delta(lastPrice="1"))).resyncs)
        driver.wait(0.999)
    assert asked == [10, 30, 70]
    assert driver.outputs[10].resyncs == [("ticker", "BTCUSDT", "no_snapshot")]


@pytest.mark.parametrize("symbol", ["SOLUSDT-25DEC26", "BTCUSDT"])
def test_empty_funding_is_no_funding(symbol: str) -> None:
    driver = drive()
    output = driver.send(text(ticker("snapshot", ticker_fields(fundingRate="", nextFundingTime=""), symbol)))
    assert tags(output) == ["ticker", "mark_price", "open_interest"]
    assert (the_ticker(output).funding_rate, the_ticker(output).ts_next_funding) == (None, None)


def test_dated_contract_has_no_funding_whatever_it_says() -> None:
    output = drive().send(text(ticker("snapshot", ticker_fields(fundingRate="0"), "SOLUSDT-25DEC26")))
    assert "funding" not in tags(output)
    assert the_ticker(output).symbol == "SOL/USDT:USDT-261225"


def test_zero_rate_is_a_rate_and_zero_time_is_none() -> None:
    driver = drive()
    driver.send(text(ticker("snapshot", ticker_fields(fundingRate="0", nextFundingTime="0"))))
    (funding,) = [message for message in driver.messages if isinstance(message, Funding)]
    assert (funding.rate, funding.ts_next_funding) == ("0", None)


def test_zero_is_no_price() -> None:
    fields = ticker_fields(
        lastPrice="0", markPrice="0.00", bid1Price="0", bid1Size="0", ask1Price="5", ask1Size="0.000"
    )
    output = drive().send(text(ticker("snapshot", fields)))
    message = the_ticker(output)
    assert (message.last_price, message.mark_price) == (None, None)
    assert (message.bid_price, message.bid_size, message.ask_price, message.ask_size) == (None, None, None, None)
    assert "mark_price" not in tags(output)


def test_inverse_ticker_takes_the_venues_base_figures() -> None:
    fields = ticker_fields(
        volume24h="49000000",
        turnover24h="583.3",
        openInterest="373504000",
        openInterestValue="4446.5",
        bid1Price="80000",
        bid1Size="400",
    )
    driver = drive("inverse")
    message = the_ticker(driver.send(text(ticker("snapshot", fields, "BTCUSD"))))
    assert (message.volume, message.turnover) == ("583.3", "49000000")
    assert (message.bid_price, message.bid_size) == ("80000", "0.005")
    assert message.open_interest == "4446.5"
    (interest,) = [message for message in driver.messages if isinstance(message, OpenInterest)]
    assert (interest.open_interest, interest.open_interest_value, interest.open_interest_native) == (
        "4446.5",
        "373504000",
        "373504000",
    )
    moved = driver.send(text(ticker("delta", {"openInterestValue": "4440.1"}, "BTCUSD")))
    assert tags(moved) == ["ticker"]


def test_spot_ticker_is_whole_and_has_no_sides() -> None:
    data = json.encode(
        {
            "topic": "tickers.ETHUSDC",
            "ts": TS,
            "type": "snapshot",
            "cs": 1,
            "data": {
                "symbol": "ETHUSDC",
                "lastPrice": "3100.5",
                "prevPrice24h": "3000",
                "volume24h": "12",
                "turnover24h": "36000",
            },
        }
    )
    output = drive("spot").send(text(data))
    message = the_ticker(output)
    assert tags(output) == ["ticker"]
    assert (message.symbol, message.last_price, message.open_price) == ("ETH/USDC", "3100.5", "3000")
    assert (message.bid_price, message.high_price, message.volume) == (None, None, "12")


def test_spot_has_no_partial_tickers() -> None:
    driver = drive("spot")
    driver.send(text(delta(lastPrice="1")))
    assert driver.codes == ["unknown_event"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"lastPrice": "NaN"}, "bad_number"),
        ({"fundingRate": "Infinity"}, "bad_number"),
        ({"openInterest": "-1"}, "bad_number"),
        ({"nextFundingTime": "1.5"}, "bad_time"),
        ({"nextFundingTime": "99999999999999999999"}, "bad_time"),
    ],
)
def test_rejected_delta_changes_nothing(fields: dict[str, str], code: str) -> None:
    driver = live()
    before = the_ticker(driver.outputs[0])
    output = driver.send(text(delta(bid1Size="77", **fields)))
    assert ([one.code for one in output.rejections], output.messages) == ([code], [])
    after = the_ticker(driver.send(text(delta(ask1Size="1.050"))))
    assert (after.bid_size, after.last_price) == (before.bid_size, before.last_price)


def test_exponents_are_spelled_out() -> None:
    driver = live()
    output = driver.send(text(delta(fundingRate="-1.2E-7")))
    assert the_ticker(output).funding_rate == "-0.00000012"


def test_ticker_is_dropped_when_frames_were_lost() -> None:
    driver = live()
    driver.skip()
    output = driver.send(text(delta(lastPrice="1")))
    said = [(one.status, one.affects) for one in output.messages if isinstance(one, StreamStatus)]
    assert said == [("lost", None), ("resync", "ticker")]
    assert output.resyncs == [("ticker", "BTCUSDT", "lost")]
    assert "ticker" not in tags(output)
    back = driver.send(text(ticker("snapshot", ticker_fields())))
    assert tags(back) == ["stream_status", "ticker", "funding", "mark_price", "open_interest"]
    assert isinstance(back.messages[0], StreamStatus)
    assert (back.messages[0].status, back.messages[0].affects) == ("live", "ticker")


@pytest.mark.parametrize("feed", ["ticker", "funding", "mark_price", "open_interest"])
def test_shed_hits_one_instrument(feed: str) -> None:
    driver = live()
    driver.send(text(ticker("snapshot", ticker_fields(), "ETHUSDT")))
    output = driver.send(mark(Shed([ShedItem(feed, "ETHUSDT", "overflow", 2)])))
    assert output.resyncs == [("ticker", "ETHUSDT", "shed")]
    assert tags(driver.send(text(ticker("delta", {"lastPrice": "1"}, "ETHUSDT")))) == []
    assert tags(driver.send(text(delta(lastPrice="84000.20")))) == ["ticker"]


def test_other_feeds_leave_tickers_alone() -> None:
    driver = live()
    assert driver.send(mark(Shed([ShedItem("trade", "BTCUSDT", "overflow", 2)]))).resyncs == []
    assert tags(driver.send(text(delta(lastPrice="84000.20")))) == ["ticker"]


def test_new_connection_drops_tickers_silently() -> None:
    driver = live()
    output = driver.connect()
    assert (tags(output), output.resyncs) == (["stream_status"], [])
    assert tags(driver.send(text(delta(lastPrice="1")))) == []
    assert tags(driver.send(text(ticker("snapshot", ticker_fields())))) == [
        "ticker",
        "funding",
        "mark_price",
        "open_interest",
    ]


@pytest.mark.parametrize(("product", "asked"), [("linear", 1), ("inverse", 1), ("spot", 0)])
def test_taken_over_stream_asks_for_tickers_where_they_are_merged(product: str, asked: int) -> None:
    output = Driver(ADAPTER, product, first=3).send(text(b'{"op":"pong"}'))
    assert output.resyncs.count(Resync("ticker", None, "started")) == asked


def test_lost_frames_leave_spot_tickers_alone() -> None:
    data = json.encode({"topic": "tickers.BTCUSDT", "ts": TS, "type": "snapshot", "data": {"lastPrice": "5"}})
    driver = drive("spot")
    driver.send(text(data))
    driver.skip()
    assert tags(driver.send(text(data))) == ["stream_status", "ticker"]
    assert driver.outputs[-1].resyncs == []
