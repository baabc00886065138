"""What a venue's account adapter is: pure, bytes in, records out; no clock, no socket, and the only code that signs.

Each venue's is ``shared/exchanges/<venue>/account/``, with the same file names in each:

- ``endpoints``  URLs of private streams and REST
- ``signing``    how requests and logins are signed, with the venue's document
- ``dialogue``   how one connection is opened, authenticated, subscribed, kept alive
- ``wire``       private frames and REST replies as typed structs
- ``orders``, ``fills``, ``balances``, ``positions``   wire → canonical messages
- ``catch_up``   what is asked over REST after a connect, page by page
- ``parser``     which frame goes where
- ``adapter``    the object that the registry holds (``ACCOUNT_ADAPTER``)

Ingest drives :class:`Dialogue` and :class:`CatchUp` of an :class:`AccountAdapter`; a normalizer uses its
:class:`AccountParser`. A stream of the account plane is one private connection, named ``<exchange>.<account>`` where
one connection carries everything (Bybit), else ``<exchange>.<account>.<product>``.

All times are milliseconds of the venue's clock where a name ends in ``_ms``: ingest measures the offset of the two
clocks (:meth:`AccountAdapter.clock`) and passes the venue's time in.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from msgspec import Struct

from shared.accounts.messages import Balance, Fill, Order, Position
from shared.envelope import Frame, RestReply
from shared.exchanges.base import Limits, Request
from shared.exchanges.output import Origin, Rejection
from shared.instruments import Instrument, InstrumentTable

__all__ = [
    "REFUSALS",
    "AccountAdapter",
    "AccountEndpoints",
    "AccountParser",
    "AccountPlan",
    "Call",
    "CatchUp",
    "CatchUpNeeds",
    "Credentials",
    "Dialogue",
    "Found",
    "SignedRequest",
    "Step",
    "StepKind",
    "refusal",
]

REFUSALS: Final = frozenset({"key", "signature", "clock", "permission", "address", "other"})
"""What a venue refuses a login or a signed call for: the word that :func:`refusal` begins with."""


def refusal(word: str, what: str) -> str:
    """Why the venue refuses, as :attr:`Step.detail` and :meth:`AccountAdapter.refused` say it: ``<word>: <what>``.

    ``clock`` means that the offset of the clocks is to be measured anew.
    """
    return f"{word}: {what}"


class Credentials:
    """An API key with its secret. Neither its text nor its repr shows them, and it can't be pickled or compared."""

    __slots__ = ("key", "secret")

    def __init__(self, key: str, secret: str) -> None:
        self.key = key
        self.secret = secret

    def __repr__(self) -> str:
        return "Credentials(**********)"

    def __reduce__(self) -> str:
        raise TypeError("credentials are not serialized")


class AccountEndpoints(Struct, frozen=True):
    """Base URLs of one private stream, without a trailing slash."""

    websocket: str
    rest: str


class AccountPlan(Struct, frozen=True):
    """One private connection to be held.

    ``products``: those whose events it carries; ``symbols``: native symbols that have to be asked for one by one,
    where the venue's REST endpoints demand it (from the settings). ``recv_window_ms``: how old a signed request may be
    when the venue gets it (from the settings).
    """

    name: str
    exchange: str
    account: str
    products: tuple[str, ...]
    endpoints: AccountEndpoints
    symbols: tuple[str, ...] = ()
    recv_window_ms: int = 5_000


class Call(Struct, frozen=True):
    """A REST call before it is signed: what goes into frames and logs.

    ``path`` begins with ``/``; ``parameters`` without key, time and signature; ``body`` JSON text or empty. ``signed``
    False: the venue wants the key alone, or nothing. ``weight`` is what it costs of the venue's REST weight.
    """

    method: str
    path: str
    parameters: tuple[tuple[str, str], ...] = ()
    weight: int = 1
    signed: bool = True
    body: str = ""


