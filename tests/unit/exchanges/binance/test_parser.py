import pytest
from msgspec import json

from shared.envelope import Shed, ShedItem
from shared.exchanges.base import Output
from tests.contract.driving import binary, mark, rest, text
from tests.unit.exchanges.binance import frames as f

SPOT_REST = "https://api.binance.com/api/v3"


def codes(output: Output) -> list[str]:
    return [rejection.code for rejection in output.rejections]


def feeds(output: Output) -> list[str]:
    return [message.feed for message in output.messages]


@pytest.mark.parametrize(
    "data",
    [
        f.wrapped("ethusdt@trade", f.trade()),
        f.bare(f.trade()),
        json.encode({"data": f.trade(), "stream": "ethusdt@trade"}),
        b'{ "stream" : "ethusdt@trade", "data" : ' + f.bare(f.trade()) + b"}",
        b" " + f.bare(f.trade()),
        f.bare({"s": "ETHUSDT"} | f.trade()),
        f.wrapped("ETHUSDT@trade", f.trade()),
        f.wrapped("some-other-name", f.trade()),
    ],
    ids=["wrapped", "bare", "keys in other order", "spaces", "leading space", "event not first", "upper case", "name"],
)
def test_forms_of_one_event(data: bytes) -> None:
    assert feeds(f.driver().send(text(data))) == ["trade"]
    assert feeds(f.driver().send(binary(data))) == ["trade"]


def test_escaped_symbol_in_a_topic() -> None:
    body = b'{"stream":"\\u5e01\\u5b89\\u4eba\\u751fusdt@depth5","data":{"lastUpdateId":1,"bids":[],"asks":[]}}'
    (message,) = f.driver().send(text(body)).messages
    assert message.symbol == "币安人生/USDT"


@pytest.mark.parametrize("form", ["wrapped", "bare"])
def test_one_bad_element_costs_the_others_nothing(form: str) -> None:
    elements: list[object] = [
        f.usdm_ticker(),
        f.usdm_ticker(c="NaN"),
        f.usdm_ticker(s="FOOBAR"),
        {"e": "24hrTicker"},
        17,
        [],
        {"e": "novelty"},
        {"stream": "ethusdt@ticker", "data": {}},
        f.usdm_ticker(s="ETHUSDT_270326"),
    ]
    data = f.wrapped("!ticker@arr", elements) if form == "wrapped" else f.bare(elements)
    output = f.driver("usdm").send(text(data))
    assert [(message.native_symbol, message.part) for message in output.messages] == [
        ("ETHUSDT", 0),
        ("ETHUSDT_270326", 1),
    ]
    assert codes(output) == [
        "bad_number", "unknown_instrument", "missing_field", "wrong_type", "wrong_type", "unknown_event", "wrong_type",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "data",
    [
        b'{"result":null,"id":1}',
        b'{"result":["btcusdt@aggTrade"],"id":3}',
        b'{"code":2,"msg":"Invalid request"}',
        b'{"error":{"code":2,"msg":"Invalid request"},"id":1}',
        b'{"e":"serverShutdown","E":1790000000123}',
        b'{"stream":"!serverShutdown","data":{"e":"serverShutdown","E":1790000000123}}',
    ],
)
def test_control_frames_give_nothing(data: bytes) -> None:
    output = f.driver().send(text(data))
    assert (output.messages, output.rejections) == ([], [])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"e":"executionReport","E":1,"s":"ETHUSDT"}', "unknown_event"),
        (b'{"subscriptionId":0,"event":{"e":"balanceUpdate"}}', "unknown_event"),
        (b'{"id":"x","status":200,"result":{"lastUpdateId":5}}', "unknown_event"),
        (b'{"method":"SUBSCRIBE","params":["ethusdt@trade"],"id":1}', "unknown_event"),
        (b'{"stream":"ethusdt@avgPrice","data":{"e":"avgPrice","s":"ETHUSDT"}}', "unknown_event"),
        (b'{"stream":"ethusdt@trade"}', "missing_field"),
        (b'{"stream":"ethusdt@whatever"}', "missing_field"),
        (b'{"stream":"ethusdt@trade","data":[]}', "wrong_type"),
        (b'{"stream":"ethusdt@trade","data":{"e":"aggTrade","s":"ETHUSDT"}}', "wrong_type"),
        (b'{"stream":1,"data":{}}', "wrong_type"),
        (b'{"e":1}', "wrong_type"),
        (b'{"stream":"ethusdt@trade","data":{"e":"trade","p":NaN}}', "invalid_json"),
        (b"\xff", "invalid_json"),
        (b'{"stream":"\xff@trade","data":{}}', "invalid_json"),
        (b"", "invalid_json"),
        (b'{"a":' * 100_000, "invalid_json"),
        (b'{"stream":"' + b"x" * 1_000 + b'","data":{}}', "unknown_event"),
        (b'{"e":"' + b"x" * 1_000, "unknown_event"),
    ],
)
def test_what_is_no_public_event_is_rejected(data: bytes, code: str) -> None:
    output = f.driver().send(text(data))
    assert (output.messages, codes(output)) == ([], [code])


