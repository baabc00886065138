"""An account stream fed by hand: a venue whose frames say what the test wants them to, and what a consumer sees.

The venue's adapter is made up; everything behind it (state, store) is the real thing.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeVar

from msgspec import msgpack
from msgspec.structs import replace

from services.normalizer.account.store import Store
from shared.accounts.base import AccountEndpoints, AccountPlan, Found
from shared.accounts.messages import (
    OPEN_STATUSES,
    AccountMessage,
    AccountStatus,
    Balance,
    Fill,
    FillKind,
    Leg,
    Order,
    OrderStatus,
    Position,
    Source,
)
from shared.accounts.state_records import (
    Changes,
    Header,
    HeldBalance,
    HeldPosition,
    InstrumentKey,
    Needs,
    OrderKey,
    PositionKey,
    Recalled,
    SeenKey,
    Snapshot,
    TrackedOrder,
)
from shared.accounts.state_stream import AccountStream, Outcome
from shared.envelope import (
    Connected,
    Frame,
    FrameKind,
    Mark,
    Reconciliation,
    RestReply,
    encode_mark,
    encode_reconciliation,
    encode_reply,
)
from shared.errors import ParseError
from shared.exchanges.output import Origin, Rejection
from shared.instruments import Instrument, InstrumentKind, InstrumentTable
from shared.numbers import is_zero

__all__ = [
    "PERPETUAL",
    "SPOT",
    "T0",
    "T0_MS",
    "Hand",
    "HandAdapter",
    "MemoryStore",
    "balance",
    "fill",
    "found",
    "order",
    "position",
    "rejection",
]

T0: Final = 1_790_000_000_000_000_000
T0_MS: Final = T0 // 1_000_000
SECOND: Final = 1_000_000_000
SPOT: Final = Instrument("venue", "spot", "ADA/USDT", "ADAUSDT", "ADA", "USDT", None, InstrumentKind.SPOT)
PERPETUAL: Final = Instrument(
    "venue", "linear", "ADA/USDT:USDT", "ADAUSDT", "ADA", "USDT", "USDT", InstrumentKind.PERPETUAL
)
ENDPOINTS: Final = {"spot": AccountEndpoints("ws://venue", "http://venue")}
ENDPOINTS_ALL: Final = {**ENDPOINTS, "linear": ENDPOINTS["spot"]}

T = TypeVar("T", bound=AccountMessage)
_COMMON: Final = ("venue", None, None, None, 0, 0, "", 0, 0, 0, "main")


def _about(message: T, instrument: Instrument, at_ms: int | None) -> T:
    at = None if at_ms is None else at_ms * 1_000_000
    return replace(message, symbol=instrument.symbol, native_symbol=instrument.native_symbol, ts_exchange=at)


def order(
    order_id: str,
    status: OrderStatus = "new",
    filled: str = "0",
    *,
    at_ms: int | None = T0_MS,
    instrument: Instrument = SPOT,
    size: str | None = "10",
    price: str | None = "5",
    source: Source = "stream",
    **fields: Any,
) -> Order:
    """An order whose last change was at ``at_ms``."""
    updated = None if at_ms is None else at_ms * 1_000_000
    made = Order(
        *_COMMON, order_id, None, "buy", "limit", status, price, size, filled, source, ts_updated=updated, **fields
    )
    return _about(made, instrument, at_ms)


def fill(
    execution_id: str,
    size: str = "1",
    *,
    at_ms: int = T0_MS,
    order_id: str = "o1",
    instrument: Instrument = SPOT,
    kind: FillKind = "trade",
    source: Source = "stream",
    **fields: Any,
) -> Fill:
    """An execution at ``at_ms``."""
    made = Fill(*_COMMON, execution_id, order_id, None, "buy", "5", size, "taker", kind, source, **fields)
    return _about(made, instrument, at_ms)


def balance(
    asset: str,
    total: str | None,
    available: str | None = None,
    *,
    locked: str | None = None,
    at_ms: int | None = T0_MS,
    source: Source = "stream",
    **fields: Any,
) -> Balance:
    """A balance as it was at ``at_ms``."""
    made = Balance(*_COMMON, asset, total, available, locked, source, **fields)
    return replace(made, ts_exchange=None if at_ms is None else at_ms * 1_000_000)


def position(
    leg: Leg,
    size: str,
    *,
    at_ms: int | None = T0_MS,
    instrument: Instrument = PERPETUAL,
    source: Source = "stream",
    **fields: Any,
) -> Position:
    """A position as it was at ``at_ms``; a net one is long."""
    side: Literal["long", "short"] | None = None if is_zero(size) else "short" if leg == "short" else "long"
    made = Position(*_COMMON, leg, side, size, source, **fields)
    return _about(made, instrument, at_ms)


def found(*messages: AccountMessage, changes: Sequence[Balance] | None = None, **fields: Any) -> Found:
    """What a frame says."""

    def of(kind: type[T]) -> list[T]:
        return [message for message in messages if isinstance(message, kind)]

    return Found(
        of(Order),
        of(Fill),
        of(Balance),
        of(Position),
        fields.pop("rejections", []),
        changes=None if changes is None else list(changes),
        **fields,
    )


class HandAdapter:
    """An account adapter and its parser: a frame is the msgpack of what it says, or of why it can't be read."""

    name = "venue"
    products: Mapping[str, AccountEndpoints] = ENDPOINTS_ALL

    def plan(
        self,
        account: str,
        products: Sequence[str],
        symbols: Sequence[str],
        endpoints: Mapping[str, AccountEndpoints],
    ) -> Sequence[AccountPlan]:
        return [AccountPlan(f"venue.{account}", "venue", account, tuple(products), endpoints["spot"], tuple(symbols))]

    def instruments(self, plan: AccountPlan, reply: RestReply) -> Sequence[Instrument]:
        del plan
        return msgpack.decode(reply.body, type=list[Instrument])

    def parser(self, plan: AccountPlan, instruments: Mapping[str, InstrumentTable]) -> "HandAdapter":
        del plan, instruments
        return self

    def data(self, origin: Origin, frame: Frame) -> Found:
        return self._found(origin, frame.data)

    def caught_up(self, origin: Origin, replies: Sequence[RestReply]) -> Found:
        return self._found(origin, replies[0].body)

    def _found(self, origin: Origin, data: bytes) -> Found:
        said = msgpack.decode(data, type=Found | tuple[str, Any] | str)
        if not isinstance(said, Found):
            code = said if isinstance(said, str) else said[0]
            raise ParseError(code, "made up") if code != "defect" else KeyError("a defect")

        def placed(messages: list[T]) -> list[T]:
            return [
                replace(
                    each,
                    stream=origin.stream,
                    epoch=origin.epoch,
                    frame=origin.frame,
                    ts_received=origin.ts_received,
                    ts_normalized=origin.ts_normalized,
                )
                for each in messages
            ]

        return replace(
            said,
            orders=placed(said.orders),
            fills=placed(said.fills),
            balances=placed(said.balances),
            positions=placed(said.positions),
            changes=None if said.changes is None else placed(said.changes),
        )


