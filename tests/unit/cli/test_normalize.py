"""``tidegate normalize``: frames on lines in, canonical messages on lines out."""

from base64 import b64encode
from pathlib import Path

import pytest
from msgspec import json

from services.cli.bundled import bundled
from shared.exchanges import EXCHANGES
from tests.unit.cli.running import Ran, Tidegate
from tests.unit.exchanges.bybit.frames import book, trade, trades

LINEAR = ("normalize", "--exchange", "bybit", "--product", "linear")
USDM = ("normalize", "--exchange", "binance", "--product", "usdm")
TRADE = trades(trade("t1"))
FIRST = book("snapshot", [("84000", "1")], [("84001", "2")], 10)
SECOND = book("delta", [("84000", "0")], [], 11)


def written(path: Path, *lines: bytes, end: bytes = b"\n") -> Path:
    file = path / "frames"
    file.write_bytes(b"".join(line + end for line in lines))
    return file


def update(first: int, last: int, previous: int, symbol: str = "BTCUSDT") -> bytes:
    """A Binance USD-M depth update."""
    event = {
        "e": "depthUpdate", "E": 1_790_000_000_000, "T": 1_790_000_000_000, "s": symbol,
        "U": first, "u": last, "pu": previous, "b": [["100.10", "3"]], "a": [],
    }  # fmt: skip
    return json.encode({"stream": f"{symbol.lower()}@depth@100ms", "data": event})


def depth(last: int, symbol: str = "BTCUSDT", host: str = "https://fapi.binance.com", limit: int = 1000) -> bytes:
    """A line of a file of replies."""
    body = {"lastUpdateId": last, "E": 1, "T": 1, "bids": [["100.00", "1"]], "asks": [["101.00", "1"]]}
    return json.encode({"url": f"{host}/fapi/v1/depth?symbol={symbol}&limit={limit}", "recv": "1", "body": body})


def test_one_message_a_line_and_state_from_line_to_line(tidegate: Tidegate, tmp_path: Path) -> None:
    ran = tidegate(*LINEAR, written(tmp_path, FIRST, TRADE, SECOND))
    assert (ran.status, ran.error) == (0, "")
    assert ran.feeds() == ["book_snapshot", "trade", "book_delta"]
    delta = next(message for message in ran.messages if message["feed"] == "book_delta")
    assert (delta["sequence"], delta["previous_sequence"], delta["bids"]) == (11, 10, [["84000", "0"]])
    assert {message["stream"] for message in ran.messages} == {"bybit.linear.0"}
    assert [message["frame"] for message in ran.messages] == sorted(message["frame"] for message in ran.messages)
    assert ran.messages[0]["symbol"] == "BTC/USDT:USDT"


def test_rejected_lines_are_told_and_the_others_go_on(tidegate: Tidegate, tmp_path: Path) -> None:
    lines = [TRADE, b'{"topic":', b"\xff\xfe\x00", b"[]", b"null", b"7", b'{"topic":"publicTrade.NOSUCH"}', TRADE]
    ran = tidegate(*LINEAR, written(tmp_path, *lines))
    assert ran.status == 3
    assert set(ran.codes) == {2, 3, 4, 5, 6, 7}
    assert (ran.codes[2], ran.codes[3]) == ("invalid_json", "invalid_json")
    assert all(set(each) == {"line", "code", "detail"} and each["detail"] for each in ran.rejected)
    assert ran.messages[0]["feed"] == "trade"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n", b"\r\n \r\n"])
def test_ends_of_lines_and_blank_lines_mean_nothing(tidegate: Tidegate, tmp_path: Path, end: bytes) -> None:
    ran = tidegate(*LINEAR, written(tmp_path, FIRST, SECOND, end=end))
    assert ran.status == 0
    assert [feed for feed in ran.feeds() if feed.startswith("book")] == ["book_snapshot", "book_delta"]


def test_numbers_of_lines_count_blank_ones_and_the_last_needs_no_end(tidegate: Tidegate, tmp_path: Path) -> None:
    file = tmp_path / "frames"
    file.write_bytes(b"\n\n" + TRADE + b"\n\nbroken")
    ran = tidegate(*LINEAR, file)
    assert ran.codes == {5: "invalid_json"}


def test_nothing_in_nothing_out(tidegate: Tidegate, tmp_path: Path) -> None:
    assert tidegate(*LINEAR, written(tmp_path)) == Ran(0, b"", "")


