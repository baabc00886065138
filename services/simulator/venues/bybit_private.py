"""Bybit v5: the private socket of all categories, and what it says of an account."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import msgspec
from typing_extensions import override

from services.simulator.accounts.account import Account
from services.simulator.accounts.keyring import Checked, Keyring
from services.simulator.accounts.limits import Budget
from services.simulator.accounts.records import Happening
from services.simulator.accounts.view import View
from services.simulator.accounts.wallet import Wallet
from services.simulator.engine import Market
from services.simulator.instruments import Instrument
from services.simulator.session import Action, Close, Reply, RestReply, Session, Subscribe, Unsubscribe
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import encode_json, ms
from services.simulator.venues import bybit_private_rest
from services.simulator.venues import bybit_private_rows as rows
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.private import HttpRequest, Markets, PrivateMessage, PrivateSession, PrivateVenue

__all__ = ["BybitPrivate", "BybitPrivateSession"]

IDLE_S = 600
MOST_EXPIRY_MS = 86_400_000
REQUESTS_PER_SECOND = 50
SECOND_NS = 1_000_000_000
LATEST_MS = 1000
"""How far a request's time may be ahead of the venue's."""

DERIVATIVES = frozenset({"linear", "inverse", "option"})
CATEGORIES = DERIVATIVES | {"spot"}
TOPICS: dict[str, frozenset[str]] = {
    "order": CATEGORIES,
    "execution": CATEGORIES,
    "execution.fast": CATEGORIES,
    "position": DERIVATIVES,
    "wallet": frozenset(),
    "greeks": frozenset(),
    "dcp": frozenset({"future", "spot", "option"}),
}
"""What can be subscribed to, with the categories that can follow it (``dcp`` has no form without one)."""


def topic_kind(name: str) -> str | None:
    """``order`` for ``order`` and ``order.linear``; None where there is no such topic."""
    if name in TOPICS:
        return name if name != "dcp" else None
    kind, _, category = name.rpartition(".")
    return kind if category in TOPICS.get(kind, ()) else None


class BybitPrivateSession(PrivateSession):
    """Login first, then topics; a request is accepted or refused as a whole."""

    wallet = "unified"

    def __init__(self, keyring: Keyring, venue: Venue, knows: Callable[[str], bool], now_ns: int) -> None:
        super().__init__(knows, now_ns, venue.settings.deadline_scale)
        self._keyring = keyring
        self._product = venue.product
        self._connection = f"sim{now_ns // 1_000_000:x}-p"

    @override
    def wants(self, message: PrivateMessage) -> bool:
        return message.name in self.topics or f"{message.name}.{message.product}" in self.topics

    @override
    def wrap(self, topic: str, payload: bytes) -> bytes:
        """A categorised subscription is answered under its own name."""
        kind, _, category = topic.partition("@")
        if kind in self.topics:
            return payload
        return payload.replace(f'"topic":"{kind}"'.encode(), f'"topic":"{kind}.{category}"'.encode(), 1)

    @override
    def receive(self, text: str, now_ns: int) -> list[Action]:
        self.last_client_ns = now_ns
        try:
            request = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            request = None
        if not isinstance(request, dict):
            return [self._reply("", f"Failed to decode incoming data:{text[:100]}", None)]
        operation, number, args = request.get("op"), request.get("req_id"), request.get("args")
        match operation:
            case "ping":
                body = {"req_id": number or "", "op": "pong", "args": [str(ms(now_ns))], "conn_id": self._connection}
                return [Reply(encode_json(body))]
            case "auth":
                return [self._login(args if isinstance(args, list) else [], number, now_ns)]
            case "subscribe" | "unsubscribe" if isinstance(args, list):
                return self._change(operation, [str(one) for one in args], number)
        return [self._reply(str(operation), "error:invalid op", number)]

    @override
    def tick(self, now_ns: int, last_data_ns: int) -> list[Action]:
        idle_ns = now_ns - max(self.last_client_ns, last_data_ns)
        return [Close(1000)] if idle_ns > self.seconds(IDLE_S) else []

    def _login(self, args: list[Any], number: object, now_ns: int) -> Reply:
        if len(args) != 3 or not isinstance(args[1], int | str) or not str(args[1]).isdecimal():
            return self._reply("auth", "Params Error", number)
        key, expires, given = str(args[0]), str(args[1]), str(args[2])
        venue_ms = ms(now_ns + self._keyring.offset("bybit"))
        if not venue_ms < int(expires) <= venue_ms + MOST_EXPIRY_MS:
            return self._reply("auth", "Params Error", number)
        checked = self._keyring.check("bybit", self._product, key, f"GET/realtime{expires}", given)
        if checked.account is None:
            return self._reply("auth", "Params Error", number)
        self.account = checked.account
        return self._reply("auth", "", number, success=True)

    def _change(self, operation: str, names: list[str], number: object) -> list[Action]:
        problem = self._problem(operation, names)
        if problem:
            return [self._reply(operation, problem, number)]
        actions: list[Action] = [self._reply(operation, "", number, success=True)]
        for name in names:
            if operation == "subscribe":
                self.topics[name] = None
                actions.append(Subscribe(name, silent=True))
            else:
                self.topics.pop(name, None)
                actions.append(Unsubscribe(name))
        return actions

    def _problem(self, operation: str, names: list[str]) -> str:
        for position, name in enumerate(names):
            kind = topic_kind(name)
            if kind is None:
                return f"error:handler not found,topic:{name}"
            if self.account is None:
                return f"error:topic:{name} needs auth first"
            if operation == "unsubscribe":
                continue
            if self._keyring.rejects(self.account, self._product, name):
                return f"error:handler not found,topic:{name}"
            before = [*self.topics, *names[:position]]
            mixed = any(topic_kind(one) == kind and (one == kind) is not (name == kind) for one in before)
            if name in before or mixed:
                return f"error:already subscribed,topic:{name}"
        return ""

    def _reply(self, operation: str, text: str, number: object, *, success: bool = False) -> Reply:
        body = {"success": success, "ret_msg": text, "op": operation, "conn_id": self._connection}
        return Reply(encode_json(body if number is None else {"req_id": number, **body}))


class BybitPrivate(PrivateVenue):
    """The unified account."""

    exchange = "bybit"
    wallet = "unified"
    socket_path = "/v5/private"

    def __init__(self, keyring: Keyring, markets: Markets, settings: SimulatorSettings) -> None:
        super().__init__(keyring, markets, settings)
        self._budget = Budget(self.scaled(REQUESTS_PER_SECOND), SECOND_NS)

    @override
    def session(
        self, venue: Venue, path: str, query: Query, knows: Callable[[str], bool], now_ns: int
    ) -> Session | None:
        return BybitPrivateSession(self.keyring, venue, knows, now_ns) if path == self.socket_path else None

    @override
    def serves(self, path: str) -> bool:
        return path in bybit_private_rest.PATHS

    @override
    def key(self, request: HttpRequest) -> str:
        return request.header("X-BAPI-API-KEY")

    @override
    def check(self, request: HttpRequest, now_ns: int) -> Checked | RestReply:
        key, stamp = self.key(request), request.header("X-BAPI-TIMESTAMP")
        window = request.header("X-BAPI-RECV-WINDOW") or "5000"
        if not (stamp.isdecimal() and window.isdecimal()):
            return _refusal(10001, "params error: timestamp or recv_window invalid", now_ns)
        if not ms(now_ns) - int(window) <= int(stamp) < ms(now_ns) + LATEST_MS:
            text = (
                "invalid request, please check your server timestamp or recv_window param. "
                f"req_timestamp[{stamp}],server_timestamp[{ms(now_ns)}],recv_window[{window}]"
            )
            return _refusal(10002, text, now_ns)
        signed = stamp + key + window + (request.query if request.method == "GET" else request.body)
        checked = self.keyring.check("bybit", "", key, signed, request.header("X-BAPI-SIGN"))
        if checked.problem == "key":
            return _refusal(10003, "API key is invalid.", now_ns)
        if checked.problem:
            return _refusal(10004, "error sign! please check your signature generation algorithm.", now_ns)
        return checked

    @override
    def limited(self, account: Account, request: HttpRequest, now_ns: int) -> RestReply | None:
        if self._budget.take((account.name, request.path), 1, now_ns) >= 0:
            return None
        refused = _refusal(10006, "Too many visits. Exceeded the API Rate Limit.", now_ns)
        return RestReply(200, refused.body, self.headers(account, request))

    @override
    def headers(self, account: Account, request: HttpRequest) -> dict[str, str]:
        key = (account.name, request.path)
        return {
            "X-Bapi-Limit": str(self._budget.limit),
            "X-Bapi-Limit-Status": str(max(0, self._budget.limit - self._budget.used(key))),
            "X-Bapi-Limit-Reset-Timestamp": str(ms(self._budget.ends_ns(key))),
        }

    @override
    def answer(self, account: Account, view: View, request: HttpRequest, now_ns: int) -> RestReply:
        if request.method != "GET":
            return RestReply(404, b"404 page not found", {"Content-Type": "text/plain"})
        return bybit_private_rest.answer(self.markets, request.path, request.parameters, view, now_ns)

    @override
    def messages(self, account: Account, wallet: Wallet, happening: Happening, now_ns: int) -> list[PrivateMessage]:
        found: list[PrivateMessage] = []

        def push(topic: str, feed: str, instrument: Instrument | None, row: object, *, numbered: bool = True) -> None:
            body = {"topic": topic, "creationTime": ms(now_ns), "data": [row]}
            if numbered:
                body = {"id": str(UUID(int=wallet.identities.draw(128))), **body}
            product = instrument.product if instrument is not None else ""
            symbol = instrument.native_symbol if instrument is not None else ""
            found.append(PrivateMessage(topic, feed, product, symbol, body, account.name))

        order, execution, funding = happening.order, happening.execution, happening.funding
        if order is not None:
            push("order", "order", order.instrument, rows.order(order, self._market(order.instrument)))
        if execution is not None:
            instrument = execution.order.instrument
            fast = rows.fast_execution(execution)
            if execution.kind == "trade":
                push("execution.fast", "fill", instrument, fast, numbered=False)
            push("execution", "fill", instrument, rows.execution(execution, self._market(instrument)))
        if funding is not None:
            push("execution", "balance", funding.instrument, rows.funding(funding))
        positions = [*happening.positions]
        if order is not None and not positions and not order.instrument.is_spot:
            held = wallet.position(order.instrument, order.leg)
            positions = [held if held.updated_ns else replace(held, updated_ns=happening.ts_ns)]
        for one in positions:
            row = rows.position(one, self._market(one.instrument), entry="entryPrice")
            push("position", "position", one.instrument, row)
        if happening.assets:
            everything = [*wallet.view.assets.values()]
            worth = bybit_private_rest.prices(self.markets, [one.asset for one in everything])
            push("wallet", "balance", None, rows.wallet([one.after for one in happening.assets], worth, everything))
        return found

    def _market(self, instrument: Instrument) -> Market:
        return self.markets[instrument.product, instrument.native_symbol]


def _refusal(code: int, text: str, now_ns: int) -> RestReply:
    body = {"retCode": code, "retMsg": text, "result": {}, "retExtInfo": {}, "time": ms(now_ns)}
    return RestReply(200, encode_json(body))
