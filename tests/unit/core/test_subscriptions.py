"""What became of each topic of a stream."""

from shared.exchanges.base import Ack, Feed, Send, StreamPlan, Subscription
from shared.subscriptions import AckResult, SubscriptionState, SubscriptionTracker

RETRY = 1_000
SUBSCRIPTIONS = tuple(Subscription(f"trade.{symbol}", Feed.TRADE, symbol) for symbol in "ABCDE")
QUIET = Subscription("liquidation.A", Feed.LIQUIDATION, "A", quiet=True)
NOTHING = AckResult([], [])


def tracker(*subscriptions: Subscription) -> SubscriptionTracker:
    plan = StreamPlan("tiny.spot.0", "tiny", "spot", "wss://t", "https://t", subscriptions or SUBSCRIPTIONS)
    return SubscriptionTracker(plan, RETRY)


def topics(letters: str) -> tuple[str, ...]:
    return tuple(f"trade.{letter}" for letter in letters)


def asked(letters: str = "ABCDE", request_id: str | None = "1", *, now: int = 0) -> SubscriptionTracker:
    """An epoch in which these topics were asked for."""
    tracked = tracker()
    tracked.begin(now)
    tracked.sent(Send("", request_id, topics(letters)), now)
    return tracked


def names(result: AckResult) -> list[tuple[str, str]]:
    return [(subscription.topic, reason) for subscription, reason in result.rejected]


def states(tracked: SubscriptionTracker) -> dict[str, int]:
    return {state.value: count for state, count in tracked.states().items() if count}


def test_epoch_asks_for_everything() -> None:
    """In the order of the plan."""
    tracked = tracker()
    assert tracked.begin(0) == list(topics("ABCDE"))
    assert states(tracked) == {"waiting": 5}
    tracked.sent(Send("", "1", topics("AB")), 0)
    assert states(tracked) == {"waiting": 3, "requested": 2}
    assert tracked.begin(1) == list(topics("ABCDE"))
    assert states(tracked) == {"waiting": 5}


def test_ack_by_id() -> None:
    """It answers the request that has the id, whatever was asked first."""
    tracked = asked("AB", "1")
    tracked.sent(Send("", "2", topics("C")), 0)
    assert tracked.acked(Ack("2"), 0) == NOTHING
    assert states(tracked) == {"waiting": 2, "requested": 2, "accepted": 1}
    assert tracked.acked(Ack("1"), 0) == NOTHING
    assert states(tracked) == {"waiting": 2, "accepted": 3}


def test_ack_without_id_answers_the_oldest() -> None:
    """Also where several requests went out at the same moment and some were answered in between."""
    tracked = asked("A", None)
    tracked.sent(Send("", None, topics("B")), 0)
    tracked.acked(Ack(None), 0)
    tracked.sent(Send("", None, topics("C")), 0)
    tracked.sent(Send("", None, topics("D")), 0)
    assert names(tracked.acked(Ack(None, refused="no B"), 0)) == [("trade.B", "no B")]
    assert names(tracked.acked(Ack(None, refused="no C"), 0)) == [("trade.C", "no C")]
    tracked.acked(Ack(None), 0)
    assert states(tracked) == {"waiting": 1, "accepted": 2, "rejected": 2}


def test_ack_without_id_that_names_topics_answers_their_request() -> None:
    """Though it is not the oldest."""
    tracked = asked("AB", None)
    tracked.sent(Send("", None, topics("CD")), 0)
    result = tracked.acked(Ack(None, topics("C"), (("trade.D", "unknown"),)), 0)
    assert names(result) == [("trade.D", "unknown")]
    assert tracked.acked(Ack(None), 0) == NOTHING
    assert states(tracked) == {"waiting": 1, "accepted": 3, "rejected": 1}


def test_stray_ack_changes_nothing() -> None:
    """An answer to nothing that is open."""
    tracked = asked("AB", "1")
    tracked.acked(Ack("1"), 0)
    before = states(tracked)
    for ack in (Ack("1"), Ack("1", refused="late"), Ack(None), Ack(None, refused="whose?"), Ack("99")):
        assert tracked.acked(ack, 0) == NOTHING
    assert states(tracked) == before


