"""The conversations, without sockets."""

import pytest

from services.simulator.session import Abort, Action, Close, Ping, Reply, Session, Subscribe, Unsubscribe
from tests.unit.simulator.client import SECOND_NS, START_NS
from tests.unit.simulator.talk import ask, opened, replies, venue


def later(session: Session, seconds: float, last_data: float = 0.0) -> list[Action]:
    return session.tick(START_NS + int(seconds * SECOND_NS), START_NS + int(last_data * SECOND_NS))


@pytest.fixture
def linear() -> Session:
    return opened(venue("bybit", "linear", "BTCUSDT", "ETHUSDT"), "/v5/public/linear")


@pytest.fixture
def spot() -> Session:
    return opened(venue("bybit", "spot", "BTCUSDT"), "/v5/public/spot")


@pytest.mark.parametrize(("product", "text"), [("linear", ""), ("spot", "subscribe")])
def test_bybit_acknowledges_a_whole_request_once_and_before_the_data(product: str, text: str) -> None:
    session = opened(venue("bybit", product, "BTCUSDT"), f"/v5/public/{product}")
    actions = ask(session, {"op": "subscribe", "req_id": "7", "args": ["orderbook.50.BTCUSDT", "publicTrade.BTCUSDT"]})
    (ack,) = replies(actions)
    assert list(ack) == ["success", "ret_msg", "conn_id", "req_id", "op"]
    assert (ack["success"], ack["ret_msg"], ack["req_id"], ack["op"]) == (True, text, "7", "subscribe")
    assert actions[1:] == [Subscribe("orderbook.50.BTCUSDT"), Subscribe("publicTrade.BTCUSDT")]


@pytest.mark.parametrize(
    "topic",
    [
        "orderbook.50.NOPEUSDT",
        "orderbook.30.BTCUSDT",
        "orderbook.050.BTCUSDT",
        "orderbook.50.btcusdt",
        "orderbook.50",
        "tickers.1.BTCUSDT",
        "kline.2.BTCUSDT",
        "position",
        "",
    ],
)
def test_bybit_refuses_the_whole_request_for_one_unknown_topic(linear: Session, topic: str) -> None:
    actions = ask(linear, {"op": "subscribe", "req_id": "1", "args": ["tickers.BTCUSDT", topic, "tickers.ETHUSDT"]})
    (refusal,) = replies(actions)
    assert (refusal["success"], refusal["ret_msg"]) == (False, f"error:handler not found,topic:{topic}")
    assert len(actions) == 1
    assert linear.topics == {}


def test_bybit_refuses_what_is_subscribed_already_until_it_is_unsubscribed(linear: Session) -> None:
    request = {"op": "subscribe", "args": ["orderbook.1.ETHUSDT"]}
    assert replies(ask(linear, request))[0]["success"] is True
    refusal = replies(ask(linear, request))[0]
    assert (refusal["success"], refusal["ret_msg"]) == (False, "error:already subscribed,topic:orderbook.1.ETHUSDT")
    gone = ask(linear, {"op": "unsubscribe", "args": ["orderbook.1.ETHUSDT"]})
    assert (replies(gone)[0]["op"], gone[1:]) == ("unsubscribe", [Unsubscribe("orderbook.1.ETHUSDT")])
    assert replies(ask(linear, request))[0]["success"] is True


def test_bybit_spot_takes_ten_topics_a_request(spot: Session, linear: Session) -> None:
    args = [
        f"kline.{interval}.BTCUSDT" for interval in ("1", "3", "5", "15", "30", "60", "120", "240", "360", "720", "D")
    ]
    assert replies(ask(spot, {"op": "subscribe", "req_id": "1", "args": args})) == [
        {"success": False, "ret_msg": "args size >10", "op": "subscribe"}
    ]
    assert replies(ask(spot, {"op": "subscribe", "req_id": "1", "args": args[:10]}))[0]["success"] is True
    assert replies(ask(linear, {"op": "subscribe", "req_id": "1", "args": args}))[0]["success"] is True


def test_bybit_limits_the_length_of_all_topics_together(linear: Session) -> None:
    refusal = replies(ask(linear, {"op": "subscribe", "args": ["x" * 21_001]}))[0]
    assert refusal["success"] is False


def test_bybit_answers_pings_bad_json_and_unknown_operations(linear: Session) -> None:
    pong = replies(ask(linear, {"op": "ping", "req_id": "9"}))[0]
    assert (pong["success"], pong["ret_msg"], pong["op"], pong["req_id"]) == (True, "pong", "ping", "9")
    assert replies(ask(linear, "hello"))[0]["ret_msg"] == "Failed to decode incoming data:hello"
    assert replies(ask(linear, "[1]"))[0]["success"] is False
    assert replies(ask(linear, {"op": "dance"}))[0]["ret_msg"] == "error:invalid op"