class StateStore(Protocol):
    """What :class:`services.normalizer.account.store.Store` is to a stream."""

    def load(self) -> Snapshot: ...

    def recall(self, needs: Needs) -> Recalled: ...

    def commit(self, header: Header, changes: Changes) -> None: ...


class MemoryStore:
    """A store without a disk: remembers everything for ever, encoded as a file would have it."""

    def __init__(self) -> None:
        self._header = msgpack.encode(Header())
        self.seen: dict[SeenKey, int] = {}
        self._orders: dict[OrderKey, bytes] = {}
        self._balances: dict[str, bytes] = {}
        self._positions: dict[PositionKey, bytes] = {}
        self._instruments: dict[InstrumentKey, bytes] = {}

    def load(self) -> Snapshot:
        decode = msgpack.decode
        orders = {key: decode(body, type=TrackedOrder) for key, body in self._orders.items()}
        return Snapshot(
            decode(self._header, type=Header),
            {key: tracked for key, tracked in orders.items() if tracked.order.status in OPEN_STATUSES},
            {key: decode(body, type=HeldBalance) for key, body in self._balances.items()},
            {key: decode(body, type=HeldPosition) for key, body in self._positions.items()},
            [decode(body, type=Instrument) for body in self._instruments.values()],
        )

    def recall(self, needs: Needs) -> Recalled:
        known = {key: self._orders[key] for key in needs.orders if key in self._orders}
        orders = {key: msgpack.decode(body, type=TrackedOrder) for key, body in known.items()}
        return Recalled({key for key in needs.seen if key in self.seen}, orders)

    def commit(self, header: Header, changes: Changes) -> None:
        self._header = msgpack.encode(header)
        self.seen |= changes.seen
        self._orders |= {key: msgpack.encode(value) for key, value in changes.orders.items()}
        self._balances |= {key: msgpack.encode(value) for key, value in changes.balances.items()}
        self._positions |= {key: msgpack.encode(value) for key, value in changes.positions.items()}
        self._instruments |= {key: msgpack.encode(value) for key, value in changes.instruments.items()}