def test_same_request_twice() -> None:
    """Sent again before its answer came (ids are made of the content): one answer settles both."""
    tracked = asked("AB", "1")
    tracked.sent(Send("", "1", topics("AB")), 0)
    tracked.sent(Send("", None, topics("C")), 0)
    assert tracked.acked(Ack("1"), 0) == NOTHING
    assert tracked.acked(Ack(None, topics("C")), 0) == NOTHING
    assert tracked.acked(Ack("1"), 0) == NOTHING
    assert tracked.acked(Ack(None, refused="nothing is open"), 0) == NOTHING
    assert states(tracked) == {"waiting": 2, "accepted": 3}


def test_messages_that_expect_no_answer() -> None:
    """A send without topics is no request."""
    tracked = asked("A", None)
    tracked.sent(Send("unsubscribe", "7"), 0)
    tracked.acked(Ack(None), 0)
    assert states(tracked) == {"waiting": 4, "accepted": 1}


def test_partial_acceptance() -> None:
    """Rejected topics with the venue's reason; what was neither accepted nor rejected is not on."""
    tracked = asked("ABC")
    result = tracked.acked(Ack("1", topics("A"), (("trade.B", "Blocked"), ("trade.unheard", "?"))), 0)
    assert names(result) == [("trade.B", "Blocked"), ("trade.C", "was not among the accepted topics")]
    assert result.retry == []
    assert tracked.rejected_topics() == list(topics("BC"))


def test_refusal_that_names_the_culprit() -> None:
    """The others are asked for again, without it."""
    tracked = asked()
    result = tracked.acked(Ack("1", (), (("trade.C", "unknown"),), "refused"), 0)
    assert names(result) == [("trade.C", "unknown")]
    assert result.retry == [topics("ABDE")]
    assert states(tracked) == {"requested": 4, "rejected": 1}


def test_refusal_that_names_nobody_known_is_bisected() -> None:
    """The same request again would be refused again, for ever."""
    tracked = asked()
    result = tracked.acked(Ack("1", (), (("TRADE.c", "unknown"),), "refused"), 0)
    assert result == AckResult([], [topics("AB"), topics("CDE")])


def test_unnamed_refusal_is_bisected_to_the_culprit() -> None:
    """Halves of halves; everybody else is accepted in the end."""
    tracked = asked()
    refused: list[tuple[str, str]] = []
    requests = 1
    pending = [topics("ABCDE")]
    while pending:
        wanted = pending.pop(0)
        tracked.sent(Send("", f"r{requests}", wanted), 0)
        ack = Ack(f"r{requests}", refused="bad topic" if "trade.D" in wanted else None)
        result = tracked.acked(ack, 0)
        refused += names(result)
        pending += result.retry
        requests += 1
    assert refused == [("trade.D", "bad topic")]
    assert states(tracked) == {"accepted": 4, "rejected": 1}
    assert requests <= 10


def test_rejected_topic_stays_out_of_later_epochs_for_a_while() -> None:
    """So that it can't take others with it; after that it has another chance."""
    tracked = asked()
    tracked.acked(Ack("1", topics("ABCD"), (("trade.E", "unknown"),)), 100)
    assert tracked.begin(100 + RETRY - 1) == list(topics("ABCD"))
    assert tracked.rejected_topics() == ["trade.E"]
    assert tracked.begin(100 + RETRY) == list(topics("ABCDE"))
    assert tracked.rejected_topics() == []


def test_requests_of_an_old_epoch_are_forgotten() -> None:
    """No answer of the new connection is meant for them."""
    tracked = asked("AB", None)
    tracked.begin(1)
    tracked.sent(Send("", None, topics("C")), 1)
    assert names(tracked.acked(Ack(None, refused="no"), 1)) == [("trade.C", "no")]


