"""Topics, plans, subscription requests and what answers them. Source: docs/v5/websocket/wss-authentication.mdx."""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from msgspec import json

from shared.exchanges.base import Ack, Action, Endpoints, Feed, Overflow, Send, StreamPlan, Subscription
from shared.exchanges.bybit.endpoints import NAME, stream_url
from shared.exchanges.bybit.limits import CONNECTION_CHARACTERS, LIMITS, SEPARATOR
from shared.exchanges.bybit.wire import Head
from shared.exchanges.sharding import share_within
from shared.instruments import Instrument, InstrumentKind

__all__ = [
    "CONTROL_OPS",
    "FEEDS",
    "INTERVALS",
    "Topic",
    "ack",
    "overflow",
    "plan",
    "resync",
    "subscribe",
    "topic",
]

BOOK_DEPTH: Final = "50"
CANDLE_INTERVAL: Final = "1"

INTERVALS: Final[Mapping[str, str]] = {
    "1": "1m",
    "3": "3m",
    "5": "5m",
    "15": "15m",
    "30": "30m",
    "60": "1h",
    "120": "2h",
    "240": "4h",
    "360": "6h",
    "720": "12h",
    "D": "1d",
    "W": "1w",
    "M": "1M",
}
"""The venue's candle intervals and their canonical names."""

CONTROL_OPS: Final = frozenset({"auth", "ping", "pong", "subscribe", "unsubscribe"})

_SPOT_FEEDS: Final = frozenset({Feed.TRADE, Feed.QUOTE, Feed.TICKER, Feed.BOOK, Feed.CANDLE})

FEEDS: Final[Mapping[str, frozenset[Feed]]] = {
    "spot": _SPOT_FEEDS,
    "linear": frozenset(Feed),
    "inverse": frozenset(Feed),
}

_CHANNELS: Final[Mapping[str, Feed]] = {
    "publicTrade": Feed.TRADE,
    "tickers": Feed.TICKER,
    "allLiquidation": Feed.LIQUIDATION,
}

_ONLY_IN_TICKERS: Final = (Feed.FUNDING, Feed.MARK_PRICE, Feed.OPEN_INTEREST)
"""What has no channel of its own: derivative tickers bring it."""

_encode: Final = json.Encoder().encode


class Topic(NamedTuple):
    """A topic taken apart: ``variant`` is the depth of a book or the venue's name of a candle interval."""

    feed: Feed
    native_symbol: str
    variant: str = ""


def topic(text: str) -> Topic | None:
    """The parts of a topic that this adapter understands, else None."""
    channel, _, rest = text.partition(".")
    feed = _CHANNELS.get(channel)
    if feed is not None:
        return Topic(feed, rest) if rest else None
    variant, _, native_symbol = rest.partition(".")
    if not native_symbol:
        return None
    if channel == "orderbook" and variant.isascii() and variant.isdigit() and len(variant) <= 4 and variant[0] != "0":
        return Topic(Feed.QUOTE if variant == "1" else Feed.BOOK, native_symbol, variant)
    if channel == "kline" and variant in INTERVALS:
        return Topic(Feed.CANDLE, native_symbol, variant)
    return None


def overflow(product: str, feed: Feed) -> Overflow:
    """What may be done to a waiting frame: derivative tickers are partial updates, spot tickers are complete."""
    if feed is Feed.BOOK:
        return Overflow.RESYNC
    if feed is Feed.TICKER:
        return Overflow.CONFLATE if product == "spot" else Overflow.RESYNC
    return Overflow.CONFLATE if feed is Feed.QUOTE else Overflow.SHED


