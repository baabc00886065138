"""How MEXC wants requests and the login of futures signed: HMAC-SHA-256 in lower-case hexadecimal.

Sources: "SIGNED" of the spot v3 documentation (query, directly followed by the body; percent-encoding in upper case);
"Authentication method" and "Websocket: login" of the contract v1 documentation. The optional ``Recv-Window`` of futures
is not sent: its unit is not documented clearly, and without it the venue allows 10 s.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import json

from shared.accounts.base import AccountPlan, Call, Credentials, SignedRequest, refusal
from shared.envelope import RestReply
from shared.exchanges.mexc.account.wire import complaint_of
from shared.exchanges.mexc.endpoints import SPOT
from shared.exchanges.signing import hmac_hex, query

__all__ = ["KeyCall", "Login", "login", "refused", "sign"]

_REFUSALS: Final[Mapping[int, str]] = {
    400: "key",  # none was sent
    401: "key",
    402: "key",  # expired
    406: "address",
    513: "clock",
    602: "signature",
    10_072: "key",
    10_073: "key",
    700_001: "key",
    700_002: "signature",
    700_003: "clock",
    700_006: "address",
    700_007: "permission",
}
"""Codes of both products, from "Error codes" of their documentation."""

_TYPE: Final = {"Content-Type": "application/json"}
"""Spot refuses a POST of another type (700013)."""

_encode: Final = json.Encoder().encode


class KeyCall(Call, frozen=True):
    """A call about a listen key, which is a secret and so is no parameter: those get into frames and logs."""

    listen_key: str = ""

    def __repr__(self) -> str:
        return f"KeyCall({self.method} {self.path})"


class Login(NamedTuple):
    """A login request, and its signature, which must not be repeated."""

    payload: str
    signature: str


def login(credentials: Credentials, now_ms: int) -> Login:
    """The login of futures; ``now_ms`` is the venue's clock."""
    signature = hmac_hex(credentials.secret, f"{credentials.key}{now_ms}")
    given = {"apiKey": credentials.key, "reqTime": str(now_ms), "signature": signature}
    return Login(_encode({"method": "login", "param": given}).decode(), signature)


def sign(plan: AccountPlan, call: Call, credentials: Credentials, now_ms: int) -> SignedRequest:
    """A request as the venue wants it: spot in its query, futures with headers."""
    url = plan.endpoints.rest + call.path
    if not call.signed:
        text = query(call.parameters)
        return SignedRequest(call, f"{url}?{text}" if text else url, {}, call.body)
    if plan.products[0] == SPOT:
        given = (("listenKey", call.listen_key),) if isinstance(call, KeyCall) else ()
        times = (("recvWindow", str(plan.recv_window_ms)), ("timestamp", str(now_ms)))
        text = query((*call.parameters, *given, *times))
        signature = hmac_hex(credentials.secret, text + call.body)
        headers = {"X-MEXC-APIKEY": credentials.key, **_TYPE}
        return SignedRequest(call, f"{url}?{text}&signature={signature}", headers, call.body)
    text = query(sorted(call.parameters))
    signature = hmac_hex(credentials.secret, f"{credentials.key}{now_ms}{call.body or text}")
    headers = {"ApiKey": credentials.key, "Request-Time": str(now_ms), "Signature": signature, **_TYPE}
    return SignedRequest(call, f"{url}?{text}" if text else url, headers, call.body)


def refused(reply: RestReply) -> str | None:
    """Why the venue refuses a request for its key, signature, time or address."""
    code = complaint_of(reply)
    word = None if code is None else _REFUSALS.get(code)
    if word is not None:
        return refusal(word, f"code {code}")
    return refusal("key", "status 401") if reply.status == 401 else None
