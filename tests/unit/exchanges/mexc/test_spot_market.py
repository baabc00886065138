import pytest
from msgspec import structs

from shared.messages import Candle, Quote, Ticker, Trade
from tests.contract.driving import START
from tests.unit.exchanges.mexc.driving import spot_stream
from tests.unit.exchanges.mexc.frames import SENT, deal, deals, kline, quote
from tests.unit.exchanges.mexc.samples import mini_ticker, mini_tickers, quote_batch

BID, ASK = ("84000.10", "0.41"), ("84000.15", "0.97")


def test_trade() -> None:
    (message,) = spot_stream().push(deals(deal("71X0_72X0", side=2))).messages
    assert message == Trade(
        "mexc",
        "BTC/USDT",
        "BTCUSDT",
        (SENT - 7) * 1_000_000,
        START,
        START + 1_000,
        "mexc.spot.0",
        1,
        0,
        0,
        "71X0_72X0",
        "84000.15",
        "0.0125",
        "sell",
    )


def test_trade_of_a_side_that_nobody_documented() -> None:
    (message,) = spot_stream().push(deals(deal("71X0_72X0", side=3))).messages
    assert isinstance(message, Trade)
    assert message.side == "unknown"


def test_trade_without_a_time_has_that_of_its_frame() -> None:
    one = deal("71X0_72X0")
    one.ClearField("time")
    (message,) = spot_stream().push(deals(one)).messages
    assert message.ts_exchange == SENT * 1_000_000


def test_bad_trade_does_not_take_the_others_along() -> None:
    late = deal("1X0_4X0")
    late.time = 2**62
    stream = spot_stream()
    output = stream.push(deals(deal("1X0_2X0"), deal("1X0_3X0", price=""), late, deal("1X0_5X0")))
    assert [getattr(message, "trade_id", None) for message in output.messages] == ["1X0_2X0", "1X0_5X0"]
    assert [message.part for message in output.messages] == [0, 1]
    assert stream.codes == ["bad_number", "bad_time"]
    repaired = stream.push(deals(deal("1X0_3X0")))
    assert len(repaired.messages) == 1, "a rejected trade was taken for one that had been told"


def test_quote() -> None:
    (message,) = spot_stream().push(quote(BID, ASK)).messages
    assert isinstance(message, Quote)
    assert structs.astuple(message)[10:] == ("84000.10", "0.41", "84000.15", "0.97", 77001, None, None)
    assert message.ts_exchange == SENT * 1_000_000


@pytest.mark.parametrize(
    ("bid", "ask", "expected"),
    [
        (BID, ("", ""), ("84000.10", "0.41", None, None)),
        (("", ""), ASK, (None, None, "84000.15", "0.97")),
        (("0", "0.00000000"), ASK, (None, None, "84000.15", "0.97")),
        (("", ""), ("", ""), (None, None, None, None)),
    ],
)
def test_side_of_a_quote_may_be_empty(
    bid: tuple[str, str], ask: tuple[str, str], expected: tuple[str | None, ...]
) -> None:
    (message,) = spot_stream().push(quote(bid, ask)).messages
    assert structs.astuple(message)[10:14] == expected


@pytest.mark.parametrize("bid", [("84000", ""), ("", "1"), ("84000", "-1"), ("nan", "1")])
def test_half_a_side_is_no_quote(bid: tuple[str, str]) -> None:
    stream = spot_stream()
    assert stream.push(quote(bid, ASK)).messages == []
    assert stream.codes == ["bad_number"]


def test_quote_without_a_version_or_with_one_that_is_none() -> None:
    stream = spot_stream()
    (message,) = stream.push(quote(BID, ASK, version="")).messages
    assert isinstance(message, Quote)
    assert message.sequence is None
    stream.push(quote(ASK, BID, version="x"))
    assert stream.codes == ["bad_number"]


def test_quote_that_is_sent_again_is_told_once() -> None:
    stream = spot_stream()
    first = stream.push(quote(BID, ASK, version="1"))
    again = stream.push(quote(BID, ASK, version="2"))
    other = stream.push(quote(BID, ("84000.15", "0.98"), version="3"))
    elsewhere = stream.push(quote(BID, ASK, symbol="SOLUSDC"))
    assert [output.parts for output in (first, again, other, elsewhere)] == [1, 0, 1, 1]
    assert again.duplicates == 1


def test_quotes_of_a_batch_come_in_order() -> None:
    output = spot_stream().push(quote_batch((*BID, *ASK), ("", "1", *ASK), (*BID, *ASK), ("84000.12", "1", *ASK)))
    assert [getattr(message, "bid_price", None) for message in output.messages] == ["84000.10", "84000.12"]
    assert [message.part for message in output.messages] == [0, 1]
    assert output.duplicates == 1
    assert [rejection.code for rejection in output.rejections] == ["bad_number"]


def test_candle() -> None:
    (message,) = spot_stream().push(kline(start=1_789_999_980)).messages
    assert isinstance(message, Candle)
    assert message.ts_exchange == SENT * 1_000_000
    assert structs.asdict(message) == {
        **{field: getattr(message, field) for field in structs.asdict(message)},
        "interval": "1m",
        "ts_open": 1_789_999_980_000_000_000,
        "ts_close": 1_790_000_040_000_000_000,
        "open": "84000.1",
        "high": "84020.55",
        "low": "83990",
        "close": "84010",
        "volume": "12.03125",
        "turnover": "1010700.25",
        "trades": None,
        "closed": None,
        "volume_native": None,
    }


@pytest.mark.parametrize(
    ("venue", "canonical"),
    [
        ("Min1", "1m"),
        ("Min5", "5m"),
        ("Min15", "15m"),
        ("Min30", "30m"),
        ("Min60", "1h"),
        ("Hour4", "4h"),
        ("Hour8", "8h"),
        ("Day1", "1d"),
        ("Week1", "1w"),
        ("Month1", "1M"),
    ],
)
def test_candle_intervals(venue: str, canonical: str) -> None:
    (message,) = spot_stream().push(kline(venue)).messages
    assert isinstance(message, Candle)
    assert message.interval == canonical


def test_candles_that_are_none() -> None:
    stream = spot_stream()
    stream.push(kline("Min7"), kline(start=0), kline(start=-60), kline(highestPrice=""), kline(volume="x"))
    assert stream.messages == []
    assert stream.codes == ["unknown_event", "missing_field", "bad_time", "bad_number", "bad_number"]


def test_ticker() -> None:
    (message,) = spot_stream().push(mini_ticker()).messages
    assert isinstance(message, Ticker)
    assert (message.last_price, message.high_price, message.low_price) == ("84010.42", "84520.5", "82090")
    assert (message.volume, message.turnover) == ("5912.1", "493500111.27")
    assert (message.bid_price, message.open_price, message.mark_price) == (None, None, None)


def test_tickers_of_unlisted_instruments_do_not_take_the_others_along() -> None:
    stream = spot_stream()
    output = stream.push(mini_tickers("NEW1USDT", "BTCUSDT", "NEW2USDT"))
    assert [message.native_symbol for message in output.messages] == ["BTCUSDT"]
    assert stream.codes == ["unknown_instrument"] * 2
    assert len(output.resyncs) == 1
