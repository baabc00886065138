"""Random activity of one account: one seed gives one sequence of decisions about the books as they are."""

from random import Random

import msgspec

from services.simulator.accounts.account import Account, Refused
from services.simulator.accounts.forced import Forced
from services.simulator.accounts.moves import Moves
from services.simulator.accounts.report import Report
from services.simulator.accounts.requests import CancelRequest
from services.simulator.accounts.trading import Trading

__all__ = ["Script", "ScriptRequest"]

NANOSECONDS = 1_000_000_000
MOST_PER_TURN = 10
"""Decisions in one turn of the loop; what is over that is not made up for."""

MOST_EVENTS = 200_000
MOST_RATE = 10_000.0
MOST_OPEN = 30
"""Open orders beyond which an account only fills and cancels."""

ACTIONS: tuple[tuple[str, int], ...] = (
    ("rest_near", 26),
    ("rest_deep", 8),
    ("market", 10),
    ("immediate", 5),
    ("post_only", 4),
    ("fill", 24),
    ("cancel", 12),
    ("amend", 6),
    ("fund", 2),
    ("move_money", 2),
    ("force", 1),
)
"""What is done, and how often of a hundred times."""


class ScriptRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``events`` things are to happen to the account, of about ``rate`` decisions a second.

    ``products`` and ``symbols`` (native) narrow where; empty: everywhere. ``settle`` cancels what is open at the end.
    """

    events: int
    rate: float = 50.0
    seed: int = 1
    products: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    settle: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.events <= MOST_EVENTS:
            raise ValueError(f"events must be from 1 to {MOST_EVENTS}; received {self.events}")
        if not 0 < self.rate <= MOST_RATE:
            raise ValueError(f"rate must be above 0 and at most {MOST_RATE:.0f}; received {self.rate}")


class Script:
    """``running`` until enough has happened; ``refused`` counts what the venue did not accept."""

    def __init__(
        self, trading: Trading, forced: Forced, account: Account, report: Report, request: ScriptRequest
    ) -> None:
        markets = [
            market
            for (exchange, product, symbol), market in trading.markets.items()
            if exchange == account.exchange
            and (not request.products or product in request.products)
            and (not request.symbols or symbol in request.symbols)
        ]
        if not markets:
            raise Refused("there is no such market")
        self._rng = Random(f"{request.seed}/{account.exchange}/{account.name}/script")
        self._moves = Moves(trading, forced, account, markets, self._rng)
        self._trading = trading
        self._account = account
        self._report = report
        self._request = request
        self._began = report.happenings
        self._due_ns = trading.clock()
        self.running = True
        self.decisions = self.refused = 0

    @property
    def happened(self) -> int:
        """What happened to the account since the script began."""
        return self._report.happenings - self._began

    def run(self, now_ns: int) -> None:
        """Do what is due, a bounded number of things."""
        done = 0
        while self.running and self._due_ns <= now_ns and done < MOST_PER_TURN:
            done += 1
            self._due_ns += int(self._rng.expovariate(self._request.rate) * NANOSECONDS)
            self._decide()
            if self.happened >= self._request.events:
                self._finish()
        if done == MOST_PER_TURN:
            self._due_ns = max(self._due_ns, now_ns)

    def stop(self) -> None:
        """Leave it at that."""
        self.running = False

    def _finish(self) -> None:
        self.running = False
        if self._request.settle:
            for order in self._moves.open_orders():
                self._attempt(order.id)

    def _attempt(self, order_id: str) -> None:
        try:
            self._trading.cancel(self._account, CancelRequest(order_id))
        except Refused:
            self.refused += 1

    def _decide(self) -> None:
        self.decisions += 1
        names, weights = zip(*ACTIONS, strict=True)
        action = self._rng.choices(names, weights)[0]
        if len(self._moves.open_orders()) >= MOST_OPEN:
            action = self._rng.choice(("fill", "cancel"))
        try:
            self._moves.by_name[action]()
        except Refused:
            self.refused += 1
