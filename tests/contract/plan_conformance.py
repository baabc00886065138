"""Plans and subscription requests of an adapter."""

import re
from collections import Counter

from shared.exchanges.base import Feed, Send, StreamPlan
from shared.instruments import Instrument
from tests.contract.venue import Venue

__all__ = ["PlanConformance"]

COUNTS = (1, 9, 10, 11, 29, 30, 31, 399)


class PlanConformance(Venue):
    """The part of the contract that ingest relies on before the first frame."""

    def plans(self, product: str, count: int, streams: int = 1) -> tuple[list[Instrument], list[StreamPlan]]:
        """Plans for so many made-up instruments and all feeds."""
        instruments = [self.instrument(product, index) for index in range(count)]
        endpoints = self.adapter.products[product]
        return instruments, [*self.adapter.plan(product, instruments, self.adapter.feeds(product), endpoints, streams)]

    def test_every_feed_of_every_instrument_is_subscribed_once(self, product: str) -> None:
        for count in COUNTS:
            instruments, plans = self.plans(product, count)
            polled = self.polled.get(product, frozenset())
            wanted = {
                (feed, one.native_symbol)
                for one in instruments
                for feed in self.feeds_of(product, one)
                if feed not in polled
            }
            topics = Counter(item.topic for plan in plans for item in plan.subscriptions)
            assert set(topics.values()) == {1}, f"{count} instruments"
            brought = Counter(
                (feed, item.native_symbol)
                for plan in plans
                for item in plan.subscriptions
                for feed in (item.feed, *item.also)
                if feed not in polled
            )
            assert brought == Counter(wanted), f"{count} instruments"
            assert not polled or any(plan.polls for plan in plans)

    def test_plans_stay_within_the_limits(self, product: str) -> None:
        limits = self.adapter.limits(product)
        bound = self.connection_characters.get(product)
        for count in COUNTS:
            for plan in self.plans(product, count)[1]:
                assert 0 < len(plan.subscriptions) <= limits.topics_per_connection
                characters = sum(len(item.topic) for item in plan.subscriptions)
                assert bound is None or characters <= bound, f"{plan.name}: {characters} characters"

    def test_requests_stay_within_the_limits(self, product: str) -> None:
        limits = self.adapter.limits(product)
        bound = self.payload_bytes.get(product)
        for count in COUNTS:
            for plan in self.plans(product, count)[1]:
                topics = [item.topic for item in plan.subscriptions]
                sends = self.adapter.subscribe(plan, topics)
                assert [topic for send in sends for topic in send.topics] == topics
                for send in sends:
                    assert 0 < len(send.topics) <= limits.topics_per_request
                    assert bound is None or len(send.payload.encode()) <= bound
                ids = [send.request_id for send in sends]
                assert len(set(ids)) == len(ids) or set(ids) == {None}

    def test_no_topics_need_no_request(self, product: str) -> None:
        plan = self.plans(product, 1)[1][0]
        assert [*self.adapter.subscribe(plan, [])] == []

    def test_plans_are_deterministic(self, product: str) -> None:
        first, second = self.plans(product, 31, 3)[1], self.plans(product, 31, 3)[1]
        assert first == second
        for plan in first:
            topics = [item.topic for item in plan.subscriptions]
            assert self.adapter.subscribe(plan, topics) == self.adapter.subscribe(plan, topics)

    def test_instruments_are_shared_out_over_named_streams(self, product: str) -> None:
        for streams in (1, 2, 4):
            plans = self.plans(product, 40, streams)[1]
            assert len(plans) >= streams
            names = [plan.name for plan in plans]
            assert names == [f"{self.adapter.name}.{product}.{index}" for index in range(len(names))]
            for plan in plans:
                assert (plan.exchange, plan.product) == (self.adapter.name, product)
                assert re.match(r"wss://[^/]+/", plan.url), plan.url

    def test_all_feeds_of_an_instrument_share_one_stream_per_url(self, product: str) -> None:
        homes: dict[tuple[str, str], set[str]] = {}
        for plan in self.plans(product, 40, 4)[1]:
            for item in plan.subscriptions:
                homes.setdefault((item.native_symbol, plan.url.split("?")[0]), set()).add(plan.name)
        assert all(len(names) == 1 for names in homes.values())

    def test_one_more_instrument_moves_no_other(self, product: str) -> None:
        def homes(count: int) -> dict[tuple[Feed, str], str]:
            plans = self.plans(product, count, 4)[1]
            return {(item.feed, item.native_symbol): plan.name for plan in plans for item in plan.subscriptions}

        before, after = homes(60), homes(61)
        assert {key for key in before if after[key] != before[key] and after[key] in before.values()} == set()

    def test_base_urls_are_those_given(self, product: str) -> None:
        other = type(self.adapter.products[product])("ws://127.0.0.1:9", "http://127.0.0.1:9")
        feeds = self.adapter.feeds(product)
        for plan in self.adapter.plan(product, [self.instrument(product, 0)], feeds, other, 1):
            assert plan.url.startswith("ws://127.0.0.1:9/")
            assert all(poll.request.url.startswith("http://127.0.0.1:9/") for poll in plan.polls)
        for request in self.adapter.instrument_requests(product, other):
            assert request.url.startswith("http://127.0.0.1:9/")

    def test_books_can_be_resynced(self, product: str) -> None:
        plan = next(
            plan for plan in self.plans(product, 3)[1] if any(one.feed is Feed.BOOK for one in plan.subscriptions)
        )
        for item in plan.subscriptions:
            self.adapter.seed(plan, item)
            actions = self.adapter.resync(plan, item)
            assert actions or item.feed is not Feed.BOOK
            sent = [topic for action in actions if isinstance(action, Send) for topic in action.topics]
            assert set(sent) <= {item.topic}
