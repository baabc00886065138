"""What the private side of a venue is to the rest of the simulator."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import parse_qsl

from services.simulator import protobuf
from services.simulator.accounts.account import Account
from services.simulator.accounts.keyring import Checked, Keyring
from services.simulator.accounts.records import Happening
from services.simulator.accounts.view import View
from services.simulator.accounts.wallet import Wallet
from services.simulator.engine import Market
from services.simulator.session import Action, RestReply, Session
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import Message, encode_json
from services.simulator.venues.base import Query, Venue

__all__ = ["HttpRequest", "Markets", "PrivateMessage", "PrivateSession", "PrivateVenue"]

Markets = Mapping[tuple[str, str], Market]
"""One exchange's markets by (product, native symbol)."""


@dataclass(frozen=True)
class HttpRequest:
    """A REST request. ``query`` and ``body`` are as they came, for they are what is signed; header names are lower."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""

    @cached_property
    def parameters(self) -> dict[str, str]:
        """Of query and form body, decoded; the last of a name counts."""
        form = self.body if not self.body.startswith("{") else ""
        return dict(parse_qsl(self.query, keep_blank_values=True) + parse_qsl(form, keep_blank_values=True))

    def header(self, name: str) -> str:
        """A header; empty where it is missing."""
        return self.headers.get(name.lower(), "")


@dataclass(frozen=True, slots=True)
class PrivateMessage:
    """One message of a private stream before it is encoded.

    ``name`` is what a session subscribes to; ``feed`` is order, fill (also of an order that was filled, where one
    message tells both), balance, position or control; ``product`` and ``symbol`` are empty where it names none.
    """

    name: str
    feed: str
    product: str
    symbol: str
    body: Message
    account: str = ""
    binary: bool = False

    def encode(self, message: Message) -> bytes:
        """The message's bytes."""
        return protobuf.encode(message) if self.binary else encode_json(message)


class PrivateSession(Session):
    """A conversation that can log in. Nothing private is sent before ``account`` is set."""

    account: Account | None = None
    wallet = ""

    @abstractmethod
    def wants(self, message: PrivateMessage) -> bool:
        """Whether this session asked for it."""

    def left(self) -> None:
        """The connection ended."""

    def expired(self, now_ns: int) -> list[Action]:
        """What the venue does when the stream's key expires; nothing where there is no such key."""
        del now_ns
        return []


class PrivateVenue(ABC):
    """One wallet of one exchange: how it talks about it on sockets and over REST.

    Times passed in are the venue's own clock (ns).
    """

    exchange = ""
    wallet = ""
    socket_path = "\0"
    """What private WebSocket paths begin with."""

    def __init__(self, keyring: Keyring, markets: Markets, settings: SimulatorSettings) -> None:
        self.keyring = keyring
        self.markets = markets
        self.settings = settings

    def leads(self, path: str, query: Query) -> bool:
        """Whether a WebSocket path is for private streams alone."""
        del query
        return path.startswith(self.socket_path)

    @abstractmethod
    def session(
        self, venue: Venue, path: str, query: Query, knows: Callable[[str], bool], now_ns: int
    ) -> Session | None:
        """The conversation on a private WebSocket path; None where it is none."""

    @abstractmethod
    def serves(self, path: str) -> bool:
        """Whether a REST path is private."""

    @abstractmethod
    def key(self, request: HttpRequest) -> str:
        """The API key that a request names."""

    @abstractmethod
    def check(self, request: HttpRequest, now_ns: int) -> Checked | RestReply:
        """Whose request it is; a refusal where it is nobody's."""

    @abstractmethod
    def limited(self, account: Account, request: HttpRequest, now_ns: int) -> RestReply | None:
        """A refusal where it was asked too often."""

    @abstractmethod
    def answer(self, account: Account, view: View, request: HttpRequest, now_ns: int) -> RestReply:
        """The answer to a request that may be answered."""

    @abstractmethod
    def messages(self, account: Account, wallet: Wallet, happening: Happening, now_ns: int) -> list[PrivateMessage]:
        """What the venue says of it, in the order in which it does."""

    def own(self, account: Account) -> Wallet:
        """The account's wallet of this venue."""
        return account.wallets[self.wallet]

    def headers(self, account: Account, request: HttpRequest) -> dict[str, str]:
        """Headers that tell how much may still be asked."""
        del account, request
        return {}

    def scaled(self, limit: float) -> float:
        """A venue's limit of requests, as the settings scale it."""
        return limit * self.settings.rest_limit_scale
