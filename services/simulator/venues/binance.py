"""The conversation on Binance's stream sockets, and what both products' REST share."""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from typing_extensions import override

from services.simulator.engine import Market
from services.simulator.session import Action, Close, Ping, Reply, RestReply, Session, Subscribe, Unsubscribe
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import encode_json, ms

__all__ = ["BinanceSession", "StreamRules", "depth_sides", "invalid", "refusal"]

NANOSECONDS = 1_000_000_000
MOST_STREAMS = 1024
SHUTDOWN_NOTICE_S = 10
SHUTDOWN_STREAM = "!serverShutdown"
METHODS = "`SUBSCRIBE`, `UNSUBSCRIBE`, `LIST_SUBSCRIPTIONS`, `SET_PROPERTY`, `GET_PROPERTY`"


class StreamRules(msgspec.Struct, frozen=True):
    """What differs between the products: ping interval, time to answer it, requests a second."""

    ping_every_s: float
    pong_within_s: float
    requests_per_s: int


class BinanceSession(Session):
    """Everything is accepted, also what does not exist; ``serves`` says whether a stream flows on this path."""

    def __init__(
        self,
        settings: SimulatorSettings,
        rules: StreamRules,
        knows: Callable[[str], bool],
        serves: Callable[[str], bool],
        now_ns: int,
    ) -> None:
        super().__init__(knows, now_ns, settings.deadline_scale)
        self.combined = False
        self.initial: list[str] = []
        self._rules = rules
        self._serves = serves
        self._age_ns = int(settings.connection_age * NANOSECONDS)
        self._noticed_ns = 0
        self._pinged_ns = self._ponged_ns = now_ns
        self._requests: list[int] = []
        self._flooded = False

    @property
    @override
    def variant(self) -> str:
        return "combined" if self.combined else ""

    @override
    def opened(self, now_ns: int) -> list[Action]:
        return self._add(self.initial)

    @override
    def receive(self, text: str, now_ns: int) -> list[Action]:
        if self._flooded or self._too_many(now_ns):
            return [Close(1008, "Too many requests")]
        try:
            request = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return [_error(3, "Invalid JSON: expected value at line 1 column 1", None)]
        if not isinstance(request, dict):
            return [_error(2, "Invalid request: expected an object", None)]
        number = request.get("id")
        if "method" not in request:
            return [_error(2, "Invalid request: missing field `method`", number)]
        if "id" in request and (isinstance(number, bool) or not isinstance(number, int | str)):
            return [_error(2, "Invalid request: request ID must be an unsigned integer", None)]
        return self._do(str(request["method"]), request.get("params"), number)

    @override
    def pinged(self, now_ns: int) -> None:
        self._flooded = self._too_many(now_ns)

    @override
    def ponged(self, now_ns: int) -> None:
        self._ponged_ns = now_ns

    @override
    def tick(self, now_ns: int, last_data_ns: int) -> list[Action]:
        actions: list[Action] = []
        notice_ns = self.seconds(SHUTDOWN_NOTICE_S)
        if self._flooded:
            return [Close(1008, "Too many requests")]
        if not self._noticed_ns and now_ns - self.opened_ns > self._age_ns - notice_ns:
            self._noticed_ns = now_ns
            actions += self.shutdown_notice(now_ns)
        elif self._noticed_ns and now_ns - self._noticed_ns > notice_ns:
            return [Close(1001, "the connection is 24 hours old")]
        unanswered = self._pinged_ns > self._ponged_ns
        if unanswered and now_ns - self._ponged_ns > self.seconds(self._rules.pong_within_s + self._rules.ping_every_s):
            return [Close(1008, "Pong timeout")]
        if now_ns - self._pinged_ns > self.seconds(self._rules.ping_every_s):
            self._pinged_ns = now_ns
            actions.append(Ping(str(ms(now_ns)).encode()))
        return actions

    @override
    def shutdown_notice(self, now_ns: int) -> list[Action]:
        event = encode_json({"e": "serverShutdown", "E": ms(now_ns)})
        return [Reply(self.wrap(SHUTDOWN_STREAM, event))]

    @override
    def wrap(self, topic: str, payload: bytes) -> bytes:
        if not self.combined:
            return payload
        return b'{"stream":' + encode_json(topic) + b',"data":' + payload + b"}"

    def _do(self, method: str, params: object, number: object) -> list[Action]:
        match method:
            case "LIST_SUBSCRIPTIONS":
                return [_result([*self.topics], number)]
            case "GET_PROPERTY" if params == ["combined"]:
                return [_result(self.combined, number)]
            case "GET_PROPERTY":
                return [_error(0, "Unknown property", number)]
            case "SET_PROPERTY":
                return self._set(params, number)
            case "SUBSCRIBE" | "UNSUBSCRIBE":
                return self._change(method, params, number)
        return [_error(2, f"Invalid request: unknown variant `{method}`, expected one of {METHODS}", number)]

    def _change(self, method: str, params: object, number: object) -> list[Action]:
        names = [name for name in params if isinstance(name, str)] if isinstance(params, list) else []
        if not isinstance(params, list) or len(names) != len(params):
            return [_error(2, "Invalid request: stream names must be strings", number)]
        if method == "UNSUBSCRIBE":
            for name in names:
                self.topics.pop(name, None)
            return [_result(None, number), *(Unsubscribe(name) for name in names)]
        if len(self.topics) + len(names) > MOST_STREAMS:
            return [_error(2, f"Invalid request: more than {MOST_STREAMS} streams", number)]
        return [_result(None, number), *self._add(names)]

    def _set(self, params: object, number: object) -> list[Action]:
        if not isinstance(params, list) or len(params) != 2 or params[0] != "combined":
            return [_error(0, "Unknown property", number)]
        if not isinstance(params[1], bool):
            return [_error(1, "Invalid value type: expected Boolean", number)]
        self.combined = params[1]
        return [_result(None, number)]

    def _add(self, names: Iterable[str]) -> list[Action]:
        actions: list[Action] = []
        for name in names:
            if name not in self.topics:
                self.topics[name] = None
                actions.append(Subscribe(name, silent=not (self.knows(name) and self._serves(name))))
        return actions

    def _too_many(self, now_ns: int) -> bool:
        self._requests = [at for at in self._requests if now_ns - at < NANOSECONDS]
        self._requests.append(now_ns)
        return len(self._requests) > self._rules.requests_per_s