def test_bybit_drops_a_silent_client_without_subscriptions_but_not_one_with_data(linear: Session) -> None:
    assert later(linear, 60) == []
    assert [type(action) for action in later(linear, 62)] == [Abort]
    ask(linear, {"op": "subscribe", "args": ["tickers.BTCUSDT"]})
    assert later(linear, 300, last_data=299) == []
    assert later(linear, 700, last_data=0) == [Close(1000)]


@pytest.fixture
def mexc_spot() -> Session:
    return opened(venue("mexc", "spot", "BTCUSDT", "ETHUSDT"), "/ws")


GOOD = "spot@public.aggre.deals.v3.api.pb@100ms@BTCUSDT"
ALSO_GOOD = "spot@public.aggre.bookTicker.v3.api.pb@10ms@ETHUSDT"
BLOCKED = "spot@public.increase.depth.v3.api.pb@BTCUSDT"


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ([GOOD, ALSO_GOOD], f"{GOOD},{ALSO_GOOD}"),
        ([BLOCKED], f"Not Subscribed successfully! [{BLOCKED}].  Reason\uff1a Blocked! "),
        (
            [GOOD, BLOCKED],
            f"Subscribed successful! [{GOOD}]. Not Subscribed successfully! [{BLOCKED}]. Reason\uff1a Blocked! ",
        ),
    ],
)
def test_mexc_spot_says_code_zero_and_hides_the_outcome_in_the_text(
    mexc_spot: Session, params: list[str], text: str
) -> None:
    actions = ask(mexc_spot, {"method": "SUBSCRIPTION", "params": params, "id": 3})
    assert replies(actions) == [{"id": 3, "code": 0, "msg": text}]
    assert actions[1:] == [Subscribe(name) for name in params if name != BLOCKED]


@pytest.mark.parametrize(
    "topic",
    [
        "spot@public.deals.v3.api.pb@BTCUSDT",
        "spot@public.aggre.deals.v3.api.pb@20ms@BTCUSDT",
        "spot@public.aggre.deals.v3.api.pb@100ms@NOPEUSDT",
        "spot@public.aggre.deals.v3.api@100ms@BTCUSDT",
        "spot@public.kline.v3.api.pb@BTCUSDT@Min2",
        "spot@public.limit.depth.v3.api.pb@BTCUSDT@50",
        "spot@public.miniTicker.v3.api.pb@BTCUSDT@MARS",
        "nonsense",
    ],
)
def test_mexc_spot_blocks_what_it_does_not_have(mexc_spot: Session, topic: str) -> None:
    actions = ask(mexc_spot, {"method": "SUBSCRIPTION", "params": [topic]})
    assert "Blocked!" in replies(actions)[0]["msg"]
    assert len(actions) == 1


def test_mexc_spot_acknowledges_the_31st_topic_and_never_serves_it() -> None:
    symbols = ("BTCUSDT", "ETHUSDT", "SOLUSDT", "XRPUSDT")
    session = opened(venue("mexc", "spot", *symbols), "/ws")
    names = [
        f"spot@public.kline.v3.api.pb@{one}@{interval}" for one in symbols for interval in ("Min1", "Min5", "Min15")
    ]
    names += [f"spot@public.limit.depth.v3.api.pb@{one}@{depth}" for one in symbols for depth in (5, 10, 20)]
    names += [f"spot@public.aggre.depth.v3.api.pb@{cadence}@{one}" for one in symbols for cadence in ("10ms", "100ms")]
    actions = ask(session, {"method": "SUBSCRIPTION", "params": names})
    assert replies(actions)[0]["msg"] == ",".join(names)
    assert [action.silent for action in actions if isinstance(action, Subscribe)] == [False] * 30 + [True] * 2


def test_mexc_spot_pings_pongs_and_closes_the_idle(mexc_spot: Session) -> None:
    assert replies(ask(mexc_spot, {"method": "PING"})) == [{"id": 0, "code": 0, "msg": "PONG"}]
    assert [type(action) for action in later(mexc_spot, 21)] == [Ping]
    assert [type(action) for action in later(mexc_spot, 31)] == [Close]
    ask(mexc_spot, {"method": "SUBSCRIPTION", "params": [GOOD]})
    assert not any(isinstance(action, Close) for action in later(mexc_spot, 90, last_data=80))
    assert [type(action) for action in later(mexc_spot, 90, last_data=20)] == [Close]
    ask(mexc_spot, {"method": "PING"}, at=85)
    assert not any(isinstance(action, Close) for action in later(mexc_spot, 90, last_data=20))
    assert [type(action) for action in later(mexc_spot, 86_401, last_data=86_400)] == [Close]


