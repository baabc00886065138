"""When to reconcile, when frames have been held long enough, when to say that all is well. No I/O; times in ns."""

from typing import Final, NamedTuple

from shared.backoff import Backoff

__all__ = ["Due", "Reconciling", "Window", "window"]

OVERLAP_MS: Final = 60_000
"""A venue's REST lists may lag behind its stream; what is told twice is known by its execution id."""

AGAIN: Final = 10_000_000_000
"""So long after a connection's first reconciliation there is another one: what happened while nobody was connected may
have been too young for the lists that were asked then."""


class Window(NamedTuple):
    """What is to be asked for (ms, the venue's clock)."""

    since_ms: int
    until_ms: int


def window(covered_ms: int | None, now_ms: int, lookback_ms: int, span_ms: int | None, *, goes_on: bool) -> Window:
    """From where the last reconciliation ended, a little before; ``lookback_ms`` back where there never was one.

    ``goes_on``: the last one was a part of this one. ``span_ms`` bounds what is asked for at once.
    """
    told_ms = now_ms - lookback_ms if covered_ms is None else covered_ms
    since = max(0, min(told_ms if covered_ms is None or goes_on else told_ms - OVERLAP_MS, now_ms))
    return Window(since, now_ms if span_ms is None else min(now_ms, since + span_ms))


class Due(NamedTuple):
    """What is to be done now."""

    catch_up: bool = False
    release: bool = False
    """Held frames have waited long enough: they go on, and it is said that something may be missing."""
    alive: bool = False


class Reconciling:
    """One connection's decisions. A failed one is tried again after 1 s, then later, at most after the interval."""

    def __init__(self, hold: int, interval: int, alive: int) -> None:
        self._hold = hold
        self._interval = interval
        self._alive = alive
        self._backoff = Backoff(1.0, max(1.0, interval / 1e9))
        self._next: int | None = None
        self._hold_until: int | None = None
        self._alive_next = 0
        self._running = False
        self._first = True
        self.reconciled = False
        """Whether everything up to the last reconciliation was told, and none failed since."""

    @property
    def holding(self) -> bool:
        """Whether live frames still wait for the first reconciliation."""
        return self._hold_until is not None

    def authenticated(self, now: int) -> None:
        """Live events come from now on."""
        self._next = now
        self._hold_until = now + self._hold

    def due(self, now: int) -> Due:
        """To be asked often; what it names counts as begun."""
        catch_up = not self._running and self._next is not None and now >= self._next
        release = self._hold_until is not None and now >= self._hold_until
        alive = self.reconciled and now >= self._alive_next
        if catch_up:
            self._running = True
        if release:
            self._hold_until = None
            self.reconciled = False
        if alive:
            self._alive_next = now + self._alive
        return Due(catch_up, release, alive)

    def succeeded(self, now: int, *, complete: bool) -> bool:
        """A reconciliation's frame is in the stream; whether held frames follow it now.

        Where more is to be asked (or the same in parts) it goes on at once, and held frames wait for the rest.
        """
        self._running = False
        self._backoff.healthy()
        if not complete:
            self._next = now
            return False
        self._next = now + (min(AGAIN, self._interval) if self._first else self._interval)
        self._first = False
        self.reconciled = True
        self._alive_next = now + self._alive
        release, self._hold_until = self._hold_until is not None, None
        return release

    def failed(self, now: int, jitter: float) -> bool:
        """It came to nothing; whether to say so now: once only, and not while held frames tell by themselves."""
        self._running = False
        self._next = now + int(self._backoff.next(jitter) * 1e9)
        said, self.reconciled = self.reconciled, False
        return said
