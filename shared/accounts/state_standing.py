"""What may be said of an account: whether everything has been told, and if not, why not.

``phase`` follows the connection. Over it lie doubts that a connection alone does not end: events that may be missing,
and orders that vanished. Only whole reconciliations without a hole between them end those.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from shared.accounts.messages import AccountState
from shared.accounts.state_records import OrderKey, Standing

__all__ = [
    "OVERLAP_MS",
    "Verdict",
    "authenticated",
    "connected",
    "disconnected",
    "doubt",
    "reconciled",
    "started",
    "unreconciled",
    "verdict",
]

OVERLAP_MS: Final = 60_000
"""A reconciliation that is asked for begins so long before what is covered: venues list with some delay."""

_DETAIL: Final = 200
"""Characters of a detail."""


class Verdict(NamedTuple):
    """What a status message says."""

    status: AccountState
    reason: str | None = None
    detail: str | None = None


def verdict(standing: Standing) -> Verdict:
    """What holds now."""
    phase = cast("AccountState", standing.phase)
    if phase in {"authenticated", "reconciled"}:
        if standing.missing is not None:
            return Verdict("stale", standing.missing, standing.missing_detail)
        if standing.vanished:
            return Verdict("stale", "order_vanished", " ".join(standing.vanished[0]))
    return Verdict(phase, standing.reason, standing.detail)


def connected(standing: Standing) -> None:
    """A new connection: its first reconciliation begins after everything that the one before may have lost."""
    _phase(standing, "connecting")
    standing.connected = True
    standing.wanted = min(standing.wanted, 1)


def authenticated(standing: Standing) -> None:
    """The venue accepted the login and all subscriptions."""
    _phase(standing, "authenticated")
    standing.connected = True


def disconnected(standing: Standing, status: AccountState, reason: str, detail: str | None) -> None:
    """Nothing more is heard for now (``stale``), or until somebody acts (``failed``)."""
    _phase(standing, status, reason, detail)
    standing.connected = False


def unreconciled(standing: Standing, reason: str, detail: str | None) -> None:
    """A reconciliation failed while the connection stands."""
    _phase(standing, "stale", reason, detail)


def started(standing: Standing) -> None:
    """A stream is met in mid-life, and nothing is remembered of it."""
    unreconciled(standing, "started", None)
    standing.missing, standing.wanted = "started", 1


def doubt(standing: Standing, reason: str, detail: str | None = None) -> None:
    """An event may be missing.

    A reconciliation may have been under way, and have asked before the event happened: the one after it has it.
    """
    standing.missing = reason
    standing.missing_detail = None if detail is None else detail[:_DETAIL]
    standing.wanted = 2
    _uncover(standing)


def reconciled(
    standing: Standing, since_ms: int, until_ms: int, problem: str | None, vanished: Sequence[OrderKey]
) -> bool:
    """A reconciliation came. False where what is known to be covered does not reach to it, or not all could be read.

    ``problem`` says what could not. Then the next one has to begin at ``covered_ms``.
    """
    if standing.covered_ms is not None and since_ms > standing.covered_ms:
        problem = problem or f"covered up to {standing.covered_ms} ms, the reconciliation began at {since_ms} ms"
        reason = "not_covered"
    else:
        reason = "quarantined"
    standing.vanished = list(vanished)
    if problem is not None:
        _uncover(standing)
        standing.missing, standing.missing_detail = reason, problem[:_DETAIL]
        standing.wanted = max(standing.wanted, 1)
    else:
        standing.covered_ms = max(until_ms, standing.covered_ms or 0)
        standing.wanted = max(0, standing.wanted - 1)
        if not standing.wanted:
            standing.missing = standing.missing_detail = None
    if standing.connected:
        _phase(standing, "reconciled")
    return problem is None


def _uncover(standing: Standing) -> None:
    """Before the first whole reconciliation something went wrong: it may have been that one, so one has to reach back.

    Where from nobody says any more, so it is somewhat before the first frame, for the difference of two clocks.
    """
    if standing.covered_ms is None and standing.begun_ms is not None:
        standing.covered_ms = max(0, standing.begun_ms - OVERLAP_MS)


def _phase(standing: Standing, phase: AccountState, reason: str | None = None, detail: str | None = None) -> None:
    standing.phase, standing.reason = phase, reason
    standing.detail = None if detail is None else detail[:_DETAIL]
