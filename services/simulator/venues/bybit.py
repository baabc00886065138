"""Bybit v5: public sockets of spot, linear and inverse."""

from collections.abc import Callable
from typing import Any

import msgspec
from typing_extensions import override

from services.simulator.engine import Market
from services.simulator.session import Abort, Action, Close, Reply, RestReply, Session, Subscribe, Unsubscribe
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import Topic, encode_json
from services.simulator.venues import bybit_rest
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.bybit_topics import (
    BOOK_CADENCES_MS,
    KLINE_INTERVALS,
    BookTopic,
    KlineTopic,
    LiquidationsTopic,
    TickerTopic,
    TradesTopic,
)

__all__ = ["Bybit", "BybitSession"]

SPOT_ARGS = 10
ARGS_CHARACTERS = 21_000
UNSUBSCRIBED_S = 61
IDLE_S = 600
BOOK_DEPTHS = {str(depth): depth for depth in BOOK_CADENCES_MS}
PLAIN_TOPICS: dict[str, Callable[[str, Market], Topic]] = {
    "publicTrade": TradesTopic,
    "tickers": TickerTopic,
    "allLiquidation": LiquidationsTopic,
}


class BybitSession(Session):
    """Subscribe, unsubscribe and ping of a public socket; a request is accepted or refused as a whole."""

    def __init__(self, venue: "Bybit", knows: Callable[[str], bool], now_ns: int, number: int) -> None:
        super().__init__(knows, now_ns, venue.settings.deadline_scale)
        self._spot = venue.product == "spot"
        self._connection = f"sim{now_ns // 1_000_000:x}-{number:04x}"

    @override
    def receive(self, text: str, now_ns: int) -> list[Action]:
        self.last_client_ns = now_ns
        try:
            request = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return [self._reply(f"Failed to decode incoming data:{text[:100]}", "", "")]
        if not isinstance(request, dict):
            return [self._reply(f"Failed to decode incoming data:{text[:100]}", "", "")]
        operation = request.get("op")
        if operation == "ping":
            return [self._reply("pong", request.get("req_id"), "ping", success=True)]
        if operation in ("subscribe", "unsubscribe") and isinstance(request.get("args"), list):
            return self._change(operation, request["args"], request.get("req_id"))
        return [self._reply("error:invalid op", request.get("req_id"), str(operation))]

    @override
    def tick(self, now_ns: int, last_data_ns: int) -> list[Action]:
        idle = now_ns - self.last_client_ns
        if not self.topics and idle > self.seconds(UNSUBSCRIBED_S):
            return [Abort("nothing subscribed and no ping")]
        if idle > self.seconds(IDLE_S) and now_ns - last_data_ns > self.seconds(IDLE_S):
            return [Close(1000)]
        return []

    def _change(self, operation: str, args: list[Any], request_id: object) -> list[Action]:
        names = [str(arg) for arg in args]
        problem = self._problem(operation, names)
        if problem == "args size >10":
            return [Reply(encode_json({"success": False, "ret_msg": problem, "op": operation}))]
        if problem:
            return [self._reply(problem, request_id, operation)]
        actions: list[Action] = [self._reply(operation if self._spot else "", request_id, operation, success=True)]
        for name in names:
            if operation == "subscribe":
                self.topics[name] = None
                actions.append(Subscribe(name))
            else:
                self.topics.pop(name, None)
                actions.append(Unsubscribe(name))
        return actions

    def _problem(self, operation: str, names: list[str]) -> str:
        if operation == "unsubscribe":
            unknown = next((name for name in names if name not in self.topics and not self.knows(name)), None)
            return f"error:handler not found,topic:{unknown}" if unknown is not None else ""
        if self._spot and len(names) > SPOT_ARGS:
            return f"args size >{SPOT_ARGS}"
        if sum(map(len, self.topics)) + sum(map(len, names)) > ARGS_CHARACTERS:
            return "error:args too long"
        for position, name in enumerate(names):
            if not self.knows(name):
                return f"error:handler not found,topic:{name}"
            if name in self.topics or name in names[:position]:
                return f"error:already subscribed,topic:{name}"
        return ""

    def _reply(self, text: str, request_id: object, operation: str, *, success: bool = False) -> Reply:
        reply = {"success": success, "ret_msg": text, "conn_id": self._connection}
        if request_id is not None or not self._spot:
            reply["req_id"] = request_id or ""
        reply["op"] = operation
        return Reply(encode_json(reply))


class Bybit(Venue):
    """One category of Bybit; over REST its base serves the others that are in ``categories``, too."""

    exchange = "bybit"
    snapshot_path = "/v5/market/orderbook"

    def __init__(self, product: str, markets: dict[str, Market], settings: SimulatorSettings) -> None:
        super().__init__(markets, settings)
        self.product = product
        self.categories = {product: markets}
        self._sessions = 0

    @override
    def make(self, name: str) -> Topic | None:
        kind, *options = name.split(".")
        market = self.markets.get(options[-1]) if options else None
        if market is None or len(options) > 2:
            return None
        option = options[0] if len(options) == 2 else ""
        if kind == "orderbook" and option in BOOK_DEPTHS:
            return BookTopic(name, market, BOOK_DEPTHS[option])
        if kind == "kline" and option in KLINE_INTERVALS:
            return KlineTopic(name, market, option)
        if option or kind not in PLAIN_TOPICS or (kind == "allLiquidation" and self.product == "spot"):
            return None
        return PLAIN_TOPICS[kind](name, market)

    @override
    def session(self, path: str, query: Query, knows: Callable[[str], bool], now_ns: int) -> Session | None:
        if path != f"/v5/public/{self.product}":
            return None
        self._sessions += 1
        return BybitSession(self, knows, now_ns, self._sessions)

    @override
    def rest(self, path: str, query: Query, now_ns: int) -> RestReply:
        return bybit_rest.answer(self.categories, self.settings.page_size, path, query, now_ns)

    @override
    def snapshot(self, symbol: str, now_ns: int) -> RestReply:
        query = {"category": self.product, "symbol": symbol, "limit": "1000"}
        return self.rest(self.snapshot_path, query, now_ns)

    @override
    def refusal(self, status: int) -> RestReply:
        return bybit_rest.refusal(status)
