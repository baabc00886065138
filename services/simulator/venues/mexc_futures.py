"""MEXC contracts: one socket, one contract per request, silence for what it does not know."""

from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from typing_extensions import override

from services.simulator.engine import Market
from services.simulator.session import Action, Close, Reply, RestReply, Session, Subscribe, Unsubscribe
from services.simulator.topics import Topic, encode_json, ms
from services.simulator.venues import mexc_futures_rest
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.mexc_futures_topics import (
    KLINE_INTERVALS,
    DealTopic,
    DepthTopic,
    FullDepthTopic,
    FundingTopic,
    KlineTopic,
    PriceTopic,
    RawDepthTopic,
    TickersTopic,
    TickerTopic,
)

__all__ = ["MexcFutures", "MexcFuturesSession"]

NO_PING_S = 60
TIMEOUT_TEXT = "more than 60 seconds no response, close the channel"
CHANNELS = frozenset(
    {
        "deal",
        "depth",
        "depth.full",
        "ticker",
        "tickers",
        "funding.rate",
        "index.price",
        "fair.price",
        "kline",
        "contract",
    }
)
DEPTHS = {"5", "10", "20", "50"}
PLAIN_TOPICS: dict[str, Callable[[str, Market], Topic]] = {
    "deal": partial(DealTopic, merged=True),
    "deal.raw": partial(DealTopic, merged=False),
    "depth": DepthTopic,
    "depth.raw": RawDepthTopic,
    "ticker": TickerTopic,
    "funding.rate": FundingTopic,
    "index.price": partial(PriceTopic, fair=False),
    "fair.price": partial(PriceTopic, fair=True),
}


class MexcFuturesSession(Session):
    """``sub.*`` and ``unsub.*`` are acknowledged without naming the contract."""

    def __init__(self, venue: "MexcFutures", knows: Callable[[str], bool], now_ns: int) -> None:
        super().__init__(knows, now_ns, venue.settings.deadline_scale)

    @override
    def receive(self, text: str, now_ns: int) -> list[Action]:
        try:
            request = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return []
        if not isinstance(request, dict):
            return []
        method = str(request.get("method", ""))
        if method == "ping":
            self.last_client_ns = now_ns
            return [Reply(encode_json({"channel": "pong", "data": ms(now_ns), "ts": ms(now_ns)}))]
        verb, _, channel = method.partition(".")
        if verb == "usub":
            verb = "unsub"
        param = request.get("param")
        if verb not in ("sub", "unsub") or channel not in CHANNELS:
            return []
        return self._change(verb, channel, param if isinstance(param, dict) else {}, now_ns)

    def ponged(self, now_ns: int) -> None:
        """Only the client's own ping counts."""

    @override
    def tick(self, now_ns: int, last_data_ns: int) -> list[Action]:
        if now_ns - self.last_client_ns > self.seconds(NO_PING_S):
            return [_answer("rs.error", TIMEOUT_TEXT, now_ns), Close(1000)]
        return []

    def _change(self, verb: str, channel: str, param: dict[str, Any], now_ns: int) -> list[Action]:
        ack = _answer(f"rs.{verb}.{channel}", "success", now_ns)
        if channel == "contract":
            return [ack]
        symbol = "" if channel == "tickers" else str(param.get("symbol", ""))
        name = topic_name(channel, symbol, param)
        if verb == "unsub":
            gone = [one for one in self.topics if _matches(one, channel, symbol)]
            for one in gone:
                self.topics.pop(one, None)
            return [ack, *(Unsubscribe(one) for one in gone)]
        if not self.knows(name):
            return [_answer("rs.error", f"Contract [{symbol}] not exists", now_ns)]
        if name in self.topics:
            return [ack]
        self.topics[name] = None
        return [ack, Subscribe(name)]


def topic_name(channel: str, symbol: str, param: dict[str, Any]) -> str:
    """What the simulator calls a subscription: ``<channel>[.<option>]@<symbol>``."""
    if channel in ("deal", "depth") and param.get("compress") is False:
        return f"{channel}.raw@{symbol}"
    if channel == "depth.full":
        return f"{channel}.{param.get('limit', 20)}@{symbol}"
    if channel == "kline":
        return f"{channel}.{param.get('interval', 'Min1')}@{symbol}"
    return f"{channel}@{symbol}"


def _matches(name: str, channel: str, symbol: str) -> bool:
    kind, _, of = name.partition("@")
    return of == symbol and (kind == channel or kind.rpartition(".")[0] == channel)


def _answer(channel: str, data: object, now_ns: int) -> Reply:
    return Reply(encode_json({"channel": channel, "data": data, "ts": ms(now_ns)}))


class MexcFutures(Venue):
    """MEXC contracts settled in USDT."""

    exchange = "mexc"
    product = "futures"
    snapshot_path = "/api/v1/contract/depth/"

    @override
    def make(self, name: str) -> Topic | None:
        kind, _, symbol = name.partition("@")
        if kind == "tickers":
            return TickersTopic(name, [*self.markets.values()])
        market = self.markets.get(symbol)
        if market is None:
            return None
        if kind in PLAIN_TOPICS:
            return PLAIN_TOPICS[kind](name, market)
        option = kind.rpartition(".")[2]
        if kind.startswith("depth.full.") and option in DEPTHS:
            return FullDepthTopic(name, market, int(option))
        if kind.startswith("kline.") and option in KLINE_INTERVALS:
            return KlineTopic(name, market, option)
        return None

    @override
    def session(self, path: str, query: Query, knows: Callable[[str], bool], now_ns: int) -> Session | None:
        return MexcFuturesSession(self, knows, now_ns) if path == "/edge" else None

    @override
    def rest(self, path: str, query: Query, now_ns: int) -> RestReply:
        return mexc_futures_rest.answer(self.markets, path, query, now_ns)

    @override
    def snapshot(self, symbol: str, now_ns: int) -> RestReply:
        return self.rest(self.snapshot_path + symbol, {"limit": "1000"}, now_ns)

    @override
    def refusal(self, status: int) -> RestReply:
        return mexc_futures_rest.refusal(status)
