"""The object that the registry holds."""

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
from shared.exchanges.binance.classify import classify
from shared.exchanges.binance.endpoints import PRODUCTS, instruments_url
from shared.exchanges.binance.limits import INSTRUMENTS_WEIGHT, LIMITS
from shared.exchanges.binance.parser import BinanceParser
from shared.exchanges.binance.subscribe import PRODUCT_FEEDS, plans, snapshots, subscribe
from shared.exchanges.binance.symbols import EXCHANGE, instruments_of, named
from shared.instruments import Instrument, InstrumentTable

__all__ = ["BinanceAdapter"]


class BinanceAdapter:
    """Binance spot and USD-M futures, public market data. See :class:`shared.exchanges.base.Adapter`."""

    def __init__(self) -> None:
        self._routes: dict[bytes, Route] = {}

    @property
    def name(self) -> str:
        """``binance``."""
        return EXCHANGE

    @property
    def products(self) -> Mapping[str, Endpoints]:
        """``spot`` and ``usdm``."""
        return PRODUCTS

    def feeds(self, product: str) -> frozenset[Feed]:
        """Spot has no derivatives' feeds."""
        return PRODUCT_FEEDS[product]

    def limits(self, product: str) -> Limits:
        """See :mod:`shared.exchanges.binance.limits`."""
        return LIMITS[product]

    def heartbeat(self, product: str) -> Heartbeat | None:  # noqa: ARG002 - the protocol's signature
        """None: the venue sends WebSocket pings, pongs suffice."""
        return None

    def instrument_requests(self, product: str, endpoints: Endpoints) -> Sequence[Request]:
        """The whole list, in one reply."""
        return (Request(instruments_url(product, endpoints.rest), INSTRUMENTS_WEIGHT[product]),)

    def next_page(self, product: str, request: Request, body: bytes) -> Request | None:  # noqa: ARG002 - as above
        """None: there are no pages."""
        return None

    def instruments(self, product: str, body: bytes) -> Sequence[Instrument]:
        """The instruments of an ``exchangeInfo`` reply; raises ParseError."""
        return instruments_of(product, body)

    def named(self, product: str, native_symbol: str) -> Instrument | None:
        """By quote asset and ``_YYMMDD``; see :func:`shared.exchanges.binance.symbols.named`."""
        return named(product, native_symbol)

    def plan(
        self,
        product: str,
        instruments: Sequence[Instrument],
        feeds: frozenset[Feed],
        endpoints: Endpoints,
        streams: int,
    ) -> Sequence[StreamPlan]:
        """See :func:`shared.exchanges.binance.subscribe.plans` for the order of USD-M's two kinds of connections."""
        return plans(product, instruments, feeds, endpoints, streams)

    def subscribe(self, plan: StreamPlan, topics: Sequence[str]) -> Sequence[Send]:
        """SUBSCRIBE requests."""
        return subscribe(plan, topics)

    def classify(self, product: str, data: bytes, binary: bool) -> Route:  # noqa: ARG002, FBT001 - as above
        """By the first bytes of a frame."""
        return classify(data, self._routes)

    def seed(self, plan: StreamPlan, subscription: Subscription) -> Sequence[Action]:
        """A REST snapshot for a book, now that its updates flow."""
        return snapshots(plan, subscription)

    def resync(self, plan: StreamPlan, subscription: Subscription) -> Sequence[Action]:
        """A REST snapshot for a book; nothing else keeps state that a request could restore."""
        return snapshots(plan, subscription)

    def parser(self, product: str, instruments: InstrumentTable) -> Parser:
        """A parser for one stream."""
        return BinanceParser(product, instruments)
