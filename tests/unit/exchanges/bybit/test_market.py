import pytest
from msgspec import json

from shared.exchanges.bybit import ADAPTER
from shared.messages import Candle, Liquidation, Quote, Trade
from tests.contract.driving import Driver, text
from tests.unit.exchanges.bybit.frames import TS, book, candle, liquidation, trade, trades


def drive(product: str = "linear") -> Driver:
    return Driver(ADAPTER, product)


def one_trade(driver: Driver, data: bytes) -> Trade:
    (message,) = driver.send(text(data)).messages
    assert isinstance(message, Trade)
    return message


@pytest.mark.parametrize(("venue", "side"), [("Buy", "buy"), ("Sell", "sell"), ("Odd", "unknown")])
def test_trade_side_is_the_takers(venue: str, side: str) -> None:
    message = one_trade(drive(), trades(trade("t1", side=venue)))
    assert (message.side, message.trade_id, message.price, message.size) == (side, "t1", "84000.10", "0.015")
    assert (message.symbol, message.ts_exchange) == ("BTC/USDT:USDT", TS * 1_000_000)
    assert message.size_native is None


def test_inverse_trade_is_in_base_units() -> None:
    message = one_trade(drive("inverse"), trades(trade("t1", price="80000.00", size="1200"), symbol="BTCUSD"))
    assert (message.symbol, message.size, message.size_native) == ("BTC/USD:BTC", "0.015", "1200")


def test_trades_with_equal_time_price_and_size_are_two() -> None:
    output = drive().send(text(trades(trade("t1"), trade("t2"))))
    assert [message.trade_id for message in output.messages if isinstance(message, Trade)] == ["t1", "t2"]


def test_trade_is_known_again_by_its_id_alone() -> None:
    driver = drive()
    driver.send(text(trades(trade("t1"), trade("t2"))))
    driver.connect()
    output = driver.send(text(trades(trade("t2"), trade("t1", price="1"), trade("t3"))))
    assert [message.trade_id for message in output.messages if isinstance(message, Trade)] == ["t3"]
    assert output.duplicates == 2


def test_instruments_have_ids_of_their_own() -> None:
    driver = drive()
    driver.send(text(trades(trade("t1"))))
    assert one_trade(driver, trades(trade("t1"), symbol="ETHUSDT")).native_symbol == "ETHUSDT"


def test_trade_without_an_id_always_comes_out() -> None:
    driver = drive()
    row = trade("t1")
    del row["i"]
    assert one_trade(driver, trades(row)).trade_id is None
    assert one_trade(driver, trades(row)).trade_id is None


def test_bad_trades_leave_the_others_alone() -> None:
    rows: list[dict[str, object]] = [
        trade("t1"),
        trade("t2", price="NaN"),
        trade("t3") | {"T": "soon"},
        trade("t4") | {"T": -5},
        {"i": "t5"},
        trade("t6"),
    ]
    output = drive().send(text(trades(*rows)))
    assert [message.trade_id for message in output.messages if isinstance(message, Trade)] == ["t1", "t6"]
    assert sorted(one.code for one in output.rejections) == ["bad_number", "bad_time", "missing_field", "wrong_type"]


def test_rejected_trade_may_come_again() -> None:
    driver = drive()
    driver.send(text(trades(trade("t1", size=""))))
    assert driver.codes == ["bad_number"]
    assert one_trade(driver, trades(trade("t1"))).trade_id == "t1"


def quotes(driver: Driver, *frames: bytes) -> list[Quote]:
    return [message for data in frames for message in driver.send(text(data)).messages if isinstance(message, Quote)]


def test_quote() -> None:
    data = book("snapshot", [("84000.00", "3.2")], [("84000.10", "1.05")], 77, depth=1)
    (quote,) = quotes(drive("spot"), data)
    assert (quote.bid_price, quote.bid_size, quote.ask_price, quote.ask_size) == ("84000.00", "3.2", "84000.10", "1.05")
    assert (quote.sequence, quote.symbol, quote.ts_exchange) == (77, "BTC/USDT", TS * 1_000_000)
    assert quote.bid_size_native is None


def test_time_of_the_sender_where_the_engine_gives_none() -> None:
    frame = json.decode(book("snapshot", [], [("1", "1")], 1, depth=1))
    del frame["cts"]
    (quote,) = quotes(drive(), json.encode(frame))
    assert quote.ts_exchange == (TS + 4) * 1_000_000


