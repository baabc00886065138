"""MEXC spot: listen keys, the private channels (protobuf), signed REST."""

import re
from collections.abc import Callable

from typing_extensions import override

from services.simulator.accounts.account import Account
from services.simulator.accounts.keyring import Checked, Keyring, ListenKey
from services.simulator.accounts.limits import Budget
from services.simulator.accounts.records import Happening
from services.simulator.accounts.view import View
from services.simulator.accounts.wallet import Wallet
from services.simulator.session import Action, Close, Reply, RestReply, Session
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import Message, encode_json, ms
from services.simulator.venues import mexc_spot_private_rest
from services.simulator.venues import mexc_spot_private_rows as rows
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.mexc_spot import MexcSpotSession
from services.simulator.venues.private import HttpRequest, Markets, PrivateMessage, PrivateSession, PrivateVenue

__all__ = ["MexcSpotPrivate", "MexcSpotPrivateSession"]

ORDERS = "spot@private.orders.v3.api.pb"
DEALS = "spot@private.deals.v3.api.pb"
ACCOUNT = "spot@private.account.v3.api.pb"
CHANNELS = frozenset({ORDERS, DEALS, ACCOUNT})

KEY_LIFE_S = 3600
MOST_KEYS = 60
MOST_CONNECTIONS = 5
WEIGHT_LIMIT = 500
WINDOW_NS = 10_000_000_000
MOST_WINDOW_MS = 60_000
LATEST_MS = 1000
LISTEN_KEY_PATH = "/api/v3/userDataStream"
INVALID_KEY = b"Invalid listen key"
LOWER_ESCAPE = re.compile(r"%(?:[a-f]|[0-9A-F][a-f])")


class MexcSpotPrivateSession(MexcSpotSession, PrivateSession):
    """As a public socket, with private channels beside the others as long as the listen key lives."""

    wallet = "spot"

    def __init__(
        self,
        keyring: Keyring,
        settings: SimulatorSettings,
        knows: Callable[[str], bool],
        key: str,
        now_ns: int,
    ) -> None:
        super().__init__(settings, self._knows_private, now_ns)
        self._keyring = keyring
        self._knows_public = knows
        self._key = key
        granted = self._granted(now_ns)
        if granted is not None and granted.connections < MOST_CONNECTIONS:
            granted.connections += 1
            self.account = granted.account

    @override
    def opened(self, now_ns: int) -> list[Action]:
        return [] if self.account is not None else [Reply(INVALID_KEY), Close(1000, "Invalid listen key")]

    @override
    def wants(self, message: PrivateMessage) -> bool:
        return message.name in self.topics

    @override
    def left(self) -> None:
        granted = self._keyring.listen_keys.get(self._key)
        if granted is not None and self.account is not None:
            granted.connections -= 1

    @override
    def tick(self, now_ns: int, last_data_ns: int) -> list[Action]:
        if self.account is not None and self._granted(now_ns) is None:
            return self.expired(now_ns)
        return super().tick(now_ns, last_data_ns)

    @override
    def expired(self, now_ns: int) -> list[Action]:
        self.account = None
        return [Close(1000, "listen key expired")]

    def _granted(self, now_ns: int) -> ListenKey | None:
        return self._keyring.good(self._key, now_ns + self._keyring.offset("mexc"))

    def _knows_private(self, name: str) -> bool:
        if name not in CHANNELS:
            return self._knows_public(name)
        return self.account is not None and not self._keyring.rejects(self.account, "spot", name)


