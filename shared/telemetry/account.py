"""What ingest tells of one account: its metrics, bound once, and its events. Durations are nanoseconds."""

import logging
from typing import Final

from shared.telemetry.events import Reporter
from shared.telemetry.labels import Children
from shared.telemetry.metrics import Metrics

__all__ = ["AccountEvents", "AccountIngestMetrics"]

NS: Final = 1e-9

REMEDIES: Final = {
    "full": "free space on that disk or raise account.journal_max_bytes; it is tried again by itself",
    "corrupt": "stop this process, keep the file, and set it aside with `tidegate journal {exchange} --account"
    " {account} --set-aside`; then start with account.lookback_s above the age of the last good reconciliation",
    "foreign": "point account.journal_directory elsewhere, or move that file away if it is none of Tidegate's",
    "locked": "another process has it open: only one may run `tidegate ingest {exchange} --account {account}`",
    "unwritable": "make the file and its directory writable for this user; it is tried again by itself",
}
"""What somebody has to do, by the reason of a JournalError."""


class AccountIngestMetrics:
    """One account, over all its streams."""

    def __init__(self, metrics: Metrics, exchange: str, account: str) -> None:
        labels = self._labels = (exchange, account)
        self._received = metrics.account_frames_received.labels(*labels)
        self._published = metrics.account_frames_published.labels(*labels)
        self._frames = metrics.journal_frames.labels(*labels)
        self._bytes = metrics.journal_bytes.labels(*labels)
        self._oldest = metrics.journal_oldest.labels(*labels)
        self._usable = metrics.journal_usable.labels(*labels)
        self._write = metrics.journal_write_seconds.labels(*labels)
        self._confirm = metrics.account_confirm_seconds.labels(*labels)
        self._reconciled = metrics.reconciled.labels(*labels)
        self._offset = metrics.account_clock_offset.labels(*labels)
        self._reconciliations = Children(metrics.reconciliations)
        self._outcomes = metrics.words("outcome")
        self._usable.set(0)

    def received(self, frames: int) -> None:
        """Frames that are on disk now."""
        self._received.inc(frames)

    def published(self, duration: int) -> None:
        """A frame was confirmed, so long after it was tried first (ns)."""
        self._published.inc()
        self._confirm.observe(duration * NS)

    def journal(self, frames: int, size: int, oldest: int) -> None:
        """What the journals hold: frames, bytes of their files, reception of the oldest (ns UTC, 0: none)."""
        self._frames.set(frames)
        self._bytes.set(size)
        self._oldest.set(oldest * NS)

    def usable(self, *, usable: bool) -> None:
        """Whether all journals can be written."""
        self._usable.set(usable)

    def written(self, duration: int) -> None:
        """One commit (ns)."""
        self._write.observe(duration * NS)

    def reconciliation(self, outcome: str) -> None:
        """A reconciliation ended."""
        self._reconciliations[*self._labels, self._outcomes(outcome)].inc()

    def reconciled(self, until_ms: int) -> None:
        """Everything up to here was told (ms, the venue's clock)."""
        self._reconciled.set(until_ms / 1e3)

    def clock_offset(self, offset: int) -> None:
        """The venue's clock minus ours (ns)."""
        self._offset.set(offset * NS)


class AccountEvents(Reporter):
    """What happens to one account; every line names the stream."""

    def __init__(self, metrics: Metrics, exchange: str, account: str) -> None:
        super().__init__(metrics)
        self._account = {"exchange": exchange, "account": account}

    def journal_failed(self, stream: str, reason: str, detail: str) -> None:
        """A journal can't be used: its stream is closed until it can."""
        self._count(f"journal_{reason}")
        remedy = REMEDIES[reason].format(**self._account)
        self._tell(logging.CRITICAL, "journal_failed", stream, reason, do=remedy, detail=detail)

    def journal_opened(self, stream: str, path: str, frames: int) -> None:
        """A journal is open, with so many frames that wait."""
        self._tell(logging.INFO, "journal_opened", stream, path=path, frames=frames)

    def journal_abandoned(self, stream: str, entries: int) -> None:
        """The process ends while the journal can't be written: what was not on disk is left to the next catch-up."""
        self._tell(logging.CRITICAL, "journal_abandoned", stream, entries=entries)

    def refused(self, stream: str, reason: str, detail: str, again_s: float) -> None:
        """The venue refuses the account; ``reason`` is a bounded word. It is tried again after a while."""
        self._count(reason)
        self._tell(logging.ERROR, "account_refused", stream, reason, detail=detail, again=f"{again_s:.0f} s")

    def too_slow(self, stream: str, frames: int) -> None:
        """The disk is too slow: what the venue pushed was not taken, the connection ends, a catch-up follows."""
        self._count("journal_slow")
        self._tell(logging.ERROR, "journal_slow", stream, frames=frames)

    def reconciled(self, stream: str, outcome: str, calls: int, until_ms: int) -> None:
        """A reconciliation came to its end and is in the stream."""
        self._tell(logging.INFO, "reconciled", stream, outcome, calls=calls, until_ms=until_ms)

    def reconciliation_failed(self, stream: str, outcome: str, detail: str) -> None:
        """A reconciliation failed and is tried again."""
        self._tell(logging.WARNING, "reconciliation_failed", stream, outcome, detail=detail)

    def clock_off(self, stream: str, offset_ms: float, limit_ms: int) -> None:
        """The venue's clock and ours are further apart than the settings allow; the measured offset is used."""
        self._count("clock_offset")
        self._tell(logging.ERROR, "clock_off", stream, offset_ms=round(offset_ms), limit_ms=limit_ms)

    def clock_unknown(self, stream: str, detail: str) -> None:
        """The venue's time could not be had."""
        self._tell(logging.WARNING, "clock_unknown", stream, detail=detail)

    def publish_retried(self, stream: str, reason: str, attempts: int, detail: str) -> None:
        """A frame was not confirmed and is tried again: nothing behind it leaves before."""
        self._metrics.publish_failures.labels("ingest", "account", self._reasons(reason)).inc()
        self._tell(logging.WARNING, "publish_retried", stream, reason, attempts=attempts, detail=detail)

    def symbol_unknown(self, symbol: str) -> None:
        """A symbol of the settings is none that the venue lists for the account's products."""
        self._tell(logging.WARNING, "symbol_unknown", None, symbol)

    def _count(self, reason: str) -> None:
        self._metrics.account_failures.labels(*self._account.values(), self._reasons(reason)).inc()

    def _tell(self, level: int, event: str, stream: str | None, about: str | None = None, **fields: object) -> None:
        """``about`` tells apart what is held back apart when it comes often: a reason, an outcome, a symbol."""
        self._report(level, event, (stream, about), **self._account, stream=stream, about=about, **fields)
