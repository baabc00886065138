"""MEXC as ingest and normalizers see it."""

from collections.abc import Mapping, Sequence

from shared.exchanges.base import (
    Action,
    Endpoints,
    Feed,
    Heartbeat,
    Limits,
    Parser,
    Request,
    Route,
    Send,
    StreamPlan,
    Subscription,
)
from shared.exchanges.mexc import subscribe
from shared.exchanges.mexc.classify import classify_futures, classify_spot
from shared.exchanges.mexc.endpoints import PRODUCTS, SPOT, instrument_request
from shared.exchanges.mexc.futures_parser import FuturesParser
from shared.exchanges.mexc.limits import HEARTBEATS, LIMITS
from shared.exchanges.mexc.spot_parser import SpotParser
from shared.exchanges.mexc.symbols import EXCHANGE, futures_instruments, spot_instruments
from shared.exchanges.mexc.topics import FEEDS
from shared.instruments import Instrument, InstrumentTable

__all__ = ["Mexc"]


class Mexc:
    """Spot (protobuf) and futures (JSON)."""

    def __init__(self) -> None:
        self._spot_routes: dict[bytes, Route] = {}

    @property
    def name(self) -> str:
        """``mexc``."""
        return EXCHANGE

    @property
    def products(self) -> Mapping[str, Endpoints]:
        """``spot`` and ``futures``."""
        return PRODUCTS

    def feeds(self, product: str) -> frozenset[Feed]:
        """Neither product publishes liquidations; spot has no ticker that can be relied on (see ``topics``)."""
        return FEEDS[product]

    def limits(self, product: str) -> Limits:
        """See ``limits``."""
        return LIMITS[product]

    def heartbeat(self, product: str) -> Heartbeat | None:
        """A ping in JSON every 20 s (spot) or 15 s (futures)."""
        return HEARTBEATS[product]

    def instrument_requests(self, product: str, endpoints: Endpoints) -> Sequence[Request]:
        """One request: the lists have one page."""
        return [instrument_request(product, endpoints.rest)]

    def next_page(self, product: str, request: Request, body: bytes) -> Request | None:
        """There is none."""
        del product, request, body
        return None

    def instruments(self, product: str, body: bytes) -> Sequence[Instrument]:
        """The instruments of a list; raises ParseError."""
        return spot_instruments(body) if product == SPOT else futures_instruments(body)

    def named(self, product: str, native_symbol: str) -> Instrument | None:
        """None: no name tells all that is needed (see ``symbols``)."""
        del product, native_symbol
        return None

    def plan(
        self,
        product: str,
        instruments: Sequence[Instrument],
        feeds: frozenset[Feed],
        endpoints: Endpoints,
        streams: int,
    ) -> Sequence[StreamPlan]:
        """Connections of at most 30 topics."""
        return subscribe.plan(product, instruments, feeds, endpoints, streams)

    def subscribe(self, plan: StreamPlan, topics: Sequence[str]) -> Sequence[Send]:
        """Requests within the venue's limits; one per topic of futures."""
        return subscribe.subscribe(plan.product, topics)

    def classify(self, product: str, data: bytes, binary: bool) -> Route:  # noqa: FBT001 - as the protocol has it
        """What a frame is, from its beginning."""
        return classify_spot(data, self._spot_routes, binary=binary) if product == SPOT else classify_futures(data)

    def seed(self, plan: StreamPlan, subscription: Subscription) -> Sequence[Action]:
        """The REST snapshot of a book."""
        return subscribe.seed(plan.product, plan.rest, subscription)

    def resync(self, plan: StreamPlan, subscription: Subscription) -> Sequence[Action]:
        """The same: a snapshot over REST is fresh at any time."""
        return subscribe.seed(plan.product, plan.rest, subscription)

    def parser(self, product: str, instruments: InstrumentTable) -> Parser:
        """A parser for one stream."""
        return SpotParser(instruments) if product == SPOT else FuturesParser(instruments)
