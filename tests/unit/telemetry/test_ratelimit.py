from hypothesis import given
from hypothesis import strategies as st

from shared.telemetry.ratelimit import RateLimiter

CALLS = st.lists(st.tuples(st.integers(min_value=0, max_value=30), st.sampled_from("abc")), max_size=200)


@given(CALLS)
def test_passes_are_an_interval_apart_and_tell_of_every_call_between(calls: list[tuple[int, str]]) -> None:
    limiter = RateLimiter(interval=100)
    now = 0
    passed: dict[str, int] = {}
    held: dict[str, int] = {}
    for step, key in calls:
        now += step
        suppressed = limiter.allow(key, now)
        if suppressed is None:
            assert now - passed[key] < 100
            held[key] = held.get(key, 0) + 1
        else:
            assert key not in passed or now - passed[key] >= 100
            assert suppressed == held.pop(key, 0)
            passed[key] = now


def test_only_so_many_keys_are_remembered() -> None:
    limiter = RateLimiter(interval=100, key_limit=2)
    assert [limiter.allow(key, 0) for key in "abc"] == [0, 0, 0]
    assert limiter.allow("c", 1) is None
    assert limiter.allow("b", 1) is None
    assert limiter.allow("a", 1) == 0


def test_a_key_that_passes_again_is_not_the_oldest() -> None:
    limiter = RateLimiter(interval=10, key_limit=2)
    limiter.allow("a", 0)
    limiter.allow("b", 1)
    limiter.allow("a", 20)
    limiter.allow("c", 21)
    assert limiter.allow("a", 22) is None
