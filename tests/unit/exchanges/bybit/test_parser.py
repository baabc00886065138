import pytest
from msgspec import json

from shared.exchanges.bybit import ADAPTER
from shared.messages import Trade
from tests.contract.driving import Driver, binary, rest, text
from tests.unit.exchanges.bybit.frames import book, listing, trade, trades

LIST_URL = "https://api.bybit.com/v5/market/instruments-info?category=spot"


def drive(product: str = "linear") -> Driver:
    return Driver(ADAPTER, product)


def test_topic_that_does_not_come_first_is_found() -> None:
    frame = json.decode(trades(trade("t1")))
    late = {key: frame[key] for key in ("data", "ts", "type", "topic")}
    assert [message.feed for message in drive().send(text(json.encode(late))).messages] == ["trade"]
    spaced = trades(trade("t2")).replace(b'"topic":', b' "topic" : ')
    assert [message.feed for message in drive().send(text(spaced)).messages] == ["trade"]


def test_escaped_topic_is_the_same_topic() -> None:
    escaped = trades(trade("t1")).replace(b"publicTrade.BTCUSDT", b"publicTrade.\\u0042TCUSDT")
    (message,) = drive().send(text(escaped)).messages
    assert message.native_symbol == "BTCUSDT"


def test_bytes_are_the_same_as_text() -> None:
    assert [message.feed for message in drive().send(binary(trades(trade("t1")))).messages] == ["trade"]


def test_product_decides_what_an_id_means() -> None:
    data = trades(trade("t1"))
    symbols = [drive(product).send(text(data)).messages[0].symbol for product in ("spot", "linear")]
    assert symbols == ["BTC/USDT", "BTC/USDT:USDT"]


@pytest.mark.parametrize(
    "topic",
    [
        "orderbook.full.BTCUSDT",
        "orderbook.rpi.BTCUSDT",
        "orderbook.0.BTCUSDT",
        "orderbook.050.BTCUSDT",
        "orderbook.50",
        "orderbook.50.",
        "orderbook.99999.BTCUSDT",
        "priceLimit.BTCUSDT",
        "adlAlert.USDT",
        "insurance.USDT",
        "liquidation.BTCUSDT",
        "publicTrade",
        "publicTrade.",
        "kline.1",
        "order",
        "wallet",
        "",
    ],
)
def test_other_topics_are_unknown(topic: str) -> None:
    driver = drive()
    driver.send(text(json.encode({"topic": topic, "type": "snapshot", "ts": 1, "data": []})))
    assert driver.codes == ["unknown_event"]


def test_option_is_no_unlisted_instrument() -> None:
    driver = drive()
    output = driver.send(text(trades(trade("t1"), symbol="BTC-25DEC26-90000-C")))
    assert driver.codes == ["unknown_event"]
    assert output.resyncs == []


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"topic":"publicTrade.BTCUSDT"', "invalid_json"),
        (b'{"topic":"publicTrade.BTCUSDT","data":{}}', "wrong_type"),
        (b'{"topic":"publicTrade.BTCUSDT","data":NaN}', "invalid_json"),
        (b'{"topic":"publicTrade.BTCUSDT"}', "missing_field"),
        (b'{"topic":"publicTrade.\xff\xfe","data":[]}', "invalid_json"),
        (b'{"topic":5}', "wrong_type"),
        (b'{"op":"order.create","retCode":0}', "unknown_event"),
        (b'{"x":' * 50_000, "invalid_json"),
    ],
)
def test_code_says_what_is_wrong(data: bytes, code: str) -> None:
    driver = drive()
    driver.send(text(data))
    assert driver.codes == [code]


def test_instrument_list_names_what_no_rule_names() -> None:
    driver = drive("spot")
    data = trades(trade("t1"), symbol="ETHEUR")
    driver.send(text(data))
    row = {"symbol": "ETHEUR", "baseCoin": "ETH", "quoteCoin": "EUR", "status": "Trading"}
    output = driver.send(rest(LIST_URL, listing("spot", row)))
    assert (output.messages, output.rejections) == ([], [])
    (message,) = driver.send(text(data)).messages
    assert isinstance(message, Trade)
    assert message.symbol == "ETH/EUR"
    assert driver.codes == ["unknown_instrument"]


def test_list_outweighs_the_naming_rule() -> None:
    driver = drive("linear")
    row = {
        "symbol": "BTCUSDT",
        "contractType": "LinearPerpetual",
        "baseCoin": "XBT",
        "quoteCoin": "USDT",
        "settleCoin": "USDT",
    }
    driver.send(rest(LIST_URL.replace("spot", "linear"), listing("linear", row)))
    assert driver.send(text(trades(trade("t1")))).messages[0].symbol == "XBT/USDT:USDT"


def test_naming_rule_adds_nothing_to_the_table() -> None:
    driver = drive()
    driver.send(text(trades(trade("t1"))))
    assert len(driver.table) == 0


@pytest.mark.parametrize(
    ("url", "status", "body", "code"),
    [
        (LIST_URL, 403, b"access too frequent", "unknown_event"),
        (LIST_URL, 200, b'{"retCode":10006,"retMsg":"Too many visits!","result":{}}', "unknown_event"),
        (LIST_URL, 200, b"<html>", "invalid_json"),
        (LIST_URL, 200, b'{"retMsg":"OK"}', "missing_field"),
        (LIST_URL, 200, b'{"retCode":0}', "wrong_type"),
        (LIST_URL, 200, listing("linear"), "wrong_type"),
        ("https://api.bybit.com/v5/market/orderbook?category=spot", 200, b"{}", "unknown_event"),
    ],
)
def test_unusable_reply_is_rejected(url: str, status: int, body: bytes, code: str) -> None:
    driver = drive("spot")
    output = driver.send(rest(url, body, status))
    assert ([one.code for one in output.rejections], output.messages) == ([code], [])


def test_several_frames_about_an_unlisted_instrument_ask_once_a_minute() -> None:
    driver = drive("inverse")
    data = book("snapshot", [], [("1", "1")], 1, "BTCUSDZ26")
    for _ in range(3):
        driver.send(text(data))
        driver.wait(25)
    driver.send(text(data))
    assert [len(output.resyncs) for output in driver.outputs] == [1, 0, 0, 1]


def test_taken_over_stream_asks_for_instruments_books_and_tickers() -> None:
    output = Driver(ADAPTER, "linear", first=9).send(text(trades(trade("t1"))))
    assert [(one.feed, one.native_symbol, one.reason) for one in output.resyncs] == [
        ("instruments", None, "started"),
        ("book", None, "started"),
        ("ticker", None, "started"),
    ]
    assert [message.feed for message in output.messages] == ["stream_status", "trade"]