class SignedRequest:
    """A REST request ready to be sent: has secrets in it, so its repr shows method and path only."""

    __slots__ = ("body", "call", "headers", "method", "url")

    def __init__(self, call: Call, url: str, headers: Mapping[str, str], body: str = "") -> None:
        self.call = call
        self.method = call.method
        self.url = url
        self.headers = headers
        self.body = body

    def __repr__(self) -> str:
        return f"SignedRequest({self.method} {self.call.path})"


class StepKind(IntEnum):
    """What a message on a private socket is, to ingest."""

    DATA = 0  # goes into the journal
    CONTROL = 1  # an ack, a heartbeat: goes no further
    AUTHENTICATED = 2  # logged in and subscribed to everything: catch up now
    REFUSED = 3  # the venue refuses key, signature or time: trying again at once is no use
    BROKEN = 4  # this connection is of no use any more (announced end, expired key, refused topic): make a new one


class Step(NamedTuple):
    """What a :class:`Dialogue` says of a message or of the time: what it is, what to send, what to ask over REST.

    ``detail`` never holds a secret; :func:`refusal` made it where the kind is REFUSED. ``symbols``: native symbols that
    a data frame names, for venues whose REST endpoints want them one by one.
    """

    kind: StepKind
    send: tuple[str, ...] = ()
    calls: tuple[Call, ...] = ()
    detail: str | None = None
    symbols: tuple[str, ...] = ()


class Dialogue(Protocol):
    """One connection's life, sans I/O. A new object for each connection.

    Order: ``before`` → (its call, if any, is sent, the reply goes to ``replied``, which may ask for another one) →
    ``url`` → the socket opens → ``opened`` → ``received`` for every message, ``due`` at least every second, ``replied``
    for every call asked for → ``after``.
    """

    def before(self) -> Call | None:
        """What has to be asked over REST before there is a URL (a listen key)."""
        ...

    @property
    def url(self) -> str:
        """Where to connect; may hold a secret (a listen key)."""
        ...

    @property
    def label(self) -> str:
        """The same without secrets, for frames and logs."""
        ...

    def opened(self, now_ms: int) -> Step:
        """The socket is open: what to send first (a login, a subscription)."""
        ...

    def received(self, data: bytes, binary: bool, now_ms: int) -> Step:  # noqa: FBT001 - by position, once per message
        """Never raises; what can't be read is DATA, so that it reaches quarantine."""
        ...

    def due(self, now_ms: int) -> Step:
        """What the time demands: heartbeats, a renewal, an answer that never came (BROKEN). CONTROL where nothing."""
        ...

    def replied(self, call: Call, reply: RestReply) -> Step:
        """The reply to a call of this dialogue: CONTROL, REFUSED (bad key) or BROKEN (recreate the key)."""
        ...

    def after(self) -> Call | None:
        """What is to be told over REST when the connection has ended (a listen key is not wanted any more)."""
        ...


class CatchUpNeeds(Struct, frozen=True):
    """What a reconciliation is to find out: everything from ``since_ms`` to ``until_ms`` (venue's clock).

    ``symbols``: native symbols known to ingest, from the settings and from frames.
    """

    since_ms: int
    until_ms: int
    symbols: tuple[str, ...] = ()


class CatchUp(Protocol):
    """One reconciliation, page by page, sans I/O. All replies together become one frame of the stream.

    Asks at least: open orders, orders that ended since, executions since, balances, positions.
    """

    def begin(self) -> Sequence[Call]:
        """The first calls; they may be sent one after the other or at once."""
        ...

    def replied(self, call: Call, reply: RestReply) -> Sequence[Call]:
        """What has to be asked next (the next page, another window, a symbol that an open order named).

        Raises ParseError where the reply can't be used at all; the whole reconciliation is tried again then.
        """
        ...

    @property
    def covered_ms(self) -> int:
        """Up to when executions are complete once nothing is left to ask.

        That is ``until_ms``, or less where a bound on the number of pages was met; the next reconciliation goes on from
        there at once.
        """
        ...


