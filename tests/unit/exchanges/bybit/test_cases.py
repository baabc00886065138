"""Real failures of other gateways on this venue, told with our own numbers."""

from msgspec import json

from shared.exchanges.base import Ack, Feed, FrameClass
from shared.exchanges.bybit import ADAPTER
from shared.messages import Funding, Liquidation, Message, Quote, Ticker, Trade
from tests.contract.driving import Driver, Replica, text
from tests.unit.exchanges.bybit.frames import TS, book, instrument, liquidation, ticker, ticker_fields, trade, trades


def drive(product: str = "linear") -> Driver:
    return Driver(ADAPTER, product)


def tickers(messages: list[Message]) -> list[Ticker]:
    return [message for message in messages if isinstance(message, Ticker)]


def test_001_ticker_delta_keeps_what_it_does_not_name() -> None:
    driver = drive()
    partial = ticker("delta", {"ask1Price": "84000.10", "ask1Size": "6.5"}, ts=TS + 3_800)
    driver.send(text(partial))
    assert driver.messages == []
    driver.send(text(ticker("snapshot", ticker_fields())), text(partial))
    first, second = tickers(driver.messages)
    assert (first.ask_size, second.ask_size) == ("1.050", "6.5")
    assert (second.last_price, second.bid_price, second.funding_rate) == ("84000.10", "84000.00", "-0.00012500")
    assert second.ts_exchange == (TS + 3_800) * 1_000_000
    assert [message.rate for message in driver.messages if isinstance(message, Funding)] == ["-0.00012500"]


def test_002_dated_contract_without_funding_is_no_error() -> None:
    driver = drive()
    fields = ticker_fields(fundingRate="", nextFundingTime="", lastPrice="2.1510")
    driver.send(text(ticker("snapshot", fields, "XRPUSDT-04DEC26")))
    (message,) = tickers(driver.messages)
    assert (message.last_price, message.symbol) == ("2.1510", "XRP/USDT:USDT-261204")
    assert not any(isinstance(one, Funding) for one in driver.messages)
    assert driver.codes == []


def test_005_one_id_in_two_products() -> None:
    spot = ticker("snapshot", {"lastPrice": "6.01"}, "UNIUSDT")
    perpetual = ticker("snapshot", {"lastPrice": "6.02", "bid1Price": "6.01", "bid1Size": "4"}, "UNIUSDT")
    (here,) = tickers(drive("spot").send(text(spot)).messages)
    (there,) = tickers(drive("linear").send(text(perpetual)).messages)
    assert (here.symbol, here.last_price, here.bid_price) == ("UNI/USDT", "6.01", None)
    assert (there.symbol, there.last_price, there.bid_price) == ("UNI/USDT:USDT", "6.02", "6.01")
    # Fields that only derivatives have do not make a spot frame one.
    (message,) = drive("spot").send(text(ticker("snapshot", ticker_fields(), "UNIUSDT"))).messages
    assert isinstance(message, Ticker)
    assert (message.symbol, message.mark_price, message.funding_rate) == ("UNI/USDT", None, None)


def test_008_service_restart_replaces_the_book() -> None:
    driver = drive()
    driver.send(
        text(book("snapshot", [("84000.0", "0.5"), ("83999.5", "0.1")], [("84100.0", "0.2")], 7_000_001)),
        text(book("delta", [("84000.0", "0.6")], [], 7_000_002)),
        text(book("snapshot", [("83990.0", "1")], [("83995.0", "2")], 1)),
        text(book("delta", [("83991.0", "0.5")], [("83995.0", "0")], 2)),
    )
    assert [message.feed for message in driver.messages] == ["book_snapshot", "book_delta"] * 2
    replica = Replica()
    replica.apply(driver.messages)
    assert replica.bids("BTC/USDT:USDT") == [("83991.0", "0.5"), ("83990.0", "1")]
    assert replica.asks("BTC/USDT:USDT") == []


def test_010_snapshot_may_come_before_its_answer() -> None:
    driver = drive()
    driver.send(
        text(book("snapshot", [("100", "1")], [("101", "1")], 10)),
        text(b'{"success":true,"ret_msg":"subscribe","conn_id":"c","req_id":"r1","op":"subscribe"}'),
        text(book("delta", [("100", "2")], [], 11)),
    )
    replica = Replica()
    replica.apply(driver.messages)
    assert replica.bids("BTC/USDT:USDT") == [("100", "2")]
    assert replica.asks("BTC/USDT:USDT") == [("101", "1")]


def test_022_empty_level_in_a_snapshot() -> None:
    driver = drive()
    driver.send(
        text(book("snapshot", [("50.0", "0"), ("49.5", "2")], [("49.6", "0.0"), ("50.2", "1")], 1)),
        text(book("delta", [], [("50.2", "0.00000000"), ("50.3", "4")], 2)),
    )
    replica = Replica()
    replica.apply(driver.messages[:1])
    assert (replica.bids("BTC/USDT:USDT"), replica.asks("BTC/USDT:USDT")) == ([("49.5", "2")], [("50.2", "1")])
    replica.apply(driver.messages[1:])
    assert replica.asks("BTC/USDT:USDT") == [("50.3", "4")]
    assert replica.crossed() == []


