import pytest

from shared.envelope import Shed, ShedItem
from shared.exchanges.base import Resync
from shared.exchanges.mexc.push_pb2 import (
    PrivateAccountV3Api,
    PrivateDealsV3Api,
    PrivateOrdersV3Api,
    PublicDealsV3Api,
    PublicIncreaseDepthsV3Api,
    PushDataV3ApiWrapper,
)
from shared.messages import StreamStatus
from tests.contract.driving import mark, rest, text
from tests.unit.exchanges.mexc.answers import FUTURES_LIST, SPOT_LIST
from tests.unit.exchanges.mexc.driving import futures_stream, spot_stream
from tests.unit.exchanges.mexc.frames import (
    contract_depth,
    contract_seed,
    deal,
    deals,
    depth,
    futures,
    futures_url,
    quote,
    seed,
    spot_url,
)
from tests.unit.exchanges.mexc.samples import DEAL, TICKER, limit_depth

TRADES = "spot@public.aggre.deals.v3.api.pb@10ms@BTCUSDT"


def wrapped(channel: str, body: PushDataV3ApiWrapper | None = None) -> bytes:
    wrapper = PushDataV3ApiWrapper(channel=channel, symbol="BTCUSDT", sendTime=1)
    if body is not None:
        wrapper.MergeFrom(body)
    return wrapper.SerializeToString()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_protobuf"),
        (b"\x00", "invalid_protobuf"),
        (b"\x1a\x07BTCUSDT", "invalid_protobuf"),
        (deals(deal("1X0_2X0"))[:-3], "invalid_protobuf"),
        (deals(deal("1X0_2X0")).replace(b"84000.15", b"84000\xff15"), "invalid_protobuf"),
        (wrapped("spot@public.new.v4.api.pb@BTCUSDT"), "unknown_event"),
        (
            wrapped("spot@private.orders.v3.api.pb", PushDataV3ApiWrapper(privateOrders=PrivateOrdersV3Api(id="7"))),
            "unknown_event",
        ),
        (
            wrapped("spot@private.deals.v3.api.pb", PushDataV3ApiWrapper(privateDeals=PrivateDealsV3Api(price="7"))),
            "unknown_event",
        ),
        (
            wrapped(
                "spot@private.account.v3.api.pb", PushDataV3ApiWrapper(privateAccount=PrivateAccountV3Api(type="X"))
            ),
            "unknown_event",
        ),
        (
            wrapped("spot@public.deals.v3.api.pb@BTCUSDT", PushDataV3ApiWrapper(publicDeals=PublicDealsV3Api())),
            "unknown_event",
        ),
        (
            wrapped("spot@x", PushDataV3ApiWrapper(publicIncreaseDepths=PublicIncreaseDepthsV3Api(version="1"))),
            "unknown_event",
        ),
    ],
)
def test_spot_frames_that_are_refused(data: bytes, code: str) -> None:
    stream = spot_stream()
    assert stream.push(data).messages == []
    assert stream.codes == [code]


def test_spot_frame_without_a_body_says_nothing() -> None:
    stream = spot_stream()
    output = stream.push(wrapped(TRADES))
    assert (output.messages, output.rejections) == ([], [])