class Found(Struct):
    """What frames say, before the account's state has judged it. Messages carry ``part`` 0.

    ``open_orders_of``: products of which ``orders`` holds all orders that are open (null: it was no such list), so
    that one that was open before and is not among them has ended.
    """

    orders: list[Order]
    fills: list[Fill]
    balances: list[Balance]
    positions: list[Position]
    rejections: list[Rejection]
    open_orders_of: tuple[str, ...] | None = None
    positions_of: tuple[str, ...] | None = None
    """The same for positions: one that was open and is not among them is flat."""
    changes: list[Balance] | None = None
    """Balances that only tell a change (``total`` … are null): the state adds them up where it knows the rest."""
    all_balances: bool = False
    """``balances`` holds every asset that is not zero: one that was held before and is not among them is zero."""


class AccountParser(Protocol):
    """Translates a stream's frames; keeps no state but instruments. Raises ParseError only.

    An enumeration value that decides what an order is (its status) and is not known raises ``unknown_event``; one that
    merely describes (type, time in force) becomes ``unknown``.
    """

    def data(self, origin: Origin, frame: Frame) -> Found:
        """A frame of kind TEXT or BINARY; elements that can't be read are ``rejections``, the others go on."""
        ...

    def caught_up(self, origin: Origin, replies: Sequence[RestReply]) -> Found:
        """All replies of one reconciliation, in the order of the answers; ``source`` is ``rest``."""
        ...


class AccountAdapter(Protocol):
    """One venue's private side."""

    @property
    def name(self) -> str:
        """The exchange's name."""
        ...

    @property
    def products(self) -> Mapping[str, AccountEndpoints]:
        """Products that accounts can have, with their documented endpoints."""
        ...

    def plan(
        self,
        account: str,
        products: Sequence[str],
        symbols: Sequence[str],
        endpoints: Mapping[str, AccountEndpoints],
    ) -> Sequence[AccountPlan]:
        """The connections that an account needs; ``symbols`` are native ones, ``endpoints`` by product."""
        ...

    def limits(self, plan: AccountPlan) -> Limits:
        """What the venue allows on private endpoints."""
        ...

    def clock(self, plan: AccountPlan) -> Call:
        """Asks the venue's time (unsigned)."""
        ...

    def clock_ms(self, reply: RestReply) -> int:
        """The venue's time of that reply; raises ParseError."""
        ...

    def refused(self, reply: RestReply) -> str | None:
        """Why a call was refused for its key, signature, time or address, made by :func:`refusal`; None: it was not."""
        ...

    def sign(self, plan: AccountPlan, call: Call, credentials: Credentials, now_ms: int) -> SignedRequest:
        """The request as the venue wants it."""
        ...

    def dialogue(self, plan: AccountPlan, credentials: Credentials) -> Dialogue:
        """For one connection."""
        ...

    def catch_up(self, plan: AccountPlan, needs: CatchUpNeeds) -> CatchUp:
        """For one reconciliation."""
        ...

    def instrument_requests(self, plan: AccountPlan) -> Sequence[Request]:
        """What to ask for the instrument lists of the plan's products (they go into the stream as REST frames)."""
        ...

    def next_instruments(self, plan: AccountPlan, request: Request, reply: RestReply) -> Request | None:
        """The request for the next page of an instrument list; raises ParseError."""
        ...

    def instruments(self, plan: AccountPlan, reply: RestReply) -> Sequence[Instrument]:
        """The instruments in a reply to one of those; empty where it is none."""
        ...

    def parser(self, plan: AccountPlan, instruments: Mapping[str, InstrumentTable]) -> AccountParser:
        """A new parser for one stream; ``instruments`` by product, filled by the caller from instrument lists."""
        ...
