"""One private connection of Binance: spot's WebSocket API, and USD-M's stream with its listen key.

Sources: ``web-socket-api.md`` and ``user-data-stream.md`` of binance-spot-api-docs; the USD-M pages "Start User Data
Stream", "Keepalive User Data Stream" and "User Data Streams Connect". The venue pings, WebSocket pongs answer; a
connection lives 24 hours at most.
"""

from typing import Final

from shared.accounts.base import AccountPlan, Call, Credentials, Step, StepKind
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.binance.account.endpoints import LISTEN_KEY, SPOT_SOCKET, USDM_SOCKET
from shared.exchanges.binance.account.rows import KEY_REPLY, complaint_of
from shared.exchanges.binance.account.signing import SUBSCRIPTION, refusal_of, refused, subscription
from shared.exchanges.binance.account.wire import EVENT, HEAD, Event, Head, decode, payload_of, symbols_of
from shared.exchanges.signing import harmless

__all__ = ["SpotDialogue", "UsdmDialogue"]

ANSWER_MS: Final = 10_000
"""How long the answer to a subscription may take."""

RENEW_MS: Final = 30 * 60_000
KEY_LIFE_MS: Final = 60 * 60_000
RETRY_MS: Final = 60_000
"""A listen key lives an hour, is renewed twice an hour, and more often while that fails."""

_GONE: Final = -1125
"""The listen key does not exist."""

_ENDS: Final = frozenset({"eventStreamTerminated", "serverShutdown", "listenKeyExpired"})
"""Events after which nothing comes any more."""

_DATA: Final = Step(StepKind.DATA)
_CONTROL: Final = Step(StepKind.CONTROL)


class SpotDialogue:
    """See :class:`shared.accounts.base.Dialogue`. One signed request subscribes; there is no login, no key to renew."""

    def __init__(self, plan: AccountPlan, credentials: Credentials) -> None:
        self._plan = plan
        self._credentials = credentials
        self._signature = ""
        self._asked_ms: int | None = None

    def before(self) -> Call | None:
        """Nothing: the URL is known."""
        return None

    @property
    def url(self) -> str:
        """The WebSocket API."""
        return self._plan.endpoints.websocket + SPOT_SOCKET

    @property
    def label(self) -> str:
        """The same: there is no secret in it."""
        return self.url

    def opened(self, now_ms: int) -> Step:
        """The subscription."""
        self._asked_ms = now_ms
        payload, self._signature = subscription(self._plan, self._credentials, now_ms)
        return Step(StepKind.CONTROL, (payload,))

    def received(self, data: bytes, binary: bool, now_ms: int) -> Step:  # noqa: ARG002, FBT001 - every frame is text
        """An answer has a status or an error, an event its name; what can't be read is data."""
        try:
            head = decode(HEAD, data)
            if head.status is not None or head.error is not None:
                return self._answered(head)
            return _told(_event_of(head, data))
        except ParseError:
            return _DATA

    def due(self, now_ms: int) -> Step:
        """Nothing but to give up on an answer that never came."""
        if self._asked_ms is not None and now_ms - self._asked_ms > ANSWER_MS:
            return Step(StepKind.BROKEN, detail=f"no answer to the subscription within {ANSWER_MS // 1000} s")
        return _CONTROL

    def replied(self, call: Call, reply: RestReply) -> Step:  # noqa: ARG002 - the protocol's signature
        """Nothing is asked over REST."""
        return _CONTROL

    def after(self) -> Call | None:
        """Nothing."""
        return None

    def _answered(self, head: Head) -> Step:
        code, text = (None, "") if head.error is None else (head.error.code, head.error.msg)
        if head.status == 200 and head.error is None:
            if self._asked_ms is None or head.id != SUBSCRIPTION:
                return _CONTROL
            self._asked_ms = None
            return Step(StepKind.AUTHENTICATED)
        said = harmless(text, self._credentials.key, self._credentials.secret, self._signature)
        what = f"subscription: status {head.status} code {code} {said}"
        refusal = refusal_of(code, what)
        if refusal is None:
            return Step(StepKind.BROKEN, detail=what)
        self._asked_ms = None
        return Step(StepKind.REFUSED, detail=refusal)


class UsdmDialogue:
    """See :class:`shared.accounts.base.Dialogue`. Who has the listen key in its URL is authenticated."""

    def __init__(self, plan: AccountPlan, credentials: Credentials) -> None:
        self._plan = plan
        self._credentials = credentials
        self._listen_key = ""
        self._renewed_ms: int | None = None
        self._asked_ms = 0

    def before(self) -> Call | None:
        """A listen key; one that is alive already is prolonged and given again."""
        return Call("POST", LISTEN_KEY, signed=False)

    @property
    def url(self) -> str:
        """Has the listen key in it."""
        return self._plan.endpoints.websocket + USDM_SOCKET + self._listen_key

    @property
    def label(self) -> str:
        """Without the listen key."""
        return self._plan.endpoints.websocket + USDM_SOCKET + "***"

    def opened(self, now_ms: int) -> Step:
        """Everything comes from now on."""
        self._renewed_ms = self._asked_ms = now_ms
        return Step(StepKind.AUTHENTICATED)

    def received(self, data: bytes, binary: bool, now_ms: int) -> Step:  # noqa: ARG002, FBT001 - every frame is text
        """Everything is an event, but for those that end the stream; what can't be read is data."""
        try:
            return _told(_event_of(decode(HEAD, data), data))
        except ParseError:
            return _DATA

    def due(self, now_ms: int) -> Step:
        """The renewal of the listen key."""
        if self._renewed_ms is None:
            return _CONTROL
        age = now_ms - self._renewed_ms
        if age > KEY_LIFE_MS:
            return Step(StepKind.BROKEN, detail="the listen key was not renewed for an hour")
        if age < RENEW_MS or now_ms - self._asked_ms < RETRY_MS:
            return _CONTROL
        self._asked_ms = now_ms
        return Step(StepKind.CONTROL, calls=(Call("PUT", LISTEN_KEY, signed=False),))

    def replied(self, call: Call, reply: RestReply) -> Step:
        """A listen key or its renewal; a renewal that fails is tried again."""
        refusal = refused(reply)
        if refusal is not None:
            return Step(StepKind.REFUSED, detail=refusal)
        code = complaint_of(reply)
        if call.method == "POST":
            return self._given(reply, code)
        if code == _GONE:
            return Step(StepKind.BROKEN, detail="the listen key is gone")
        if reply.status == 200 and code is None:
            self._renewed_ms = self._asked_ms
        return _CONTROL

    def after(self) -> Call | None:
        """Nothing: the listen key is that of all programs of the account."""
        return None

    def _given(self, reply: RestReply, code: int | None) -> Step:
        try:
            key = decode(KEY_REPLY, reply.body).listen_key
        except ParseError:
            key = ""
        if reply.status != 200 or not key:
            return Step(StepKind.BROKEN, detail=f"no listen key: status {reply.status} code {code}")
        self._listen_key = key
        return _CONTROL


def _event_of(head: Head, data: bytes) -> Event:
    return decode(EVENT, payload_of(head, data))


def _told(event: Event) -> Step:
    if event.event in _ENDS:
        return Step(StepKind.BROKEN, detail=event.event)
    return Step(StepKind.DATA, symbols=symbols_of(event))
