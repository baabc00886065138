"""Whatever a client sends, a private session or endpoint has an answer and never fails."""

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from services.simulator.session import Reply, RestReply, Session
from services.simulator.venues.private import HttpRequest, PrivateSession
from tests.unit.simulator.accounts.offices import Office
from tests.unit.simulator.client import START_NS

OFFICES = {
    "bybit": Office("bybit", "BTCUSDT"),
    "mexc": Office("mexc", "BTCUSDT", "BTC_USDT"),
    "binance": Office("binance", "BTCUSDT"),
}
SOCKETS = [
    ("bybit", "linear", "/v5/private", {}),
    ("mexc", "spot", "/ws", {"listenKey": "unheard of"}),
    ("mexc", "futures", "/edge", {}),
    ("binance", "spot", "/ws-api/v3", {}),
    ("binance", "usdm", "/private/stream", {"listenKey": "unheard of"}),
]
WORDS = st.sampled_from(
    [
        *("op", "args", "auth", "subscribe", "ping", "req_id", "method", "login", "param", "params", "id", "filters"),
        *("apiKey", "reqTime", "signature", "timestamp", "recvWindow", "personal.filter", "SUBSCRIPTION", "SUBSCRIBE"),
        *("userDataStream.subscribe.signature", "session.subscriptions", "order", "wallet", "key of main", "1", ""),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
PATHS = {
    "bybit": ["/v5/order/realtime", "/v5/order/history", "/v5/execution/list", "/v5/position/list"],
    "mexc": [
        *("/api/v3/userDataStream", "/api/v3/openOrders", "/api/v3/allOrders", "/api/v3/myTrades"),
        *("/api/v1/private/order/list/open_orders", "/api/v1/private/order/list/order_deals", "/api/v1/private/"),
    ],
    "binance": [
        "/api/v3/myTrades",
        "/api/v3/allOrders",
        "/fapi/v1/userTrades",
        "/fapi/v1/income",
        "/fapi/v1/listenKey",
    ],
}
NAMES = st.sampled_from(
    [
        *("category", "symbol", "limit", "cursor", "startTime", "endTime", "orderId", "fromId", "timestamp"),
        *("signature", "recvWindow", "page_num", "page_size", "start_time", "openOnly", "settleCoin", "listenKey"),
    ]
)
VALUES = st.sampled_from(
    ["linear", "BTCUSDT", "0", "1", "-1", "99999999999999999999", "\u0661", "x", "", "%zz", "page:1"]
)


def session_of(exchange: str, product: str, path: str, query: dict[str, str]) -> Session:
    desk = OFFICES[exchange].desk
    for private in desk.private.values():
        for venue in desk.venues.values():
            if venue.product == product and private.wallet in ("unified", product):
                session = private.session(venue, path, query, lambda _: False, START_NS)
                assert session is not None
                return session
    raise AssertionError(product)


@pytest.mark.parametrize("socket", SOCKETS, ids=lambda socket: f"{socket[0]}-{socket[1]}")
@settings(max_examples=60, deadline=None)
@given(requests=st.lists(st.one_of(st.text(max_size=20), JSON.map(json.dumps)), max_size=4))
@example(requests=["[]", "null", '{"op": "auth", "args": ["a", true, {}]}', '{"method": "login", "param": []}'])
def test_a_session_answers_anything_and_logs_nobody_in(
    socket: tuple[str, str, str, dict[str, str]], requests: list[str]
) -> None:
    session = session_of(*socket)
    actions = session.opened(START_NS)
    for request in requests:
        actions += session.receive(request, START_NS)
    actions += session.tick(START_NS + 10**9, START_NS)
    for action in actions:
        if isinstance(action, Reply) and action.data.startswith((b"{", b"[")):
            json.loads(action.data)
    assert isinstance(session, PrivateSession)
    assert session.account is None


@pytest.mark.parametrize("exchange", [*PATHS])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_signed_list_answers_any_parameters(exchange: str, data: st.DataObject) -> None:
    office = OFFICES[exchange]
    path = data.draw(st.sampled_from(PATHS[exchange]))
    parameters: Any = data.draw(st.dictionaries(NAMES, VALUES, max_size=5))
    method = data.draw(st.sampled_from(["GET", "POST", "PUT", "DELETE"]))
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    request = HttpRequest(method, path, query)
    (private,) = (one for one in office.desk.private.values() if one.serves(path))
    account = office.account()
    for reply in (
        private.check(request, START_NS),
        private.answer(account, private.own(account).view, request, START_NS),
    ):
        assert isinstance(reply, RestReply)
        assert reply.status < 500
        if reply.body.startswith(b"{"):
            json.loads(reply.body)