def test_derivatives_events_are_unknown_on_spot() -> None:
    for event in (f.mark_price(), f.force_order()):
        assert codes(f.driver("spot").send(text(f.bare(event)))) == ["unknown_event"]
        assert codes(f.driver("usdm").send(text(f.bare(event)))) == []


def test_number_in_the_place_of_text_is_rejected() -> None:
    output = f.driver().send(text(f.wrapped("ethusdt@trade", f.trade(p=3120.55))))
    assert codes(output) == ["wrong_type"]


def test_listed_instrument_replaces_the_rule() -> None:
    stream = f.driver()
    frame = text(f.wrapped("adaeur@trade", f.trade(s="ADAEUR")))
    assert codes(stream.send(frame)) == ["unknown_instrument"]
    entry = {"symbol": "ADAEUR", "status": "TRADING", "baseAsset": "ADA", "quoteAsset": "EUR"}
    output = stream.send(rest(f"{SPOT_REST}/exchangeInfo", json.encode({"symbols": [entry]})))
    assert (output.messages, output.rejections) == ([], [])
    (message,) = stream.send(frame).messages
    assert message.symbol == "ADA/EUR"


def test_rule_adds_nothing_to_the_table() -> None:
    stream = f.driver()
    (message,) = stream.send(text(f.wrapped("adausdc@trade", f.trade(s="ADAUSDC")))).messages
    assert message.symbol == "ADA/USDC"
    assert stream.table.get("ADAUSDC") is None


@pytest.mark.parametrize(
    ("url", "status", "body", "code"),
    [
        (f"{SPOT_REST}/depth?symbol=ETHUSDT", 429, b'{"code":-1003,"msg":"Too many requests"}', "unknown_event"),
        (f"{SPOT_REST}/depth?symbol=ETHUSDT", 200, b'{"code":-1121,"msg":"Invalid symbol."}', "unknown_event"),
        (f"{SPOT_REST}/depth?symbol=ETHUSDT", 502, b"<html>\xff</html>", "unknown_event"),
        (f"{SPOT_REST}/depth?symbol=ETHUSDT", 200, b"<html>", "invalid_json"),
        (f"{SPOT_REST}/depth?symbol=ETHUSDT", 200, b"[]", "wrong_type"),
        (f"{SPOT_REST}/depth?symbol=FOOBAR", 200, b'{"lastUpdateId":1,"bids":[],"asks":[]}', "unknown_instrument"),
        (f"{SPOT_REST}/depth?symbol=%FF", 200, b'{"lastUpdateId":1,"bids":[],"asks":[]}', "unknown_event"),
        (f"{SPOT_REST}/exchangeInfo", 200, b'{"symbols":1}', "wrong_type"),
        (f"{SPOT_REST}/time", 200, b'{"serverTime":1}', "unknown_event"),
        ("http://[::1", 200, b"{}", "unknown_event"),
        ("https://fapi.binance.com/fapi/v1/depth?symbol=ETHUSDT", 200, b"{}", "unknown_event"),
    ],
)
def test_reply_that_is_of_no_use_is_rejected(url: str, status: int, body: bytes, code: str) -> None:
    output = f.driver().send(rest(url, body, status))
    assert (output.messages, codes(output)) == ([], [code])


def test_replies_are_known_below_any_base() -> None:
    body = json.encode({"lastUpdateId": 3, "bids": [], "asks": []})
    url = "http://127.0.0.1:8100/binance/spot/api/v3/depth?symbol=ETHUSDT&limit=1000"
    assert feeds(f.driver().send(rest(url, body))) == ["book_snapshot"]


def test_shed_quotes_ask_for_nothing() -> None:
    output = f.driver().send(mark(Shed([ShedItem("quote", "ETHUSDT", "overflow", 9)])))
    assert feeds(output) == ["stream_status"]
    assert output.resyncs == []
