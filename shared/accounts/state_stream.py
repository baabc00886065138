"""One account stream: frames in, messages out, strictly in order. No I/O, no clock.

Two steps for each frame, since what is on disk has to be looked up between them: :meth:`AccountStream.read` (nothing
changes) and :meth:`AccountStream.apply`. A frame that was dealt with before is left alone.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from shared.accounts import state_standing as standings
from shared.accounts.base import AccountAdapter, AccountPlan, Found
from shared.accounts.messages import AccountMessage
from shared.accounts.state import MILLISECOND, AccountState, Told
from shared.accounts.state_records import Changes, InstrumentKey, Needs, Recalled, Snapshot
from shared.envelope import (
    AccountFailed,
    Alive,
    Authenticated,
    Connected,
    Disconnected,
    Frame,
    FrameKind,
    Mark,
    Reconciliation,
    ReconciliationFailed,
    decode_mark,
    decode_reconciliation,
    decode_reply,
)
from shared.errors import ParseError
from shared.exchanges.output import Origin, Rejection, Resync
from shared.instruments import Instrument, InstrumentTable
from shared.normalizing import unseen

__all__ = ["NOTHING", "AccountStream", "Outcome", "Reading", "account_of"]

NOTHING: Final = Recalled(set(), {})

ASK_AGAIN_NS: Final = 5_000_000_000
ASK_AGAIN_MAX_NS: Final = 1_800_000_000_000


class CaughtUp(NamedTuple):
    """A reconciliation, read."""

    reconciliation: Reconciliation
    found: Found


Content = Found | CaughtUp | Mark | list[Instrument] | ParseError


class Reading(NamedTuple):
    """A frame as it was read; ``content`` None: it was dealt with before."""

    epoch: int
    number: int
    frame: Frame
    content: Content | None
    needs: Needs = Needs([], [])


class Outcome(NamedTuple):
    """What came of a frame. ``wishes`` are for ingest; to get them there need not succeed."""

    messages: list[AccountMessage]
    rejections: list[Rejection]
    wishes: list[Resync]
    lost: int = 0
    duplicates: int = 0
    stale: int = 0
    repeated: bool = False
    fills_known: int = 0


class AccountStream:
    """All state of one stream. Feed it every frame, in order."""

    def __init__(self, adapter: AccountAdapter, plan: AccountPlan, snapshot: Snapshot) -> None:
        self._adapter = adapter
        self._plan = plan
        self._origin = Origin(adapter.name, plan.name)
        self._tables = {product: InstrumentTable() for product in plan.products}
        self._list(snapshot.instruments)
        self._parser = adapter.parser(plan, self._tables)
        self.header = snapshot.header
        product = plan.products[0] if len(plan.products) == 1 else None
        self.state = AccountState(plan.account, product, snapshot, self._product_of)
        self._ask_at = 0
        self._ask_pause = ASK_AGAIN_NS

    @property
    def changes(self) -> Changes:
        """What has changed since :meth:`committed`."""
        return self.state.changes

    def committed(self) -> None:
        """Header and changes are on disk."""
        self.state.changes = Changes()

    def poisoned(self, code: str) -> None:
        """Something came that was no frame of any number; consumers are told with the next frame."""
        standings.doubt(self.state.standing, "quarantined", code)

    def read(self, epoch: int, number: int, frame: Frame, now: int) -> Reading:
        """Read one frame; ``now`` becomes ``ts_normalized`` (ns). Never raises."""
        if self._is_old(epoch, number):
            return Reading(epoch, number, frame, None)
        origin = self._origin
        origin.epoch, origin.frame, origin.ts_received, origin.ts_normalized = epoch, number, frame.ts_received, now
        content: Content
        try:
            content = self._read(frame)
        except ParseError as error:
            content = error
        except Exception as error:  # noqa: BLE001 - a defect in an adapter must not end the stream; it is kept
            content = _internal(error)
        found = content.found if isinstance(content, CaughtUp) else content
        needs = self.state.needs(found) if isinstance(found, Found) else Needs([], [])
        return Reading(epoch, number, frame, content, needs)

    def apply(self, reading: Reading, recalled: Recalled = NOTHING) -> Outcome:
        """Take up what was read last; ``recalled`` is what is known of its ``needs``."""
        if reading.content is None:
            return Outcome([], [], self._older(reading), repeated=True)
        told, header = Told(), self.header
        before = header.epoch, header.next
        header.epoch, header.next = reading.epoch, reading.number + 1
        lost = self._continuity(reading, *before, told)
        rejections: list[Rejection] = []
        again = False
        match reading.content:
            case ParseError() as error:
                rejections = [Rejection(error.code, error.detail)]
                if reading.frame.kind != FrameKind.REST:  # an instrument list is no event
                    standings.doubt(self.state.standing, "quarantined", error.code)
            case Found() as found:
                self.state.take(found, recalled, told)
                rejections = found.rejections
                if rejections:
                    standings.doubt(self.state.standing, "quarantined", rejections[0].code)
            case CaughtUp(reconciliation, found):
                rejections, again = found.rejections, True
                if self.state.catch_up(self._origin, found, reconciliation, recalled, told):
                    self._ask_pause = ASK_AGAIN_NS
            case list() as instruments:
                self._list(instruments, self.changes)
                self.state.listed()
            case mark:
                self._mark(mark)
                again = True
        self.state.say(self._origin, told, again=again)
        wishes = self._wishes(reading.frame, rejections)
        return Outcome(
            told.messages, rejections, wishes, lost, told.duplicates, told.stale, fills_known=told.fills_known
        )

    def _read(self, frame: Frame) -> Content:
        match frame.kind:
            case FrameKind.TEXT | FrameKind.BINARY:
                return self._parser.data(self._origin, frame)
            case FrameKind.CATCH_UP:
                reconciliation = decode_reconciliation(frame.data)
                return CaughtUp(reconciliation, self._parser.caught_up(self._origin, reconciliation.replies))
            case FrameKind.REST:
                return list(self._adapter.instruments(self._plan, decode_reply(frame.data)))
            case FrameKind.MARK:
                mark = decode_mark(frame.data)
                if not isinstance(mark, _MARKS):
                    raise ParseError("unknown_event", f"a mark {type(mark).__name__} on an account stream")
                return mark
            case kind:
                raise ParseError("invalid_envelope", f"frame kind was {kind}")

    def _is_old(self, epoch: int, number: int) -> bool:
        header = self.header
        return header.epoch is not None and (epoch, number) < (header.epoch, header.next)

    def _continuity(self, reading: Reading, epoch: int | None, expected: int, told: Told) -> int:
        """How many frames before this one never arrived. On this plane that is a defect: consumers are told."""
        standing, content = self.state.standing, reading.content
        lost = 0
        if epoch is None:
            standing.begun_ms = reading.frame.ts_received // MILLISECOND
            if reading.number:
                standings.started(standing)
        else:
            lost = reading.number if reading.epoch != epoch else reading.number - expected
            if isinstance(content, Connected):
                lost += unseen(content, epoch, expected)
            if lost:
                standings.doubt(standing, "frames_lost", f"{lost} before {reading.epoch}:{reading.number}")
        self.state.say(self._origin, told)
        return lost

    def _mark(self, mark: Mark) -> None:
        standing = self.state.standing
        match mark:
            case Connected():
                standings.connected(standing)
            case Authenticated():
                standings.authenticated(standing)
            case Disconnected():
                standings.disconnected(standing, "stale", mark.reason, mark.detail)
            case AccountFailed():
                standings.disconnected(standing, "failed", mark.reason, mark.detail)
            case ReconciliationFailed():
                standings.unreconciled(standing, mark.reason, mark.detail)

    def _list(self, instruments: Sequence[Instrument], changes: Changes | None = None) -> None:
        for instrument in instruments:
            table = self._tables.get(instrument.product)
            if table is None or table.get(instrument.native_symbol) == instrument:
                continue
            table.update([instrument])
            if changes is not None:
                changes.instruments[InstrumentKey(instrument.product, instrument.native_symbol)] = instrument

    def _product_of(self, symbol: str | None, native_symbol: str | None) -> str | None:
        if symbol is None or native_symbol is None:
            return None
        for product, table in self._tables.items():
            instrument = table.get(native_symbol)
            if instrument is not None and instrument.symbol == symbol:
                return product
        return None

    def _older(self, reading: Reading) -> list[Resync]:
        """Frames of an epoch before: repetitions; or ingest lives behind an epoch that a set clock brought."""
        if self.header.epoch is None or reading.epoch == self.header.epoch:
            return []
        return self._paced(reading.frame, Resync("epoch", str(self.header.epoch), "older_epoch"))

    def _wishes(self, frame: Frame, rejections: Sequence[Rejection]) -> list[Resync]:
        standing = self.state.standing
        if standing.missing is None or not standing.connected:
            return []
        unlisted = any(rejection.code == "unknown_instrument" for rejection in rejections)
        since = None if standing.covered_ms is None else str(max(0, standing.covered_ms - standings.OVERLAP_MS))
        return self._paced(frame, Resync("instruments" if unlisted else "account", since, standing.missing))

    def _paced(self, frame: Frame, wish: Resync) -> list[Resync]:
        """Not again at once, and ever more seldom while it does not help."""
        if frame.ts_received < self._ask_at:
            return []
        self._ask_at = frame.ts_received + self._ask_pause
        self._ask_pause = min(2 * self._ask_pause, ASK_AGAIN_MAX_NS)
        return [wish]


_MARKS: Final = (Connected, Disconnected, Authenticated, AccountFailed, ReconciliationFailed, Alive)


def account_of(stream: str) -> str | None:
    """The account's name in that of a stream, ``<exchange>.<account>[.<product>]``."""
    words = stream.split(".")
    return words[1] if len(words) in {2, 3} else None


def _internal(error: Exception) -> ParseError:
    return ParseError("internal", f"{type(error).__name__}: {error}")
