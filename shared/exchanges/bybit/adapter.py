"""The object that the registry holds."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from shared.errors import ParseError
from shared.exchanges.base import (
    DATA,
    MOST_ROUTES,
    Action,
    Adapter,
    Endpoints,
    Feed,
    FrameClass,
    Heartbeat,
    Limits,
    Parser,
    Request,
    Route,
    Send,
    StreamPlan,
    Subscription,
)
from shared.exchanges.bybit import subscribe, symbols
from shared.exchanges.bybit.endpoints import ENDPOINTS, NAME, instruments_url
from shared.exchanges.bybit.limits import HEARTBEAT, LIMITS
from shared.exchanges.bybit.parser import BybitParser, leading_topic
from shared.exchanges.bybit.wire import FRAME_HEAD, Head, decode
from shared.instruments import Instrument, InstrumentTable

__all__ = ["ADAPTER", "BybitAdapter"]

_BEAT: Final = Route(FrameClass.HEARTBEAT)
_TOPIC_AT: Final = 10
"""Behind ``{"topic":"``."""


class BybitAdapter:
    """See :class:`shared.exchanges.base.Adapter`."""

    def __init__(self) -> None:
        self._routes: dict[str, dict[bytes, Route]] = {product: {} for product in ENDPOINTS}
        """By product and the frame's bytes up to the quote behind a leading topic."""

    @property
    def name(self) -> str:
        """``bybit``."""
        return NAME

    @property
    def products(self) -> Mapping[str, Endpoints]:
        """``spot``, ``linear``, ``inverse``."""
        return ENDPOINTS

    def feeds(self, product: str) -> frozenset[Feed]:
        """Spot has no liquidations, funding, mark price or open interest."""
        return subscribe.FEEDS[product]

    def limits(self, product: str) -> Limits:
        """What the venue allows."""
        return LIMITS[product]

    def heartbeat(self, product: str) -> Heartbeat | None:
        """The same for every product."""
        return HEARTBEAT if product in ENDPOINTS else None

    def instrument_requests(self, product: str, endpoints: Endpoints) -> Sequence[Request]:
        """The first page; see :meth:`next_page`."""
        return [Request(instruments_url(product, endpoints))]

    def next_page(self, product: str, request: Request, body: bytes) -> Request | None:
        """The venue's cursor; raises ParseError."""
        return symbols.next_page(product, request, body)

    def instruments(self, product: str, body: bytes) -> Sequence[Instrument]:
        """One page; raises ParseError."""
        return symbols.instruments(product, body)

    def named(self, product: str, native_symbol: str) -> Instrument | None:
        """By the documented forms of a name."""
        return symbols.named(product, native_symbol)

    def plan(
        self,
        product: str,
        instruments: Sequence[Instrument],
        feeds: frozenset[Feed],
        endpoints: Endpoints,
        streams: int,
    ) -> Sequence[StreamPlan]:
        """Connections within the bound of 21,000 characters of topics."""
        return subscribe.plan(product, instruments, feeds, endpoints, streams)

    def subscribe(self, plan: StreamPlan, topics: Sequence[str]) -> Sequence[Send]:
        """Requests of at most 10 topics (spot) or 100."""
        return subscribe.subscribe(plan.product, topics)

    def classify(self, product: str, data: bytes, binary: bool) -> Route:  # noqa: ARG002, FBT001 - every frame is text
        """By the topic at the front; what has none there is decoded as far as it takes."""
        routes = self._routes[product]
        begin = data[: data.find(b'"', _TOPIC_AT) + 1]
        route = routes.get(begin)
        if route is not None:
            return route
        name = leading_topic(data)
        if name is not None:
            route = _route(product, name)
            if route is not DATA and len(routes) < MOST_ROUTES:
                routes[begin] = route
            return route
        try:
            head = decode(FRAME_HEAD, data)
        except ParseError:
            return DATA
        return _control(head) if head.topic is None else _route(product, head.topic.encode())

    def seed(self, plan: StreamPlan, subscription: Subscription) -> Sequence[Action]:  # noqa: ARG002
        """Nothing: the stream itself begins with a snapshot."""
        return []

    def resync(self, plan: StreamPlan, subscription: Subscription) -> Sequence[Action]:  # noqa: ARG002
        """Unsubscribe and subscribe, for books and tickers."""
        return subscribe.resync(subscription)

    def parser(self, product: str, instruments: InstrumentTable) -> Parser:
        """A new parser for one stream."""
        return BybitParser(product, instruments)


@lru_cache(maxsize=16_384)
def _route(product: str, name: bytes) -> Route:
    try:
        of = subscribe.topic(name.decode())
    except UnicodeDecodeError:
        return DATA
    if of is None:
        return DATA
    return Route(FrameClass.DATA, of.feed, of.native_symbol, subscribe.overflow(product, of.feed))


def _control(head: Head) -> Route:
    answer = subscribe.ack(head)
    if answer is not None:
        return Route(FrameClass.ACK, ack=answer)
    if head.op in {"ping", "pong"} or head.ret_msg == "pong":
        return _BEAT
    if head.success is False:
        return Route(FrameClass.ERROR, detail=head.ret_msg[:200] or "refused")
    return _BEAT if head.success else DATA


ADAPTER: Final[Adapter] = BybitAdapter()
