"""What became of each topic of a stream: asked for, accepted, refused, flowing or silent. Times are monotonic ns."""

from collections import deque
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from shared.exchanges.base import Ack, Feed, Send, StreamPlan, Subscription

__all__ = ["AckResult", "SubscriptionState", "SubscriptionTracker"]


class SubscriptionState(StrEnum):
    """Where a topic stands."""

    WAITING = "waiting"  # not asked for yet in this epoch
    REQUESTED = "requested"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


class AckResult(NamedTuple):
    """What an ack changed."""

    rejected: list[tuple[Subscription, str]]
    retry: list[tuple[str, ...]]
    """Topics of a request that was refused as a whole though not all are to blame: ask again in these groups."""


class _Topic:
    __slots__ = ("asked", "first_frame", "late", "rejected_at", "reported", "state", "subscription")

    def __init__(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.state = SubscriptionState.WAITING
        self.asked = 0
        self.first_frame = False
        self.late = False
        self.reported = False
        self.rejected_at = 0


class SubscriptionTracker:
    """Follows a stream's topics through its epochs.

    A refused topic stays out of the requests of later epochs for ``retry_ns``, so that it cannot take others with it.
    """

    def __init__(self, plan: StreamPlan, retry_ns: int = 600_000_000_000) -> None:
        self._topics = {subscription.topic: _Topic(subscription) for subscription in plan.subscriptions}
        self._by_key: dict[tuple[Feed, str], _Topic] = {}
        for topic in self._topics.values():
            self._by_key[topic.subscription.feed, topic.subscription.native_symbol] = topic
        self._retry_ns: Final = retry_ns
        self._open: dict[str, tuple[str, ...]] = {}
        self._order: deque[str] = deque()
        self._unnamed = 0

    def begin(self, now: int) -> list[str]:
        """A new epoch: the topics to ask for."""
        self._open.clear()
        self._order.clear()
        wanted = []
        for name, topic in self._topics.items():
            topic.first_frame = topic.reported = topic.late = False
            if topic.state is SubscriptionState.REJECTED and now - topic.rejected_at < self._retry_ns:
                continue
            topic.state = SubscriptionState.WAITING
            wanted.append(name)
        return wanted

    def sent(self, send: Send, now: int) -> None:
        """A subscription request went out."""
        if not send.topics:
            return
        request_id = send.request_id
        if request_id is None:
            self._unnamed += 1
            request_id = f"#{self._unnamed}"
        if request_id not in self._open:  # the same request again, before the answer to the first: one answer is enough
            self._order.append(request_id)
        self._open[request_id] = send.topics
        for name in send.topics:
            topic = self._topics.get(name)
            if topic is not None:
                topic.state = SubscriptionState.REQUESTED
                topic.asked = now

    def acked(self, ack: Ack, now: int) -> AckResult:
        """The venue answered; an ack that matches no open request changes nothing but the topics that it names."""
        topics = self._match(ack)
        blamed = dict(ack.rejected)
        rejected = [self._reject(name, reason, now) for name, reason in blamed.items() if name in self._topics]
        rest = tuple(name for name in topics if name not in blamed)
        if ack.refused is not None:
            return self._refused(rest, ack.refused, rejected, now, named=len(rest) < len(topics))
        for name in rest if ack.accepted is None else ack.accepted:
            topic = self._topics.get(name)
            if topic is not None and name not in blamed:
                topic.state = SubscriptionState.ACCEPTED
        if ack.accepted is not None:
            missing = [name for name in rest if name not in ack.accepted]
            rejected += [self._reject(name, "was not among the accepted topics", now) for name in missing]
        return AckResult(rejected, [])

    def frame(self, feed: Feed | None, native_symbol: str | None) -> Subscription | None:
        """Data came; the subscription if this was its first frame in this epoch."""
        if feed is None or native_symbol is None:
            return None
        topic = self._by_key.get((feed, native_symbol))
        if topic is None or topic.first_frame:
            return None
        topic.first_frame = True
        topic.state = SubscriptionState.ACCEPTED  # data may precede its own ack, and speaks louder than a refusal
        return topic.subscription

    def late(self, now: int, after_ns: int) -> list[Subscription]:
        """Topics that were asked for so long ago without a first frame; each once an epoch, quiet ones too.

        That is no fault yet: an instrument may not move for a while. What it needs at its beginning should not wait.
        """
        found = []
        for topic in self._topics.values():
            asked = topic.state in {SubscriptionState.REQUESTED, SubscriptionState.ACCEPTED}
            if asked and not topic.first_frame and not topic.late and now - topic.asked > after_ns:
                topic.late = True
                found.append(topic.subscription)
        return found

    def silent(self, now: int, deadline_ns: int) -> list[Subscription]:
        """Topics that were asked for longer ago than the deadline and never had a frame; each is told once an epoch."""
        found = []
        for topic in self._topics.values():
            if topic.first_frame or topic.reported or topic.subscription.quiet:
                continue
            asked = topic.state in {SubscriptionState.REQUESTED, SubscriptionState.ACCEPTED}
            if asked and now - topic.asked > deadline_ns:
                topic.reported = True
                found.append(topic.subscription)
        return found

    def find(self, feed: str, native_symbol: str | None) -> list[Subscription]:
        """The subscriptions of a feed (of one instrument, or of all) that were not refused."""
        return [
            topic.subscription
            for topic in self._topics.values()
            if topic.subscription.feed == feed
            and native_symbol in {None, topic.subscription.native_symbol}
            and topic.state is not SubscriptionState.REJECTED
        ]

    def states(self) -> dict[SubscriptionState, int]:
        """How many topics are in each state."""
        counts = dict.fromkeys(SubscriptionState, 0)
        for topic in self._topics.values():
            counts[topic.state] += 1
        return counts

    def rejected_topics(self) -> list[str]:
        """The topics that the venue refused."""
        return [name for name, topic in self._topics.items() if topic.state is SubscriptionState.REJECTED]

    def _match(self, ack: Ack) -> tuple[str, ...]:
        request_id = ack.request_id
        if request_id is None:
            named = {name for name, _ in ack.rejected} | set(ack.accepted or ())
            request_id = next((key for key in self._order if named & set(self._open[key])), None)
            if request_id is None and not named and self._order:
                request_id = self._order[0]
        if request_id is None or request_id not in self._open:
            return ()
        self._order.remove(request_id)
        return self._open.pop(request_id)

    def _reject(self, name: str, reason: str, now: int) -> tuple[Subscription, str]:
        topic = self._topics[name]
        topic.state = SubscriptionState.REJECTED
        topic.rejected_at = now
        return topic.subscription, reason

    def _refused(
        self,
        rest: Sequence[str],
        reason: str,
        rejected: list[tuple[Subscription, str]],
        now: int,
        *,
        named: bool,
    ) -> AckResult:
        """The whole request was refused: ask again without the culprits, or in halves until they are found."""
        known: Iterable[str] = (name for name in rest if name in self._topics)
        again = tuple(known)
        if not again:
            return AckResult(rejected, [])
        if named:
            return AckResult(rejected, [again])
        if len(again) == 1:
            return AckResult([*rejected, self._reject(again[0], reason, now)], [])
        middle = len(again) // 2
        return AckResult(rejected, [again[:middle], again[middle:]])
