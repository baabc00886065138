"""One private connection of MEXC: spot's with its listen key, and that of futures with its login.

Sources: "Websocket User Data Streams" of the spot v3 documentation; "Websocket" and "Private channels" of the contract
v1 documentation. Both sockets want a ping of the client, and answer it. A listen key lives an hour, and a renewal gives
it another one.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import json

from shared.accounts.base import AccountPlan, Call, Credentials, Step, StepKind, refusal
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.base import Ack, FrameClass
from shared.exchanges.mexc import futures_wire, spot_wire
from shared.exchanges.mexc.account.endpoints import FUTURES_SOCKET, LISTEN_KEY, SPOT_SOCKET
from shared.exchanges.mexc.account.signing import KeyCall, login, refused
from shared.exchanges.mexc.account.wire import complaint_of, key_reply, keys_reply, named_symbol
from shared.exchanges.mexc.classify import classify_spot
from shared.exchanges.mexc.endpoints import FUTURES, SPOT
from shared.exchanges.mexc.limits import HEARTBEATS
from shared.exchanges.mexc.wire import decoded
from shared.exchanges.signing import harmless

__all__ = ["FILTERS", "TOPICS", "FuturesDialogue", "SpotDialogue"]

TOPICS: Final = ("spot@private.orders.v3.api.pb", "spot@private.deals.v3.api.pb", "spot@private.account.v3.api.pb")

FILTERS: Final = ("order", "order.deal", "position", "asset")
"""What a futures login is to bring; without a filter it brings more that has no message here."""

ANSWER_MS: Final = 10_000
"""How long an answer to a login or a subscription may take."""

RENEW_MS: Final = 30 * 60_000
KEY_LIFE_MS: Final = 60 * 60_000
RETRY_MS: Final = 60_000
"""A listen key lives an hour, is renewed twice an hour, and more often while that fails."""

_REQUEST: Final = 1
"""The id of the subscription request."""

_INVALID_KEY: Final = b"Invalid listen key"
_CLOSING: Final = "close the channel"

_DATA: Final = Step(StepKind.DATA)
_CONTROL: Final = Step(StepKind.CONTROL)
_encode: Final = json.Encoder().encode


class Liveness:
    """When to send a heartbeat, and when an answer or everything has been waited for too long."""

    def __init__(self, product: str) -> None:
        beat = HEARTBEATS[product]
        self._payload = beat.payload
        self._beat_ms = int(beat.interval_s * 1000)
        self._sent_ms: int | None = None
        self._heard_ms = 0
        self._asked_ms = 0
        self.waiting: str | None = None
        """What was asked and is not answered."""

    def opened(self, now_ms: int) -> None:
        """The socket is open."""
        self._sent_ms = self._heard_ms = now_ms

    def heard(self, now_ms: int) -> None:
        """Something came."""
        self._heard_ms = now_ms

    def ask(self, what: str, now_ms: int) -> None:
        """Something was sent that has to be answered."""
        self.waiting, self._asked_ms = what, now_ms

    def due(self, now_ms: int) -> Step:
        """A heartbeat; BROKEN where nothing is answered any more."""
        if self._sent_ms is None:
            return _CONTROL
        if self.waiting is not None and now_ms - self._asked_ms > ANSWER_MS:
            return Step(StepKind.BROKEN, detail=f"no answer to the {self.waiting} within {ANSWER_MS // 1000} s")
        if now_ms - self._heard_ms > 3 * self._beat_ms:
            return Step(StepKind.BROKEN, detail=f"nothing came for {3 * self._beat_ms // 1000} s")
        if now_ms - self._sent_ms < self._beat_ms:
            return _CONTROL
        self._sent_ms = now_ms
        return Step(StepKind.CONTROL, (self._payload,))


class SpotDialogue:
    """See :class:`shared.accounts.base.Dialogue`. Who has the listen key in its URL may subscribe."""

    def __init__(self, plan: AccountPlan, credentials: Credentials) -> None:
        self._plan = plan
        self._credentials = credentials
        self._listen_key = ""
        self._own = False
        """Whether the key was made for this connection."""
        self._live = Liveness(SPOT)
        self._missing = set(TOPICS)
        self._renewed_ms: int | None = None
        self._asked_ms = 0

    def before(self) -> Call | None:
        """A new listen key."""
        return Call("POST", LISTEN_KEY)

    @property
    def url(self) -> str:
        """Has the listen key in it."""
        return self._plan.endpoints.websocket + SPOT_SOCKET + self._listen_key

    @property
    def label(self) -> str:
        """Without the listen key."""
        return self._plan.endpoints.websocket + SPOT_SOCKET + "***"

    def opened(self, now_ms: int) -> Step:
        """The subscription."""
        self._renewed_ms = self._asked_ms = now_ms
        self._live.opened(now_ms)
        self._live.ask("subscription", now_ms)
        request = {"method": "SUBSCRIPTION", "params": TOPICS, "id": _REQUEST}
        return Step(StepKind.CONTROL, (_encode(request).decode(),))

    def received(self, data: bytes, binary: bool, now_ms: int) -> Step:  # noqa: FBT001 - the protocol's signature
        """A binary frame is data, text an answer; what can't be read is data."""
        self._live.heard(now_ms)
        if not binary and _INVALID_KEY in data[:100]:
            return Step(StepKind.BROKEN, detail="the listen key is not valid")
        route = classify_spot(data, {}, binary=binary)
        if route.frame_class is FrameClass.HEARTBEAT:
            return _CONTROL
        if route.ack is not None:
            return self._answered(route.ack)
        return Step(StepKind.DATA, symbols=_symbols(data)) if binary else _DATA

    def due(self, now_ms: int) -> Step:
        """Heartbeats, and the renewal of the listen key."""
        step = self._live.due(now_ms)
        if step is not _CONTROL or self._renewed_ms is None:
            return step
        age = now_ms - self._renewed_ms
        if age > KEY_LIFE_MS:
            return Step(StepKind.BROKEN, detail="the listen key was not renewed for an hour")
        if age < RENEW_MS or now_ms - self._asked_ms < RETRY_MS:
            return _CONTROL
        self._asked_ms = now_ms
        return Step(StepKind.CONTROL, calls=(KeyCall("PUT", LISTEN_KEY, listen_key=self._listen_key),))

    def replied(self, call: Call, reply: RestReply) -> Step:
        """A listen key or its renewal; a renewal that the venue had no time for is tried again."""
        refusal_ = refused(reply)
        if refusal_ is not None:
            return Step(StepKind.REFUSED, detail=refusal_)
        code = complaint_of(reply)
        if call.method == "POST":
            return self._given(reply, code)
        if call.method == "GET":
            return self._listed(reply, code)
        if reply.status == 200 and code is None:
            self._renewed_ms = self._asked_ms
        elif code is not None and reply.status in {200, 400, 404}:
            return Step(StepKind.BROKEN, detail=f"the listen key is not renewed: code {code}")
        return _CONTROL

    def after(self) -> Call | None:
        """The listen key is given back: there are sixty for all programs of a user, and they live for an hour."""
        return KeyCall("DELETE", LISTEN_KEY, listen_key=self._listen_key) if self._own else None

    def _given(self, reply: RestReply, code: int | None) -> Step:
        try:
            key = decoded(key_reply, reply.body).listen_key
        except ParseError:
            key = ""
        self._own = self._take(reply, key)
        if self._own:
            return _CONTROL
        if reply.status == 400 and code is not None:  # there are as many as there may be
            return Step(StepKind.CONTROL, calls=(Call("GET", LISTEN_KEY),))
        return _no_key(reply, code)

    def _listed(self, reply: RestReply, code: int | None) -> Step:
        """One that somebody was given before is as good; up to five connections may use it."""
        try:
            keys = decoded(keys_reply, reply.body).listen_keys
        except ParseError:
            keys = ()
        return _CONTROL if self._take(reply, keys[-1] if keys else "") else _no_key(reply, code)

    def _take(self, reply: RestReply, key: str) -> bool:
        if reply.status != 200 or not key.isalnum() or not key.isascii():
            return False
        self._listen_key = key
        return True

    def _answered(self, ack: Ack) -> Step:
        if ack.refused is not None or ack.rejected:
            said = ack.refused or ", ".join(f"{topic}: {reason}" for topic, reason in ack.rejected)
            keys = (self._listen_key, self._credentials.key, self._credentials.secret)
            return Step(StepKind.BROKEN, detail=f"subscription refused: {harmless(said, *keys)}")
        self._missing.difference_update(ack.accepted or ())
        if self._missing or self._live.waiting is None:
            return _CONTROL
        self._live.waiting = None
        return Step(StepKind.AUTHENTICATED)