def _result(result: object, number: object) -> Reply:
    return Reply(encode_json({"result": result, "id": number}))


def _error(code: int, text: str, number: object) -> Reply:
    body: dict[str, object] = {"code": code, "msg": text}
    if number is not None:
        body["id"] = number
    return Reply(encode_json(body))


def invalid(code: int, text: str) -> RestReply:
    """A bad request."""
    return RestReply(400, encode_json({"code": code, "msg": text}))


def refusal(status: int) -> RestReply:
    """Too many requests (429), banned (418), the firewall (403), or a failure."""
    if status in (418, 429):
        text = "Too much request weight used; please use WebSocket Streams for live updates to avoid polling the API."
        return RestReply(status, encode_json({"code": -1003, "msg": text}), {"Retry-After": "1"})
    if status == 403:
        return RestReply(403, b"<html><body>Request blocked</body></html>", {"Content-Type": "text/html"})
    return RestReply(status, encode_json({"code": -1001, "msg": "Internal error; unable to process your request."}))


def depth_sides(market: Market, limit: int) -> dict[str, Any]:
    """Bids and asks of a snapshot."""
    instrument, book = market.instrument, market.book
    return {
        "bids": [[instrument.price(tick), instrument.size(lots)] for tick, lots in book.top_bids(limit)],
        "asks": [[instrument.price(tick), instrument.size(lots)] for tick, lots in book.top_asks(limit)],
    }
