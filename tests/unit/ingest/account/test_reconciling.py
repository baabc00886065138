"""When to reconcile, to release held frames, to say that all is well."""

import pytest

from services.ingest.account.reconciling import OVERLAP_MS, Due, Reconciling, Window, window

S = 1_000_000_000
NOW_MS = 1_790_000_000_000


def reconciling() -> Reconciling:
    return Reconciling(hold=10 * S, interval=60 * S, alive=5 * S)


def test_nothing_is_due_before_the_venue_accepted_the_login() -> None:
    assert reconciling().due(1000 * S) == Due()


def test_the_first_reconciliation_is_due_at_once_and_once() -> None:
    one = reconciling()
    one.authenticated(7 * S)
    assert one.due(7 * S) == Due(catch_up=True)
    assert one.due(8 * S) == Due()
    assert one.holding


def test_success_releases_what_is_held_and_begins_the_signs_of_life() -> None:
    one = reconciling()
    one.authenticated(0)
    one.due(0)
    assert one.succeeded(S, complete=True) is True
    assert one.reconciled
    assert not one.holding
    assert one.due(2 * S) == Due()
    assert one.due(6 * S) == Due(alive=True)
    assert one.due(7 * S) == Due()


def test_after_a_connections_first_reconciliation_comes_another_one_soon() -> None:
    """A venue's lists may lag."""
    one = reconciling()
    one.authenticated(0)
    one.due(0)
    one.succeeded(S, complete=True)
    assert not one.due(10 * S).catch_up
    assert one.due(11 * S).catch_up
    one.succeeded(12 * S, complete=True)
    assert not one.due(71 * S).catch_up
    assert one.due(72 * S).catch_up


def test_a_part_of_a_reconciliation_goes_on_at_once_while_frames_stay_held() -> None:
    one = reconciling()
    one.authenticated(0)
    one.due(0)
    assert one.succeeded(S, complete=False) is False
    assert one.holding
    assert not one.reconciled
    assert one.due(S) == Due(catch_up=True)
    assert one.succeeded(2 * S, complete=True) is True


def test_held_frames_wait_only_so_long_and_reconciling_goes_on() -> None:
    one = reconciling()
    one.authenticated(0)
    one.due(0)
    assert one.due(10 * S) == Due(release=True)
    assert one.due(11 * S) == Due()
    assert one.succeeded(12 * S, complete=True) is False
    assert one.reconciled


def test_failures_are_tried_again_later_and_later() -> None:
    one = reconciling()
    one.authenticated(0)
    waits, now = [], 0
    for _ in range(8):
        assert one.due(now).catch_up
        assert one.failed(now, 0.999) is False
        wait = next(wait for wait in range(1, 1000) if one.due(now + wait * S // 10).catch_up)
        assert one.failed(now, 0.999) is False
        waits.append(wait / 10)
        now += 1000 * S
    assert waits[0] <= 1.1
    assert waits == sorted(waits)
    assert waits[-1] <= 60.1


def test_a_failure_after_success_is_said_once_and_ends_the_signs_of_life() -> None:
    one = reconciling()
    one.authenticated(0)
    one.due(0)
    one.succeeded(0, complete=True)
    one.due(60 * S)
    assert one.failed(61 * S, 0.5) is True
    assert not one.reconciled
    assert one.due(61 * S) == Due()
    one.due(70 * S)
    assert one.failed(71 * S, 0.5) is False
    assert not one.due(72 * S).alive


@pytest.mark.parametrize(
    ("covered", "span", "goes_on", "expected"),
    [
        (None, None, False, Window(NOW_MS - 5000, NOW_MS)),
        (NOW_MS - 90_000, None, False, Window(NOW_MS - 90_000 - OVERLAP_MS, NOW_MS)),
        (NOW_MS - 90_000, None, True, Window(NOW_MS - 90_000, NOW_MS)),
        (NOW_MS - 90_000, 1000, True, Window(NOW_MS - 90_000, NOW_MS - 89_000)),
        (NOW_MS + 90_000, None, True, Window(NOW_MS, NOW_MS)),
        (0, None, False, Window(0, NOW_MS)),
    ],
)
def test_what_is_asked_for(covered: int | None, span: int | None, *, goes_on: bool, expected: Window) -> None:
    assert window(covered, NOW_MS, 5000, span, goes_on=goes_on) == expected
