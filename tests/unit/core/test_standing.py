"""An overload, told from an outage."""

from shared.standing import StandingQueue

MS = 1_000_000


def played(queue: StandingQueue, waits_ms: list[float], every_ms: int = 10) -> list[bool]:
    """The verdicts for what was taken every so often, having waited for so long."""
    return [queue.taken(int(wait * MS), at * every_ms * MS) for at, wait in enumerate(waits_ms)]


def test_a_short_queue_never_stands() -> None:
    assert not any(played(StandingQueue(100 * MS, 500 * MS), [100.0] * 1_000))


def test_a_queue_that_waits_too_long_for_too_long_stands() -> None:
    verdicts = played(StandingQueue(100 * MS, 500 * MS), [300.0] * 60)

    assert verdicts.index(True) == 50
    assert all(verdicts[50:])


def test_a_queue_that_grows_stands_too() -> None:
    assert played(StandingQueue(100 * MS, 500 * MS), [101.0 + at for at in range(60)])[-1]


def test_a_queue_that_gets_shorter_does_not() -> None:
    """After an outage of ten seconds it takes five to send what has waited."""
    assert not any(played(StandingQueue(100 * MS, 500 * MS), [10_000.0 - 20 * at for at in range(496)]))


def test_one_that_stops_getting_shorter_does() -> None:
    verdicts = played(StandingQueue(100 * MS, 500 * MS), [5_000.0 - 40 * at for at in range(100)] + [1_000.0] * 120)

    assert not any(verdicts[:100])
    assert verdicts[-1]


def test_it_stands_until_what_is_taken_waited_for_less_than_half() -> None:
    queue = StandingQueue(100 * MS, 500 * MS)
    played(queue, [300.0] * 60)

    assert queue.taken(100 * MS, 700 * MS)
    assert queue.taken(51 * MS, 710 * MS)
    assert not queue.taken(50 * MS, 720 * MS)
    assert not queue.taken(300 * MS, 730 * MS)


def test_a_moment_without_waiting_begins_anew() -> None:
    assert not any(played(StandingQueue(100 * MS, 500 * MS), ([300.0] * 49 + [10.0]) * 5))
