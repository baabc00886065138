"""Whatever venue, network, ingest and crashes do, a consumer's view of an account becomes the venue's ledger.

Frames are pushed, repeated, put in another order, lost with their socket, spoiled and lost on the way; reconciliations
race with what happens meanwhile, fail, and are spoiled; the normalizer crashes between any two messages. A consumer who
drops what has the identity of something it knows sees every fill once, orders, balances and positions as they are, and
``reconciled`` never while something before it is missing.
"""

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import msgpack
from msgspec.structs import replace

from shared.accounts.base import Found
from shared.accounts.messages import AccountMessage, AccountStatus, Balance, Fill, Order, Position
from shared.envelope import (
    Alive,
    Authenticated,
    Disconnected,
    Frame,
    FrameKind,
    Mark,
    Reconciliation,
    ReconciliationFailed,
    RestReply,
    encode_mark,
    encode_reconciliation,
)
from tests.support.account_venue import LedgerOrder, RestReader, Venue
from tests.support.accounts import PERPETUAL, SPOT, T0_MS, Hand

OVERLAP_MS = 50
SIZES = st.integers(1, 4)
Identity = tuple[int, int, int]


class Consumer:
    """Drops what it knows; keeps the last of everything."""

    def __init__(self) -> None:
        self.known: dict[Identity, AccountMessage] = {}
        self.newest: Identity = (0, 0, -1)
        self.fills: list[Fill] = []
        self.orders: dict[str, Order] = {}
        self.balances: dict[str, Decimal] = {}
        self.position = Decimal(0)
        self.changes: list[tuple[str | None, str | None, int | None]] = []
        self.status: AccountStatus | None = None

    def take(self, message: AccountMessage) -> bool:
        """Whether it was news."""
        identity = message.epoch, message.frame, message.part
        if identity in self.known:
            assert replace(self.known[identity], ts_normalized=0) == replace(message, ts_normalized=0)
            return False
        assert identity > self.newest, "an inversion"
        self.newest, self.known[identity] = identity, message
        match message:
            case Fill():
                self.fills.append(message)
            case Order():
                before = self.orders.get(message.order_id)
                if before is not None:
                    more = Decimal(message.filled_size) - Decimal(before.filled_size)
                    assert more >= 0
                    assert more or before.status not in {"filled", "canceled"}
                self.orders[message.order_id] = message
            case Balance():
                if message.total is not None:
                    self.balances[message.asset] = Decimal(message.total)
                if message.change is not None:
                    self.changes.append((message.change, message.reason, message.ts_exchange))
            case Position():
                self.position = Decimal(message.size)
            case AccountStatus():
                self.status = message
        return True


