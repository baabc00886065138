"""What a venue's product is to the rest of the simulator."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from services.simulator.engine import Market
from services.simulator.session import RestReply, Session
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import Topic

__all__ = ["Query", "Venue"]

Query = Mapping[str, str]


class Venue(ABC):
    """One product of one exchange: markets, topics (made when first asked for, kept), sessions, REST.

    ``snapshot_path`` is what the REST path of an order-book snapshot contains (faults on snapshots go by it).
    """

    exchange = ""
    product = ""
    snapshot_path = "\0"

    def __init__(self, markets: dict[str, Market], settings: SimulatorSettings) -> None:
        self.markets = markets
        self.settings = settings
        self._topics: dict[str, Topic] = {}

    def find(self, name: str) -> Topic | None:
        """The topic of this name; None where there is no such thing."""
        topic = self._topics.get(name)
        if topic is None:
            topic = self.make(name)
            if topic is not None:
                self._topics[name] = topic
        return topic

    @abstractmethod
    def make(self, name: str) -> Topic | None:
        """A new topic; names are the venue's own, and there are finitely many."""

    @abstractmethod
    def session(self, path: str, query: Query, knows: Callable[[str], bool], now_ns: int) -> Session | None:
        """The conversation on a WebSocket path below the base; None where there is none (404)."""

    @abstractmethod
    def rest(self, path: str, query: Query, now_ns: int) -> RestReply:
        """The answer to a GET."""

    @abstractmethod
    def snapshot(self, symbol: str, now_ns: int) -> RestReply:
        """The REST answer with this instrument's whole book, as of now."""

    @abstractmethod
    def refusal(self, status: int) -> RestReply:
        """How the venue words a refusal with this HTTP status (rate limit, ban, failure)."""
