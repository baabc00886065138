"""Binance USD-M futures: two socket paths, each serving its own half of the streams."""

from collections.abc import Callable
from functools import partial

from typing_extensions import override

from services.simulator.engine import Liquidation, Market
from services.simulator.instruments import decimal_text
from services.simulator.session import RestReply, Session
from services.simulator.topics import LiquidationTopic, Message, Topic, ms
from services.simulator.venues import binance_usdm_rest
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.binance import BinanceSession, StreamRules, refusal
from services.simulator.venues.binance_statistics import (
    AllTopic,
    MiniTickerTopic,
    TickerTopic,
    plain_topic,
)
from services.simulator.venues.binance_topics import (
    AggregateTopic,
    BookTickerTopic,
    TradesTopic,
    depth_topic,
)

__all__ = ["BinanceUsdm", "MarkPriceTopic"]

RULES = StreamRules(ping_every_s=180, pong_within_s=600, requests_per_s=10)
CADENCES_MS = {"": 250, "0ms": 10, "100ms": 100, "250ms": 250, "500ms": 500}
MARK_CADENCES_MS = {"": 3000, "1s": 1000}
PUBLIC = ("depth", "bookTicker", "trade")
"""Streams of the public path, by the start of what follows the symbol; everything else is on the market path."""

MARK_SCALE = 8


class ForceOrderTopic(LiquidationTopic):
    """``<s>@forceOrder``: at most one a second, the newest; ``S`` is the side of the order."""

    cadence_ms = 1000

    def messages(self, liquidations: list[Liquidation], now_ns: int) -> list[Message]:
        newest, instrument = liquidations[-1], self.market.instrument
        size = instrument.size(newest.lots)
        order = {
            "s": instrument.native_symbol,
            "S": "BUY" if newest.buy else "SELL",
            "o": "LIMIT",
            "f": "IOC",
            "q": size,
            "p": instrument.price(newest.bankruptcy_tick),
            "ap": instrument.price(newest.average_tick),
            "X": "FILLED",
            "l": size,
            "z": size,
            "T": ms(newest.ts_ns),
        }
        return [{"e": "forceOrder", "E": ms(now_ns), "o": order, "ps": _pair(self.market), "st": 1}]


class MarkPriceTopic(Topic):
    """``<s>@markPrice``: mark, index, funding; a dated future has no rate and no next time."""

    feed = "mark_price"

    def __init__(self, name: str, market: Market, cadence_ms: int) -> None:
        super().__init__(name, market)
        self.cadence_ms = cadence_ms

    @override
    def poll(self, now_ns: int) -> list[Message]:
        derivatives = self.market.derivatives
        mark, index = (_tenths(self.market, tenths) for tenths in (derivatives.mark, derivatives.index))
        return [
            {
                "e": "markPriceUpdate",
                "E": ms(now_ns),
                "s": self.symbol,
                "p": mark,
                "ap": mark,
                "i": index,
                "P": index,
                "r": decimal_text(derivatives.rate, 8) if derivatives.funded else "",
                "T": derivatives.next_funding_ms if derivatives.funded else 0,
                "st": 1,
            }
        ]


def _pair(market: Market) -> str:
    return market.instrument.native_symbol.partition("_")[0]


def _tenths(market: Market, tenths: int) -> str:
    instrument = market.instrument
    units = tenths * instrument.tick_units * 10 ** (MARK_SCALE - instrument.price_scale) // 10
    return decimal_text(units, MARK_SCALE)


def on_public(name: str) -> bool:
    """Whether the public path serves a stream."""
    if name.startswith("!"):
        return name == "!bookTicker"
    return name.partition("@")[2].startswith(PUBLIC)


PLAIN_TOPICS: dict[str, Callable[[str, Market], Topic]] = {
    "trade": TradesTopic,
    "aggTrade": partial(AggregateTopic, cadence_ms=100),
    "bookTicker": BookTickerTopic,
    "ticker": partial(TickerTopic, cadence_ms=2000),
    "miniTicker": partial(MiniTickerTopic, cadence_ms=2000),
    "forceOrder": ForceOrderTopic,
}
ALL_TOPICS: dict[str, tuple[Callable[[str, Market], Topic], int, bool]] = {
    "!bookTicker": (BookTickerTopic, 5000, False),
    "!markPrice@arr": (partial(MarkPriceTopic, cadence_ms=3000), 3000, True),
    "!markPrice@arr@1s": (partial(MarkPriceTopic, cadence_ms=1000), 1000, True),
    "!ticker@arr": (PLAIN_TOPICS["ticker"], 1000, True),
    "!miniTicker@arr": (PLAIN_TOPICS["miniTicker"], 1000, True),
    "!forceOrder@arr": (ForceOrderTopic, 1000, False),
}
"""All-market streams: what each is made of, its cadence, whether it is one array."""


class BinanceUsdm(Venue):
    """Streams and REST of USD-M."""

    exchange = "binance"
    product = "usdm"
    snapshot_path = "/fapi/v1/depth"

    @override
    def make(self, name: str) -> Topic | None:
        if name.startswith("!"):
            return self._all(name)
        lower, _, stream = name.partition("@")
        market = self.markets.get(lower.upper()) if lower == lower.lower() else None
        kind, _, option = stream.partition("@")
        if market is None:
            return None
        if kind.startswith("depth"):
            return depth_topic(name, market, kind.removeprefix("depth"), CADENCES_MS.get(option))
        if kind == "markPrice" and option in MARK_CADENCES_MS:
            return MarkPriceTopic(name, market, MARK_CADENCES_MS[option])
        return None if option else plain_topic(PLAIN_TOPICS, name, market, kind)

    def _all(self, name: str) -> Topic | None:
        if name not in ALL_TOPICS:
            return None
        make, cadence_ms, array = ALL_TOPICS[name]
        topics = [make(name, market) for market in self.markets.values()]
        return AllTopic(name, topics, cadence_ms, array=array)

    @override
    def session(self, path: str, query: Query, knows: Callable[[str], bool], now_ns: int) -> Session | None:
        route, rest = "public", path
        for candidate in ("public", "market"):
            if path.startswith(f"/{candidate}/"):
                route, rest = candidate, path.removeprefix(f"/{candidate}")
        if rest not in ("/ws", "/stream") and not rest.startswith("/ws/"):
            return None
        wants_public = route == "public"
        session = BinanceSession(self.settings, RULES, knows, lambda name: on_public(name) == wants_public, now_ns)
        session.combined = rest == "/stream"
        names = query.get("streams", "") if session.combined else rest.removeprefix("/ws").removeprefix("/")
        session.initial = [name for name in names.split("/") if name]
        return session

    @override
    def rest(self, path: str, query: Query, now_ns: int) -> RestReply:
        return binance_usdm_rest.answer(self.markets, path, query, now_ns)

    @override
    def snapshot(self, symbol: str, now_ns: int) -> RestReply:
        return self.rest(self.snapshot_path, {"symbol": symbol, "limit": "1000"}, now_ns)

    @override
    def refusal(self, status: int) -> RestReply:
        return refusal(status)
