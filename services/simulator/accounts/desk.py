"""All accounts of all venues in one place: who they are, what they do, what is said to them."""

import asyncio
from collections.abc import Callable, Mapping

from services.simulator.accounts.account import Account, AccountSpec, Refused
from services.simulator.accounts.delivery import Delivery, Sent
from services.simulator.accounts.forced import Forced
from services.simulator.accounts.keyring import Keyring
from services.simulator.accounts.records import Happening
from services.simulator.accounts.report import Report
from services.simulator.accounts.script import Script, ScriptRequest
from services.simulator.accounts.trading import Trading
from services.simulator.accounts.wallet import Wallet
from services.simulator.connection import Connection
from services.simulator.faults import Fault, FaultBoard
from services.simulator.session import Action, RestReply, Session
from services.simulator.settings import SimulatorSettings
from services.simulator.venues.base import Query, Venue
from services.simulator.venues.private import HttpRequest, PrivateMessage, PrivateSession, PrivateVenue
from services.simulator.venues.private_registry import make_private_venues

__all__ = ["Desk"]

NANOSECONDS = 1_000_000_000
NANOSECONDS_PER_MS = 1_000_000


class Desk:
    """``trading`` and ``forced`` do things to accounts, ``keyring`` knows them; :meth:`tick` is their time."""

    def __init__(
        self,
        venues: Mapping[tuple[str, str], Venue],
        settings: SimulatorSettings,
        board: FaultBoard,
        clock: Callable[[], int],
        sent: Sent,
    ) -> None:
        self.venues = venues
        self._board = board
        self._clock = clock
        self._offsets_ns: dict[str, int] = {}
        self.keyring = Keyring(settings.seed, self._refuses, self._rejects, self.offset_ns)
        self.markets = {
            (*key, symbol): market for key, venue in venues.items() for symbol, market in venue.markets.items()
        }
        self.private: dict[tuple[str, str], PrivateVenue] = {}
        for exchange in {exchange for exchange, _ in venues}:
            markets = {key[1:]: market for key, market in self.markets.items() if key[0] == exchange}
            self.private |= make_private_venues(exchange, self.keyring, markets, settings)
        self.delivery = Delivery(board, clock, sent)
        self.trading = Trading(self.markets, clock, self.offset_ns, self._published)
        self.forced = Forced(self.trading, self._published)
        self.reports: dict[Account, Report] = {}
        self.scripts: dict[Account, Script] = {}
        for spec in settings.accounts:
            self.open(spec)

    def open(self, spec: AccountSpec) -> Account:
        """A new account; Refused where it can't be."""
        if not any(exchange == spec.exchange for exchange, _ in self.private):
            raise Refused(f"{spec.exchange} is not simulated here")
        account = self.keyring.add(spec, self.trading.time(spec.exchange))
        self.reports[account] = Report(account)
        return account

    def script(self, account: Account, request: ScriptRequest) -> Script:
        """Let an account be busy; Refused while it is already."""
        running = self.scripts.get(account)
        if running is not None and running.running:
            raise Refused("a script is running already")
        script = Script(self.trading, self.forced, account, self.reports[account], request)
        self.scripts[account] = script
        return script

    def tick(self, now_ns: int) -> None:
        """What the markets did since the last time, then the scripts' turn."""
        self.trading.collect(self.markets.values())
        for script in self.scripts.values():
            script.run(now_ns)
        self.delivery.tick(now_ns)

    def offset_ns(self, exchange: str) -> int:
        """How far an exchange's clock is ahead of everybody's."""
        return self._offsets_ns.get(exchange, 0)

    def set_clock(self, fault: Fault) -> int:
        """Set clocks; how many."""
        exchanges = {exchange for exchange, _ in self.private if fault.exchange in ("", exchange)}
        self._offsets_ns |= dict.fromkeys(exchanges, fault.offset_ms * NANOSECONDS_PER_MS)
        return len(exchanges)

    def expire(self, fault: Fault, perform: Callable[[Connection, list[Action]], None]) -> int:
        """Let listen keys, or what stands for them, expire at once; how many streams ended by that."""
        for key in [*self.keyring.listen_keys.values()]:
            if fault.at(key.account.exchange, key.wallet) and fault.concerns(key.account.name):
                self.keyring.revoke(key.text)
        struck = 0
        for connection in [*self.delivery.connections]:
            session, venue = connection.session, connection.venue
            if not isinstance(session, PrivateSession) or session.account is None or connection.ended:
                continue
            if fault.at(venue.exchange, venue.product) and fault.concerns(session.account.name):
                actions = session.expired(self._clock())
                perform(connection, actions)
                struck += bool(actions)
        return struck

    def leads(self, venue: Venue, path: str, query: Query) -> bool:
        """Whether a WebSocket path is for private streams alone."""
        return any(private.leads(path, query) for private in self._of(venue))

    def session(
        self, venue: Venue, path: str, query: Query, knows: Callable[[str], bool], now_ns: int
    ) -> Session | None:
        """The conversation on a private path, None where it is none."""
        for private in self._of(venue):
            session = private.session(venue, path, query, knows, now_ns)
            if session is not None:
                return session
        return None

    def join(self, connection: Connection) -> None:
        """A connection that may log in."""
        if isinstance(connection.session, PrivateSession):
            self.delivery.connections.append(connection)

    def leave(self, connection: Connection) -> None:
        """It ended."""
        if isinstance(connection.session, PrivateSession):
            connection.session.left()
            self.delivery.connections = [one for one in self.delivery.connections if one is not connection]

    def serving(self, venue: Venue, path: str) -> PrivateVenue | None:
        """Who answers a REST path, None where it is public."""
        return next((private for private in self._of(venue) if private.serves(path)), None)

    async def rest(self, private: PrivateVenue, venue: Venue, request: HttpRequest) -> RestReply:
        """The answer to a private request, faults included."""
        holder = self.keyring.holder(private.exchange, private.key(request))
        name = holder.name if holder is not None else "?"

        def strike(kind: str) -> Fault | None:
            return self._board.take(kind, venue.exchange, venue.product, account=name, path=request.path)

        failed = strike("rest_error")
        reply = venue.refusal(failed.status) if failed is not None else self._answer(private, request, strike)
        slow = strike("rest_slow")
        if slow is not None:
            await asyncio.sleep(slow.seconds)
        return reply

    def _answer(self, private: PrivateVenue, request: HttpRequest, strike: Callable[[str], Fault | None]) -> RestReply:
        now_ns = self.trading.time(private.exchange)
        checked = private.check(request, now_ns)
        if isinstance(checked, RestReply):
            return checked
        account = checked.account
        if account is None:
            return RestReply(500, b"")
        limited = private.limited(account, request, now_ns)
        if limited is not None:
            return limited
        self.trading.collect(self.markets.values())
        lag = strike("rest_lag")
        view = private.own(account).as_of(None if lag is None else now_ns - int(lag.seconds * NANOSECONDS))
        reply = private.answer(account, view, request, now_ns)
        return RestReply(reply.status, reply.body, {**private.headers(account, request), **reply.headers})

    def _of(self, venue: Venue) -> list[PrivateVenue]:
        """Private sides that a product's base leads to."""
        return [
            private
            for (exchange, wallet), private in self.private.items()
            if exchange == venue.exchange and wallet in ("unified", venue.product)
        ]

    def _published(self, account: Account, wallet: Wallet, happening: Happening) -> None:
        private = self.private[account.exchange, wallet.rules.name]
        now_ns = max(happening.ts_ns, self.trading.time(account.exchange))
        messages: list[PrivateMessage] = private.messages(account, wallet, happening, now_ns)
        self.reports[account].add(wallet, happening, messages)
        self.delivery.send(account, wallet.rules.name, messages)

    def _refuses(self, account: Account, product: str) -> bool:
        return self._board.take("refuse_auth", account.exchange, product, account=account.name) is not None

    def _rejects(self, account: Account, product: str, topic: str) -> bool:
        taken = self._board.take("reject_topic", account.exchange, product, account=account.name, path=topic)
        return taken is not None
