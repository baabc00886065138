"""Binance USD-M: listen keys, the private socket path, signed REST."""

from collections.abc import Callable

from typing_extensions import override

from services.simulator.accounts.account import Account
from services.simulator.accounts.keyring import Keyring
from services.simulator.accounts.records import Happening
from services.simulator.accounts.view import View
from services.simulator.accounts.wallet import Wallet
from services.simulator.session import Action, Reply, RestReply, Session, Subscribe
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import Message, encode_json, ms
from services.simulator.venues import binance_usdm_private_events as events
from services.simulator.venues import binance_usdm_private_rest as rest
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.binance import BinanceSession
from services.simulator.venues.binance_private import BinancePrivate, Problem
from services.simulator.venues.binance_usdm import RULES
from services.simulator.venues.private import HttpRequest, PrivateMessage, PrivateSession

__all__ = ["BinanceUsdmPrivate", "BinanceUsdmPrivateSession"]

PREFIX = "/private"
LISTEN_KEY_PATH = "/fapi/v1/listenKey"
KEY_LIFE_S = 3600
WEIGHT_LIMIT = 2400
OPEN_ORDERS = ("/fapi/v1/openOrders", "/fapi/v1/openAlgoOrders")
WEIGHTS = {
    LISTEN_KEY_PATH: 1,
    "/fapi/v1/order": 1,
    "/fapi/v1/allOrders": 5,
    "/fapi/v1/allAlgoOrders": 5,
    "/fapi/v1/userTrades": 5,
    "/fapi/v1/income": 30,
    "/fapi/v3/positionRisk": 5,
    "/fapi/v3/balance": 5,
    "/fapi/v3/account": 5,
}
USD_MARGINED = 1


class BinanceUsdmPrivateSession(BinanceSession, PrivateSession):
    """Listen keys are stream names. One that nobody granted, or that expired, is accepted and silent."""

    wallet = "usdm"

    def __init__(self, keyring: Keyring, settings: SimulatorSettings, events: frozenset[str], now_ns: int) -> None:
        super().__init__(settings, RULES, lambda _: False, lambda _: False, now_ns)
        self._keyring = keyring
        self._events = events
        self._key = ""

    @override
    def wants(self, message: PrivateMessage) -> bool:
        return not self._events or message.name in self._events

    @override
    def wrap(self, topic: str, payload: bytes) -> bytes:
        return super().wrap(self._key, payload)

    @override
    def receive(self, text: str, now_ns: int) -> list[Action]:
        actions = super().receive(text, now_ns)
        self._listen(actions, now_ns)
        return actions

    @override
    def opened(self, now_ns: int) -> list[Action]:
        actions = super().opened(now_ns)
        self._listen(actions, now_ns)
        return actions

    @override
    def tick(self, now_ns: int, last_data_ns: int) -> list[Action]:
        if self.account is not None and self._keyring.good(self._key, self._venue_ns(now_ns)) is None:
            return self.expired(now_ns)
        return super().tick(now_ns, last_data_ns)

    @override
    def expired(self, now_ns: int) -> list[Action]:
        event = {"e": "listenKeyExpired", "E": ms(self._venue_ns(now_ns)), "listenKey": self._key}
        reply = Reply(self.wrap("", encode_json(event)))
        self.account = None
        return [reply]

    def _listen(self, actions: list[Action], now_ns: int) -> None:
        """Begin with the first good key among what was subscribed to; end with it."""
        if self.account is not None and self._key not in self.topics:
            self.account = None
        for action in actions:
            if self.account is None and isinstance(action, Subscribe):
                granted = self._keyring.good(action.topic, self._venue_ns(now_ns))
                if granted is not None and granted.wallet == self.wallet:
                    self.account, self._key = granted.account, granted.text

    def _venue_ns(self, now_ns: int) -> int:
        return now_ns + self._keyring.offset("binance")


class BinanceUsdmPrivate(BinancePrivate):
    """The futures wallet."""

    wallet = "usdm"
    socket_path = PREFIX + "/"
    weight_limit = WEIGHT_LIMIT
    unsigned = frozenset({LISTEN_KEY_PATH})

    @override
    def session(
        self, venue: Venue, path: str, query: Query, knows: Callable[[str], bool], now_ns: int
    ) -> Session | None:
        if not path.startswith(self.socket_path):
            return None
        route = path.removeprefix(PREFIX)
        if route not in ("/ws", "/stream") and not route.startswith("/ws/"):
            return None
        events = frozenset(one for one in query.get("events", "").split("/") if one)
        session = BinanceUsdmPrivateSession(self.keyring, self.settings, events, now_ns)
        session.combined = route == "/stream"
        named = [route.removeprefix("/ws/")] if route.startswith("/ws/") else []
        named += [query[name] for name in ("listenKey", "streams") if query.get(name)]
        session.initial = named
        return session

    @override
    def serves(self, path: str) -> bool:
        return path == LISTEN_KEY_PATH or path in rest.PATHS

    @override
    def weight(self, request: HttpRequest) -> int:
        if request.path in OPEN_ORDERS:
            return 1 if request.parameters.get("symbol") else 40
        return WEIGHTS[request.path]

    @override
    def answer(self, account: Account, view: View, request: HttpRequest, now_ns: int) -> RestReply:
        if request.path == LISTEN_KEY_PATH:
            return self._listen_key(account, request.method, now_ns)
        if request.method != "GET":
            text = f"Path {request.path}, Method {request.method} is invalid"
            return RestReply(404, encode_json({"code": -5000, "msg": text}))
        return rest.answer(request.path, request.parameters, view, self.markets, now_ns)

    def _listen_key(self, account: Account, method: str, now_ns: int) -> RestReply:
        """An account has one key at a time; asking again gives the same and renews it."""
        life_ns = int(KEY_LIFE_S * self.settings.deadline_scale * 10**9)
        known = next(self.keyring.granted(account, self.wallet, now_ns), None)
        if method == "POST":
            known = known or self.keyring.grant(account, self.wallet, now_ns + life_ns)
        elif known is None or method not in ("PUT", "DELETE"):
            return Problem(-1125, "This listenKey does not exist.").reply
        if method == "DELETE":
            self.keyring.revoke(known.text)
            return RestReply(200, b"{}")
        known.expires_ns = now_ns + life_ns
        return RestReply(200, encode_json({"listenKey": known.text}))

    @override
    def messages(self, account: Account, wallet: Wallet, happening: Happening, now_ns: int) -> list[PrivateMessage]:
        found: list[PrivateMessage] = []

        def push(event: str, feed: str, symbol: str, fields: Message) -> None:
            head = {"e": event, "T": ms(happening.ts_ns), "E": ms(now_ns)}
            found.append(PrivateMessage(event, feed, "usdm", symbol, {**head, **fields}, account.name))

        order, execution = happening.order, happening.execution
        symbol = order.instrument.native_symbol if order is not None else ""
        if execution is not None and execution.kind == "trade":
            push("TRADE_LITE", "fill", symbol, events.lite(execution))
        if happening.kind in ("fill", "funding", "transfer"):
            feed = "position" if happening.positions else "balance"
            push("ACCOUNT_UPDATE", feed, symbol, {"a": events.account_update(happening, self.markets)})
        if order is not None:
            feed = "order" if execution is None else "fill"
            push("ORDER_TRADE_UPDATE", feed, symbol, {"st": USD_MARGINED, "o": events.order(order, happening)})
        return found