def test_empty_side_is_null() -> None:
    driver = drive()
    (no_bid,) = quotes(driver, book("snapshot", [], [("2", "1")], 1, depth=1))
    assert (no_bid.bid_price, no_bid.bid_size, no_bid.ask_price) == (None, None, "2")
    (no_ask,) = quotes(driver, book("snapshot", [("1", "1")], [("2", "0.000")], 2, depth=1))
    assert (no_ask.bid_price, no_ask.ask_price, no_ask.ask_size) == ("1", None, None)


def test_inverse_quote_is_in_base_units() -> None:
    (quote,) = quotes(drive("inverse"), book("snapshot", [("80000", "400")], [("100000", "900")], 1, "BTCUSD", 1))
    assert (quote.bid_size, quote.bid_size_native) == ("0.005", "400")
    assert (quote.ask_size, quote.ask_size_native) == ("0.009", "900")


def test_repeated_quote_is_a_duplicate_until_the_next_connection() -> None:
    driver = drive()
    same = book("snapshot", [("1", "1")], [("2", "1")], 5, depth=1)
    assert len(quotes(driver, same, same)) == 1
    assert driver.outputs[-1].duplicates == 1
    driver.connect()
    assert len(quotes(driver, same)) == 1


def test_quote_after_a_changed_one_is_news_again() -> None:
    first = book("snapshot", [("1", "1")], [("2", "1")], 5, depth=1)
    other = book("snapshot", [("1", "2")], [("2", "1")], 6, depth=1)
    assert [quote.sequence for quote in quotes(drive(), first, other, first)] == [5, 6, 5]


def test_partial_quote_is_not_guessed_at() -> None:
    driver = drive()
    driver.send(text(book("delta", [("1", "1")], [], 5, depth=1)))
    assert driver.codes == ["unknown_event"]


@pytest.mark.parametrize(("position", "order"), [("Buy", "sell"), ("Sell", "buy"), ("", "unknown")])
def test_liquidation_side_is_that_of_the_order(position: str, order: str) -> None:
    (message,) = drive().send(text(liquidation(position))).messages
    assert isinstance(message, Liquidation)
    assert (message.side, message.price, message.size, message.size_native) == (order, "83120.50", "0.250", None)
    assert message.ts_exchange == (TS - 9) * 1_000_000


def test_equal_liquidations_are_not_duplicates() -> None:
    driver = drive()
    driver.send(text(liquidation()), text(liquidation()))
    assert len(driver.messages) == 2


def test_inverse_liquidation_is_in_base_units() -> None:
    (message,) = drive("inverse").send(text(liquidation(size="1000", price="80000", symbol="BTCUSD"))).messages
    assert isinstance(message, Liquidation)
    assert (message.size, message.size_native) == ("0.0125", "1000")


def one_candle(product: str, data: bytes) -> Candle:
    (message,) = drive(product).send(text(data)).messages
    assert isinstance(message, Candle)
    return message


@pytest.mark.parametrize(
    ("venue", "name"), [("1", "1m"), ("15", "15m"), ("60", "1h"), ("240", "4h"), ("D", "1d"), ("M", "1M")]
)
def test_candle_interval(venue: str, name: str) -> None:
    assert one_candle("linear", candle(venue)).interval == name


def test_candle() -> None:
    message = one_candle("spot", candle(confirm=True))
    assert (message.open, message.high, message.low, message.close) == ("83990.00", "84005.00", "83985.50", "84000.10")
    assert (message.volume, message.turnover, message.volume_native) == ("12.345", "1036980.00", None)
    assert (message.ts_open, message.ts_close) == (1_789_999_980_000_000_000, 1_790_000_039_999_000_000)
    assert (message.closed, message.ts_exchange) == (True, (TS - 50) * 1_000_000)
    assert one_candle("spot", candle()).closed is False


def test_inverse_candle_takes_the_venues_base_figure() -> None:
    message = one_candle("inverse", candle(symbol="BTCUSD", volume="1036980", turnover="12.345"))
    assert (message.volume, message.turnover, message.volume_native) == ("12.345", "1036980", "1036980")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"high": ""}, "bad_number"),
        ({"start": 0}, "bad_time"),
        ({"confirm": "yes"}, "wrong_type"),
        ({"end": 2**70}, "bad_time"),
    ],
)
def test_bad_candle(changes: dict[str, object], code: str) -> None:
    driver = drive()
    assert driver.send(text(candle(**changes))).messages == []  # type: ignore[arg-type]
    assert driver.codes == [code]


def test_unknown_interval_is_no_topic() -> None:
    driver = drive()
    driver.send(text(candle("7")))
    assert driver.codes == ["unknown_event"]
