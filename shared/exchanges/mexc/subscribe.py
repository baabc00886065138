"""Plans and subscription requests.

Spot takes many topics in a request and echoes its ``id``; futures one contract per frame, and its answers name neither
request nor contract. A request id of futures is therefore only ours: the topic itself.
"""

from collections.abc import Sequence
from hashlib import blake2b

from msgspec import json

from shared.exchanges.base import Action, Endpoints, Feed, Fetch, Send, StreamPlan, Subscription
from shared.exchanges.mexc.endpoints import SPOT, depth_request, socket_url
from shared.exchanges.mexc.limits import LIMITS, REQUEST_BYTES
from shared.exchanges.mexc.packing import pack
from shared.exchanges.mexc.symbols import EXCHANGE
from shared.exchanges.mexc.topics import TOPICS, TopicRule
from shared.instruments import Instrument

__all__ = ["plan", "seed", "subscribe"]

_encode = json.Encoder().encode

_PARAMETERS = {"sub.depth.full": "limit", "sub.kline": "interval"}


def plan(
    product: str, instruments: Sequence[Instrument], feeds: frozenset[Feed], endpoints: Endpoints, streams: int
) -> list[StreamPlan]:
    """Connections of at most 30 topics; all feeds of an instrument share one."""
    rules = [rule for rule in TOPICS[product] if not feeds.isdisjoint((rule.feed, *rule.also))]
    if not rules or not instruments:
        return []
    room = LIMITS[product].topics_per_connection // len(rules)
    shares = pack([instrument.native_symbol for instrument in instruments], streams, room)
    return [
        StreamPlan(
            f"{EXCHANGE}.{product}.{index}",
            EXCHANGE,
            product,
            socket_url(product, endpoints),
            endpoints.rest,
            tuple(_subscription(rule, symbol, feeds) for symbol in share for rule in rules),
        )
        for index, share in enumerate(shares)
    ]


def _subscription(rule: TopicRule, native_symbol: str, feeds: frozenset[Feed]) -> Subscription:
    also = tuple(feed for feed in rule.also if feed in feeds)
    return Subscription(rule.topic(native_symbol), rule.feed, native_symbol, also, rule.quiet)


def subscribe(product: str, topics: Sequence[str]) -> list[Send]:
    """The requests for these topics."""
    if product == SPOT:
        return [_spot_request(chunk) for chunk in _chunks(topics)]
    return [Send(_futures_request(topic), topic, (topic,)) for topic in topics]


def seed(product: str, rest: str, subscription: Subscription) -> list[Action]:
    """The snapshot that a book's deltas continue; no other feed needs one."""
    if subscription.feed is not Feed.BOOK:
        return []
    return [Fetch(depth_request(product, rest, subscription.native_symbol))]


def _chunks(topics: Sequence[str]) -> list[list[str]]:
    """Topics in groups, each a request of at most 30 topics and 1,024 bytes (a longer topic goes alone)."""
    most = LIMITS[SPOT].topics_per_request
    chunks: list[list[str]] = []
    for topic in topics:
        if chunks and len(chunks[-1]) < most and _size([*chunks[-1], topic]) <= REQUEST_BYTES:
            chunks[-1].append(topic)
        else:
            chunks.append([topic])
    return chunks


def _size(topics: Sequence[str]) -> int:
    return len(_spot_request(topics).payload.encode())


def _spot_request(topics: Sequence[str]) -> Send:
    # A positive 31-bit number made of the content: the same request has the same id, and 0 means "none" to the venue.
    number = int.from_bytes(blake2b("\n".join(topics).encode(), digest_size=4).digest(), "big") >> 1 or 1
    payload = _encode({"method": "SUBSCRIPTION", "params": topics, "id": number}).decode()
    return Send(payload, str(number), tuple(topics))


def _futures_request(topic: str) -> str:
    method, symbol, *parameter = topic.split("@")
    content: dict[str, str | int] = {"symbol": symbol}
    if parameter:
        value = parameter[0]
        content[_PARAMETERS[method]] = int(value) if value.isdigit() else value
    return _encode({"method": method, "param": content}).decode()
