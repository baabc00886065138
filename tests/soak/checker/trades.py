"""Trades as they arrived beside trades as the venue sent them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from tests.soak.checker.wire import Item

__all__ = ["Found", "Missing", "Sent", "Trades"]

BREAKS: Final = frozenset({"connected", "disconnected", "shed", "lost", "gap"})
"""Statuses that say that something is missing. A resync is about state, and a trade is none."""
BEFORE_THE_FIRST: Final = BREAKS - {"connected"}
"""Every stream begins by being connected: that excuses nothing."""
END: Final = 1 << 62

Sent = Mapping[tuple[str, str], Sequence[str]]
"""Trade ids in the order in which the venue sent them, by (product, native symbol)."""


class Missing(NamedTuple):
    """Consecutive trades that never arrived."""

    product: str
    symbol: str
    ids: Sequence[str]
    after: int | None
    before: int | None
    """When the trades around them arrived (ns); null where there is none."""
    announced: bool
    """A status between the trades around them says that something is missing."""
    unseen: bool
    """The checker itself was cut off from the broker between the trades around them."""

    def __str__(self) -> str:
        many = f"{len(self.ids)} trades from {self.ids[0]} to {self.ids[-1]}"
        return f"{self.product} {self.symbol}: {many} between {_clock(self.after)} and {_clock(self.before)}"


class Found(NamedTuple):
    """What a comparison found."""

    missing: list[Missing]
    inversions: list[str]
    """Trades that came before one that the venue had sent earlier, or under two identities."""
    invented: list[str]
    """Trades that the venue never sent."""


class _Arrival(NamedTuple):
    trade_id: str
    at: int
    now: int


class _Break(NamedTuple):
    at: int
    status: str
    symbol: str | None


class Trades:
    """Feed it new messages in order; every one moves its clock by one."""

    def __init__(self) -> None:
        self._at = 0
        self._arrived: dict[tuple[str, str], list[_Arrival]] = {}
        self._streams: dict[tuple[str, str], str] = {}
        self._breaks: dict[str, list[_Break]] = {}
        self._cuts: list[int] = []

    def trade(self, item: Item, now: int) -> None:
        """A trade arrived (ns)."""
        key = (item.product, item.native_symbol or "")
        self._streams[key] = item.stream
        self._arrived.setdefault(key, []).append(_Arrival(item.trade_id or "", self._tick(), now))

    def status(self, item: Item) -> None:
        """A stream told something."""
        if item.status in BREAKS and item.affects in {None, "trade"}:
            self._breaks.setdefault(item.stream, []).append(_Break(self._tick(), item.status or "", item.native_symbol))

    def cut(self) -> None:
        """The checker lost its connection: what its queue held may be gone."""
        self._cuts.append(self._tick())

    def compare(self, sent: Sent) -> Found:
        """Everything that arrived against everything that was sent."""
        found = Found([], [], [])
        for key, arrived in self._arrived.items():
            if key not in sent:
                found.invented.append(f"{' '.join(key)}: {len(arrived)} trades of an instrument that sent none")
        for key, ids in sent.items():
            self._compare(key, ids, found)
        return found

    def _compare(self, key: tuple[str, str], ids: Sequence[str], found: Found) -> None:
        places = {trade_id: place for place, trade_id in enumerate(ids)}
        arrival: dict[str, _Arrival] = {}
        newest = -1
        for one in self._arrived.get(key, ()):
            trade_id = one.trade_id
            place = places.get(trade_id)
            if place is None:
                found.invented.append(f"{' '.join(key)}: trade {trade_id}")
            elif place <= newest:
                found.inversions.append(f"trade {' '.join(key)}: {trade_id} came after {ids[newest]}")
            newest = newest if place is None else max(newest, place)
            arrival.setdefault(trade_id, one)
        for first, last in _holes(ids, arrival):
            after = arrival[ids[first - 1]] if first else None
            before = arrival[ids[last]] if last < len(ids) else None
            found.missing.append(self._missing(key, ids[first:last], after, before))

    def _missing(
        self, key: tuple[str, str], ids: Sequence[str], after: _Arrival | None, before: _Arrival | None
    ) -> Missing:
        begin, end = 0 if after is None else after.at, END if before is None else before.at
        breaks = BEFORE_THE_FIRST if after is None else BREAKS
        stream = self._streams.get(key)
        announced = any(
            begin < one.at < end and one.status in breaks and one.symbol in {None, key[1]}
            for one in (() if stream is None else self._breaks.get(stream, ()))
        )
        unseen = any(begin < cut < end for cut in self._cuts)
        times = None if after is None else after.now, None if before is None else before.now
        return Missing(*key, ids, *times, announced, unseen)

    def _tick(self) -> int:
        self._at += 1
        return self._at


def _clock(now: int | None) -> str:
    return "-" if now is None else datetime.fromtimestamp(now / 1e9, tz=UTC).strftime("%H:%M:%S.%f")


def _holes(ids: Sequence[str], arrival: dict[str, _Arrival]) -> Iterator[tuple[int, int]]:
    """Where what never arrived begins and where it is over, run by run."""
    first = None
    for place, trade_id in enumerate(ids):
        if trade_id in arrival:
            if first is not None:
                yield first, place
            first = None
        elif first is None:
            first = place
    if first is not None:
        yield first, len(ids)
