"""What an account normalizer tells the outside, bound once for each stream."""

import logging
from collections.abc import Sequence
from typing import Final

from services.normalizer.holding import Owned
from services.normalizer.telemetry import NormalizerTelemetry
from shared.accounts.messages import AccountStatus
from shared.accounts.state_records import Header
from shared.accounts.state_stream import Outcome, account_of
from shared.control import ResyncRequest, StreamInfo
from shared.envelope import Frame
from shared.errors import PublishFailed, StateError
from shared.exchanges.output import Rejection
from shared.quarantine import QuarantineRecord
from shared.telemetry.bundle import Telemetry
from shared.telemetry.stages import NormalizerMetrics

__all__ = ["AccountTelemetry", "StreamTelemetry"]

log = logging.getLogger(__name__)

REMEDIES: Final = {
    "full": "free space on that disk; it is tried again by itself",
    "corrupt": "stop this process, keep the file, and move it (with -wal and -shm) out of account.state_directory;"
    " a new one is made, a reconciliation follows, and some executions may be told again: consumers know them by id",
    "foreign": "point account.state_directory elsewhere, or move that file away if it is none of Tidegate's",
    "locked": "another process has it open: only one normalizer of the account plane may use a state directory's file",
    "unwritable": "make the file and its directory writable for this user; it is tried again by itself",
}
"""What somebody has to do, by the reason of a StateError."""

STATUSES: Final = ("failed", "stale", "connecting", "authenticated", "reconciled")
"""Worst first."""


class AccountTelemetry(NormalizerTelemetry):
    """One process."""

    def __init__(self, telemetry: Telemetry) -> None:
        super().__init__(telemetry, "account")
        self.problems: dict[str, str] = {}
        """Streams that stand still, and what somebody has to do."""
        self._statuses: dict[str, tuple[str, str, str]] = {}

    def stream(self, info: StreamInfo, owned: Owned) -> "StreamTelemetry":
        """The part of one stream."""
        return StreamTelemetry(self, self._telemetry, info, owned)

    def released(self, stream: StreamInfo, reason: str, duration: int | None) -> None:
        """See :class:`NormalizerTelemetry`."""
        super().released(stream, reason, duration)
        self.problems.pop(stream.stream, None)
        if (known := self._statuses.pop(stream.stream, None)) is not None:
            self._show(*known[:2])

    def status(self, exchange: str, account: str, stream: str, status: str) -> None:
        """How one stream stands; the account stands as the worst of its streams that this process owns."""
        self._statuses[stream] = exchange, account, status
        self._show(exchange, account)

    def metrics_of(self, exchange: str) -> NormalizerMetrics:
        """Bound to one exchange."""
        return self._metrics(exchange)

    def in_hand(self, exchange: str, by: int) -> None:
        """So many more frames (or fewer) of which it is not known yet what becomes of them."""
        self._in_flight[exchange] = self._in_flight.get(exchange, 0) + by
        self._metrics(exchange).in_flight(self._in_flight[exchange])

    def _show(self, exchange: str, account: str) -> None:
        held = {status for *whose, status in self._statuses.values() if whose == [exchange, account]}
        worst = next((status for status in STATUSES if status in held), None)
        for status in STATUSES:
            self._telemetry.metrics.account_status.labels(exchange, account, status).set(status == worst)