def test_a_line_of_8_mib(tidegate: Tidegate, tmp_path: Path) -> None:
    levels = [(f"{price}.10", "1.5") for price in range(1, 450_000)]
    huge = book("snapshot", levels, [], 10, depth=1000)
    assert len(huge) > 8 * 1024 * 1024
    ran = tidegate(*LINEAR, written(tmp_path, huge, huge[:-1], TRADE))
    assert ran.codes == {2: "invalid_json"}
    assert len(ran.messages[0]["bids"]) == len(levels)
    assert ran.messages[-1]["feed"] == "trade"


def test_base64_is_of_binary_frames(tidegate: Tidegate, tmp_path: Path) -> None:
    spot = ("normalize", "--exchange", "mexc", "--product", "spot", "--base64")
    lines = [b"%%%", b"abc", "é".encode(), b64encode(b"\x08"), b64encode(b"plain text")]
    ran = tidegate(*spot, written(tmp_path, *lines))
    assert ran.status == 3
    assert [ran.codes[line] for line in (1, 2, 3)] == ["invalid_base64"] * 3
    assert {ran.codes[line] for line in (4, 5)} <= {"invalid_protobuf", "unknown_event"}


def test_majors_are_bundled_for_every_product() -> None:
    for name, venue in EXCHANGES.items():
        for product in venue.products:
            symbols = {instrument.symbol.split("/")[0] for instrument in bundled(name, product)}
            assert {"BTC", "ETH"} <= symbols, f"{name} {product}"


def test_an_unknown_instrument_is_named_by_rule_or_rejected(tidegate: Tidegate, tmp_path: Path) -> None:
    named = TRADE.replace(b"BTCUSDT", b"WIFUSDT")
    nameless = TRADE.replace(b"BTCUSDT", b"WIFOO")
    ran = tidegate(*LINEAR, written(tmp_path, named, nameless))
    assert [message["symbol"] for message in ran.messages] == ["WIF/USDT:USDT"]
    assert ran.codes == {2: "unknown_instrument"}


def test_instruments_are_the_venues_own_list(tidegate: Tidegate, tmp_path: Path) -> None:
    file = tmp_path / "instruments.json"
    file.write_bytes(one_page("WIFOO", "WIF", "OO"))
    ran = tidegate(*LINEAR, "--instruments", file, written(tmp_path, TRADE.replace(b"BTCUSDT", b"WIFOO")))
    assert (ran.status, ran.messages[0]["symbol"]) == (0, "WIF/OO:OO")


def test_instruments_in_pages_a_line_each(tidegate: Tidegate, tmp_path: Path) -> None:
    file = tmp_path / "instruments.jsonl"
    file.write_bytes(one_page("AAUSDT", "AA", "USDT") + b"\n" + one_page("WIFOO", "WIF", "OO") + b"\n")
    ran = tidegate(*LINEAR, "--instruments", file, written(tmp_path, TRADE.replace(b"BTCUSDT", b"WIFOO")))
    assert ran.messages[0]["symbol"] == "WIF/OO:OO"


def one_page(native_symbol: str, base: str, settle: str) -> bytes:
    row = {
        "symbol": native_symbol, "contractType": "LinearPerpetual", "status": "Trading", "baseCoin": base,
        "quoteCoin": settle, "settleCoin": settle, "deliveryTime": "0", "priceFilter": {"tickSize": "0.1"},
        "lotSizeFilter": {"qtyStep": "0.1"},
    }  # fmt: skip
    result = {"category": "linear", "list": [row], "nextPageCursor": ""}
    return json.encode({"retCode": 0, "retMsg": "OK", "result": result})


def replies(path: Path, *lines: bytes) -> Path:
    file = path / "replies.jsonl"
    file.write_bytes(b"\n".join(lines))
    return file


def test_a_reply_is_taken_when_the_stream_asks_whatever_host_and_limit(tidegate: Tidegate, tmp_path: Path) -> None:
    lines = written(tmp_path, update(90, 100, 89), update(101, 110, 100), update(111, 120, 110))
    file = replies(tmp_path, depth(500, "ETHUSDT"), depth(105, host="http://127.0.0.1:1", limit=5), b"", depth(300))
    ran = tidegate(*USDM, "--rest", file, lines)
    assert (ran.status, ran.error) == (0, "")
    assert ran.feeds() == ["book_snapshot", "book_delta", "book_delta"]
    assert [message["sequence"] for message in ran.messages] == [105, 110, 120]


