"""What one member claims and releases, case by case."""

import pytest

from shared.ownership import HOLD_MAX_NS, HOLD_NS, RETRY_MAX_NS, RETRY_NS, TICK_NS, Ownership, tick_ns

STREAMS = {f"bybit.linear.{number}" for number in range(8)}
SECOND = 1_000_000_000


def test_alone_a_member_claims_everything() -> None:
    verdict = Ownership("a:1:0001").decide(0, STREAMS, 1, set())
    assert (set(verdict.claim), verdict.release) == (STREAMS, [])


@pytest.mark.parametrize(("members", "quota"), [(1, 8), (2, 4), (3, 3), (5, 2), (8, 1), (20, 1), (0, 8), (-1, 8)])
def test_a_share_is_rounded_up(members: int, quota: int) -> None:
    """Or the rest would have no owner. A list that is not to be believed has at least this member on it."""
    assert len(Ownership("a").decide(0, STREAMS, members, set()).claim) == quota


def test_members_want_different_streams_first() -> None:
    firsts = {Ownership(f"host:{number}").decide(0, STREAMS, 8, set()).claim[0] for number in range(40)}
    assert len(firsts) > 5


def test_wishes_do_not_depend_on_what_else_there_is() -> None:
    wishes = Ownership("a").decide(0, STREAMS, 1, set()).claim
    more = Ownership("a").decide(0, STREAMS | {"mexc.spot.0", "mexc.spot.1"}, 1, set()).claim
    assert [stream for stream in more if stream in STREAMS] == wishes


def test_what_is_too_much_is_released_after_a_while_the_least_wanted_first() -> None:
    decision = Ownership("a")
    wishes = decision.decide(0, STREAMS, 1, set()).claim
    assert decision.decide(10, STREAMS, 2, STREAMS).release == []
    assert decision.decide(10 + HOLD_NS - 1, STREAMS, 2, STREAMS).release == []
    assert set(decision.decide(10 + HOLD_NS, STREAMS, 2, STREAMS).release) == set(wishes[4:])


def test_a_member_that_comes_and_goes_moves_nothing() -> None:
    decision = Ownership("a")
    now = 0
    for _ in range(20):
        for members in (2, 2, 1):
            now += TICK_NS
            assert decision.decide(now, STREAMS, members, STREAMS).release == []


def test_after_falls_the_wait_is_longer_but_not_for_ever() -> None:
    decision = Ownership("a")
    for now in range(10):
        decision.decide(now, STREAMS, 1 + now % 2, STREAMS)
    assert decision.decide(10, STREAMS, 2, STREAMS).release == []
    assert decision.decide(9 + HOLD_MAX_NS - 1, STREAMS, 2, STREAMS).release == []
    assert len(decision.decide(9 + HOLD_MAX_NS, STREAMS, 2, STREAMS).release) == 4


def test_what_is_no_stream_any_more_is_released_at_once() -> None:
    assert Ownership("a").decide(0, STREAMS, 1, {*STREAMS, "mexc.spot.0"}).release == ["mexc.spot.0"]


def test_what_is_being_released_is_not_claimed() -> None:
    assert Ownership("a").decide(0, {"a.b.0"}, 1, set(), {"a.b.0"}).claim == []


def test_a_refused_claim_waits_longer_each_time() -> None:
    decision, now, delay = Ownership("a"), 0, RETRY_NS
    for _ in range(8):
        decision.refused("a.b.0", now, 0.0)
        assert decision.decide(now + delay // 2 - 1, {"a.b.0"}, 1, set()).claim == []
        now += delay // 2
        assert decision.decide(now, {"a.b.0"}, 1, set()).claim == ["a.b.0"]
        delay = min(2 * delay, RETRY_MAX_NS)


def test_refused_wishes_do_not_hide_a_free_stream() -> None:
    """With room for one, and the others' streams wanted more: each is tried, none again before all were."""
    decision, now = Ownership("a"), 0
    tried: list[str] = []
    while len(tried) < 8:
        now += TICK_NS
        for stream in decision.decide(now, STREAMS, 8, set()).claim:
            tried.append(stream)
            decision.refused(stream, now, 1.0)
    assert set(tried) == STREAMS


def test_a_death_or_a_word_makes_refusals_void() -> None:
    decision = Ownership("a")
    decision.decide(0, STREAMS, 2, set())
    for stream in STREAMS:
        for _ in range(6):
            decision.refused(stream, 0, 1.0)
    assert decision.decide(1, STREAMS, 2, set()).claim == []
    decision.freed(["bybit.linear.3"])
    assert decision.decide(2, STREAMS, 2, set()).claim == ["bybit.linear.3"]
    assert len(decision.decide(3, STREAMS, 1, set()).claim) == 8


def test_ticks_are_spread() -> None:
    assert (tick_ns(0.0), tick_ns(0.5)) == (350_000_000, 500_000_000)
    assert 640_000_000 < tick_ns(0.999) < 650_000_000
