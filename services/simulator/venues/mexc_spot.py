"""MEXC spot v3: text for the conversation, protobuf for the data."""

from collections.abc import Callable
from typing import Any

import msgspec
from typing_extensions import override

from services.simulator.engine import Market
from services.simulator.session import Action, Close, Ping, Reply, RestReply, Session, Subscribe, Unsubscribe
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import Topic, encode_json, ms
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.mexc_spot_topics import (
    KLINE_INTERVALS,
    BatchQuotesTopic,
    DealsTopic,
    DepthTopic,
    KlineTopic,
    LimitDepthTopic,
    MiniTickersTopic,
    QuotesTopic,
)

__all__ = ["MexcSpot", "MexcSpotSession"]

MOST_STREAMS = 30
UNSUBSCRIBED_S = 30
NO_DATA_S = 60
PING_EVERY_S = 20
CADENCES_MS = {"10ms": 10, "100ms": 100}
ZONES = frozenset({"24H"} | {f"UTC{sign}{hours}" for sign in "+-" for hours in range(15)})
DEPTHS = {"5": 5, "10": 10, "20": 20}
MOST_LEVELS = 5000
PREFIX = "public."
SUFFIX = ".v3.api.pb"
WIDE_COLON = "\uff1a"
"""The venue writes its refusals with a full-width colon."""


class MexcSpotSession(Session):
    """Subscriptions are answered with code 0 whatever happens; the text says what became of them."""

    def __init__(self, settings: SimulatorSettings, knows: Callable[[str], bool], now_ns: int) -> None:
        super().__init__(knows, now_ns, settings.deadline_scale)
        self._age_ns = int(settings.connection_age * 1e9)
        self._pinged_ns = now_ns

    @override
    def receive(self, text: str, now_ns: int) -> list[Action]:
        request = _decoded(text)
        number = request.get("id") if isinstance(request.get("id"), int) else 0
        method, params = request.get("method"), request.get("params")
        if method == "PING":
            self.last_client_ns = now_ns
            return [_reply(0, 0, "PONG")]
        names = [str(name) for name in params] if isinstance(params, list) else []
        if names and method == "SUBSCRIPTION":
            return self._subscribe(number, names)
        if names and method == "UNSUBSCRIPTION":
            for name in names:
                self.topics.pop(name, None)
            return [_reply(number, 0, ",".join(names)), *(Unsubscribe(name) for name in names)]
        return [_reply(number, 1, "msg format invalid")]

    def ponged(self, now_ns: int) -> None:
        """Protocol pongs do not count as the client's own pings."""

    @override
    def tick(self, now_ns: int, last_data_ns: int) -> list[Action]:
        if now_ns - self.opened_ns > self._age_ns:
            return [Close(1000, "the connection is 24 hours old")]
        if not self.topics and now_ns - self.opened_ns > self.seconds(UNSUBSCRIBED_S):
            return [Close(1000, "no valid subscription")]
        alive_ns = max(self.last_client_ns, last_data_ns)
        if now_ns - alive_ns > self.seconds(NO_DATA_S):
            return [Close(1000, "no data flow")]
        if now_ns - self._pinged_ns > self.seconds(PING_EVERY_S):
            self._pinged_ns = now_ns
            return [Ping(str(ms(now_ns)).encode())]
        return []

    def _subscribe(self, number: object, names: list[str]) -> list[Action]:
        accepted = [name for name in names if self.knows(name)]
        blocked = [name for name in names if name not in accepted]
        if not blocked:
            text = ",".join(accepted)
        elif not accepted:
            text = f"Not Subscribed successfully! [{','.join(blocked)}].  Reason{WIDE_COLON} Blocked! "
        else:
            good, bad = ",".join(accepted), ",".join(blocked)
            text = (
                f"Subscribed successful! [{good}]. Not Subscribed successfully! [{bad}]. Reason{WIDE_COLON} Blocked! "
            )
        actions: list[Action] = [_reply(number, 0, text)]
        for name in accepted:
            if name not in self.topics:
                actions.append(Subscribe(name, silent=len(self.topics) >= MOST_STREAMS))
                self.topics[name] = None
        return actions