def test_spot_frame_without_its_symbol_is_of_the_one_in_its_channel() -> None:
    wrapper = PushDataV3ApiWrapper.FromString(deals(deal("1X0_2X0")))
    wrapper.ClearField("symbol")
    (message,) = spot_stream().push(wrapper.SerializeToString()).messages
    assert message.native_symbol == "BTCUSDT"


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"Invalid listen key", "invalid_json"), (b'{"code":0}', "missing_field"), (b"[]", "wrong_type")],
)
def test_spot_text_that_is_no_answer(data: bytes, code: str) -> None:
    stream = spot_stream()
    stream.send(text(data))
    assert stream.codes == [code]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_json"),
        (b"\xff", "invalid_json"),
        (b'{"symbol":"BTC_USDT","data":NaN,"channel":"push.deal","ts":1}', "invalid_json"),
        (b'{"symbol":"BTC_USDT","channel":"push.deal","ts":1}', "missing_field"),
        (futures("push.deal", "7"), "wrong_type"),
        (futures("push.deal", "[7]"), "wrong_type"),
        (futures("push.deal", DEAL % "1", None), "missing_field"),
        (futures("push.personal.order", "{}"), "unknown_event"),
        (futures("push.event.contract", "{}"), "unknown_event"),
        (futures("push.ticker", TICKER % "XRP_USDT", "BTC_USDT"), "unknown_instrument"),
        (futures("push.fair.price", '{"price":1}').replace(b'"ts":1790000000123', b'"ts":"1"'), "bad_time"),
        (futures("push.fair.price", '{"price":1}').replace(b'"ts":1790000000123', b'"ts":-1'), "bad_time"),
        (futures("push.contract", '{"symbol":"A_USDT"}'), "missing_field"),
        (futures("push.depth", '{"asks":[[1]],"bids":[],"version":1}'), "wrong_type"),
        (futures("push.depth", '{"asks":[],"bids":[],"version":-1}'), "wrong_type"),
        (futures("push.depth", '{"asks":[],"bids":[],"version":3,"begin":4,"end":3}'), "bad_number"),
        (futures("push.depth", '{"asks":[],"bids":[],"version":9223372036854775808}'), "wrong_type"),
    ],
)
def test_futures_frames_that_are_refused(data: bytes, code: str) -> None:
    stream = futures_stream()
    assert stream.push(data).messages == []
    assert stream.codes == [code]


def test_data_of_two_contracts_asks_for_no_list() -> None:
    assert futures_stream().push(futures("push.ticker", TICKER % "XRP_USDT", "BTC_USDT")).resyncs == []


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (depth("", 5), "missing_field"),
        (depth(5, ""), "missing_field"),
        (depth("x", 5), "bad_number"),
        (depth(6, 5), "bad_number"),
        (depth(5, 5, [("1", "-1")]), "bad_number"),
        (depth(5, 5, [], [("", "1")]), "bad_number"),
    ],
)
def test_spot_book_updates_that_are_refused(data: bytes, code: str) -> None:
    stream = spot_stream()
    stream.send(seed(4, [], []))
    assert stream.push(data).messages == []
    assert stream.codes == [code]


def test_top_of_a_book_is_ignored_where_updates_keep_it() -> None:
    stream = spot_stream()
    assert [message.feed for message in stream.push(limit_depth()).messages] == ["book_snapshot"]
    stream.push(depth(1, 2, [("1", "1")], symbol="SOLUSDC"))
    output = stream.push(limit_depth())
    assert (output.messages, output.stale) == ([], 1)


@pytest.mark.parametrize("ends", ['"begin":null,"end":null', '"begin":0,"end":0', '"begin":0,"end":7'])
def test_futures_update_without_a_range_is_of_its_version(ends: str) -> None:
    stream = futures_stream()
    stream.send(contract_seed(41, [], []))
    data = f'{{"asks":[[1.5,2,1]],"bids":[],"version":42,{ends}}}'
    (message,) = stream.push(futures("push.depth", data)).messages
    assert (message.feed, getattr(message, "sequence", None)) == ("book_delta", 42)


def test_straddling_update_is_applied_whole() -> None:
    stream = futures_stream()
    stream.push(contract_depth(90, 95, [("10", "1")]), contract_depth(96, 104, [("11", "2")]))
    output = stream.send(contract_seed(100, [("9", "5")], []))
    assert [message.feed for message in output.messages] == ["book_snapshot", "book_delta"]
    assert len(stream.push(contract_depth(105, 105, [("11", "0")])).messages) == 1


def test_seed_that_held_updates_do_not_reach_is_asked_for_again() -> None:
    stream = spot_stream()
    stream.push(depth(200, 201, [("10", "1")]))
    output = stream.send(seed(150, [("9", "5")], []))
    assert output.resyncs == [Resync("book", "BTCUSDT", "snapshot_too_old")]


