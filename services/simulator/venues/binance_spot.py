"""Binance spot."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from typing_extensions import override

from services.simulator.engine import Market
from services.simulator.session import RestReply, Session
from services.simulator.topics import Message, Topic, encode_json, ms
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.binance import BinanceSession, StreamRules, depth_sides, invalid, refusal
from services.simulator.venues.binance_statistics import (
    KLINE_INTERVALS,
    AllTopic,
    KlineTopic,
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

__all__ = ["BinanceSpot"]

RULES = StreamRules(ping_every_s=20, pong_within_s=60, requests_per_s=5)
CADENCES_MS = {"": 1000, "100ms": 100, "1000ms": 1000}
MOST_LEVELS = 5000


class AveragePriceTopic(Topic):
    """``<s>@avgPrice``: once a second, of the last five minutes."""

    feed = "ticker"
    cadence_ms = 1000

    def poll(self, now_ns: int) -> list[Message]:
        candle = self.market.candles.get(KLINE_INTERVALS["5m"], ms(now_ns))
        average = candle.turnover // candle.volume if candle.volume else candle.close
        return [
            {
                "e": "avgPrice",
                "E": ms(now_ns),
                "s": self.symbol,
                "i": "5m",
                "w": self.market.instrument.price(average),
                "T": candle.last_ms or ms(now_ns),
            }
        ]


PLAIN_TOPICS: dict[str, Callable[[str, Market], Topic]] = {
    "trade": TradesTopic,
    "aggTrade": partial(AggregateTopic, cadence_ms=10),
    "bookTicker": BookTickerTopic,
    "ticker": partial(TickerTopic, cadence_ms=1000),
    "miniTicker": partial(MiniTickerTopic, cadence_ms=1000),
    "avgPrice": AveragePriceTopic,
    "kline_1s": partial(KlineTopic, interval="1s"),
}


class BinanceSpot(Venue):
    """Streams and REST of spot."""

    exchange = "binance"
    product = "spot"
    snapshot_path = "/api/v3/depth"

    @override
    def make(self, name: str) -> Topic | None:
        if name == "!miniTicker@arr":
            topics: list[Topic] = [MiniTickerTopic(name, market, 1000) for market in self.markets.values()]
            return AllTopic(name, topics, 1000)
        lower, _, stream = name.partition("@")
        market = self.markets.get(lower.upper()) if lower == lower.lower() else None
        kind, _, option = stream.partition("@")
        if market is None:
            return None
        if kind.startswith("depth"):
            return depth_topic(name, market, kind.removeprefix("depth"), CADENCES_MS.get(option))
        return None if option else plain_topic(PLAIN_TOPICS, name, market, kind)

    @override
    def session(self, path: str, query: Query, knows: Callable[[str], bool], now_ns: int) -> Session | None:
        if path not in ("/ws", "/stream") and not path.startswith("/ws/"):
            return None
        session = BinanceSession(self.settings, RULES, knows, lambda _: True, now_ns)
        session.combined = path == "/stream"
        names = query.get("streams", "") if session.combined else path.removeprefix("/ws").removeprefix("/")
        session.initial = [name for name in names.split("/") if name]
        return session

    @override
    def rest(self, path: str, query: Query, now_ns: int) -> RestReply:
        if path == "/api/v3/ping":
            return RestReply(200, b"{}")
        if path == "/api/v3/time":
            return RestReply(200, encode_json({"serverTime": ms(now_ns)}))
        if path == "/api/v3/exchangeInfo":
            return self._exchange_info(query, now_ns)
        if path == self.snapshot_path:
            return self._depth(query)
        return RestReply(404, b"<html><body>404 Not found</body></html>", {"Content-Type": "text/html"})

    @override
    def snapshot(self, symbol: str, now_ns: int) -> RestReply:
        return self._depth({"symbol": symbol, "limit": str(MOST_LEVELS)})

    @override
    def refusal(self, status: int) -> RestReply:
        return refusal(status)

    def _depth(self, query: Query) -> RestReply:
        symbol, limit = query.get("symbol", ""), query.get("limit", "100")
        if not symbol:
            return invalid(-1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.")
        market = self.markets.get(symbol)
        if market is None:
            return invalid(-1121, "Invalid symbol.")
        if not limit.isdecimal() or not int(limit):
            return invalid(-1100, "Illegal characters found in parameter 'limit'; legal range is '^[0-9]{1,20}$'.")
        sides = depth_sides(market, min(int(limit), MOST_LEVELS))
        return RestReply(200, encode_json({"lastUpdateId": market.book.update_id, **sides}))

    def _exchange_info(self, query: Query, now_ns: int) -> RestReply:
        names = [*self.markets]
        if query.get("symbol"):
            names = [query["symbol"]]
        elif query.get("symbols"):
            try:
                names = msgspec.json.decode(query["symbols"], type=list[str])
            except msgspec.MsgspecError:
                return invalid(-1100, "Illegal characters found in parameter 'symbols'.")
        if any(name not in self.markets for name in names):
            return invalid(-1121, "Invalid symbol.")
        body = {
            "timezone": "UTC",
            "serverTime": ms(now_ns),
            "rateLimits": [
                {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": 6000},
            ],
            "exchangeFilters": [],
            "symbols": [_listing(self.markets[name]) for name in names],
        }
        return RestReply(200, encode_json(body))


def _listing(market: Market) -> dict[str, Any]:
    instrument = market.instrument
    tick, lot = instrument.price(1), instrument.size(1)
    return {
        "symbol": instrument.native_symbol,
        "status": "TRADING",
        "baseAsset": instrument.base,
        "baseAssetPrecision": 8,
        "quoteAsset": instrument.quote,
        "quotePrecision": 8,
        "quoteAssetPrecision": 8,
        "orderTypes": ["LIMIT", "LIMIT_MAKER", "MARKET", "STOP_LOSS_LIMIT", "TAKE_PROFIT_LIMIT"],
        "icebergAllowed": True,
        "ocoAllowed": True,
        "isSpotTradingAllowed": True,
        "isMarginTradingAllowed": True,
        "filters": [
            {"filterType": "PRICE_FILTER", "minPrice": tick, "maxPrice": "1000000.00000000", "tickSize": tick},
            {"filterType": "LOT_SIZE", "minQty": lot, "maxQty": "9000.00000000", "stepSize": lot},
            {"filterType": "NOTIONAL", "minNotional": "5.00000000", "applyMinToMarket": True},
        ],
        "permissions": [],
        "permissionSets": [["SPOT", "MARGIN"]],
        "defaultSelfTradePreventionMode": "EXPIRE_MAKER",
    }