def test_each_reply_is_used_once(tidegate: Tidegate, tmp_path: Path) -> None:
    gap = [update(90, 100, 89), update(101, 110, 100), update(900, 910, 899), update(911, 920, 910)]
    one = tidegate(*USDM, "--rest", replies(tmp_path, depth(100)), written(tmp_path, *gap))
    assert next(message["status"] for message in one.messages if message["feed"] == "stream_status") == "gap"
    assert one.feeds().count("book_snapshot") == 1
    two = tidegate(*USDM, "--rest", replies(tmp_path, depth(100), depth(905)), written(tmp_path, *gap))
    assert two.feeds().count("book_snapshot") == 2
    assert two.messages[-1]["sequence"] == 920


def test_a_reply_may_be_text_in_a_string(tidegate: Tidegate, tmp_path: Path) -> None:
    line = json.decode(depth(100))
    line["body"] = json.encode(line["body"]).decode()
    ran = tidegate(*USDM, "--rest", replies(tmp_path, json.encode(line)), written(tmp_path, update(90, 100, 89)))
    assert (ran.status, ran.error, ran.feeds()[0]) == (0, "", "book_snapshot")


def test_without_replies_nothing_is_published_of_a_book_that_needs_one(tidegate: Tidegate, tmp_path: Path) -> None:
    ran = tidegate(*USDM, written(tmp_path, update(90, 100, 89), update(101, 110, 100)))
    assert (ran.status, ran.feeds()) == (0, [])


UNUSABLE = [
    (("--exchange", "kraken", "--product", "spot"), "--exchange: 'kraken' is no exchange"),
    (("--exchange", "bybit", "--product", "usdm"), "--product: 'usdm' is no product of bybit"),
    (("--exchange", "bybit", "--product", "linear", "/no/such/file"), "FILE: /no/such/file cannot be read"),
    (("--exchange", "bybit", "--product", "linear", "/"), "FILE: / cannot be read"),
    (("--exchange", "bybit", "--product", "linear", "--rest", "/no/such"), "--rest: /no/such cannot be read"),
    (("--exchange", "bybit", "--product", "linear", "--instruments", "/no"), "--instruments: /no cannot be read"),
]


@pytest.mark.parametrize(("arguments", "line"), UNUSABLE, ids=[line for _, line in UNUSABLE])
def test_unusable_arguments_are_told_in_one_line(tidegate: Tidegate, arguments: tuple[str, ...], line: str) -> None:
    ran = tidegate("normalize", *arguments)
    assert (ran.status, ran.out) == (2, b"")
    assert ran.error.startswith(f"tidegate: {line}")
    assert ran.error.count("\n") == 1


@pytest.mark.parametrize("body", [b"no json", b"[]", b'{"url": 7, "body": {}}', b'{"url": "x"}', b"\xff"])
def test_a_bad_file_of_replies_names_the_line(tidegate: Tidegate, tmp_path: Path, body: bytes) -> None:
    ran = tidegate(*USDM, "--rest", replies(tmp_path, depth(1), body), written(tmp_path, TRADE))
    assert ran.status == 2
    assert "replies.jsonl line 2 is no" in ran.error
    assert ran.error.count("\n") == 1


@pytest.mark.parametrize("body", [b"no json", b"[]", b"{}", b"", b'{"retCode":10001,"retMsg":"error","result":{}}'])
def test_a_bad_list_of_instruments(tidegate: Tidegate, tmp_path: Path, body: bytes) -> None:
    file = tmp_path / "instruments.json"
    file.write_bytes(body)
    ran = tidegate(*LINEAR, "--instruments", file, written(tmp_path, TRADE))
    assert ran.status == 2
    assert ran.error.startswith("tidegate: --instruments: ")
    assert ran.error.count("\n") == 1


def test_missing_arguments_are_argparses_to_tell(tidegate: Tidegate) -> None:
    ran = tidegate("normalize", "--exchange", "bybit")
    assert ran.status == 2
    assert "--product" in ran.error


def test_help_names_every_exchange_and_product(tidegate: Tidegate) -> None:
    text = tidegate("normalize", "--help").out.decode()
    for name, venue in EXCHANGES.items():
        assert name in text
        assert all(product in text for product in venue.products)