@pytest.mark.parametrize(
    ("url", "body", "status", "code"),
    [
        (spot_url(), b"{}", 200, "missing_field"),
        (spot_url(), b'{"code":-1121,"msg":"Invalid symbol."}', 400, "unknown_event"),
        (spot_url(), b'{"lastUpdateId":1,"bids":[["1"]],"asks":[]}', 200, "wrong_type"),
        (spot_url(), b'{"lastUpdateId":1,"bids":[["1","x"]],"asks":[]}', 200, "bad_number"),
        (spot_url("NEWUSDT"), b'{"lastUpdateId":1,"bids":[],"asks":[]}', 200, "unknown_instrument"),
        ("https://api.mexc.com/api/v3/depth", b'{"lastUpdateId":1,"bids":[],"asks":[]}', 200, "missing_field"),
        ("https://api.mexc.com/api/v3/exchangeInfo", b"{}", 200, "missing_field"),
        ("https://api.mexc.com/api/v3/time", b"{}", 200, "unknown_event"),
        ("https://[", b"{}", 200, "unknown_event"),
    ],
)
def test_spot_replies_that_are_refused(url: str, body: bytes, status: int, code: str) -> None:
    stream = spot_stream()
    assert stream.send(rest(url, body, status)).messages == []
    assert stream.codes == [code]


@pytest.mark.parametrize(
    ("url", "body", "status", "code"),
    [
        (futures_url(), b'{"success":false,"code":510,"message":"too frequent"}', 200, "missing_field"),
        (futures_url(), b"", 503, "unknown_event"),
        (futures_url("NEW_USDT"), b'{"data":{"asks":[],"bids":[],"version":1}}', 200, "unknown_instrument"),
        ("https://api.mexc.com/api/v1/contract/detail", b'{"data":{}}', 200, "wrong_type"),
        ("https://api.mexc.com/api/v1/contract/ping", b"{}", 200, "unknown_event"),
    ],
)
def test_futures_replies_that_are_refused(url: str, body: bytes, status: int, code: str) -> None:
    stream = futures_stream()
    assert stream.send(rest(url, body, status)).messages == []
    assert stream.codes == [code]


def test_instruments_of_a_list_are_known_from_then_on() -> None:
    spots, contracts = spot_stream(), futures_stream()
    spots.send(rest("http://127.0.0.1:9/mexc/spot/api/v3/exchangeInfo", SPOT_LIST))
    contracts.send(rest("http://127.0.0.1:9/mexc/futures/api/v1/contract/detail", FUTURES_LIST))
    assert spots.table.get("月光USDT") is not None
    assert contracts.push(futures("push.deal", '[{"p":0.2,"v":3}]', "DOGE_USDT")).messages != []


def test_contract_that_is_pushed_is_known_from_then_on() -> None:
    stream = futures_stream()
    frame = futures("push.deal", '[{"p":0.5,"v":3,"T":1,"t":1790000000000}]', "NEW_USDT")
    assert stream.push(frame).messages == []
    data = '{"symbol":"NEW_USDT","baseCoin":"NEW","quoteCoin":"USDT","settleCoin":"USDT","contractSize":10,"state":0}'
    assert stream.push(futures("push.contract", data, "NEW_USDT")).messages == []
    (trade,) = stream.push(frame).messages
    assert (trade.symbol, getattr(trade, "size", None)) == ("NEW/USDT:USDT", "30")


def test_next_quote_after_a_loss_is_told_even_if_it_is_the_same() -> None:
    frame = quote(("1", "1"), ("2", "2"))
    for native in ("BTCUSDT", None):
        stream = spot_stream()
        stream.push(frame, frame)
        stream.send(mark(Shed([ShedItem("quote", native, "overflow", 1)])))
        assert len(stream.push(frame).messages) == 1
    stream = spot_stream()
    stream.push(frame)
    stream.send(mark(Shed([ShedItem("quote", "SOLUSDC", "overflow", 1), ShedItem("trade", None, "overflow", 1)])))
    assert stream.push(frame).messages == []


def test_trade_ids_outlive_losses() -> None:
    stream = futures_stream()
    stream.push(futures("push.deal", DEAL % "5"))
    stream.skip()
    output = stream.push(futures("push.deal", DEAL % "5"))
    trades = [message for message in output.messages if not isinstance(message, StreamStatus)]
    assert (len(trades), output.duplicates) == (1, 1), "only the trade without an id comes again"
