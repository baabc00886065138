"""Topics: what is subscribed to for each feed, and what a topic's frames are to ingest."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from shared.exchanges.base import Feed, Overflow
from shared.exchanges.mexc.endpoints import FUTURES, SPOT

__all__ = ["CANDLE_INTERVAL", "FEEDS", "FUTURES_CHANNELS", "TOPICS", "Channel", "TopicRule", "spot_channel"]

CANDLE_INTERVAL: Final = "Min1"


class TopicRule(NamedTuple):
    """How the topic of a feed is written; feeds in ``also`` come with it. ``quiet`` as in ``Subscription``."""

    feed: Feed
    topic: Callable[[str], str]
    also: tuple[Feed, ...] = ()
    quiet: bool = False


# Spot. Trades every 10 ms: a frame comes only when there were trades, so the shorter interval costs nothing when the
# market is calm and saves up to 90 ms. Quotes every 100 ms: at 10 ms an unchanged quote is sent again each time, 100
# frames a second per instrument (observed 2026-09). Books every 100 ms: at 10 ms a busy book sends ten times the frames
# for the same levels, and a consumer that needs the touch sooner has the trades.
#
# miniTicker is parsed and not subscribed to: its JSON version was withdrawn in 2025 and is refused as "Blocked!",
# nobody was seen to receive the protobuf one, and one more of a connection's thirty topics per instrument is a high
# price for it.
#
# Futures. A topic is written as the venue's method, the contract, and the parameter if there is one; ``subscribe``
# makes the request of it. The quote is the top of sub.depth.full (0.3 to 0.8 s on a busy contract): push.ticker has
# prices without sizes every 2.75 s. Open interest has no channel of its own: it is a field of the ticker. How often
# funding rates come is documented nowhere (about once a minute, it seems): no first frame is no fault.
TOPICS: Final[Mapping[str, tuple[TopicRule, ...]]] = {
    SPOT: (
        TopicRule(Feed.TRADE, "spot@public.aggre.deals.v3.api.pb@10ms@{}".format),
        TopicRule(Feed.QUOTE, "spot@public.aggre.bookTicker.v3.api.pb@100ms@{}".format),
        TopicRule(Feed.BOOK, "spot@public.aggre.depth.v3.api.pb@100ms@{}".format),
        TopicRule(Feed.CANDLE, f"spot@public.kline.v3.api.pb@{{}}@{CANDLE_INTERVAL}".format),
    ),
    FUTURES: (
        TopicRule(Feed.TRADE, "sub.deal@{}".format),
        TopicRule(Feed.QUOTE, "sub.depth.full@{}@5".format),
        TopicRule(Feed.TICKER, "sub.ticker@{}".format, also=(Feed.OPEN_INTEREST,)),
        TopicRule(Feed.BOOK, "sub.depth@{}".format),
        TopicRule(Feed.FUNDING, "sub.funding.rate@{}".format, quiet=True),
        TopicRule(Feed.MARK_PRICE, "sub.fair.price@{}".format),
        TopicRule(Feed.CANDLE, f"sub.kline@{{}}@{CANDLE_INTERVAL}".format),
    ),
}

FEEDS: Final[Mapping[str, frozenset[Feed]]] = {
    product: frozenset(feed for rule in rules for feed in (rule.feed, *rule.also)) for product, rules in TOPICS.items()
}
"""The feeds of each product."""


class Channel(NamedTuple):
    """What a channel's frames are to ingest. ``symbol``: which ``@`` part of a spot channel names the instrument."""

    feed: Feed
    overflow: Overflow
    symbol: int | None = None


SPOT_CHANNELS: Final[Mapping[str, Channel]] = {
    "public.aggre.deals.v3.api.pb": Channel(Feed.TRADE, Overflow.SHED, 3),
    "public.aggre.bookTicker.v3.api.pb": Channel(Feed.QUOTE, Overflow.CONFLATE, 3),
    "public.bookTicker.batch.v3.api.pb": Channel(Feed.QUOTE, Overflow.CONFLATE, 2),
    "public.aggre.depth.v3.api.pb": Channel(Feed.BOOK, Overflow.RESYNC, 3),
    "public.limit.depth.v3.api.pb": Channel(Feed.BOOK, Overflow.CONFLATE, 2),
    "public.kline.v3.api.pb": Channel(Feed.CANDLE, Overflow.SHED, 2),
    "public.miniTicker.v3.api.pb": Channel(Feed.TICKER, Overflow.CONFLATE, 2),
    "public.miniTickers.v3.api.pb": Channel(Feed.TICKER, Overflow.CONFLATE),
}


def spot_channel(channel: str) -> tuple[Channel | None, str | None]:
    """What is known of a spot channel (None: nothing), and the instrument in its name (None: it names none)."""
    parts = channel.split("@")
    known = SPOT_CHANNELS.get(parts[1]) if len(parts) > 1 else None
    if known is None or known.symbol is None or known.symbol >= len(parts):
        return known, None
    return known, parts[known.symbol]


FUTURES_CHANNELS: Final[Mapping[bytes, Channel]] = {
    b"push.deal": Channel(Feed.TRADE, Overflow.SHED),
    b"push.depth.full": Channel(Feed.QUOTE, Overflow.CONFLATE),
    b"push.ticker": Channel(Feed.TICKER, Overflow.CONFLATE),
    b"push.tickers": Channel(Feed.TICKER, Overflow.CONFLATE),
    b"push.depth": Channel(Feed.BOOK, Overflow.RESYNC),
    b"push.funding.rate": Channel(Feed.FUNDING, Overflow.CONFLATE),
    b"push.fair.price": Channel(Feed.MARK_PRICE, Overflow.CONFLATE),
    # An index price says nothing of the fair price: it must not replace a waiting one.
    b"push.index.price": Channel(Feed.MARK_PRICE, Overflow.SHED),
    b"push.kline": Channel(Feed.CANDLE, Overflow.SHED),
}
