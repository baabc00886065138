"""Topics, connections, subscription requests.

Spot has one kind of connection. USD-M has two: ``/public`` (book, quote) and ``/market`` (the rest); a topic on the
wrong one is accepted and stays silent. Both connections of a share of instruments stand next to each other:
``binance.usdm.0`` is ``/public`` and ``binance.usdm.1`` ``/market`` of the first share, ``.2`` and ``.3`` of the
second, and so on; where the feeds need only one of the two, numbers run through its shares.
"""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import json

from shared.exchanges.base import Action, Endpoints, Feed, Fetch, Poll, Request, Send, StreamPlan, Subscription
from shared.exchanges.binance.endpoints import SPOT, USDM, depth_url, open_interest_url
from shared.exchanges.binance.limits import (
    DEPTH_WEIGHT,
    LIMITS,
    OPEN_INTEREST_WEIGHT,
    REQUEST_BYTES,
    open_interest_interval,
)
from shared.exchanges.binance.symbols import EXCHANGE
from shared.exchanges.binance.topics import lowered
from shared.exchanges.sharding import share_within
from shared.instruments import Instrument, InstrumentKind

__all__ = ["CANDLE_INTERVAL", "PRODUCT_FEEDS", "plans", "snapshots", "subscribe"]

CANDLE_INTERVAL: Final = "1m"

_SUFFIXES: Final[Mapping[str, Mapping[Feed, str]]] = MappingProxyType(
    {
        SPOT: {
            Feed.TRADE: "trade",
            Feed.QUOTE: "bookTicker",
            Feed.BOOK: "depth@100ms",
            Feed.TICKER: "ticker",
            Feed.CANDLE: f"kline_{CANDLE_INTERVAL}",
        },
        USDM: {
            Feed.QUOTE: "bookTicker",
            Feed.BOOK: "depth@100ms",
            Feed.TRADE: "aggTrade",
            Feed.TICKER: "ticker",
            Feed.MARK_PRICE: "markPrice@1s",
            Feed.FUNDING: "markPrice@1s",
            Feed.LIQUIDATION: "forceOrder",
            Feed.CANDLE: f"kline_{CANDLE_INTERVAL}",
        },
    }
)

PRODUCT_FEEDS: Final[Mapping[str, frozenset[Feed]]] = MappingProxyType(
    {SPOT: frozenset(_SUFFIXES[SPOT]), USDM: frozenset(_SUFFIXES[USDM]) | {Feed.OPEN_INTEREST}}
)


class Socket(NamedTuple):
    """One kind of connection: its path below the base, and the feeds that come over it."""

    path: str
    feeds: frozenset[Feed]


_SOCKETS: Final[Mapping[str, tuple[Socket, ...]]] = MappingProxyType(
    {
        SPOT: (Socket("/stream", PRODUCT_FEEDS[SPOT]),),
        USDM: (
            Socket("/public/stream", frozenset({Feed.BOOK, Feed.QUOTE})),
            Socket("/market/stream", PRODUCT_FEEDS[USDM] - {Feed.BOOK, Feed.QUOTE}),
        ),
    }
)


def plans(
    product: str, instruments: Sequence[Instrument], feeds: frozenset[Feed], endpoints: Endpoints, streams: int
) -> list[StreamPlan]:
    """Connections for these feeds of these instruments, each within the venue's limits."""
    listed = {instrument.native_symbol: instrument for instrument in instruments}
    sockets = [Socket(socket.path, socket.feeds & feeds) for socket in _SOCKETS[product] if socket.feeds & feeds]
    if not listed or not sockets:
        return []
    topics = [
        {native: tuple(_of_instrument(product, one, socket.feeds)) for native, one in listed.items()}
        for socket in sockets
    ]
    limit = LIMITS[product].topics_per_connection

    def fits(natives: list[str]) -> bool:
        return all(sum(len(of_socket[native]) for native in natives) <= limit for of_socket in topics)

    interval = open_interest_interval(len(listed))
    made: list[StreamPlan] = []
    for natives in share_within(list(listed), -(-streams // len(sockets)), fits):
        for socket, of_socket in zip(sockets, topics, strict=True):
            subscriptions = tuple(one for native in natives for one in of_socket[native])
            polls = _polls(natives, endpoints.rest, interval) if Feed.OPEN_INTEREST in socket.feeds else ()
            if subscriptions or polls:
                name = f"{EXCHANGE}.{product}.{len(made)}"
                url = endpoints.websocket + socket.path
                made.append(StreamPlan(name, EXCHANGE, product, url, endpoints.rest, subscriptions, polls))
    return made


def subscribe(plan: StreamPlan, topics: Sequence[str]) -> list[Send]:
    """SUBSCRIBE requests for these topics. Symbols are raw UTF-8 in JSON."""
    return [_request(plan.name, chunk) for chunk in _chunks(topics, LIMITS[plan.product].topics_per_request)]


def snapshots(plan: StreamPlan, subscription: Subscription) -> list[Action]:
    """What a book needs to begin, or to begin again: a REST snapshot. Nothing else needs any."""
    if subscription.feed is not Feed.BOOK:
        return []
    url = depth_url(plan.product, plan.rest, subscription.native_symbol)
    return [Fetch(Request(url, DEPTH_WEIGHT[plan.product]))]


def _of_instrument(product: str, instrument: Instrument, feeds: frozenset[Feed]) -> Iterator[Subscription]:
    """One subscription per topic, in a fixed order."""
    native = instrument.native_symbol
    symbol = lowered(native)
    brought: dict[str, list[Feed]] = {}
    for feed, suffix in _SUFFIXES[product].items():
        if feed not in feeds or (feed is Feed.FUNDING and instrument.kind is not InstrumentKind.PERPETUAL):
            continue
        brought.setdefault(suffix, []).append(feed)
    for suffix, wanted in brought.items():
        # A frame is classified as the first feed that its stream brings, whatever was asked for.
        leading = next(feed for feed, one in _SUFFIXES[product].items() if one == suffix)
        also = tuple(feed for feed in wanted if feed is not leading)
        yield Subscription(f"{symbol}@{suffix}", leading, native, also, quiet=leading is Feed.LIQUIDATION)


def _polls(natives: Sequence[str], rest: str, interval: float) -> tuple[Poll, ...]:
    return tuple(Poll(Request(open_interest_url(rest, native), OPEN_INTEREST_WEIGHT), interval) for native in natives)


def _chunks(topics: Sequence[str], most: int) -> Iterator[list[str]]:
    """Runs of topics, within the number and the bytes of one request."""
    chunk: list[str] = []
    size = 0
    for topic in topics:
        length = len(topic.encode()) + len('"",')
        if chunk and (len(chunk) == most or size + length > REQUEST_BYTES - _WRAPPING):
            yield chunk
            chunk, size = [], 0
        chunk.append(topic)
        size += length
    if chunk:
        yield chunk


_WRAPPING: Final = 64
"""Bytes of a request around its topics, at most."""


def _request(stream: str, topics: list[str]) -> Send:
    """The id is made of what is asked for, so that it is the same wherever it is made and no two open ones meet."""
    digest = blake2b(" ".join((stream, *topics)).encode(), digest_size=6).digest()
    number = int.from_bytes(digest, "big")
    payload = json.encode({"method": "SUBSCRIBE", "params": topics, "id": number}).decode()
    return Send(payload, str(number), tuple(topics))
