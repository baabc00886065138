"""Requests and subscriptions: the venue's own vectors, and what a signature is made of."""

import hmac
from hashlib import sha256

import pytest
from msgspec import json

from shared.accounts.base import AccountPlan, Call, Credentials
from shared.exchanges.binance.account import ACCOUNT_ADAPTER
from shared.exchanges.binance.account.signing import signature_of, subscription
from tests.support.paths import SHARED, needs_shared

NOW = 1_700_000_000_000
MADE_UP = Credentials("made-up-key", "made-up-secret")


def plan(product: str = "spot") -> AccountPlan:
    return ACCOUNT_ADAPTER.plan("desk", [product], (), ACCOUNT_ADAPTER.products)[0]


def signature(secret: str, text: str) -> str:
    return hmac.digest(secret.encode(), text.encode(), sha256).hex()


def vector(name: str) -> dict[str, str]:
    vectors = json.decode((SHARED / "frames" / "TEST_VECTORS.json").read_bytes())["vectors"]
    return next(one for one in vectors if one["name"] == name)


def test_query_is_encoded_before_it_is_signed() -> None:
    call = Call("GET", "/api/v3/myTrades", (("symbol", "币安USDT"), ("limit", "5")))
    url = ACCOUNT_ADAPTER.sign(plan(), call, MADE_UP, NOW).url
    sent, _, signed = url.partition("?")[2].partition("&signature=")
    assert sent == f"symbol=%E5%B8%81%E5%AE%89USDT&limit=5&recvWindow=5000&timestamp={NOW}"
    assert signed == signature("made-up-secret", sent)


def test_listen_key_takes_the_key_alone() -> None:
    request = ACCOUNT_ADAPTER.sign(plan("usdm"), Call("POST", "/fapi/v1/listenKey", signed=False), MADE_UP, NOW)
    assert request.url == "https://fapi.binance.com/fapi/v1/listenKey"
    assert request.headers == {"X-MBX-APIKEY": "made-up-key"}


def test_time_is_asked_for_without_a_key() -> None:
    for product, url in (
        ("spot", "https://api.binance.com/api/v3/time"),
        ("usdm", "https://fapi.binance.com/fapi/v1/time"),
    ):
        request = ACCOUNT_ADAPTER.sign(plan(product), ACCOUNT_ADAPTER.clock(plan(product)), MADE_UP, NOW)
        assert (request.url, request.headers) == (url, {})


def test_079_time_of_a_subscription_is_in_milliseconds() -> None:
    request = json.decode(subscription(plan(), MADE_UP, NOW).payload)
    assert request["method"] == "userDataStream.subscribe.signature"
    given = request["params"]
    assert given["timestamp"] == NOW
    assert given["signature"] == signature("made-up-secret", f"apiKey=made-up-key&recvWindow=5000&timestamp={NOW}")


def test_parameters_of_the_websocket_api_are_sorted_and_not_encoded() -> None:
    assert signature_of({"symbol": "币安USDT", "apiKey": "k"}, "s") == signature("s", "apiKey=k&symbol=币安USDT")


@needs_shared
@pytest.mark.parametrize(
    "name",
    ["binance_wsapi_hmac_sorted", "binance_wsapi_hmac_sorted_nonascii", "binance_userDataStream.subscribe.signature"],
)
def test_vectors_of_the_websocket_api(name: str) -> None:
    given = vector(name)
    pairs = [pair.partition("=") for pair in given["signed_string"].split("&")]
    parameters = {field: value for field, _, value in reversed(pairs)}
    assert signature_of(parameters, given["secret"]) == given["signature"]


@needs_shared
def test_vector_of_a_request() -> None:
    given = vector("binance_rest_hmac")
    pairs = [pair.partition("=") for pair in given["signed_string"].split("&")]
    parameters = tuple((field, value) for field, _, value in pairs if field not in {"recvWindow", "timestamp"})
    call = Call("POST", "/api/v3/order", parameters)
    request = ACCOUNT_ADAPTER.sign(plan(), call, Credentials("any", given["secret"]), 1_499_827_319_559)
    assert request.url.partition("?")[2] == f"{given['signed_string']}&signature={given['signature']}"