class Hand:
    """Numbers frames as ingest does, keeps them, and hands them to a stream; ``told`` is what a consumer got.

    With ``path`` the state is in a file, else in memory; :meth:`restart` forgets what was not committed.
    """

    def __init__(self, path: Path | None = None, account: str = "main") -> None:
        self.adapter = HandAdapter()
        self.plan = self.adapter.plan(account, ["spot", "linear"], (), ENDPOINTS_ALL)[0]
        self.store: StateStore = MemoryStore() if path is None else Store(path, self.plan.name)
        self.frames: list[tuple[int, int, Frame]] = []
        self.epoch = 1
        self.number = 0
        self.now = T0
        self.told: list[AccountMessage] = []
        self.stream = self._load()

    def _load(self) -> AccountStream:
        return AccountStream(self.adapter, self.plan, self.store.load())  # type: ignore[arg-type] # only a normalizer's half

    def restart(self) -> None:
        self.stream = self._load()

    # What ingest puts into the stream

    def mark(self, mark: Mark) -> Outcome:
        return self.frame(FrameKind.MARK, encode_mark(mark))

    def says(self, *messages: AccountMessage, **fields: Any) -> Outcome:
        """The venue pushes a frame."""
        return self.frame(FrameKind.TEXT, msgpack.encode(found(*messages, **fields)))

    def garbage(self, code: str = "invalid_json") -> Outcome:
        """It pushes one that can't be read."""
        return self.frame(FrameKind.TEXT, msgpack.encode(code))

    def lists(self, *instruments: Instrument) -> Outcome:
        reply = RestReply("http://venue/instruments", 200, msgpack.encode(list(instruments)))
        return self.frame(FrameKind.REST, encode_reply(reply))

    def catches_up(self, since_ms: int, until_ms: int, said: Found | str) -> Outcome:
        """A reconciliation comes."""
        reply = RestReply("http://venue/all", 200, msgpack.encode(said))
        return self.frame(FrameKind.CATCH_UP, encode_reconciliation(Reconciliation(since_ms, until_ms, [reply])))

    def connect(self) -> Outcome:
        """A new epoch."""
        number, frame = self.begin()
        return self.deliver(self.epoch, number, frame)

    def begin(self) -> tuple[int, Frame]:
        """A new epoch, without delivering its first frame."""
        previous = (self.epoch, self.number) if self.frames else (None, None)
        if self.frames:
            self.epoch, self.number = self.epoch + 1, 0
        return self.put(FrameKind.MARK, encode_mark(Connected("ws://venue", *previous)))

    def frame(self, kind: FrameKind, data: bytes) -> Outcome:
        return self.deliver(self.epoch, *self.put(kind, data))

    def put(self, kind: FrameKind, data: bytes) -> tuple[int, Frame]:
        """Number a frame, without delivering it."""
        self.now += 1_000_000
        number, frame = self.number, Frame(kind, self.now, data)
        self.frames.append((self.epoch, number, frame))
        self.number += 1
        return number, frame

    # What the normalizer does

    def deliver(self, epoch: int, number: int, frame: Frame, *, commit: bool = True) -> Outcome:
        reading = self.stream.read(epoch, number, frame, frame.ts_received + 1)
        outcome = self.stream.apply(reading, self.store.recall(reading.needs))
        self.told += outcome.messages
        if commit:
            self.commit()
        return outcome

    def commit(self) -> None:
        self.store.commit(self.stream.header, self.stream.changes)
        self.stream.committed()

    # What a consumer sees

    def of(self, kind: type[T]) -> list[T]:
        return [message for message in self.told if isinstance(message, kind)]

    @property
    def fills(self) -> list[str]:
        return [each.execution_id for each in self.of(Fill)]

    @property
    def statuses(self) -> list[str]:
        return [
            each.status if each.reason is None else f"{each.status}:{each.reason}" for each in self.of(AccountStatus)
        ]

    def last_order(self, order_id: str) -> Order:
        return [each for each in self.of(Order) if each.order_id == order_id][-1]


def rejection(code: str = "unknown_event") -> Rejection:
    return Rejection(code, "made up")
