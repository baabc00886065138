"""When to send, and how long to wait before trying again."""

import pytest

from shared.backoff import Backoff
from shared.batching import BatchPolicy, Pace, Trigger
from shared.clock import SystemClock

POLICY = BatchPolicy(frames=10, bytes=1_000, window_ns=500)


@pytest.mark.parametrize(
    ("frames", "size", "waited", "in_flight", "verdict"),
    [
        (1, 1, 0, 0, Trigger.IDLE),
        (9, 999, 499, 0, Trigger.IDLE),
        (10, 1, 0, 0, Trigger.FRAMES),
        (11, 1, 0, 3, Trigger.FRAMES),
        (1, 1_000, 0, 3, Trigger.BYTES),
        (10, 1_000, 900, 3, Trigger.FRAMES),
        (1, 1, 500, 1, Trigger.AGE),
        (1, 1, 9_000, 1, Trigger.AGE),
        (1, 1, 0, 1, 500),
        (9, 999, 499, 1, 1),
    ],
)
def test_batches(frames: int, size: int, waited: int, in_flight: int, verdict: Trigger | int) -> None:
    """At once when idle, full or old; else after what is left of the window."""
    assert POLICY.due(frames, size, 7_000, in_flight, 7_000 + waited) == verdict


def test_documented_bounds() -> None:
    """500 µs, 200 frames, 256 KiB."""
    assert BatchPolicy() == BatchPolicy(frames=200, bytes=262_144, window_ns=500_000)


def test_backoff_doubles_up_to_its_cap() -> None:
    """Without jitter's luck: 0.5, 1, 2 … 60 seconds."""
    backoff = Backoff(0.5, 60.0)
    assert [backoff.next(1.0) for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    assert backoff.attempts == 9


def test_backoff_starts_again_after_success_only() -> None:
    """A connection that is accepted and closed at once keeps backing off."""
    backoff = Backoff(1.0, 60.0)
    assert [backoff.next(0.0), backoff.next(0.0)] == [0.5, 1.0]
    backoff.healthy()
    assert backoff.next(0.0) == 0.5


def test_backoff_of_a_lifetime() -> None:
    """A venue that is gone for weeks raises no number beyond what a float holds."""
    backoff = Backoff(1.0, 60.0, factor=10.0)
    assert {backoff.next(1.0) for _ in range(10_000)} == {1.0, 10.0, 60.0}


def test_system_clock() -> None:
    """Nanoseconds since 1970, and nanoseconds that do not go back."""
    clock = SystemClock()
    assert clock.wall() > 1_700_000_000 * 10**9
    first = clock.monotonic()
    assert clock.monotonic() >= first


def test_a_lone_batch_is_not_held_up_and_those_that_follow_each_other_are() -> None:
    pace = Pace(2_000)
    assert pace.wait(10_000, 10_100) == 0
    assert pace.wait(14_000, 14_100) == 0  # twice the time later
    assert pace.wait(17_999, 18_099) == 1_900
    assert pace.wait(19_999, 20_299) == 1_700
    assert pace.wait(22_000, 24_500) == 0  # it took longer by itself
    assert pace.wait(30_000, 30_100) == 0


def test_no_time_to_linger_means_never_to_wait() -> None:
    pace = Pace(0)
    assert [pace.wait(begun, begun) for begun in (5, 5, 6)] == [0, 0, 0]
