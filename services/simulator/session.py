"""The conversation with one client, without a socket: text in, actions out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Abort", "Action", "Close", "Ping", "Reply", "RestReply", "Session", "Subscribe", "Unsubscribe"]


@dataclass(frozen=True, slots=True)
class Reply:
    """Send this text to the client."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Subscribe:
    """Start this topic; ``silent`` says that it was acknowledged but will never carry data."""

    topic: str
    silent: bool = False


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """Stop this topic."""

    topic: str


@dataclass(frozen=True, slots=True)
class Ping:
    """Send a protocol ping."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Close:
    """Close with a close frame."""

    code: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Abort:
    """Cut the connection without a close frame (the client sees 1006)."""

    why: str


Action = Reply | Subscribe | Unsubscribe | Ping | Close | Abort


@dataclass(frozen=True, slots=True)
class RestReply:
    """An HTTP answer."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class Session(ABC):
    """Base of the venues' sessions. ``knows`` tells whether a topic exists; times are nanoseconds.

    ``variant`` names the form in which data leaves (Binance: raw or combined): connections of one variant share bytes.
    """

    def __init__(self, knows: Callable[[str], bool], now_ns: int, deadline_scale: float) -> None:
        self.knows = knows
        self.opened_ns = now_ns
        self.last_client_ns = now_ns
        self.topics: dict[str, None] = {}
        self._second = int(1_000_000_000 * deadline_scale)

    @property
    def variant(self) -> str:
        """The form in which data leaves."""
        return ""

    def opened(self, now_ns: int) -> list[Action]:
        """What the venue does at once."""
        del now_ns
        return []

    @abstractmethod
    def receive(self, text: str, now_ns: int) -> list[Action]:
        """What the venue does about one text message."""

    def pinged(self, now_ns: int) -> None:
        """The client sent a protocol ping, which the server answers."""
        del now_ns

    def ponged(self, now_ns: int) -> None:
        """The client answered a protocol ping (or sent a pong of its own)."""
        self.last_client_ns = now_ns

    def tick(self, now_ns: int, last_data_ns: int) -> list[Action]:
        """What the venue does because time went by: pings, closes."""
        del now_ns, last_data_ns
        return []

    def shutdown_notice(self, now_ns: int) -> list[Action]:
        """What the venue says before it shuts down, where it says anything."""
        del now_ns
        return []

    def wrap(self, topic: str, payload: bytes) -> bytes:
        """The payload in this connection's variant."""
        del topic
        return payload

    def seconds(self, count: float) -> int:
        """A venue's deadline, scaled, in nanoseconds."""
        return int(count * self._second)