def test_029_trades_sent_again_after_a_reconnect() -> None:
    driver = drive()
    driver.send(text(trades(trade("101"), trade("102"))), text(trades(trade("103"))), text(trades(trade("104"))))
    driver.connect()
    driver.send(text(trades(*(trade(number) for number in ("102", "103", "104", "105")))))
    driver.send(text(trades(trade("101"))))
    assert [one.trade_id for one in driver.messages if isinstance(one, Trade)] == ["101", "102", "103", "104", "105"]
    assert sum(output.duplicates for output in driver.outputs) == 4


def test_042_what_is_no_number_gets_out_nowhere() -> None:
    for bid in ('"NaN"', '"Infinity"', "NaN"):
        data = book("snapshot", [("BID", "1")], [("1.0", "1")], 1, depth=1).replace(b'"BID"', bid.encode())
        driver = drive()
        driver.send(text(data))
        assert driver.messages == []
        assert driver.codes == ["invalid_json" if bid == "NaN" else "bad_number"]
    (quote,) = drive().send(text(book("snapshot", [("-0", "1")], [("1.0", "1")], 1, depth=1))).messages
    assert isinstance(quote, Quote)
    assert quote.bid_price == "0"


def test_043_exponents_never_get_out() -> None:
    prices = ("0.0000001", "1e-7", "1E-7", "0.10000000", "100000000000000000000.5", "8750.0000", "8.75E+3")
    driver = drive()
    driver.send(text(trades(*(trade(f"t{index}", price) for index, price in enumerate(prices)))))
    assert [one.price for one in driver.messages if isinstance(one, Trade)] == [
        "0.0000001",
        "0.0000001",
        "0.0000001",
        "0.10000000",
        "100000000000000000000.5",
        "8750.0000",
        "8750",
    ]


def test_049_symbols_need_not_be_ascii() -> None:
    symbol = "龙虾USDT"
    (plan,) = ADAPTER.plan("spot", [instrument("spot", symbol)], frozenset({Feed.TRADE}), ADAPTER.products["spot"], 1)
    (send,) = ADAPTER.subscribe(plan, ["publicTrade.龙虾USDT"])
    assert json.decode(send.payload)["args"] == ["publicTrade.龙虾USDT"]
    assert ADAPTER.classify("spot", trades(trade("t1"), symbol=symbol), binary=False).native_symbol == symbol
    (message,) = drive("spot").send(text(trades(trade("t1"), symbol=symbol))).messages
    assert (message.symbol, message.native_symbol) == ("龙虾/USDT", symbol)


def test_053_instrument_listed_after_the_start() -> None:
    driver = drive("inverse")
    data = trades(trade("t1", size="100"), symbol="NEWUSDH27")
    driver.send(text(data), text(data))
    assert driver.codes == ["unknown_instrument"] * 2
    assert [one for output in driver.outputs for one in output.resyncs] == [("instruments", None, "unknown_instrument")]


def test_055_one_bad_element_of_an_array() -> None:
    driver = drive()
    rows = [json.decode(liquidation(size=size))["data"][0] for size in ("1", "many", "3")]
    driver.send(text(json.encode({"topic": "allLiquidation.BTCUSDT", "type": "snapshot", "ts": TS, "data": rows})))
    assert [one.size for one in driver.messages if isinstance(one, Liquidation)] == ["1", "3"]
    assert driver.codes == ["bad_number"]


def test_064_one_bad_topic_refuses_a_request() -> None:
    named = b'{"success":false,"ret_msg":"error:handler not found,topic:kline.1.NOUSDT","req_id":"r","op":"subscribe"}'
    route = ADAPTER.classify("linear", named, binary=False)
    assert route.frame_class is FrameClass.ACK
    assert route.ack is not None
    assert [topic for topic, _ in route.ack.rejected] == ["kline.1.NOUSDT"]
    assert route.ack.refused is not None
    unnamed = b'{"success":false,"ret_msg":"error:handler not found","conn_id":"c","req_id":"r","op":"subscribe"}'
    assert ADAPTER.classify("linear", unnamed, binary=False).ack == Ack("r", (), (), "error:handler not found")


def test_065_thirty_spot_topics_are_three_requests() -> None:
    symbols = [f"COIN{index}USDT" for index in range(30)]
    instruments = [instrument("spot", symbol) for symbol in symbols]
    (plan,) = ADAPTER.plan("spot", instruments, frozenset({Feed.TRADE}), ADAPTER.products["spot"], 1)
    sends = ADAPTER.subscribe(plan, [item.topic for item in plan.subscriptions])
    assert [len(send.topics) for send in sends] == [10, 10, 10]
    assert {topic for send in sends for topic in send.topics} == {f"publicTrade.{symbol}" for symbol in symbols}
    assert len({send.request_id for send in sends}) == 3


def test_101_liquidated_long_is_a_sell_order() -> None:
    (message,) = drive().send(text(liquidation("Buy", "15000", "0.0512", "ROSEUSDT"))).messages
    assert isinstance(message, Liquidation)
    assert (message.side, message.size, message.price) == ("sell", "15000", "0.0512")
