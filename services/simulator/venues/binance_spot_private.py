"""Binance spot: the user data stream of the WebSocket API, and signed REST."""

from collections.abc import Callable
from typing import Any

import msgspec
from typing_extensions import override

from services.simulator.accounts.account import Account
from services.simulator.accounts.amounts import fixed, price_of, value_of
from services.simulator.accounts.keyring import Keyring
from services.simulator.accounts.records import Execution, Happening, OrderRecord
from services.simulator.accounts.view import View
from services.simulator.accounts.wallet import Wallet
from services.simulator.session import Action, Reply, RestReply, Session
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import Message, encode_json, ms
from services.simulator.venues import binance_spot_private_rest as rest
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.binance import BinanceSession, StreamRules
from services.simulator.venues.binance_private import BinancePrivate, Parameters, Problem, problem_of, side, status
from services.simulator.venues.private import HttpRequest, PrivateMessage, PrivateSession

__all__ = ["BinanceSpotPrivate", "BinanceSpotPrivateSession"]

RULES = StreamRules(ping_every_s=20, pong_within_s=60, requests_per_s=100)
WEIGHTS = {"/api/v3/order": 4, "/api/v3/allOrders": 20, "/api/v3/myTrades": 20, "/api/v3/account": 20}
OPEN_ORDERS = "/api/v3/openOrders"
WEIGHT_LIMIT = 6000
EXECUTION_TYPE = {"new": "NEW", "amended": "REPLACED", "fill": "TRADE"}
ENDED = {"canceled": "CANCELED", "rejected": "REJECTED", "expired": "EXPIRED"}
NOTHING = "0.00000000"


class BinanceSpotPrivateSession(BinanceSession, PrivateSession):
    """Requests by method; at most one subscription, whose number grows with every one that was made."""

    wallet = "spot"

    def __init__(self, keyring: Keyring, settings: SimulatorSettings, now_ns: int) -> None:
        super().__init__(settings, RULES, lambda _: False, lambda _: False, now_ns)
        self._keyring = keyring
        self._subscriptions = 0
        self._subscription: int | None = None

    @override
    def wants(self, message: PrivateMessage) -> bool:
        return self._subscription is not None

    @override
    def wrap(self, topic: str, payload: bytes) -> bytes:
        return b'{"subscriptionId":%d,"event":%b}' % (self._subscription or 0, payload)

    @override
    def shutdown_notice(self, now_ns: int) -> list[Action]:
        return [Reply(encode_json({"event": {"e": "serverShutdown", "E": ms(now_ns)}}))]

    @override
    def expired(self, now_ns: int) -> list[Action]:
        event = self.wrap("", encode_json({"e": "eventStreamTerminated", "E": ms(now_ns)}))
        self._subscription, self.account = None, None
        return [Reply(event)]

    @override
    def receive(self, text: str, now_ns: int) -> list[Action]:
        try:
            request = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            request = None
        if not isinstance(request, dict) or not isinstance(request.get("method"), str):
            return [_error(None, Problem(-1135, "Invalid JSON Request"))]
        number, params = request.get("id"), request.get("params")
        given = {str(name): str(one) for name, one in params.items()} if isinstance(params, dict) else {}
        try:
            return [_result(number, self._answer(request["method"], given, now_ns))]
        except Problem as problem:
            return [_error(number, problem)]

    def _answer(self, method: str, given: Parameters, now_ns: int) -> object:
        match method:
            case "ping":
                return {}
            case "time":
                return {"serverTime": ms(now_ns + self._keyring.offset("binance"))}
            case "userDataStream.subscribe.signature":
                return {"subscriptionId": self._subscribe(given, now_ns)}
            case "userDataStream.subscribe":
                raise Problem(-2014, "API-key format invalid: the session is not logged on.", 401)
            case "session.logon":
                raise Problem(-4056, "HMAC_SHA256 API key is not supported.")
            case "session.subscriptions":
                return [] if self._subscription is None else [{"subscriptionId": self._subscription}]
            case "userDataStream.unsubscribe":
                return self._unsubscribe(given)
        raise Problem(-1000, f"Unknown method '{method}'.", 404)

    def _subscribe(self, given: Parameters, now_ns: int) -> int:
        problem = problem_of(given, now_ns + self._keyring.offset("binance"))
        if problem is not None:
            raise problem
        key = given.get("apiKey", "")
        signed = "&".join(f"{name}={given[name]}" for name in sorted(given) if name != "signature")
        checked = self._keyring.check("binance", "spot", key, signed, given["signature"])
        if checked.problem == "key":
            raise Problem(-2015, "Invalid API-key, IP, or permissions for action.", 401)
        if checked.account is None:
            raise Problem(-1022, "Signature for this request is not valid.")
        if self._subscription is not None:
            raise Problem(-2035, "User Data Stream subscription is already active.")
        if self._keyring.rejects(checked.account, "spot", "userDataStream"):
            raise Problem(-1000, "An unknown error occurred while processing the request.", 500)
        self.account, self._subscription = checked.account, self._subscriptions
        self._subscriptions += 1
        return self._subscription

    def _unsubscribe(self, given: Parameters) -> dict[str, Any]:
        running = str(self._subscription)
        if self._subscription is None or given.get("subscriptionId", running) != running:
            raise Problem(-2036, "User Data Stream subscription not found.")
        self._subscription, self.account = None, None
        return {}


