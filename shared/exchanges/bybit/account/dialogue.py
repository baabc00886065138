"""One private connection of Bybit v5: login, subscription, heartbeat.

Sources: docs/v5/websocket/wss-authentication.mdx, docs/v5/ws/connect.mdx. Nothing is subscribed to before the login is
accepted; one answer covers the whole subscription. Categorised topics are used (``order.linear``), so that products
that the account is not set up for don't come. No topic begins with a snapshot: a reconciliation gives the state.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import json

from shared.accounts.base import AccountPlan, Call, Credentials, Step, StepKind
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.bybit.account.endpoints import PRIVATE_PATH
from shared.exchanges.bybit.account.signing import login, refusal_of
from shared.exchanges.bybit.account.wire import HEAD, Head
from shared.exchanges.bybit.limits import HEARTBEAT
from shared.exchanges.bybit.wire import decode
from shared.exchanges.signing import harmless

__all__ = ["BybitDialogue", "topics"]

ANSWER_MS: Final = 10_000
"""How long an answer to a login or a subscription may take."""

BEAT_MS: Final = int(HEARTBEAT.interval_s * 1000)

SILENCE_MS: Final = 3 * BEAT_MS
"""How long nothing at all may come; each heartbeat is answered."""

_DATA: Final = Step(StepKind.DATA)
_CONTROL: Final = Step(StepKind.CONTROL)
_encode: Final = json.Encoder().encode


def topics(products: Sequence[str]) -> list[str]:
    """What is subscribed to; spot has no positions."""
    orders = [f"{channel}.{product}" for product in products for channel in ("order", "execution")]
    return [*orders, *(f"position.{product}" for product in products if product != "spot"), "wallet"]


class BybitDialogue:
    """See :class:`shared.accounts.base.Dialogue`."""

    def __init__(self, plan: AccountPlan, credentials: Credentials) -> None:
        self._plan = plan
        self._credentials = credentials
        self._signature = ""
        self._waiting: str | None = None
        self._asked_ms = 0
        self._beat_ms: int | None = None
        self._heard_ms = 0

    def before(self) -> Call | None:
        """Nothing: the URL is known."""
        return None

    @property
    def url(self) -> str:
        """The private WebSocket, for all products."""
        return self._plan.endpoints.websocket + PRIVATE_PATH

    @property
    def label(self) -> str:
        """The same: there is no secret in it."""
        return self.url

    def opened(self, now_ms: int) -> Step:
        """The login; nothing else before it is accepted."""
        self._beat_ms = self._heard_ms = now_ms
        payload, self._signature = login(self._credentials, now_ms)
        self._ask("auth", now_ms)
        return Step(StepKind.CONTROL, (payload,))

    def received(self, data: bytes, binary: bool, now_ms: int) -> Step:  # noqa: ARG002, FBT001 - every frame is text
        """Data has a topic and no outcome; what can't be read is data too."""
        self._heard_ms = now_ms
        try:
            head = decode(HEAD, data)
        except ParseError:
            return _DATA
        if head.topic is not None:
            return _DATA
        if head.op == "auth":
            return self._logged_in(head, now_ms)
        if head.op == "subscribe":
            return self._subscribed(head)
        if not _succeeded(head, silent=True):
            return Step(StepKind.BROKEN, detail=f"the venue complained: {self._said(head)}")
        return _CONTROL if head.op in {"ping", "pong"} else _DATA

    def due(self, now_ms: int) -> Step:
        """A heartbeat every 20 s; a connection on which nothing is answered any more is broken."""
        if self._beat_ms is None:
            return _CONTROL
        if self._waiting is not None and now_ms - self._asked_ms > ANSWER_MS:
            return Step(StepKind.BROKEN, detail=f"no answer to {self._waiting} within {ANSWER_MS // 1000} s")
        if now_ms - self._heard_ms > SILENCE_MS:
            return Step(StepKind.BROKEN, detail=f"nothing came for {SILENCE_MS // 1000} s")
        if now_ms - self._beat_ms < BEAT_MS:
            return _CONTROL
        self._beat_ms = now_ms
        return Step(StepKind.CONTROL, (HEARTBEAT.payload,))

    def replied(self, call: Call, reply: RestReply) -> Step:  # noqa: ARG002 - the protocol's signature
        """Nothing is asked over REST."""
        return _CONTROL

    def after(self) -> Call | None:
        """Nothing."""
        return None

    def _ask(self, what: str, now_ms: int) -> None:
        self._waiting = what
        self._asked_ms = now_ms

    def _logged_in(self, head: Head, now_ms: int) -> Step:
        """The texts of refusals are not documented and not looked at: only whether it succeeded is."""
        if not _succeeded(head):
            self._waiting = None
            return Step(StepKind.REFUSED, detail=refusal_of(head.code, f"login: {self._said(head)}"))
        if self._waiting != "auth":
            return _CONTROL
        self._ask("subscribe", now_ms)
        payload = _encode({"req_id": "account", "op": "subscribe", "args": topics(self._plan.products)})
        return Step(StepKind.CONTROL, (payload.decode(),))

    def _subscribed(self, head: Head) -> Step:
        if not _succeeded(head):
            return Step(StepKind.BROKEN, detail=f"subscription refused: {self._said(head)}")
        if self._waiting != "subscribe":
            return _CONTROL
        self._waiting = None
        return Step(StepKind.AUTHENTICATED)

    def _said(self, head: Head) -> str:
        code = "" if head.code is None else f"retCode {head.code} "
        text = head.ret_msg or head.message
        return code + harmless(text, self._credentials.key, self._credentials.secret, self._signature)


def _succeeded(head: Head, *, silent: bool = False) -> bool:
    """Whether an answer says so, in either spelling; ``silent``: saying nothing counts as well."""
    if head.success is None and head.code is None:
        return silent
    return head.success is not False and head.code in {0, None}
