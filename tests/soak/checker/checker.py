"""The checker: follows the canonical feed as its documents say, and notes every broken promise.

It uses nothing of Tidegate: a mistake that adapters and normalizers share would show here all the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from tests.soak.checker.books import Books, Levels
from tests.soak.checker.order import Order, Place
from tests.soak.checker.owners import Handover, Owners
from tests.soak.checker.trades import Missing, Sent, Trades
from tests.soak.checker.wire import STATUS, Holding, Item

__all__ = ["Checker", "Disturbance", "Verdict"]

BOOK_BREAKS: Final = frozenset({"connected", "disconnected", "shed", "lost", "gap", "resync"})
NS_PER_MS: Final = 1_000_000
WANTED: Final = ("killed", "stopped", "rebalanced")
"""Hand-overs that have a time of their own: a paused owner is given up by the broker's heartbeat, and a broker that was
away hands nothing over."""


@dataclass(frozen=True, slots=True)
class Disturbance:
    """What was done to take streams away from an owner (``pid``; None: the broker), and when (ns).

    ``kind``: ``killed``, ``stopped`` (SIGTERM), ``paused``, ``broker``. ``until``: when the broker was there again.
    """

    kind: str
    at: int
    pid: int | None = None
    until: int = 0


@dataclass(slots=True)
class Verdict:
    """What was found; the texts say where."""

    messages_received: int = 0
    duplicates: int = 0
    inversions: list[str] = field(default_factory=list)
    lost: list[Missing] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    books: list[str] = field(default_factory=list)
    owners: list[str] = field(default_factory=list)
    max_owners: int = 0
    announced: int = 0
    """Trades that never arrived, but a status says so."""
    unseen: int = 0
    """Trades that passed while the checker was cut off by the death of the broker, and no status says so."""
    retold: list[str] = field(default_factory=list)
    """What a new owner told anew and a consumer drops; see ``Place.RETOLD``."""
    invented: list[str] = field(default_factory=list)
    handover_ms: dict[str, list[float]] = field(default_factory=dict)
    """By what took the stream away."""

    @property
    def clean(self) -> bool:
        """Whether no promise was broken."""
        faults = (self.inversions, self.lost, self.gaps, self.books, self.invented)
        return not any(faults) and self.max_owners == 1

    def summary(self) -> dict[str, Any]:
        """The numbers."""
        times = sorted(time for kind in WANTED for time in self.handover_ms.get(kind, ()))
        return {
            "messages_received": self.messages_received,
            "lost": sum(len(missing.ids) for missing in self.lost),
            "inversions": len(self.inversions),
            "duplicates": self.duplicates,
            "retold": len(self.retold),
            "max_owners": self.max_owners,
            "gaps_unannounced": len(self.gaps),
            "books_wrong": len(self.books),
            "handover_ms": {
                "median": round(median(times), 1) if times else None,
                "max": round(times[-1], 1) if times else None,
            },
        }


class Checker:
    """Feed it every message of the feed in the order of arrival; times are ns of one clock."""

    def __init__(self) -> None:
        self.messages = 0
        self.owners = Owners()
        self.statuses: dict[str, int] = {}
        self._order = Order()
        self._books = Books()
        self._trades = Trades()
        self._disturbances: list[Disturbance] = []

    def take(self, owner: str, items: list[Item], now: int) -> None:
        """One AMQP message; ``owner`` is who published it."""
        for item in items:
            self.messages += 1
            self.owners.took(item.stream, owner, now)
            place = self._order.place(item, owner, now)
            if place is Place.NEW:
                self._follow(item, now)
            elif place is not Place.INVERTED and item.feed == "book_snapshot":
                self._books.dropped(item)

    def held(self, holding: Holding) -> None:
        """An owner says what it has."""
        for one in holding.streams:
            self.owners.claimed(one.stream, holding.member, one.since_ns)

    def cut(self) -> None:
        """The checker lost its connection to the broker: it knows that it may have missed anything."""
        self._trades.cut()

    def disturbed(self, what: Disturbance) -> None:
        """Streams were taken away."""
        self._disturbances.append(what)

    def broken_books(self, instruments: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Instruments, as (product, native symbol), whose book is not whole at the moment."""
        return self._books.broken(instruments)

    def wrong_books(self, venue: Mapping[tuple[str, str], Levels]) -> list[str]:
        """The books that differ from the venue's at the moment."""
        return self._books.wrong(venue)

    def missing(self, sent: Sent) -> list[Missing]:
        """Trades that have not arrived and that nothing excuses, at the moment."""
        return [one for one in self._trades.compare(sent).missing if not one.announced and not one.unseen]

    def verdict(self, sent: Sent, venue: Mapping[tuple[str, str], Levels]) -> Verdict:
        """Everything, once nothing moves any more."""
        trades = self._trades.compare(sent)
        lost = [one for one in trades.missing if not one.announced and not one.unseen]
        holes = [f"trades of {one}" for one in lost]
        verdict = Verdict(
            messages_received=self.messages,
            duplicates=self._order.duplicates,
            inversions=self._order.inversions(self.owners.claimed_within) + trades.inversions,
            lost=lost,
            gaps=self._books.breaks + holes,
            books=self._books.wrong(venue),
            owners=self.owners.shared(),
            max_owners=self.owners.most(),
            announced=sum(len(one.ids) for one in trades.missing if one.announced),
            unseen=sum(len(one.ids) for one in trades.missing if one.unseen and not one.announced),
            retold=self._order.retold,
            invented=trades.invented,
        )
        for handover in self.owners.handovers():
            kind, begun = self._cause(handover)
            verdict.handover_ms.setdefault(kind, []).append((handover.first - begun) / NS_PER_MS)
        return verdict

    def _follow(self, item: Item, now: int) -> None:
        match item.feed:
            case "trade":
                self._trades.trade(item, now)
            case "book_snapshot":
                self._books.snapshot(item)
            case "book_delta":
                self._books.delta(item)
            case _ if item.feed == STATUS:
                self._status(item)

    def _status(self, item: Item) -> None:
        status = item.status or ""
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self._trades.status(item)
        if status in BOOK_BREAKS and item.affects in {None, "book"}:
            self._books.interrupted(item)

    def _cause(self, handover: Handover) -> tuple[str, int]:
        """Why the old owner lost the stream, and since when it had."""
        for what in reversed(self._disturbances):
            if what.at > handover.first:
                continue
            if what.kind == "broker" and handover.last <= what.until:
                return "broker", what.at
            if what.pid is not None and f":{what.pid}:" in handover.old and _matters(what, handover):
                return what.kind, what.at
        return "rebalanced", handover.last


def _matters(what: Disturbance, handover: Handover) -> bool:
    """A killed process never sends again; one that is to stop or was paused may still for a moment, or long after."""
    return what.kind in {"killed", "stopped"} or what.at >= handover.last - 1_000 * NS_PER_MS
