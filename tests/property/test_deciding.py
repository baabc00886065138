"""Delays and batches, whatever the numbers."""

from hypothesis import given
from hypothesis import strategies as st

from shared.backoff import Backoff
from shared.batching import BatchPolicy, Trigger

positive = st.floats(0.001, 1_000)


@given(positive, positive, st.floats(1, 10), st.lists(st.floats(0, 1, exclude_max=True), max_size=200))
def test_delays_have_bounds(initial: float, cap: float, factor: float, jitters: list[float]) -> None:
    """Between half and all of ``min(cap, initial * factor**n)``, which never falls."""
    backoff = Backoff(initial, cap, factor)
    full = 0.0
    for attempt, jitter in enumerate(jitters):
        wanted = min(cap, initial * factor ** min(attempt, 64))
        delay = backoff.next(jitter)
        assert wanted / 2 <= delay <= wanted
        assert wanted >= full
        full = wanted
    backoff.healthy()
    assert backoff.next(0.0) == min(cap, initial) / 2


@given(
    st.builds(BatchPolicy, st.integers(1, 9), st.integers(1, 99), st.integers(0, 999)),
    st.integers(1, 20),
    st.integers(0, 200),
    st.integers(0, 2_000),
    st.integers(0, 3),
)
def test_no_frame_waits_longer_than_the_window(
    policy: BatchPolicy, frames: int, size: int, waited: int, in_flight: int
) -> None:
    """Either the batch is due, or it is known when to look again, and then it is due."""
    verdict = policy.due(frames, size, 50, in_flight, 50 + waited)
    if not isinstance(verdict, Trigger):
        assert in_flight
        assert frames < policy.frames
        assert size < policy.bytes
        assert 0 < verdict <= policy.window_ns
        assert policy.due(frames, size, 50, in_flight, 50 + waited + verdict) is Trigger.AGE
