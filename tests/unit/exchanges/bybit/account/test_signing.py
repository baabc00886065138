"""Logins and requests: the recorded vectors, and what a signature is made of."""

import hmac
from hashlib import sha256

import pytest
from msgspec import json

from shared.accounts.base import AccountPlan, Call, Credentials
from shared.exchanges.bybit.account import ACCOUNT_ADAPTER
from shared.exchanges.bybit.account.signing import login
from tests.support.paths import SHARED, needs_shared

NOW = 1_700_000_000_000
MADE_UP = Credentials("made-up-key", "made-up-secret")


def plan() -> AccountPlan:
    return ACCOUNT_ADAPTER.plan("desk", ["linear"], (), ACCOUNT_ADAPTER.products)[0]


def signature(secret: str, text: str) -> str:
    return hmac.digest(secret.encode(), text.encode(), sha256).hex()


def test_login_expires_soon_and_not_in_a_far_future() -> None:
    payload = json.decode(login(MADE_UP, NOW).payload)
    key, expires, signed = payload["args"]
    assert (payload["op"], key) == ("auth", "made-up-key")
    assert NOW < expires <= NOW + 60_000
    assert len(str(expires)) == 13
    assert signed == signature("made-up-secret", f"GET/realtime{expires}")


def test_headers_sign_the_query_as_it_is_sent() -> None:
    call = Call("GET", "/v5/order/realtime", (("category", "linear"), ("cursor", "page=7&x:1"), ("symbol", "币USDT")))
    request = ACCOUNT_ADAPTER.sign(plan(), call, MADE_UP, NOW)
    sent = request.url.partition("?")[2]
    assert sent == "category=linear&cursor=page%3D7%26x%3A1&symbol=%E5%B8%81USDT"
    assert request.headers == {
        "X-BAPI-API-KEY": "made-up-key",
        "X-BAPI-TIMESTAMP": "1700000000000",
        "X-BAPI-RECV-WINDOW": "5000",
        "X-BAPI-SIGN": signature("made-up-secret", f"{NOW}made-up-key5000{sent}"),
    }


def test_body_is_signed_where_there_is_no_query() -> None:
    body = '{"category":"linear"}'
    request = ACCOUNT_ADAPTER.sign(plan(), Call("POST", "/v5/order/create", body=body), MADE_UP, NOW)
    assert request.body == body
    assert request.url == "https://api.bybit.com/v5/order/create"
    assert request.headers["X-BAPI-SIGN"] == signature("made-up-secret", f"{NOW}made-up-key5000{body}")
    assert request.headers["Content-Type"] == "application/json"


def test_time_is_asked_for_without_a_key() -> None:
    request = ACCOUNT_ADAPTER.sign(plan(), ACCOUNT_ADAPTER.clock(plan()), MADE_UP, NOW)
    assert request.headers == {}


def vector(name: str) -> dict[str, str]:
    vectors = json.decode((SHARED / "frames" / "TEST_VECTORS.json").read_bytes())["vectors"]
    return next(one for one in vectors if one["name"] == name)


@needs_shared
@pytest.mark.parametrize("name", ["bybit_rest_get", "bybit_rest_post"])
def test_recorded_vectors_of_requests(name: str) -> None:
    given = vector(name)
    head, _, rest = given["signed_string"].partition("5000")
    credentials = Credentials(head[13:], given["secret"])
    if rest.startswith("{"):
        call = Call("POST", "/v5/order/create", body=rest)
    else:
        pairs = (pair.partition("=") for pair in rest.split("&"))
        call = Call("GET", "/v5/order/realtime", tuple((field, value) for field, _, value in pairs))
    request = ACCOUNT_ADAPTER.sign(plan(), call, credentials, int(head[:13]))
    assert request.headers["X-BAPI-SIGN"] == given["signature"]


@needs_shared
def test_recorded_vector_of_a_login() -> None:
    given = vector("bybit_ws_auth")
    expires = int(given["signed_string"].removeprefix("GET/realtime"))
    made = login(Credentials("any", given["secret"]), expires - 10_000)
    assert made.signature == given["signature"]
    assert json.decode(made.payload)["args"][1] == expires