def test_data_may_precede_its_ack() -> None:
    """The first frame of a topic in an epoch is told once, and is as good as an ack."""
    tracked = asked("A")
    assert tracked.frame(Feed.TRADE, "A") == SUBSCRIPTIONS[0]
    assert states(tracked) == {"waiting": 4, "accepted": 1}
    assert tracked.frame(Feed.TRADE, "A") is None
    assert tracked.acked(Ack("1"), 0) == NOTHING
    assert tracked.silent(10_000, 100) == []
    tracked.begin(1)
    assert tracked.frame(Feed.TRADE, "A") == SUBSCRIPTIONS[0]


def test_data_of_a_rejected_topic() -> None:
    """What flows is not rejected, whatever was said."""
    tracked = asked("A")
    tracked.acked(Ack("1", refused="already subscribed"), 0)
    assert tracked.frame(Feed.TRADE, "A") == SUBSCRIPTIONS[0]
    assert tracked.rejected_topics() == []
    assert tracked.find("trade", "A") == [SUBSCRIPTIONS[0]]


def test_frames_that_belong_to_no_topic() -> None:
    """Nobody's first frame."""
    tracked = asked()
    for feed, symbol in ((None, "A"), (Feed.TRADE, None), (Feed.BOOK, "A"), (Feed.TRADE, "Z")):
        assert tracked.frame(feed, symbol) is None


def test_silent_topics_are_told_once_an_epoch() -> None:
    """Accepted or not: no first frame within the deadline; topics that may be quiet and rejected ones are no fault."""
    tracked = tracker(*SUBSCRIPTIONS[:3], QUIET)
    tracked.begin(0)
    tracked.sent(Send("", "1", topics("ABC")), 0)
    tracked.sent(Send("", "2", (QUIET.topic,)), 0)
    tracked.acked(Ack("1", topics("AB"), (("trade.C", "unknown"),)), 0)
    tracked.frame(Feed.TRADE, "B")
    assert tracked.silent(100, 100) == []
    assert tracked.silent(101, 100) == [SUBSCRIPTIONS[0]]
    assert tracked.silent(9_999, 100) == []
    tracked.begin(10_000)
    assert tracked.silent(99_999, 100) == []
    tracked.sent(Send("", "1", topics("A")), 10_000)
    assert tracked.silent(10_101, 100) == [SUBSCRIPTIONS[0]]


def test_find() -> None:
    """The subscriptions that a resync may be for."""
    tracked = tracker(*SUBSCRIPTIONS, QUIET)
    tracked.begin(0)
    tracked.sent(Send("", "1", topics("AB")), 0)
    tracked.acked(Ack("1", topics("A"), (("trade.B", "unknown"),)), 0)
    assert [one.topic for one in tracked.find("trade", None)] == list(topics("ACDE"))
    assert tracked.find("trade", "A") == [SUBSCRIPTIONS[0]]
    assert tracked.find("trade", "B") == []
    assert tracked.find("liquidation", "A") == [QUIET]
    assert tracked.find("book", None) == []


def test_every_state_is_counted() -> None:
    """Also those that no topic is in."""
    assert tracker().states() == {
        SubscriptionState.WAITING: 5,
        SubscriptionState.REQUESTED: 0,
        SubscriptionState.ACCEPTED: 0,
        SubscriptionState.REJECTED: 0,
    }


def test_a_topic_without_a_first_frame_is_late_once_an_epoch() -> None:
    """Quiet ones too: an instrument may not move for a while, and needs its snapshot all the same."""
    tracked = tracker()
    everything = list(SUBSCRIPTIONS)
    tracked.sent(Send("x", "1", tuple(tracked.begin(0))), 0)
    tracked.frame(everything[0].feed, everything[0].native_symbol)
    assert tracked.late(1_000, 2_000) == []
    assert tracked.late(3_000, 2_000) == everything[1:]
    assert tracked.late(9_000, 2_000) == []
    tracked.sent(Send("x", "2", tuple(tracked.begin(10_000))), 10_000)
    assert tracked.late(20_000, 2_000) == everything