def test_mexc_spot_unsubscribes_and_refuses_what_is_no_request(mexc_spot: Session) -> None:
    ask(mexc_spot, {"method": "SUBSCRIPTION", "params": [GOOD]})
    actions = ask(mexc_spot, {"method": "UNSUBSCRIPTION", "params": [GOOD]})
    assert (replies(actions), actions[1:]) == ([{"id": 0, "code": 0, "msg": GOOD}], [Unsubscribe(GOOD)])
    assert replies(ask(mexc_spot, "{"))[0]["code"] != 0


@pytest.fixture
def futures() -> Session:
    return opened(venue("mexc", "futures", "BTC_USDT", "ETH_USDT"), "/edge")


def test_mexc_futures_acknowledges_without_naming_the_contract_and_refuses_unknown_ones(futures: Session) -> None:
    actions = ask(futures, {"method": "sub.deal", "param": {"symbol": "BTC_USDT"}})
    assert replies(actions) == [{"channel": "rs.sub.deal", "data": "success", "ts": START_NS // 10**6 + 1000}]
    assert actions[1:] == [Subscribe("deal@BTC_USDT")]
    assert len(ask(futures, {"method": "sub.deal", "param": {"symbol": "BTC_USDT"}})) == 1
    (error,) = replies(ask(futures, {"method": "sub.deal", "param": {"symbol": "NOPE_USDT"}}))
    assert (error["channel"], error["data"]) == ("rs.error", "Contract [NOPE_USDT] not exists")


@pytest.mark.parametrize("request_text", ['{"method":"sub.nothing","param":{}}', '{"method":7}', "{", "[]"])
def test_mexc_futures_is_silent_about_what_it_does_not_know(futures: Session, request_text: str) -> None:
    assert ask(futures, request_text) == []


def test_mexc_futures_takes_options_and_unsubscribes_whatever_they_were(futures: Session) -> None:
    ask(futures, {"method": "sub.depth", "param": {"symbol": "BTC_USDT", "compress": False}})
    ask(futures, {"method": "sub.depth.full", "param": {"symbol": "BTC_USDT", "limit": 5}})
    ask(futures, {"method": "sub.kline", "param": {"symbol": "BTC_USDT", "interval": "Min5"}})
    assert [*futures.topics] == ["depth.raw@BTC_USDT", "depth.full.5@BTC_USDT", "kline.Min5@BTC_USDT"]
    actions = ask(futures, {"method": "unsub.kline", "param": {"symbol": "BTC_USDT"}})
    assert actions[1:] == [Unsubscribe("kline.Min5@BTC_USDT")]
    actions = ask(futures, {"method": "usub.depth.full", "param": {"symbol": "BTC_USDT"}})
    assert replies(actions)[0]["channel"] == "rs.unsub.depth.full"
    assert [*futures.topics] == ["depth.raw@BTC_USDT"]


def test_mexc_futures_closes_who_does_not_ping_even_while_data_flows(futures: Session) -> None:
    ask(futures, {"method": "sub.deal", "param": {"symbol": "BTC_USDT"}})
    assert replies(ask(futures, {"method": "ping"}, at=10))[0]["channel"] == "pong"
    assert later(futures, 69, last_data=69) == []
    actions = later(futures, 71, last_data=71)
    assert replies(actions)[0]["data"] == "more than 60 seconds no response, close the channel"
    assert isinstance(actions[-1], Close)


def test_binance_accepts_everything_and_is_silent_about_the_unknown() -> None:
    session = opened(venue("binance", "spot", "BTCUSDT"), "/ws")
    names = ["btcusdt@trade", "nopeusdt@trade", "BTCUSDT@trade", "btcusdt@depth@7ms"]
    actions = ask(session, {"method": "SUBSCRIBE", "params": names, "id": 1})
    assert replies(actions) == [{"result": None, "id": 1}]
    assert [action.silent for action in actions if isinstance(action, Subscribe)] == [False, True, True, True]
    assert replies(ask(session, {"method": "LIST_SUBSCRIPTIONS", "id": 2}, at=3)) == [{"result": names, "id": 2}]


@pytest.mark.parametrize(
    ("path", "flowing"),
    [
        ("/public/stream", {"btcusdt@depth@100ms", "btcusdt@bookTicker", "btcusdt@trade", "btcusdt@depth5"}),
        ("/market/stream", {"btcusdt@aggTrade", "btcusdt@markPrice@1s", "btcusdt@forceOrder", "!markPrice@arr"}),
        ("/stream", {"btcusdt@depth@100ms", "btcusdt@bookTicker", "btcusdt@trade", "btcusdt@depth5"}),
    ],
)
def test_binance_usdm_serves_each_half_on_its_own_path_and_acknowledges_all(path: str, flowing: set[str]) -> None:
    session = opened(venue("binance", "usdm", "BTCUSDT"), path)
    names = ["btcusdt@depth@100ms", "btcusdt@bookTicker", "btcusdt@trade", "btcusdt@depth5"]
    names += ["btcusdt@aggTrade", "btcusdt@markPrice@1s", "btcusdt@forceOrder", "!markPrice@arr"]
    actions = ask(session, {"method": "SUBSCRIBE", "params": names, "id": 99})
    assert replies(actions) == [{"result": None, "id": 99}]
    assert {action.topic for action in actions if isinstance(action, Subscribe) and not action.silent} == flowing


def test_binance_wraps_on_combined_paths_or_when_asked_to() -> None:
    one = venue("binance", "spot", "BTCUSDT")
    combined = opened(one, "/stream", {"streams": "btcusdt@trade/btcusdt@depth"})
    assert combined.opened(START_NS) == [Subscribe("btcusdt@trade"), Subscribe("btcusdt@depth")]
    assert combined.wrap("btcusdt@trade", b'{"e":1}') == b'{"stream":"btcusdt@trade","data":{"e":1}}'
    raw = opened(one, "/ws/btcusdt@trade")
    assert raw.opened(START_NS) == [Subscribe("btcusdt@trade")]
    assert raw.wrap("btcusdt@trade", b"{}") == b"{}"
    assert replies(ask(raw, {"method": "SET_PROPERTY", "params": ["combined", True], "id": 5})) == [
        {"result": None, "id": 5}
    ]
    assert replies(ask(raw, {"method": "GET_PROPERTY", "params": ["combined"], "id": 6})) == [{"result": True, "id": 6}]
    assert raw.variant == "combined"


@pytest.mark.parametrize(
    ("request_body", "code"),
    [
        ("{", 3),
        ({"id": 1}, 2),
        ({"method": "SUBSCRIBE", "params": [1], "id": 1}, 2),
        ({"method": "DANCE", "id": 1}, 2),
        ({"method": "SUBSCRIBE", "params": [], "id": 1.5}, 2),
        ({"method": "GET_PROPERTY", "params": ["x"], "id": 1}, 0),
        ({"method": "SET_PROPERTY", "params": ["combined", "yes"], "id": 1}, 1),
        ({"method": "SUBSCRIBE", "params": [f"x{n}@trade" for n in range(1025)], "id": 1}, 2),
    ],
)
def test_binance_names_what_is_wrong_with_a_request(request_body: object, code: int) -> None:
    session = opened(venue("binance", "usdm", "BTCUSDT"), "/public/ws")
    (error,) = replies(ask(session, request_body))
    assert error["code"] == code


def test_binance_disconnects_who_asks_too_often() -> None:
    session = opened(venue("binance", "spot", "BTCUSDT"), "/ws")
    outcomes = [ask(session, {"method": "LIST_SUBSCRIPTIONS", "id": n}, at=1 + n / 100) for n in range(6)]
    assert [type(one[0]) for one in outcomes] == [Reply] * 5 + [Close]


def test_binance_counts_protocol_pings_as_requests() -> None:
    session = opened(venue("binance", "spot", "BTCUSDT"), "/ws")
    for _ in range(5):
        session.pinged(START_NS)
    assert later(session, 0.5) == []
    session.pinged(START_NS)
    assert [type(action) for action in later(session, 0.5)] == [Close]


def test_binance_pings_and_closes_who_does_not_answer() -> None:
    session = opened(venue("binance", "spot", "BTCUSDT"), "/ws")
    assert later(session, 19) == []
    assert [type(action) for action in later(session, 21)] == [Ping]
    session.ponged(START_NS + 22 * SECOND_NS)
    assert [type(action) for action in later(session, 42)] == [Ping]
    assert [type(action) for action in later(session, 103)] == [Close]


def test_binance_announces_its_shutdown_before_a_day_is_over() -> None:
    session = opened(venue("binance", "spot", "BTCUSDT"), "/stream")
    day = 86_400
    session.ponged(START_NS + (day - 10) * SECOND_NS)
    (notice,) = replies(later(session, day - 9))
    assert notice["stream"] == "!serverShutdown"
    assert notice["data"]["e"] == "serverShutdown"
    assert [type(action) for action in later(session, day + 2)] == [Close]


@pytest.mark.parametrize(
    ("exchange", "product", "symbol", "path"),
    [
        ("bybit", "linear", "BTCUSDT", "/v5/public/spot"),
        ("mexc", "spot", "BTCUSDT", "/edge"),
        ("mexc", "futures", "BTC_USDT", "/ws"),
        ("binance", "spot", "BTCUSDT", "/public/stream"),
        ("binance", "usdm", "BTCUSDT", "/private/ws"),
    ],
)
def test_other_paths_are_not_there(exchange: str, product: str, symbol: str, path: str) -> None:
    assert venue(exchange, product, symbol).session(path, {}, lambda _: True, START_NS) is None
