from collections.abc import Iterator, Sequence

import pytest

from shared.accounts.base import Call
from shared.envelope import RestReply
from shared.errors import ParseError
from shared.exchanges.tracks import Budget, Track, Tracks

REPLY = RestReply("https://venue.test/", 200, b"12345")


def call(name: str) -> Call:
    return Call("GET", f"/{name}")


def asking(*names: str) -> Track:
    for name in names:
        yield call(name)


def test_a_stage_begins_when_every_track_of_the_one_before_has_ended() -> None:
    def stages() -> Iterator[Sequence[Track]]:
        yield [asking("a1", "a2"), asking("b1")]
        yield [asking()]
        yield [asking("c1")]

    tracks = Tracks(stages())
    assert tracks.begin() == [call("a1"), call("b1")]
    assert tracks.replied(call("b1"), REPLY) == []
    assert tracks.replied(call("a1"), REPLY) == [call("a2")]
    assert tracks.replied(call("a2"), REPLY) == [call("c1")]
    assert tracks.replied(call("c1"), REPLY) == []


def test_a_reply_that_nobody_waits_for_changes_nothing() -> None:
    tracks = Tracks(iter([[asking("a")]]))
    tracks.begin()
    assert tracks.replied(call("b"), REPLY) == []
    assert tracks.replied(call("a"), REPLY) == []
    assert tracks.replied(call("a"), REPLY) == []


def test_the_same_call_of_two_tracks_is_answered_twice() -> None:
    tracks = Tracks(iter([[asking("a", "x"), asking("a", "y")]]))
    assert tracks.begin() == [call("a"), call("a")]
    assert tracks.replied(call("a"), REPLY) == [call("x")]
    assert tracks.replied(call("a"), REPLY) == [call("y")]


def test_what_a_track_raises_gets_out() -> None:
    def broken() -> Track:
        yield call("a")
        raise ParseError("wrong_type", "no")

    tracks = Tracks(iter([[broken()]]))
    tracks.begin()
    with pytest.raises(ParseError, match="wrong_type"):
        tracks.replied(call("a"), REPLY)


def test_nothing_to_ask() -> None:
    assert Tracks(iter([])).begin() == []
    assert Tracks(iter([[], [asking()]])).begin() == []


@pytest.mark.parametrize(("replies", "size"), [(2, 1_000), (100, 10)])
def test_budget_is_spent_by_replies_or_by_bytes(replies: int, size: int) -> None:
    budget = Budget(replies, size)
    spent = []
    for _ in range(2):
        budget.spend(REPLY)
        spent.append(budget.spent)
    assert spent == [False, True]
