"""What the account plane's ingest tells the outside, bound to an account and to each of its streams."""

from services.ingest.account.journal import Size
from shared.envelope import Disconnected
from shared.errors import AccountRefused, BrokerError, JournalError, PublishFailed, RequestFailed, StreamClosed
from shared.telemetry.account import AccountEvents, AccountIngestMetrics
from shared.telemetry.bundle import Telemetry
from shared.telemetry.stages import RestMetrics

__all__ = ["AccountTelemetry", "StreamTelemetry"]


class AccountTelemetry:
    """One account."""

    def __init__(self, telemetry: Telemetry, exchange: str, account: str) -> None:
        self.telemetry = telemetry
        self.exchange = exchange
        self.metrics = AccountIngestMetrics(telemetry.metrics, exchange, account)
        self.events = AccountEvents(telemetry.metrics, exchange, account)
        self._rest = RestMetrics(telemetry.metrics, exchange)
        self._sizes: dict[str, tuple[Size, int]] = {}
        self._usable: dict[str, bool] = {}
        self._covered: dict[str, int] = {}
        self._streams: dict[str, StreamTelemetry] = {}

    def stream(self, stream: str) -> "StreamTelemetry":
        """The part of one stream."""
        if stream not in self._streams:
            self._usable[stream] = False
            self._streams[stream] = StreamTelemetry(self, stream)
        return self._streams[stream]

    def rest(self, seconds: float) -> None:
        """A REST request was answered after so long."""
        self._rest.ok(int(seconds * 1e9))

    def request_failed(self, error: RequestFailed) -> None:
        """A REST request failed."""
        outcome = "failed" if error.status is None else f"status_{error.status}"
        self.telemetry.events.rest_failed(self.exchange, outcome, error.url, str(error))

    def journal(self, stream: str, size: Size, oldest: int) -> None:
        """What one stream's journal holds."""
        self._sizes[stream] = size, oldest
        sizes = [each for each, _ in self._sizes.values()]
        waiting = [since for _, since in self._sizes.values() if since]
        self.metrics.journal(
            sum(each.frames + each.held for each in sizes), sum(each.bytes for each in sizes), min(waiting, default=0)
        )

    def usable(self, stream: str, *, usable: bool) -> None:
        """Whether one stream's journal can be written."""
        self._usable[stream] = usable
        self.metrics.usable(usable=all(self._usable.values()))

    def covered(self, stream: str, until_ms: int) -> None:
        """One stream has told everything up to here."""
        self._covered[stream] = until_ms
        if len(self._covered) == len(self._usable):
            self.metrics.reconciled(min(self._covered.values()))


class StreamTelemetry:
    """One stream of an account."""

    def __init__(self, account: AccountTelemetry, stream: str) -> None:
        self._account = account
        self._events = account.events
        self._metrics = account.metrics
        self._stream = stream

    # Journal

    def resumed(self, frames: int) -> None:
        """Frames that an earlier process left on disk."""
        self._metrics.received(frames)

    def committed(self, frames: int, duration: int) -> None:
        """So many numbered frames were written in one commit (ns)."""
        self._metrics.received(frames)
        self._metrics.written(duration)

    def journal(self, size: Size, oldest: int) -> None:
        """What the journal holds; reception of the oldest frame that waits (ns UTC, 0: none)."""
        self._account.journal(self._stream, size, oldest)

    def journal_opened(self, path: str, frames: int) -> None:
        """The journal is open, with so many frames that wait."""
        self._events.journal_opened(self._stream, path, frames)

    def journal_usable(self) -> None:
        """It can be written."""
        self._account.usable(self._stream, usable=True)

    def journal_failed(self, error: JournalError) -> None:
        """It can't."""
        self._account.usable(self._stream, usable=False)
        self._events.journal_failed(self._stream, error.reason, str(error))

    def journal_abandoned(self, entries: int) -> None:
        """The process ends before so many entries could be written."""
        self._events.journal_abandoned(self._stream, entries)

    def too_slow(self) -> None:
        """The venue pushed what the journal could not take."""
        self._events.too_slow(self._stream, 1)

    # Publishing

    def published(self, duration: int) -> None:
        """A frame was confirmed, so long after it was tried first (ns)."""
        self._metrics.published(duration)

    def retried(self, error: BaseException, attempts: int) -> None:
        """A frame was not confirmed for the n-th time."""
        reason = "cancelled"
        if isinstance(error, PublishFailed):
            reason = error.reason
        elif isinstance(error, TimeoutError):
            reason = "timeout"
        elif isinstance(error, BrokerError):
            reason = "unavailable"
        elif isinstance(error, Exception):
            reason = "defect"
        self._events.publish_retried(self._stream, reason, attempts, str(error) or type(error).__name__)

    # Venue

    def connected(self, epoch_floor: int, label: str) -> None:
        """A connection stands."""
        self._account.telemetry.events.stream_connected(self._account.exchange, self._stream, epoch_floor, label)

    def disconnected(self, ended: Disconnected) -> None:
        """It ended."""
        self._account.telemetry.events.stream_disconnected(
            self._account.exchange, self._stream, ended.reason, code=ended.code, detail=ended.detail
        )

    def connect_failed(self, error: StreamClosed | RequestFailed) -> None:
        """There was no connection to be had."""
        detail = error.reason if isinstance(error, StreamClosed) else str(error)
        self._account.telemetry.events.connect_failed(self._account.exchange, self._stream, "connect_failed", detail)

    def refused(self, reason: str, detail: str, again_s: float) -> None:
        """The venue refuses the account."""
        self._events.refused(self._stream, reason, detail, again_s)

    def request_failed(self, error: RequestFailed) -> None:
        """A REST request of this stream failed."""
        self._account.request_failed(error)

    def crashed(self, task: str, error: BaseException) -> None:
        """A task ended with a defect."""
        if not isinstance(error, AccountRefused):
            self._account.telemetry.events.task_crashed(task, error)

    # Reconciliation and clock

    def reconciled(self, *, complete: bool, calls: int, until_ms: int) -> None:
        """A reconciliation is in the stream; ``complete``: nothing is left to ask."""
        outcome = "complete" if complete else "partial"
        self._metrics.reconciliation(outcome)
        self._account.covered(self._stream, until_ms)
        self._events.reconciled(self._stream, outcome, calls, until_ms)

    def reconciliation_failed(self, outcome: str, detail: str) -> None:
        """A reconciliation came to nothing."""
        self._metrics.reconciliation(outcome)
        self._events.reconciliation_failed(self._stream, outcome, detail)

    def clock_measured(self, offset: int, limit_ms: int) -> None:
        """The venue's clock minus ours (ns), and how far it may be off."""
        self._metrics.clock_offset(offset)
        if abs(offset) > limit_ms * 1_000_000:
            self._events.clock_off(self._stream, offset / 1e6, limit_ms)

    def clock_unknown(self, error: Exception) -> None:
        """The venue's time could not be had."""
        self._events.clock_unknown(self._stream, str(error))
