"""Requests and the login: the vectors, and what a signature is made of."""

import hmac
import re
from hashlib import sha256

import pytest
from msgspec import json

from shared.accounts.base import AccountPlan, Call, Credentials
from shared.exchanges.mexc.account import ACCOUNT_ADAPTER
from shared.exchanges.mexc.account.signing import KeyCall, login
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


def test_spot_signs_its_encoded_query() -> None:
    call = Call("GET", "/api/v3/openOrders", (("symbol", "月光USDT,BTCUSDT"),))
    request = ACCOUNT_ADAPTER.sign(plan(), call, MADE_UP, NOW)
    sent, _, signed = request.url.partition("?")[2].partition("&signature=")
    assert sent == f"symbol=%E6%9C%88%E5%85%89USDT%2CBTCUSDT&recvWindow=5000&timestamp={NOW}"
    assert signed == signature("made-up-secret", sent)
    assert not re.search("%[0-9A-F]?[a-f]", sent), "the venue wants escapes in upper case"
    assert request.headers == {"X-MEXC-APIKEY": "made-up-key", "Content-Type": "application/json"}


def test_listen_key_is_signed_and_not_said() -> None:
    call = KeyCall("PUT", "/api/v3/userDataStream", listen_key="l1stenKey0f4test")
    request = ACCOUNT_ADAPTER.sign(plan(), call, MADE_UP, NOW)
    sent, _, signed = request.url.partition("?")[2].partition("&signature=")
    assert sent == f"listenKey=l1stenKey0f4test&recvWindow=5000&timestamp={NOW}"
    assert signed == signature("made-up-secret", sent)
    for said in (repr(call), repr(request), str(call), str(call.parameters)):
        assert "l1stenKey0f4test" not in said


def test_futures_signs_its_parameters_sorted_by_name() -> None:
    call = Call("GET", "/api/v1/private/order/list/order_deals", (("symbol", "SOL_USDT"), ("page_num", "2")))
    request = ACCOUNT_ADAPTER.sign(plan("futures"), call, MADE_UP, NOW)
    assert request.url.partition("?")[2] == "page_num=2&symbol=SOL_USDT"
    assert request.headers["Request-Time"] == str(NOW)
    assert request.headers["ApiKey"] == "made-up-key"
    text = f"made-up-key{NOW}page_num=2&symbol=SOL_USDT"
    assert request.headers["Signature"] == signature("made-up-secret", text)


def test_a_futures_body_is_signed_as_it_is() -> None:
    call = Call("POST", "/api/v1/private/any", body='{"b":1,"a":2}')
    request = ACCOUNT_ADAPTER.sign(plan("futures"), call, MADE_UP, NOW)
    assert request.headers["Signature"] == signature("made-up-secret", f'made-up-key{NOW}{{"b":1,"a":2}}')
    assert request.body == '{"b":1,"a":2}'


@pytest.mark.parametrize(
    ("product", "url"),
    [("spot", "https://api.mexc.com/api/v3/time"), ("futures", "https://api.mexc.com/api/v1/contract/ping")],
)
def test_time_is_asked_for_without_a_key(product: str, url: str) -> None:
    request = ACCOUNT_ADAPTER.sign(plan(product), ACCOUNT_ADAPTER.clock(plan(product)), MADE_UP, NOW)
    assert (request.url, request.headers) == (url, {})


def test_079_time_of_a_login_is_in_milliseconds() -> None:
    payload, signed = login(MADE_UP, NOW)
    given = json.decode(payload)
    assert given["method"] == "login"
    assert given["param"] == {"apiKey": "made-up-key", "reqTime": str(NOW), "signature": signed}
    assert signed == signature("made-up-secret", f"made-up-key{NOW}")


@needs_shared
def test_vector_of_a_spot_request() -> None:
    given = vector("mexc_spot_rest")
    pairs = [pair.partition("=") for pair in given["signed_string"].split("&")]
    parameters = tuple((field, value) for field, _, value in pairs if field not in {"recvWindow", "timestamp"})
    call = Call("POST", "/api/v3/order", parameters)
    request = ACCOUNT_ADAPTER.sign(plan(), call, Credentials("any", given["secret"]), 1_644_489_390_087)
    assert request.url.partition("?")[2] == f"{given['signed_string']}&signature={given['signature']}"


@needs_shared
def test_vector_of_a_login() -> None:
    given = vector("mexc_futures_ws_login")
    key, stamp = given["signed_string"][:-13], given["signed_string"][-13:]
    assert login(Credentials(key, given["secret"]), int(stamp)).signature == given["signature"]


@needs_shared
def test_vector_of_a_futures_request() -> None:
    given = vector("mexc_futures_rest_get")
    key, stamp, text = re.split(r"(\d{13})", given["signed_string"], maxsplit=1)
    parameters = tuple((name, value) for name, _, value in (pair.partition("=") for pair in text.split("&")))
    call = Call("GET", "/api/v1/private/order/list/open_orders", parameters[::-1])
    request = ACCOUNT_ADAPTER.sign(plan("futures"), call, Credentials(key, given["secret"]), int(stamp))
    assert request.headers["Signature"] == given["signature"]