def _result(number: object, result: object) -> Reply:
    limits = [
        {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": WEIGHT_LIMIT, "count": 2}
    ]
    return Reply(encode_json({"id": number, "status": 200, "result": result, "rateLimits": limits}))


def _error(number: object, problem: Problem) -> Reply:
    error = {"code": problem.code, "msg": str(problem)}
    return Reply(encode_json({"id": number, "status": problem.status, "error": error}))


class BinanceSpotPrivate(BinancePrivate):
    """The spot wallet."""

    wallet = "spot"
    socket_path = "/ws-api/v3"
    weight_limit = WEIGHT_LIMIT

    @override
    def session(
        self, venue: Venue, path: str, query: Query, knows: Callable[[str], bool], now_ns: int
    ) -> Session | None:
        return BinanceSpotPrivateSession(self.keyring, self.settings, now_ns) if path == self.socket_path else None

    @override
    def serves(self, path: str) -> bool:
        return path in rest.PATHS

    @override
    def weight(self, request: HttpRequest) -> int:
        if request.path == OPEN_ORDERS:
            return 6 if request.parameters.get("symbol") else 80
        return WEIGHTS[request.path]

    @override
    def answer(self, account: Account, view: View, request: HttpRequest, now_ns: int) -> RestReply:
        if request.method != "GET":
            return RestReply(405, b"<html><body>405 Not Allowed</body></html>", {"Content-Type": "text/html"})
        return rest.answer(request.path, request.parameters, view)

    @override
    def messages(self, account: Account, wallet: Wallet, happening: Happening, now_ns: int) -> list[PrivateMessage]:
        found: list[PrivateMessage] = []

        def push(event: str, feed: str, symbol: str, fields: Message) -> None:
            body = {"e": event, "E": ms(now_ns), **fields}
            found.append(PrivateMessage(event, feed, "spot", symbol, body, account.name))

        order, transfer = happening.order, happening.transfer
        if order is not None:
            report = _report(order, happening, wallet.identities.serial(happening.number))
            feed = "order" if happening.execution is None else "fill"
            push("executionReport", feed, order.instrument.native_symbol, report)
        if transfer is not None:
            delta = {"a": transfer.asset, "d": fixed(transfer.amount, 8), "T": ms(transfer.ts_ns)}
            push("balanceUpdate", "balance", "", delta)
        if happening.assets:
            rows = [
                {"a": one.after.asset, "f": fixed(one.after.available, 8), "l": fixed(one.after.locked, 8)}
                for one in happening.assets
            ]
            push("outboundAccountPosition", "balance", "", {"u": ms(happening.ts_ns), "B": rows})
        return found


def _report(one: OrderRecord, happening: Happening, serial: int) -> Message:
    instrument, execution = one.instrument, happening.execution
    kind = EXECUTION_TYPE.get(happening.kind) or ENDED[one.status]
    canceled = one.status == "canceled"
    report: Message = {
        "s": instrument.native_symbol,
        "c": one.cancel_id if canceled and one.cancel_id else one.client_id,
        "S": side(buy=one.buy),
        "o": rest.kind(one),
        "f": rest.TIME_IN_FORCE[one.tif] if one.tick is not None else "GTC",
        "q": instrument.size(one.lots),
        "p": instrument.price(one.tick or 0),
        "P": NOTHING,
        "F": NOTHING,
        "g": -1,
        "C": one.client_id if canceled else "",
        "x": "TRADE_PREVENTION" if one.cause == "self_match" else kind,
        "X": status(one),
        "r": "WOULD_MATCH_IMMEDIATELY" if one.status == "rejected" else "NONE",
        "i": int(one.id),
        **_last(execution, one),
        "T": ms(one.updated_ns),
        "t": execution.trade if execution is not None else -1,
        "I": serial,
        "w": one.open,
        "m": execution is not None and execution.maker,
        "M": False,
        "O": ms(one.created_ns),
        "Z": fixed(one.value, 8),
        "Y": NOTHING,
        "Q": NOTHING,
        "W": ms(one.created_ns),
        "V": "EXPIRE_MAKER",
    }
    if execution is not None:
        report["Y"] = fixed(value_of(instrument, execution.lots, price_of(instrument, execution.tick)), 8)
    if one.status == "expired" and one.cause == "immediate":
        report["eR"] = "INSUFFICIENT_LIQUIDITY"
    return report


def _last(execution: Execution | None, one: OrderRecord) -> Message:
    """What was filled just now, and what altogether."""
    total = one.instrument.size(one.filled_lots)
    if execution is None:
        return {"l": NOTHING, "z": total, "L": NOTHING, "n": "0", "N": None}
    return {
        "l": one.instrument.size(execution.lots),
        "z": total,
        "L": one.instrument.price(execution.tick),
        "n": fixed(execution.fee, 8),
        "N": execution.fee_asset,
    }