class StreamTelemetry:
    """One stream."""

    def __init__(self, process: AccountTelemetry, telemetry: Telemetry, info: StreamInfo, owned: Owned) -> None:
        self._process = process
        self._events = telemetry.events
        self._info = info
        self._owned = owned
        self._telemetry = telemetry
        self._account = account_of(info.stream) or "unknown"
        labels = info.exchange, self._account
        self._write = telemetry.metrics.account_state_write_seconds.labels(*labels)
        self._usable = telemetry.metrics.account_state_usable.labels(*labels)
        self._deduplicated = telemetry.metrics.fills_deduplicated.labels(*labels)
        self._metrics = process.metrics_of(info.exchange)
        self._pending: list[tuple[Outcome, Frame]] = []
        self._rejected: list[tuple[QuarantineRecord, Sequence[Rejection]]] = []

    def state_opened(self, header: Header) -> None:
        """The file can be used; whatever was dealt with since the last commit is dealt with again."""
        self._usable.set(1)
        self._process.problems.pop(self._info.stream, None)
        self._forget_pending()
        where = "nothing is remembered" if header.epoch is None else f"epoch={header.epoch} next={header.next}"
        log.info("account state of %s opened: %s", self._info.stream, where)

    def state_failed(self, error: StateError) -> None:
        """It can't: the stream stands still until it can."""
        self._usable.set(0)
        self._forget_pending()
        remedy = REMEDIES[error.reason]
        self._process.problems[self._info.stream] = f"{error}; {remedy}"
        reasons = self._telemetry.metrics.words("reason")
        self._telemetry.metrics.account_failures.labels(
            self._info.exchange, self._account, reasons(f"state_{error.reason}")
        ).inc()
        log.critical("account state failed: %s is not consumed: %s; do: %s", self._info.stream, error, remedy)

    def dealt_with(self, outcome: Outcome, frame: Frame, spent: int) -> None:
        """What came of a frame was confirmed; it took so long (ns) to read and judge it."""
        self._pending.append((outcome, frame))
        self._metrics.received(1)
        self._process.in_hand(self._info.exchange, 1)
        self._metrics.normalize(spent)
        if outcome.lost:
            self._events.frames_lost(self._info.exchange, self._info.stream, outcome.lost)

    def committed(self, duration: int, now: int) -> None:
        """A commit of so long (ns): what was dealt with will not be told again."""
        self._write.observe(duration * 1e-9)
        exchange, stream = self._info.exchange, self._info.stream
        for outcome, frame in self._pending:
            self._metrics.published(not outcome.repeated and not outcome.rejections)
            self._metrics.repeated(outcome.repeated)
            self._metrics.dropped(outcome.duplicates, outcome.stale)
            self._deduplicated.inc(outcome.fills_known)
            self._metrics.stream_messages(stream, len(outcome.messages))
            for message in outcome.messages:
                self._metrics.messages(message.feed, message.symbol, 1)
                if isinstance(message, AccountStatus):
                    self._process.status(exchange, message.account, stream, message.status)
            if not outcome.repeated:
                self._metrics.end_to_end(now - frame.ts_received)
        if self._pending:
            self._process.in_hand(exchange, -len(self._pending))
            newest = self._pending[-1][1].ts_received
            self._owned.dealt_with({(exchange, stream): (len(self._pending), newest)}, now)
        self._pending.clear()
        for record, rejections in self._rejected:
            self._events.frame_rejected(record.exchange, record.stream, record.epoch, record.frame, rejections)
            self._events.quarantined(record.plane, record.stream, record.code)
        self._rejected.clear()

    def rejected(self, record: QuarantineRecord, rejections: Sequence[Rejection]) -> None:
        """A frame is in quarantine."""
        self._rejected.append((record, rejections))

    def poisoned(self, record: QuarantineRecord) -> None:
        """A body that is no envelope is in quarantine."""
        self._metrics.received(1)
        self.rejected(record, [Rejection(record.code, record.detail)])

    def publish_failed(self, error: PublishFailed) -> None:
        """The broker refused or did not confirm; it is tried again, and nothing leaves before."""
        self._events.publish_failed("normalizer", "account", error.reason, str(error))

    def asked(self, request: ResyncRequest) -> None:
        """Ingest is asked for something."""
        self._events.resync_requested(
            request.exchange, request.stream, request.feed, request.native_symbol, request.reason
        )

    def crashed(self, error: Exception) -> None:
        """A defect in the middle of a frame."""
        self._events.task_crashed("account_state", error)

    def _forget_pending(self) -> None:
        if self._pending:
            self._metrics.returned(len(self._pending))
            self._process.in_hand(self._info.exchange, -len(self._pending))
        self._pending.clear()
        self._rejected.clear()
