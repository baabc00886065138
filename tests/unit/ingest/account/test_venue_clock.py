"""The venue's time between two measurements."""

from services.ingest.account.clock import MEASURE_EVERY, VenueClock

S = 1_000_000_000
WALL = 1_790_000_000 * S


def measured(offset_ms: int = 0, round_trip: int = 0) -> VenueClock:
    """At monotonic time 100 s the venue was ``offset_ms`` ahead of our wall clock."""
    clock = VenueClock()
    venue_ms = WALL // 1_000_000 + offset_ms - round_trip // 2_000_000
    clock.measure(venue_ms, 100 * S - round_trip, 100 * S, WALL)
    return clock


def test_the_wall_clock_has_to_do_until_there_is_a_measurement() -> None:
    clock = VenueClock()
    assert not clock.measured
    assert clock.due(0, WALL)
    assert clock.now_ms(5, WALL + 3 * S) == WALL // 1_000_000 + 3000


def test_the_offset_is_applied_from_the_middle_of_the_round_trip() -> None:
    clock = measured(offset_ms=-6000, round_trip=400_000_000)
    assert clock.measured
    assert clock.now_ms(100 * S, WALL) == WALL // 1_000_000 - 6000
    assert abs(clock.offset + 6 * S) < 1_000_000


def test_a_wall_clock_that_is_set_changes_nothing_until_the_next_measurement() -> None:
    clock = measured()
    assert clock.now_ms(107 * S, WALL - 3600 * S) == WALL // 1_000_000 + 7000
    assert clock.due(107 * S, WALL - 3600 * S)


def test_it_is_due_every_ten_minutes_and_when_the_machine_slept() -> None:
    clock = measured()
    assert not clock.due(160 * S, WALL + 60 * S)
    assert clock.due(100 * S + MEASURE_EVERY + 1, WALL + MEASURE_EVERY + 1)
    assert clock.due(101 * S, WALL + 3600 * S)


def test_times_have_thirteen_digits() -> None:
    assert len(str(VenueClock().now_ms(0, WALL))) == len(str(measured().now_ms(101 * S, WALL))) == 13
