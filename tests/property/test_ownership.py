"""Who owns which stream, whatever members come, go, freeze and see late: a model of the broker, the real decision."""

import math
from dataclasses import dataclass, field
from zlib import crc32

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from shared.ownership import HOLD_MAX_NS, RETRY_MAX_NS, Ownership, tick_ns

MS = 1_000_000
SECOND = 1_000 * MS
CLAIMING = 110 * MS
RELEASING = 60 * MS
HEARTBEAT = 2 * SECOND
QUIET = HOLD_MAX_NS + 3 * RETRY_MAX_NS + 8 * SECOND
"""After so long without events everything has its place: the longest wait, claims that were just refused, and ticks."""


@dataclass(eq=False)
class Member:
    """A process: what it believes, and when it wakes."""

    name: str
    decision: Ownership
    known: set[str]
    wakes: int
    lag: int
    owned: set[str] = field(default_factory=set)
    claiming: dict[str, int] = field(default_factory=dict)
    releasing: dict[str, int] = field(default_factory=dict)
    frozen_at: int | None = None
    listed: bool = True
    leaving: bool = False


class Owning(RuleBasedStateMachine):
    """A list of members, and locks that free themselves some time after their holder is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.streams: set[str] = set()
        self.members: list[Member] = []
        self.gone: list[Member] = []
        self.locks: dict[str, Member] = {}
        self.frees: list[tuple[int, Member]] = []
        self.counts: list[tuple[int, int]] = [(0, 0)]
        self.born = 0
        self.moves = 0
        self.jitter = 0

    @initialize(streams=st.integers(1, 16), members=st.integers(1, 4))
    def begin(self, streams: int, members: int) -> None:
        """Some of each."""
        self.streams = {f"venue.product.{number}" for number in range(streams)}
        for _ in range(members):
            self.join(lag=0, late=0)

    # What happens

    @precondition(lambda self: len(self.members) < 6)
    @rule(lag=st.sampled_from([0, 200, 2_000]), late=st.integers(0, 600))
    def join(self, lag: int, late: int) -> None:
        """One more. ``lag``: how old the number of members is that it sees (ms)."""
        self.born += 1
        name = f"host:{self.born}"
        self.members.append(Member(name, Ownership(name), set(self.streams), self.now + late * MS, lag * MS))
        self.count()

    @precondition(lambda self: len(self.staying()) > 1)
    @rule(data=st.data(), later=st.sampled_from([0, 50, 400, 3_000]))
    def die(self, data: st.DataObject, later: int) -> None:
        """Its locks, and its place on the list, are free when the broker notices."""
        member = self.staying()[data.draw(st.integers(0, len(self.staying()) - 1))]
        self.members.remove(member)
        self.gone.append(member)
        self.frees.append((self.now + later * MS, member))

    @precondition(lambda self: self.awake() and len(self.staying()) > 1)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """SIGTERM: off the list, then everything is released."""
        member = self.awake()[data.draw(st.integers(0, len(self.awake()) - 1))]
        member.leaving, member.listed = True, False
        member.releasing.update(dict.fromkeys(member.owned, self.now + RELEASING))
        member.owned.clear()
        self.count()

    @precondition(lambda self: self.awake())
    @rule(data=st.data(), seconds=st.sampled_from([1, 3, 9]))
    def freeze(self, data: st.DataObject, seconds: int) -> None:
        """SIGSTOP for so long; after two heartbeats the broker gives its locks away."""
        member = self.awake()[data.draw(st.integers(0, len(self.awake()) - 1))]
        member.frozen_at = self.now
        member.wakes = self.now + seconds * SECOND
        if seconds * SECOND > 2 * HEARTBEAT:
            self.frees.append((self.now + 2 * HEARTBEAT, member))

    @rule(number=st.integers(0, 20))
    def list_or_delist(self, number: int) -> None:
        """A stream is announced, or no longer; everybody who is awake hears of it."""
        name = f"venue.product.{number}"
        (self.streams.discard if name in self.streams and len(self.streams) > 1 else self.streams.add)(name)
        for member in self.members:
            if member.frozen_at is None:
                member.known = set(self.streams)

    @rule(ms=st.sampled_from([10, 300, 2_000, 20_000]))
    def time_passes(self, ms: int) -> None:
        """Members act in it."""
        self.run_until(self.now + ms * MS)

    @rule()
    def nothing_happens_for_long(self) -> None:
        """Everything has its owner, nobody too much, and so it stays."""
        self.settle()

    def teardown(self) -> None:
        """However it was."""
        if self.staying():
            self.settle()

    # What must hold

    @invariant()
    def no_stream_has_two_owners(self) -> None:
        """Who may write a stream: believes to own it, and either runs or is frozen and will look before it writes."""
        for member in self.members:
            if member.frozen_at is None:
                for stream in member.owned | set(member.releasing):
                    assert self.locks.get(stream) is member

    def settle(self) -> None:
        """Let it come to rest, and look."""
        self.run_until(self.now + QUIET + max((one.wakes - self.now for one in self.members), default=0))
        quota = math.ceil(len(self.streams) / len(self.members))
        owners = {stream: member for member in self.members for stream in member.owned}
        assert owners.keys() == self.streams
        assert max(len(member.owned) for member in self.members) <= quota
        before = self.moves
        self.run_until(self.now + 30 * SECOND)
        assert self.moves == before

    # The model

    def staying(self) -> list[Member]:
        """Who is not about to go."""
        return [member for member in self.members if not member.leaving]

    def awake(self) -> list[Member]:
        """Who of them runs."""
        return [member for member in self.staying() if member.frozen_at is None]

    def count(self) -> None:
        """Somebody came or went."""
        self.counts.append((self.now, len([one for one in self.on_list() if one.listed])))

    def on_list(self) -> list[Member]:
        """The frozen and the dead stay on the list until the broker notices."""
        freed = {id(member) for _, member in self.frees}
        return [*self.members, *(member for member in self.gone if id(member) in freed)]

    def seen_by(self, member: Member) -> int:
        """The count as it was a while ago."""
        return next(count for at, count in reversed(self.counts) if at <= max(0, self.now - member.lag))

    def run_until(self, end: int) -> None:
        """From one thing that is due to the next."""
        while self.now < end:
            due = [at for at, _ in self.frees]
            for member in self.members:
                due.append(member.wakes)
                if member.frozen_at is None:
                    due += [*member.releasing.values(), *member.claiming.values()]
            self.now = min(end, max(self.now + MS, min(due)))
            self.broker()
            for member in [*self.members]:
                if member.frozen_at is None or self.now >= member.wakes:
                    self.act(member)
            del self.counts[:-200]

    def broker(self) -> None:
        """Frees what it noticed."""
        for at, member in [*self.frees]:
            if self.now < at:
                continue
            self.frees.remove((at, member))
            self.locks = {stream: holder for stream, holder in self.locks.items() if holder is not member}
            if member in self.members:  # frozen: it is a stranger when it wakes
                member.listed = False
            self.count()

    def act(self, member: Member) -> None:
        """What one process does in one moment."""
        if member.frozen_at is not None:
            self.thaw(member)
        for stream in [stream for stream, at in member.releasing.items() if self.now >= at]:
            del member.releasing[stream]
            del self.locks[stream]
            for other in self.members:
                lost = crc32(f"{stream} {other.name}".encode()) % 4 == 0
                if other.frozen_at is None and not lost:
                    other.decision.freed([stream])
        if member.leaving:
            if not member.releasing:
                self.members.remove(member)
            return
        for stream in [stream for stream, at in member.claiming.items() if self.now >= at]:
            del member.claiming[stream]
            member.wakes = self.now  # a claim that ended makes room for the next
            if stream in self.locks:
                member.decision.refused(stream, self.now, 0.5)
            else:
                self.locks[stream] = member
                member.owned.add(stream)
                self.moves += 1
        if self.now >= member.wakes:
            self.decide(member)

    def decide(self, member: Member) -> None:
        """The decision under test."""
        self.jitter = (self.jitter + 7) % 10
        member.wakes = self.now + tick_ns(self.jitter / 10)
        owned = member.owned | set(member.claiming)
        verdict = member.decision.decide(self.now, member.known, self.seen_by(member), owned, member.releasing)
        assert not set(verdict.claim) & (owned | set(member.releasing))
        assert set(verdict.claim) <= member.known
        assert set(verdict.release) <= owned
        member.claiming.update(dict.fromkeys(verdict.claim, self.now + CLAIMING))
        for stream in verdict.release:
            member.claiming.pop(stream, None)
            if stream in member.owned:
                member.owned.remove(stream)
                member.releasing[stream] = self.now + RELEASING
                self.moves += 1

    def thaw(self, member: Member) -> None:
        """Awake again: a stranger with nothing, where the broker had given it up."""
        member.frozen_at = None
        member.known = set(self.streams)
        if not member.listed:
            member.owned.clear()
            member.claiming.clear()
            member.releasing.clear()
            member.listed = True
            member.decision = Ownership(member.name)
            self.count()


TestOwning = Owning.TestCase