class FuturesDialogue:
    """See :class:`shared.accounts.base.Dialogue`. A login, then a filter of what it brings."""

    def __init__(self, plan: AccountPlan, credentials: Credentials) -> None:
        self._plan = plan
        self._credentials = credentials
        self._signature = ""
        self._live = Liveness(FUTURES)

    def before(self) -> Call | None:
        """Nothing: the URL is known."""
        return None

    @property
    def url(self) -> str:
        """The socket of all contracts."""
        return self._plan.endpoints.websocket + FUTURES_SOCKET

    @property
    def label(self) -> str:
        """The same: there is no secret in it."""
        return self.url

    def opened(self, now_ms: int) -> Step:
        """The login."""
        self._live.opened(now_ms)
        self._live.ask("login", now_ms)
        payload, self._signature = login(self._credentials, now_ms)
        return Step(StepKind.CONTROL, (payload,))

    def received(self, data: bytes, binary: bool, now_ms: int) -> Step:  # noqa: ARG002, FBT001 - every frame is text
        """A push is data, ``rs.…`` an answer; what can't be read is data."""
        self._live.heard(now_ms)
        try:
            push = decoded(futures_wire.push, data)
            if push.channel.startswith("push."):
                return Step(StepKind.DATA, symbols=named_symbol(push.data))
            said = decoded(futures_wire.anything, push.data)
        except ParseError:
            return _DATA
        if push.channel in {"rs.login", "rs.personal.filter", "rs.error"}:
            return self._answered(push.channel, str(said), now_ms)
        return _CONTROL if push.channel == "pong" or push.channel.startswith("rs.") else _DATA

    def due(self, now_ms: int) -> Step:
        """Heartbeats: the venue closes a connection without them even while it sends data."""
        return self._live.due(now_ms)

    def replied(self, call: Call, reply: RestReply) -> Step:  # noqa: ARG002 - the protocol's signature
        """Nothing is asked over REST."""
        return _CONTROL

    def after(self) -> Call | None:
        """Nothing."""
        return None

    def _answered(self, channel: str, said: str, now_ms: int) -> Step:
        if channel == "rs.error" or said != "success":
            return self._complained(said)
        if channel == "rs.login" and self._live.waiting == "login":
            self._live.ask("filter", now_ms)
            return Step(StepKind.CONTROL, (_filter(FILTERS),))
        if channel == "rs.personal.filter" and self._live.waiting == "filter":
            self._live.waiting = None
            return Step(StepKind.AUTHENTICATED)
        return _CONTROL

    def _complained(self, said: str) -> Step:
        """The texts are not documented; what answers the login refuses it, whatever it says."""
        what = harmless(said, self._credentials.key, self._credentials.secret, self._signature)
        if self._live.waiting == "login" and _CLOSING not in said:
            self._live.waiting = None
            return Step(StepKind.REFUSED, detail=refusal("other", f"login: {what}"))
        return Step(StepKind.BROKEN, detail=f"the venue complained: {what}")


def _no_key(reply: RestReply, code: int | None) -> Step:
    return Step(StepKind.BROKEN, detail=f"no listen key: status {reply.status} code {code}")


def _filter(names: Sequence[str]) -> str:
    return _encode({"method": "personal.filter", "param": {"filters": [{"filter": name} for name in names]}}).decode()


def _symbols(data: bytes) -> tuple[str, ...]:
    try:
        symbol = spot_wire.push(data).symbol
    except ParseError:
        return ()
    return (symbol,) if symbol else ()