class Account(RuleBasedStateMachine):
    """``faults`` beyond lost sockets, crashes and repetitions: whatever spoils the order in which fills happened."""

    faults = True

    def __init__(self) -> None:
        super().__init__()
        self.venue = Venue()
        self.hand = Hand()
        self.consumer = Consumer()
        self.wire: list[Found] | None = None
        """Pushed and not yet read; None while there is no socket."""
        self.held: list[bytes] | None = None
        """Read and not yet numbered; None when frames are numbered at once."""
        self.reader: RestReader | None = None
        self.covered: int | None = None
        self.queue: list[tuple[int, int, Frame]] = []
        """Published and not delivered."""
        self.unacked: list[tuple[int, int, Frame]] = []
        self.carried: dict[str, Identity] = {}
        """The first frame that held a fill, whatever became of it."""
        self.acknowledged: list[tuple[int, int, Frame]] = []
        self.newest: tuple[int, int] = (0, 0)
        """The newest frame that was ever delivered."""
        self.connect()

    # Ingest

    def listing(self) -> bytes:
        return msgpack.encode(RestReply("http://venue", 200, msgpack.encode([SPOT, PERPETUAL])))

    def numbered(self, kind: FrameKind, data: bytes) -> tuple[int, int, Frame]:
        self.hand.now = max(self.hand.now, self.venue.now * 1_000_000)
        number, frame = self.hand.put(kind, data)
        return self.hand.epoch, number, frame

    def put_mark(self, mark: Mark) -> None:
        self.queue.append(self.numbered(FrameKind.MARK, encode_mark(mark)))

    def connect(self) -> None:
        number, frame = self.hand.begin()
        self.queue.append((self.hand.epoch, number, frame))
        self.queue.append(self.numbered(FrameKind.REST, self.listing()))
        self.put_mark(Authenticated())
        self.wire, self.held = [], []
        self.begin_reconciliation()

    def begin_reconciliation(self) -> None:
        since = T0_MS if self.covered is None else self.covered - OVERLAP_MS
        self.reader = RestReader(self.venue, since)

    def put_data(self, data: bytes) -> None:
        epoch, number, frame = self.numbered(FrameKind.TEXT, data)
        self.note(data, (epoch, number, 0))
        self.queue.append((epoch, number, frame))

    def note(self, data: bytes, at: Identity) -> None:
        said = msgpack.decode(data, type=Found | tuple[str, Found])
        found = said[1] if isinstance(said, tuple) else said
        for each in found.fills:
            self.carried.setdefault(each.execution_id, at)

    def release(self) -> None:
        held, self.held = self.held or [], None
        for data in held:
            self.put_data(data)

    # What happens at the venue

    def push(self, frames: list[Found]) -> None:
        if self.wire is not None:
            self.wire += frames

    def open_order(self, pick: int) -> LedgerOrder | None:
        found = [each for each in self.venue.orders.values() if each.open]
        return found[pick % len(found)] if found else None

    @rule(instrument=st.sampled_from([SPOT, PERPETUAL]), size=st.integers(1, 6))
    def place(self, instrument: Any, size: int) -> None:
        self.push(self.venue.place(instrument, size))

    @rule(pick=st.integers(0, 9), sizes=st.lists(SIZES, min_size=1, max_size=3), apart=st.booleans())
    def match(self, pick: int, sizes: list[int], apart: bool) -> None:  # noqa: FBT001 - hypothesis passes by name
        if (it := self.open_order(pick)) is not None:
            self.push(self.venue.match(it, sizes, apart=apart))

    @rule(pick=st.integers(0, 9), bare=st.booleans())
    def cancel(self, pick: int, bare: bool) -> None:  # noqa: FBT001 - as above
        if (it := self.open_order(pick)) is not None:
            self.push(self.venue.cancel(it, bare=bare))

    @rule(pick=st.integers(0, 9), price=st.integers(4, 6))
    def amend(self, pick: int, price: int) -> None:
        if (it := self.open_order(pick)) is not None:
            self.push(self.venue.amend(it, price))

    @rule(amount=st.integers(-3, 3).filter(bool), reason=st.sampled_from(["funding", "transfer"]))
    def pay(self, amount: int, reason: str) -> None:
        self.push(self.venue.pay(amount, reason))

    @precondition(lambda self: self.venue.position)
    @rule()
    def close_position(self) -> None:
        self.push(self.venue.close())

    @rule(ms=st.sampled_from([1, 40, 500, 15_000]))
    def time_passes(self, ms: int) -> None:
        self.venue.tick(ms)

    # What happens on the way

    @precondition(lambda self: self.wire)
    @rule(count=st.integers(1, 6), twice=st.booleans())
    def read(self, count: int, twice: bool) -> None:  # noqa: FBT001 - as above
        """Frames arrive; the last of them twice."""
        assert self.wire is not None
        taken, self.wire = self.wire[:count], self.wire[count:]
        for frame in [*taken, *(taken[-1:] if twice else [])]:
            data = msgpack.encode(frame)
            if self.held is None:
                self.put_data(data)
            else:
                self.held.append(data)

    @precondition(lambda self: self.faults and self.wire)
    @rule()
    def a_frame_is_spoiled(self) -> None:
        """It arrives as something that can't be read."""
        assert self.wire is not None
        data = msgpack.encode(("spoiled", self.wire.pop(0)))
        if self.held is None:
            self.put_data(data)
        else:
            self.held.append(data)

    @precondition(lambda self: self.faults and self.wire and len(self.wire) > 1)
    @rule(at=st.integers(0, 5))
    def frames_change_places(self, at: int) -> None:
        assert self.wire is not None
        at %= len(self.wire) - 1
        self.wire[at], self.wire[at + 1] = self.wire[at + 1], self.wire[at]

    @precondition(lambda self: self.wire is not None)
    @rule()
    def the_socket_is_lost(self) -> None:
        """With everything that was not read."""
        self.wire = self.reader = None
        self.release()
        self.put_mark(Disconnected("network"))

    @precondition(lambda self: self.wire is None)
    @rule()
    def a_connection_is_made(self) -> None:
        self.connect()

    @precondition(lambda self: self.wire is not None and self.reader is None)
    @rule()
    def the_timer_reconciles(self) -> None:
        self.begin_reconciliation()

    @precondition(lambda self: self.reader is not None)
    @rule(stages=st.integers(1, 5), spoiled=st.booleans())
    def rest_answers(self, stages: int, spoiled: bool) -> None:  # noqa: FBT001 - as above
        reader = self.reader
        assert reader is not None
        for _ in range(stages):
            if not reader.complete:
                reader.ask()
        if not reader.complete:
            return
        said: object = ("spoiled", reader.found()) if spoiled and self.faults else reader.found()
        reply = RestReply("http://venue", 200, msgpack.encode(said))
        data = encode_reconciliation(Reconciliation(reader.since, reader.until, [reply]))
        self.queue.append(self.numbered(FrameKind.CATCH_UP, data))
        self.covered, self.reader = reader.until, None
        self.release()

    @precondition(lambda self: self.faults and self.reader is not None)
    @rule()
    def rest_fails(self) -> None:
        self.reader = None
        self.put_mark(ReconciliationFailed("status_500"))
        self.release()

    @precondition(lambda self: self.wire is not None and self.held is None)
    @rule()
    def ingest_is_alive(self) -> None:
        self.put_mark(Alive())

    @precondition(lambda self: self.faults and self.queue and self.queue[-1][:2] > self.newest)
    @rule()
    def a_frame_is_lost(self) -> None:
        """Behind the journal, before it was delivered: a defect."""
        self.queue.remove(next(item for item in self.queue if item[:2] > self.newest))

    # The normalizer

    @rule(count=st.integers(1, 8), group=st.integers(1, 3))
    def deliver(self, count: int, group: int) -> None:
        for _ in range(min(count, len(self.queue))):
            item = self.queue.pop(0)
            self.unacked.append(item)
            self.publish(*item, None)
            if len(self.unacked) >= group:
                self.commit()
        self.commit()

    @precondition(lambda self: self.queue)
    @rule(count=st.integers(0, 3), published=st.integers(0, 5))
    def crash(self, count: int, published: int) -> None:
        """Some frames in a group, in the last of them after some messages; then all of it comes again."""
        for index in range(min(count, len(self.queue))):
            item = self.queue.pop(0)
            self.unacked.append(item)
            self.publish(*item, None if index < count - 1 else published)
        self.queue[:0], self.unacked = self.unacked, []
        self.hand.restart()

    @precondition(lambda self: self.acknowledged)
    @rule(back=st.integers(1, 4))
    def frames_come_again(self, back: int) -> None:
        """Acknowledged, and the broker forgot it; or confirmed, and ingest did not hear it."""
        for item in self.acknowledged[-back:]:
            self.publish(*item, None)
        self.hand.commit()

    def publish(self, epoch: int, number: int, frame: Frame, limit: int | None) -> None:
        self.newest = max(self.newest, (epoch, number))
        told = self.hand.deliver(epoch, number, frame, commit=False)
        for wish in told.wishes:
            if wish.feed == "account" and wish.native_symbol is not None and self.covered is not None:
                self.covered = min(self.covered, int(wish.native_symbol) + OVERLAP_MS)
        for message in told.messages[:limit]:
            if self.consumer.take(message) and isinstance(message, AccountStatus) and message.status == "reconciled":
                self.check_nothing_is_missing(message)

    def commit(self) -> None:
        self.hand.commit()
        self.acknowledged += self.unacked
        self.unacked.clear()

    @precondition(lambda self: self.wire is not None)
    @rule(reconciled=st.booleans())
    def everything_arrives(self, reconciled: bool) -> None:  # noqa: FBT001 - as above
        """Then ``reconciled`` means that the view is the ledger."""
        if reconciled and self.reader is not None:
            self.rest_answers(stages=4, spoiled=False)
        if self.wire:
            self.read(count=len(self.wire), twice=False)
        if self.held is None:
            self.ingest_is_alive()
        self.deliver(count=len(self.queue), group=2)
        current = self.consumer.status is not None and self.consumer.status.status == "reconciled"
        if current and self.held is None:
            self.check_the_view()

    # What must hold

    def check_nothing_is_missing(self, said: AccountStatus) -> None:
        assert said.ts_reconciled is not None
        told = {each.execution_id for each in self.consumer.fills}
        at = said.epoch, said.frame, said.part
        for execution in self.venue.executions:
            due = execution.at * 1_000_000 <= said.ts_reconciled
            came = self.carried.get(execution.execution_id, at) < at
            if due or came:
                assert execution.execution_id in told, f"{said.status} without {execution}"

    @invariant()
    def every_fill_once(self) -> None:
        told = [each.execution_id for each in self.consumer.fills]
        assert len(told) == len(set(told))
        if not self.faults:
            assert told == sorted(told, key=int)

    def teardown(self) -> None:
        """Everything calms down: a connection, and reconciliations until the account is current."""
        if self.wire is not None:
            self.the_socket_is_lost()
        for _ in range(6):
            self.venue.tick(3_600_000)
            if self.wire is None:
                self.a_connection_is_made()
            elif self.reader is None:
                self.begin_reconciliation()
            self.rest_answers(stages=4, spoiled=False)
            self.ingest_is_alive()
            self.deliver(count=len(self.queue), group=2)
        status = self.consumer.status
        assert status is not None
        assert (status.status, status.reason) == ("reconciled", None)
        self.check_the_view()

    def check_the_view(self) -> None:
        venue, consumer = self.venue, self.consumer
        assert {each.execution_id for each in consumer.fills} == {each.execution_id for each in venue.executions}
        for execution in consumer.fills:
            wanted = venue.executions[int(execution.execution_id) - 1]
            assert (Decimal(execution.size), execution.order_id) == (wanted.size, wanted.order_id)
        have = {
            key: (each.status, Decimal(each.filled_size), None if each.price is None else Decimal(each.price))
            for key, each in consumer.orders.items()
        }
        assert have == {key: (each.status, each.filled, each.price) for key, each in venue.orders.items()}
        assert {key: held for key, held in consumer.balances.items() if held} == {
            key: held for key, (held, _) in venue.balances.items() if held
        }
        assert consumer.position == venue.position
        assert sorted(consumer.changes) == sorted(
            (str(amount), reason, at * 1_000_000) for reason, amount, at in venue.funding
        )


class OrderlyAccount(Account):
    """Without spoiled and lost frames, failed reconciliations and changed places, fills also come in their order."""

    faults = False


TestAccount = Account.TestCase
TestOrderlyAccount = OrderlyAccount.TestCase
