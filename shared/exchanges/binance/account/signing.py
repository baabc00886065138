"""How Binance wants requests signed: HMAC-SHA-256 in hexadecimal. RSA and Ed25519 keys are not supported.

Sources: ``rest-api.md`` ("SIGNED endpoints": the query is percent-encoded before it is signed, since 2026-01-15) and
``web-socket-api.md`` ("SIGNED request security": parameters sorted by name, not encoded) of binance-spot-api-docs.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import json

from shared.accounts.base import AccountPlan, Call, Credentials, SignedRequest, refusal
from shared.envelope import RestReply
from shared.exchanges.binance.account.endpoints import LISTEN_KEY
from shared.exchanges.binance.account.rows import complaint_of
from shared.exchanges.signing import hmac_hex, query

__all__ = ["SUBSCRIPTION", "Subscription", "refusal_of", "refused", "sign", "signature_of", "subscription"]

SUBSCRIPTION: Final = "account"
"""The id of the subscription request."""

_REFUSALS: Final[Mapping[int, str]] = {
    -1002: "permission",
    -1021: "clock",  # the timestamp is outside recvWindow
    -1022: "signature",
    -2008: "key",
    -2014: "key",
    -2015: "key",  # or the address, or the permissions: the venue does not tell them apart
}
"""Documented in ``errors.md``."""

_encode: Final = json.Encoder().encode


class Subscription(NamedTuple):
    """A subscription request of the WebSocket API, and its signature, which must not be repeated."""

    payload: str
    signature: str


def signature_of(parameters: Mapping[str, str | int], secret: str) -> str:
    """The signature of a request of the WebSocket API."""
    text = "&".join(f"{name}={value}" for name, value in sorted(parameters.items()))
    return hmac_hex(secret, text)


def subscription(plan: AccountPlan, credentials: Credentials, now_ms: int) -> Subscription:
    """What makes the WebSocket API send an account's events; ``now_ms`` is the venue's clock."""
    parameters: dict[str, str | int] = {
        "apiKey": credentials.key,
        "recvWindow": plan.recv_window_ms,
        "timestamp": now_ms,
    }
    signature = signature_of(parameters, credentials.secret)
    method = "userDataStream.subscribe.signature"
    request = {"id": SUBSCRIPTION, "method": method, "params": {**parameters, "signature": signature}}
    return Subscription(_encode(request).decode(), signature)


def sign(plan: AccountPlan, call: Call, credentials: Credentials, now_ms: int) -> SignedRequest:
    """A request as the venue wants it: with a signature, with the key alone (listen keys), or with nothing."""
    url = plan.endpoints.rest + call.path
    if not call.signed:
        text = query(call.parameters)
        headers = {"X-MBX-APIKEY": credentials.key} if call.path == LISTEN_KEY else {}
        return SignedRequest(call, f"{url}?{text}" if text else url, headers, call.body)
    times = (("recvWindow", str(plan.recv_window_ms)), ("timestamp", str(now_ms)))
    text = query((*call.parameters, *times))
    signature = hmac_hex(credentials.secret, text + call.body)
    return SignedRequest(call, f"{url}?{text}&signature={signature}", {"X-MBX-APIKEY": credentials.key}, call.body)


def refused(reply: RestReply) -> str | None:
    """Why the venue refuses a request for its key, signature, time or address."""
    code = complaint_of(reply)
    if code is None or code not in _REFUSALS:
        return refusal("key", "status 401") if reply.status == 401 else None
    return refusal_of(code, f"code {code}")


def refusal_of(code: int | None, what: str) -> str | None:
    """A refusal with the word that the venue's code stands for; None where it stands for none."""
    word = None if code is None else _REFUSALS.get(code)
    return None if word is None else refusal(word, what)