def subscriptions(product: str, instrument: Instrument, feeds: frozenset[Feed]) -> list[Subscription]:
    """The topics that bring these feeds of an instrument."""
    symbol = instrument.native_symbol
    tickers: tuple[Feed, ...] = () if product == "spot" else _ONLY_IN_TICKERS
    if instrument.kind is InstrumentKind.FUTURE:
        tickers = tuple(feed for feed in tickers if feed is not Feed.FUNDING)
    known = [
        Subscription(f"publicTrade.{symbol}", Feed.TRADE, symbol),
        Subscription(f"orderbook.1.{symbol}", Feed.QUOTE, symbol),
        Subscription(f"tickers.{symbol}", Feed.TICKER, symbol, tickers),
        Subscription(f"orderbook.{BOOK_DEPTH}.{symbol}", Feed.BOOK, symbol),
        Subscription(f"allLiquidation.{symbol}", Feed.LIQUIDATION, symbol, quiet=True),
        Subscription(f"kline.{CANDLE_INTERVAL}.{symbol}", Feed.CANDLE, symbol),
    ]
    wanted = feeds & FEEDS[product]
    return [item for item in known if not wanted.isdisjoint((item.feed, *item.also))]


def plan(
    product: str, instruments: Sequence[Instrument], feeds: frozenset[Feed], endpoints: Endpoints, streams: int
) -> list[StreamPlan]:
    """Connections that hold the instruments' topics, within the venue's bound on their text."""
    topics = {one.native_symbol: subscriptions(product, one, feeds) for one in instruments}
    topics = {symbol: items for symbol, items in topics.items() if items}

    def fits(symbols: list[str]) -> bool:
        items = [item for symbol in symbols for item in topics[symbol]]
        characters = sum(len(item.topic) + SEPARATOR for item in items)
        return len(items) <= LIMITS[product].topics_per_connection and characters <= CONNECTION_CHARACTERS

    shares = [symbols for symbols in share_within([*topics], streams, fits) if symbols]
    return [
        StreamPlan(
            f"{NAME}.{product}.{index}",
            NAME,
            product,
            stream_url(product, endpoints),
            endpoints.rest,
            tuple(item for symbol in symbols for item in topics[symbol]),
        )
        for index, symbols in enumerate(shares)
    ]


def subscribe(product: str, topics: Sequence[str]) -> list[Send]:
    """Subscription requests, none with more topics than the venue takes."""
    size = LIMITS[product].topics_per_request
    return [_request("subscribe", topics[start : start + size]) for start in range(0, len(topics), size)]


def resync(subscription: Subscription) -> list[Action]:
    """Unsubscribe and subscribe: a repeated subscription alone is refused with "already subscribed".

    Only books and merged tickers have a snapshot that is worth asking for.
    """
    if subscription.feed not in {Feed.BOOK, Feed.TICKER}:
        return []
    topics = (subscription.topic,)
    return [_request("unsubscribe", topics)._replace(topics=()), _request("subscribe", topics)]


def _request(op: str, topics: Sequence[str]) -> Send:
    request_id = blake2b(" ".join((op, *topics)).encode(), digest_size=8).hexdigest()
    payload = _encode({"req_id": request_id, "op": op, "args": [*topics]}).decode()
    return Send(payload, request_id, tuple(topics))


def ack(head: Head) -> Ack | None:
    """How a frame answers a subscription request; None where it does not.

    One answer covers the whole request. A refusal names at most one topic; whether the others of the request were
    taken is not documented, so they may be tried again: one that was taken then answers "already subscribed".
    """
    request_id = head.req_id or None
    if head.success is None or head.op not in {"subscribe", "unsubscribe"}:
        return None
    if head.op == "unsubscribe":
        return Ack(request_id, accepted=()) if head.success else None
    if head.success:
        return Ack(request_id)
    named = _named_topics(head.ret_msg)
    if named and "already subscribed" in head.ret_msg:
        return Ack(request_id, accepted=named)
    return Ack(request_id, (), tuple((name, head.ret_msg) for name in named), head.ret_msg or "refused")


def _named_topics(message: str) -> tuple[str, ...]:
    _, _, names = message.partition("topic:")
    return tuple(_stripped(names.split(",")))


def _stripped(names: Iterable[str]) -> list[str]:
    return [name for name in (name.strip() for name in names) if name]