def _decoded(text: str) -> dict[str, Any]:
    """The request; empty where the text is no JSON object."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}


def _reply(number: object, code: int, text: str) -> Reply:
    return Reply(encode_json({"id": number, "code": code, "msg": text}))


class MexcSpot(Venue):
    """MEXC spot."""

    exchange = "mexc"
    product = "spot"
    snapshot_path = "/api/v3/depth"

    @override
    def make(self, name: str) -> Topic | None:
        parts = name.split("@")
        if len(parts) < 3 or parts[0] != "spot" or not (parts[1].startswith(PREFIX) and parts[1].endswith(SUFFIX)):
            return None
        kind = parts[1].removeprefix(PREFIX).removesuffix(SUFFIX)
        if kind == "miniTickers":
            return (
                MiniTickersTopic(name, [*self.markets.values()], single=False)
                if len(parts) == 3 and parts[2] in ZONES
                else None
            )
        market = self.markets.get(parts[3 if kind.startswith("aggre.") and len(parts) > 3 else 2])
        return None if market is None else self._of_market(name, kind, parts, market)

    def _of_market(self, name: str, kind: str, parts: list[str], market: Market) -> Topic | None:
        if len(parts) == 3:
            return BatchQuotesTopic(name, market) if kind == "bookTicker.batch" else None
        cadence_ms = CADENCES_MS.get(parts[2])
        if cadence_ms is not None and kind in AGGREGATED:
            return AGGREGATED[kind](name, market, cadence_ms)
        if kind == "limit.depth" and parts[3] in DEPTHS:
            return LimitDepthTopic(name, market, DEPTHS[parts[3]])
        if kind == "kline" and parts[3] in KLINE_INTERVALS:
            return KlineTopic(name, market, parts[3])
        if kind == "miniTicker" and parts[3] in ZONES:
            return MiniTickersTopic(name, [market], single=True)
        return None

    @override
    def session(self, path: str, query: Query, knows: Callable[[str], bool], now_ns: int) -> Session | None:
        return MexcSpotSession(self.settings, knows, now_ns) if path == "/ws" else None

    @override
    def rest(self, path: str, query: Query, now_ns: int) -> RestReply:
        if path == "/api/v3/ping":
            return RestReply(200, b"{}")
        if path == "/api/v3/time":
            return RestReply(200, encode_json({"serverTime": ms(now_ns)}))
        if path == "/api/v3/exchangeInfo":
            return self._exchange_info(query, now_ns)
        if path == self.snapshot_path:
            return self._depth(query, now_ns)
        return RestReply(404, encode_json({"code": 404, "msg": "Not Found"}))

    @override
    def snapshot(self, symbol: str, now_ns: int) -> RestReply:
        return self.rest(self.snapshot_path, {"symbol": symbol, "limit": str(MOST_LEVELS)}, now_ns)

    @override
    def refusal(self, status: int) -> RestReply:
        body = {"code": status, "msg": "Too Many Requests" if status in (418, 429) else "Service is unavailable"}
        return RestReply(status, encode_json(body), {"Retry-After": "1"} if status in (418, 429) else {})

    def _depth(self, query: Query, now_ns: int) -> RestReply:
        market = self.markets.get(query.get("symbol", ""))
        limit = query.get("limit", "100")
        if market is None:
            return _invalid(-1121, "Invalid symbol.")
        if not limit.isdecimal() or not 1 <= int(limit) <= MOST_LEVELS:
            return _invalid(-1100, "Illegal characters found in parameter 'limit'")
        instrument, book = market.instrument, market.book
        body = {
            "lastUpdateId": book.update_id,
            "bids": [[instrument.price(tick), instrument.size(lots)] for tick, lots in book.top_bids(int(limit))],
            "asks": [[instrument.price(tick), instrument.size(lots)] for tick, lots in book.top_asks(int(limit))],
            "timestamp": ms(now_ns),
        }
        return RestReply(200, encode_json(body))

    def _exchange_info(self, query: Query, now_ns: int) -> RestReply:
        asked = query.get("symbols") or query.get("symbol")
        names = asked.split(",") if asked else [*self.markets]
        body = {
            "timezone": "CST",
            "serverTime": ms(now_ns),
            "rateLimits": [],
            "exchangeFilters": [],
            "symbols": [_listing(self.markets[name]) for name in names if name in self.markets],
        }
        return RestReply(200, encode_json(body))


AGGREGATED: dict[str, Callable[[str, Market, int], Topic]] = {
    "aggre.deals": DealsTopic,
    "aggre.depth": DepthTopic,
    "aggre.bookTicker": QuotesTopic,
}


def _invalid(code: int, text: str) -> RestReply:
    return RestReply(400, encode_json({"code": code, "msg": text}))


def _listing(market: Market) -> dict[str, Any]:
    instrument = market.instrument
    return {
        "symbol": instrument.native_symbol,
        "status": "1",
        "baseAsset": instrument.base,
        "baseAssetPrecision": instrument.size_scale,
        "quoteAsset": instrument.quote,
        "quotePrecision": instrument.price_scale,
        "quoteAssetPrecision": instrument.price_scale,
        "baseCommissionPrecision": instrument.size_scale,
        "quoteCommissionPrecision": instrument.price_scale,
        "orderTypes": ["LIMIT", "MARKET", "LIMIT_MAKER"],
        "isSpotTradingAllowed": True,
        "isMarginTradingAllowed": False,
        "quoteAmountPrecision": "1",
        "baseSizePrecision": instrument.lot,
        "permissions": ["SPOT"],
        "filters": [],
        "maxQuoteAmount": "2000000",
        "makerCommission": "0",
        "takerCommission": "0.0005",
        "quoteAmountPrecisionMarket": "1",
        "maxQuoteAmountMarket": "100000",
        "fullName": instrument.base,
        "tradeSideType": 1,
    }
