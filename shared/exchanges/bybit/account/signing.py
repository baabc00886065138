"""How Bybit v5 wants logins and requests signed. Sources: docs/v5/guide.mdx, docs/v5/websocket/wss-authentication.mdx.

HMAC-SHA-256 in lower-case hexadecimal throughout (system-generated keys); RSA keys are not supported.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import json

from shared.accounts.base import AccountPlan, Call, Credentials, SignedRequest, refusal
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.bybit.account.wire import REPLY
from shared.exchanges.bybit.wire import decode
from shared.exchanges.signing import hmac_hex, query

__all__ = ["Login", "login", "refusal_of", "refused", "sign"]

LOGIN_LIFE_MS: Final = 10_000
"""How far in the future a login expires: it has to arrive before."""

_REFUSALS: Final[Mapping[int, str]] = {
    10002: "clock",  # the timestamp is outside recv_window
    10003: "key",
    10004: "signature",
    10005: "permission",
    10007: "key",  # user authentication failed
    10009: "address",  # the address is banned
    10010: "address",  # it is not among those that the key is bound to
    33004: "key",  # expired
}
"""Documented in docs/v5/error.mdx."""

_encode: Final = json.Encoder().encode


class Login(NamedTuple):
    """A login message, and its signature, which must not be repeated."""

    payload: str
    signature: str


def login(credentials: Credentials, now_ms: int) -> Login:
    """What authenticates a private connection; ``now_ms`` is the venue's clock."""
    expires = now_ms + LOGIN_LIFE_MS
    signature = hmac_hex(credentials.secret, f"GET/realtime{expires}")
    payload = _encode({"req_id": "auth", "op": "auth", "args": [credentials.key, expires, signature]})
    return Login(payload.decode(), signature)


def sign(plan: AccountPlan, call: Call, credentials: Credentials, now_ms: int) -> SignedRequest:
    """A request with the headers that the venue wants; one that is not signed has none of them."""
    text = query(call.parameters)
    url = plan.endpoints.rest + call.path + (f"?{text}" if text else "")
    if not call.signed:
        return SignedRequest(call, url, {}, call.body)
    window = str(plan.recv_window_ms)
    headers = {
        "X-BAPI-API-KEY": credentials.key,
        "X-BAPI-TIMESTAMP": str(now_ms),
        "X-BAPI-RECV-WINDOW": window,
        "X-BAPI-SIGN": hmac_hex(credentials.secret, f"{now_ms}{credentials.key}{window}{text or call.body}"),
    }
    if call.body:
        headers["Content-Type"] = "application/json"
    return SignedRequest(call, url, headers, call.body)


def refused(reply: RestReply) -> str | None:
    """Why the venue refuses a request for its key, signature, time or address."""
    try:
        code = decode(REPLY, reply.body).ret_code
    except ParseError:
        return refusal("key", "status 401") if reply.status == 401 else None
    return None if code not in _REFUSALS else refusal_of(code, f"retCode {code}")


def refusal_of(code: int | None, what: str) -> str:
    """A refusal with the word that the venue's code stands for; ``other`` where it gives none."""
    return refusal("other" if code is None else _REFUSALS.get(code, "other"), what)
