"""MEXC contracts: login and private pushes on the one socket, signed REST."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import msgspec
from typing_extensions import override

from services.simulator.accounts.account import Account
from services.simulator.accounts.keyring import Checked, Keyring
from services.simulator.accounts.limits import Budget
from services.simulator.accounts.records import Happening, OrderRecord
from services.simulator.accounts.view import View
from services.simulator.accounts.wallet import Wallet
from services.simulator.instruments import Instrument
from services.simulator.session import Action, Reply, RestReply, Session
from services.simulator.settings import SimulatorSettings
from services.simulator.topics import encode_json, ms
from services.simulator.venues import mexc_futures_private_rest as rest
from services.simulator.venues import mexc_futures_private_rows as rows
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.mexc_futures import MexcFutures, MexcFuturesSession
from services.simulator.venues.private import HttpRequest, Markets, PrivateMessage, PrivateSession, PrivateVenue

__all__ = ["MexcFuturesPrivate", "MexcFuturesPrivateSession"]

REQUESTS = 20
WINDOW_NS = 2_000_000_000
DEFAULT_WINDOW_MS = 10_000
MOST_WINDOW_MS = 60_000
FILTERS = frozenset(
    {
        "order",
        "order.deal",
        "position",
        "plan.order",
        "stop.order",
        "stop.planorder",
        "risk.limit",
        "adl.level",
        "asset",
    }
)


class MexcFuturesPrivateSession(MexcFuturesSession, PrivateSession):
    """As a public socket; after a login everything private comes, unless it is filtered."""

    wallet = "futures"

    def __init__(self, keyring: Keyring, venue: MexcFutures, knows: Callable[[str], bool], now_ns: int) -> None:
        super().__init__(venue, knows, now_ns)
        self._keyring = keyring
        self._filters: dict[str, frozenset[str]] | None = {}
        """Symbols by filter (none: all of them); empty: everything, None: nothing."""

    @override
    def wants(self, message: PrivateMessage) -> bool:
        if self.account is None or self._filters is None:
            return False
        if not self._filters:
            return True
        rules = self._filters.get(message.name)
        return rules is not None and (not rules or message.symbol in rules)

    @override
    def receive(self, text: str, now_ns: int) -> list[Action]:
        try:
            request = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return []
        method = request.get("method") if isinstance(request, dict) else None
        if method == "login":
            return [self._login(request, now_ns)]
        if method == "personal.filter":
            return [self._filter(request.get("param"), now_ns)]
        return super().receive(text, now_ns)

    def _login(self, request: dict[str, Any], now_ns: int) -> Reply:
        param = request.get("param")
        given = {str(name): str(value) for name, value in param.items()} if isinstance(param, dict) else {}
        key, stamp = given.get("apiKey", ""), given.get("reqTime", "")
        venue_ms = ms(now_ns + self._keyring.offset("mexc"))
        if not stamp.isdecimal() or abs(venue_ms - int(stamp)) > DEFAULT_WINDOW_MS:
            return _said("rs.error", "reqTime is not valid!", now_ns)
        checked = self._keyring.check("mexc", "futures", key, key + stamp, given.get("signature", ""))
        if checked.account is None:
            text = "Signature verification failed!" if checked.problem == "signature" else "apiKey is not valid!"
            return _said("rs.error", text, now_ns)
        self.account = checked.account
        self._filters = None if request.get("subscribe") is False else {}
        return _said("rs.login", "success", now_ns)

    def _filter(self, param: object, now_ns: int) -> Reply:
        filters = param.get("filters") if isinstance(param, dict) else None
        if self.account is None:
            return _said("rs.error", "not login!", now_ns)
        named = [one for one in filters if isinstance(one, dict)] if isinstance(filters, list) else []
        refused = [one for one in named if one.get("filter") not in FILTERS or self._rejects(one["filter"])]
        if not isinstance(filters, list) or len(named) != len(filters) or refused:
            return _said("rs.error", "filter param is not valid!", now_ns)
        self._filters = {one["filter"]: frozenset(map(str, one.get("rules") or ())) for one in named}
        return _said("rs.personal.filter", "success", now_ns)

    def _rejects(self, name: str) -> bool:
        return self.account is not None and self._keyring.rejects(self.account, "futures", name)


class MexcFuturesPrivate(PrivateVenue):
    """The futures wallet."""

    exchange = "mexc"
    wallet = "futures"

    def __init__(self, keyring: Keyring, markets: Markets, settings: SimulatorSettings) -> None:
        super().__init__(keyring, markets, settings)
        self._budget = Budget(self.scaled(REQUESTS), WINDOW_NS)

    @override
    def session(
        self, venue: Venue, path: str, query: Query, knows: Callable[[str], bool], now_ns: int
    ) -> Session | None:
        if path != "/edge" or not isinstance(venue, MexcFutures):
            return None
        return MexcFuturesPrivateSession(self.keyring, venue, knows, now_ns)

    @override
    def serves(self, path: str) -> bool:
        return path.startswith(rest.PREFIX)

    @override
    def key(self, request: HttpRequest) -> str:
        return request.header("ApiKey")

    @override
    def check(self, request: HttpRequest, now_ns: int) -> Checked | RestReply:
        key, stamp = self.key(request), request.header("Request-Time")
        window = request.header("Recv-Window") or str(DEFAULT_WINDOW_MS)
        usable = stamp.isdecimal() and window.isdecimal() and int(window) <= MOST_WINDOW_MS
        if not usable or abs(ms(now_ns) - int(stamp)) > int(window):
            return rest.failed(513, "Invalid request(for open api serves time)")
        if request.method in ("GET", "DELETE"):
            named = sorted(request.parameters.items())
            signed = "&".join(f"{name}={quote(value, safe='')}" for name, value in named)
        else:
            signed = request.body
        checked = self.keyring.check("mexc", "futures", key, key + stamp + signed, request.header("Signature"))
        if checked.problem == "key":
            return rest.failed(401, "No authority!")
        return rest.failed(602, "Signature verification failed!") if checked.problem else checked

    @override
    def limited(self, account: Account, request: HttpRequest, now_ns: int) -> RestReply | None:
        if self._budget.take((account.name, request.path), 1, now_ns) >= 0:
            return None
        return rest.failed(510, "Requests are too frequent, please try again later!")

    @override
    def answer(self, account: Account, view: View, request: HttpRequest, now_ns: int) -> RestReply:
        if request.method != "GET":
            return rest.failed(404, "Not Found")
        return rest.answer(request.path, request.parameters, view, now_ns)

    @override
    def messages(self, account: Account, wallet: Wallet, happening: Happening, now_ns: int) -> list[PrivateMessage]:
        found: list[PrivateMessage] = []

        def push(channel: str, feed: str, instrument: Instrument | None, data: object) -> None:
            body = {"channel": f"push.personal.{channel}", "data": data, "ts": ms(now_ns)}
            symbol = instrument.native_symbol if instrument is not None else ""
            found.append(PrivateMessage(channel, feed, "futures", symbol, body, account.name))

        order, execution = happening.order, happening.execution
        if execution is not None:
            push("order.deal", "fill", execution.order.instrument, rows.deal(execution))
        if order is not None:
            push("order", "order", order.instrument, rows.order(order, _position_id(wallet, order)))
        for one in happening.positions:
            push("position", "position", one.instrument, rows.position(one))
        for change in happening.assets:
            push("asset", "balance", None, rows.asset(change.after))
        return found


def _position_id(wallet: Wallet, order: OrderRecord) -> int:
    instrument = order.instrument
    known = wallet.view.positions.get((instrument.product, instrument.native_symbol, order.leg))
    return known.id if known is not None else 0


def _said(channel: str, data: object, now_ns: int) -> Reply:
    return Reply(encode_json({"channel": channel, "data": data, "ts": ms(now_ns)}))