class MexcSpotPrivate(PrivateVenue):
    """The spot wallet."""

    exchange = "mexc"
    wallet = "spot"

    def __init__(self, keyring: Keyring, markets: Markets, settings: SimulatorSettings) -> None:
        super().__init__(keyring, markets, settings)
        self._budget = Budget(self.scaled(WEIGHT_LIMIT), WINDOW_NS)

    @override
    def leads(self, path: str, query: Query) -> bool:
        return path == "/ws" and "listenKey" in query

    @override
    def session(
        self, venue: Venue, path: str, query: Query, knows: Callable[[str], bool], now_ns: int
    ) -> Session | None:
        if not self.leads(path, query):
            return None
        return MexcSpotPrivateSession(self.keyring, self.settings, knows, query["listenKey"], now_ns)

    @override
    def serves(self, path: str) -> bool:
        return path == LISTEN_KEY_PATH or path in mexc_spot_private_rest.PATHS

    @override
    def key(self, request: HttpRequest) -> str:
        return request.header("X-MEXC-APIKEY")

    @override
    def check(self, request: HttpRequest, now_ns: int) -> Checked | RestReply:
        parameters, key = request.parameters, self.key(request)
        stamp, window = parameters.get("timestamp", ""), parameters.get("recvWindow", "5000")
        if not stamp.isdecimal() or not parameters.get("signature"):
            return _refusal(700004, "Mandatory parameter 'timestamp' or 'signature' was not sent.")
        late = not window.isdecimal() or int(window) > MOST_WINDOW_MS
        if late or not ms(now_ns) - int(window) <= int(stamp) < ms(now_ns) + LATEST_MS:
            return _refusal(700003, "Timestamp for this request is outside of the recvWindow.")
        query = "&".join(one for one in request.query.split("&") if not one.startswith("signature="))
        body = "&".join(one for one in request.body.split("&") if not one.startswith("signature="))
        checked = self.keyring.check("mexc", "spot", key, query + body, parameters["signature"])
        if checked.problem == "key":
            return _refusal(10072, "Api key info invalid")
        if checked.problem or LOWER_ESCAPE.search(query + body):
            return _refusal(700002, "Signature for this request is not valid.")
        return checked

    @override
    def limited(self, account: Account, request: HttpRequest, now_ns: int) -> RestReply | None:
        weight = mexc_spot_private_rest.WEIGHTS.get(request.path, 1)
        if self._budget.take((account.name, request.path), weight, now_ns) >= 0:
            return None
        wait_s = max(1, (self._budget.ends_ns((account.name, request.path)) - now_ns) // 10**9)
        return RestReply(429, encode_json({"code": 429, "msg": "Too Many Requests"}), {"Retry-After": str(wait_s)})

    @override
    def answer(self, account: Account, view: View, request: HttpRequest, now_ns: int) -> RestReply:
        if request.path == LISTEN_KEY_PATH:
            return self._listen_key(account, request, now_ns)
        if request.method != "GET":
            return RestReply(405, encode_json({"code": 405, "msg": "Method Not Allowed"}))
        return mexc_spot_private_rest.answer(request.path, request.parameters, view, now_ns)

    def _listen_key(self, account: Account, request: HttpRequest, now_ns: int) -> RestReply:
        granted = [*self.keyring.granted(account, self.wallet, now_ns)]
        life_ns = int(KEY_LIFE_S * self.settings.deadline_scale * 10**9)
        if request.method == "GET":
            return RestReply(200, encode_json({"listenKey": [one.text for one in granted]}))
        if request.method == "POST":
            if len(granted) >= MOST_KEYS:
                return _refusal(700013, "Too many listen keys.")
            return _key(self.keyring.grant(account, self.wallet, now_ns + life_ns))
        known = next((one for one in granted if one.text == request.parameters.get("listenKey")), None)
        if known is None:
            return _refusal(700005, "Invalid listen key.")
        if request.method == "PUT":
            known.expires_ns = now_ns + life_ns
        else:
            self.keyring.revoke(known.text)
        return _key(known)

    @override
    def messages(self, account: Account, wallet: Wallet, happening: Happening, now_ns: int) -> list[PrivateMessage]:
        order, execution, found = happening.order, happening.execution, []
        symbol = order.instrument.native_symbol if order is not None else ""

        def push(channel: str, feed: str, body: Message) -> None:
            named = "" if feed == "balance" else symbol
            head: Message = {"symbol": symbol} if named else {"createTime": ms(happening.ts_ns)}
            message = {"channel": channel, **head, "sendTime": ms(now_ns), **body}
            found.append(PrivateMessage(channel, feed, "spot", named, message, account.name, binary=True))

        if order is not None:
            push(ORDERS, "order", {"privateOrders": rows.order(order, execution)})
        if execution is not None:
            push(DEALS, "fill", {"privateDeals": rows.deal(execution)})
        for row in rows.balances(happening):
            push(ACCOUNT, "balance", {"privateAccount": row})
        return found


def _key(granted: ListenKey) -> RestReply:
    return RestReply(200, encode_json({"listenKey": granted.text}))


def _refusal(code: int, text: str) -> RestReply:
    return RestReply(400, encode_json({"code": code, "msg": text}))
