"""What both buses do alike. A subclass gives ``open_bus``."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import pytest

from shared.bus.base import MAX_BODY_BYTES, MAX_KEY_BYTES, Bus, Delivery, RawConsumer, StreamBusy, Subscriber
from shared.control import ResyncRequest, StreamInfo, decode_control, encode_control
from shared.errors import BrokerUnavailable, PublishFailed
from shared.messages import routing_key
from shared.topology import CONTROL, FIREHOSE, MARKET, QUARANTINE, RAW, QueueLimits, raw_key, resync_key

__all__ = ["STREAM", "BusConformance", "bodies", "drain", "envelopes", "next_of", "sent"]

STREAM = StreamInfo("bybit", "linear", "market", "bybit.linear.0")
OTHER = StreamInfo("mexc", "spot", "market", "mexc.spot.0")
ACCOUNT = StreamInfo("bybit", "linear", "account", "bybit.main")
PATIENCE = 60.0
DEADLINE = 30.0


class OpenBus(Protocol):
    def __call__(self, limits: QueueLimits = ...) -> AbstractAsyncContextManager[Bus]: ...


def envelopes(count: int, start: int = 0) -> list[bytes]:
    return [b"envelope %d" % number for number in range(start, start + count)]


def bodies(deliveries: Sequence[Delivery]) -> list[bytes]:
    return [delivery.body for delivery in deliveries]


async def sent(bus: Bus, stream: StreamInfo, messages: Sequence[bytes]) -> None:
    publisher = await bus.publisher()
    await publisher.publish_batch(RAW, [(raw_key(stream), body) for body in messages], deadline_s=DEADLINE)


async def drain(consumer: RawConsumer, count: int, limit: int = 1000) -> list[Delivery]:
    """``count`` deliveries, acknowledged by nobody."""
    found: list[Delivery] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < count:
            found += await consumer.receive(limit)
    return found


async def next_of(subscriber: Subscriber, count: int) -> list[Delivery]:
    async with asyncio.timeout(PATIENCE):
        return [await subscriber.receive() for _ in range(count)]


class BusConformance:
    @pytest.fixture
    async def bus(self, open_bus: OpenBus) -> AsyncIterator[Bus]:
        async with open_bus() as bus:
            await bus.declare(STREAM)
            yield bus

    async def test_open_bus_is_connected(self, bus: Bus) -> None:
        assert bus.connected
        assert (await bus.publisher()).blocked is None

    # Order

    async def test_publishes_started_in_order_arrive_in_order(self, bus: Bus) -> None:
        publisher = await bus.publisher()
        key = raw_key(STREAM)
        async with asyncio.TaskGroup() as group:
            for body in envelopes(200):
                group.create_task(publisher.publish(RAW, key, body, deadline_s=DEADLINE))
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        seen: list[bytes] = []
        while len(seen) < 200:
            some = await drain(consumer, 1)
            seen += bodies(some)
            await consumer.ack(some)
        assert seen == envelopes(200)

    async def test_batches_started_in_order_do_not_mix(self, bus: Bus) -> None:
        tap = await bus.subscribe(MARKET, ["#"])
        publisher = await bus.publisher()
        batches = [[(f"trade.bybit.S{n % 7}", b"%d" % (100 * b + n)) for n in range(100)] for b in range(5)]
        async with asyncio.TaskGroup() as group:
            for batch in batches:
                group.create_task(publisher.publish_batch(MARKET, batch, deadline_s=DEADLINE))
        got = await next_of(tap, 500)
        assert [(delivery.key, delivery.body) for delivery in got] == [pair for batch in batches for pair in batch]

    async def test_empty_batch_is_nothing(self, bus: Bus) -> None:
        tap = await bus.subscribe(MARKET, ["#"])
        publisher = await bus.publisher()
        await publisher.publish_batch(MARKET, [], deadline_s=DEADLINE)
        await publisher.publish(MARKET, "trade.bybit.X", b"first", deadline_s=DEADLINE)
        assert bodies(await next_of(tap, 1)) == [b"first"]

    async def test_streams_of_one_consumer_keep_their_own_order(self, bus: Bus) -> None:
        await bus.declare(OTHER)
        for body in envelopes(5):
            await sent(bus, STREAM, [body])
            await sent(bus, OTHER, [body])
        consumer = await bus.consume_raw()
        await consumer.add(OTHER)
        await consumer.add(STREAM)
        got = await drain(consumer, 10)
        for stream in (STREAM, OTHER):
            assert [item.body for item in got if item.key == stream.stream] == envelopes(5)

    # Responsibility

    async def test_raw_message_for_nobody_is_returned(self, bus: Bus) -> None:
        publisher = await bus.publisher()
        with pytest.raises(PublishFailed, match=r"market\.mexc\.spot\.0") as failure:
            await publisher.publish(RAW, raw_key(OTHER), b"x", deadline_s=DEADLINE)
        assert failure.value.reason == "returned"
        await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=DEADLINE)

    async def test_returned_ones_of_a_batch_do_not_stop_the_others(self, bus: Bus) -> None:
        publisher = await bus.publisher()
        keys = [raw_key(STREAM), raw_key(OTHER), raw_key(STREAM)]
        with pytest.raises(PublishFailed) as failure:
            await publisher.publish_batch(RAW, list(zip(keys, envelopes(3), strict=True)), deadline_s=DEADLINE)
        assert failure.value.reason == "returned"
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        assert bodies(await drain(consumer, 2)) == [b"envelope 0", b"envelope 2"]

    @pytest.mark.parametrize("exchange", [MARKET, CONTROL, FIREHOSE, "account"])
    async def test_message_for_nobody_is_fine_elsewhere(self, bus: Bus, exchange: str) -> None:
        tap = await bus.subscribe(exchange, ["wanted"])
        publisher = await bus.publisher()
        await publisher.publish(exchange, "trade.bybit.X", b"x", deadline_s=DEADLINE)
        await publisher.publish(exchange, "wanted", b"y", deadline_s=DEADLINE)
        assert bodies(await next_of(tap, 1)) == [b"y"]

    async def test_quarantine_keeps_both_planes_and_nothing_else(self, bus: Bus) -> None:
        publisher = await bus.publisher()
        for plane in ("market", "account"):
            await publisher.publish(QUARANTINE, plane, b"a frame and a reason", deadline_s=DEADLINE)
        with pytest.raises(PublishFailed, match="elsewhere"):
            await publisher.publish(QUARANTINE, "elsewhere", b"x", deadline_s=DEADLINE)

    @pytest.mark.parametrize(
        ("exchange", "key", "size"),
        [
            ("nowhere", "k", 1),
            (MARKET, "k" * (MAX_KEY_BYTES + 1), 1),
            (MARKET, "币" * (MAX_KEY_BYTES // 3 + 1), 1),
            (MARKET, "k", MAX_BODY_BYTES + 1),
        ],
        ids=["unknown-exchange", "long-key", "long-key-in-utf8", "large-body"],
    )
    async def test_what_no_bus_takes_is_refused_at_once(self, bus: Bus, exchange: str, key: str, size: int) -> None:
        publisher = await bus.publisher()
        with pytest.raises(PublishFailed) as failure:
            await publisher.publish(exchange, key, bytes(size), deadline_s=DEADLINE)
        assert failure.value.reason == "refused"
        await publisher.publish(MARKET, "k" * MAX_KEY_BYTES, b"still fine", deadline_s=DEADLINE)

    # At least once

    async def test_unacknowledged_comes_again_before_anything_newer(self, bus: Bus) -> None:
        await sent(bus, STREAM, envelopes(6))
        first = await bus.consume_raw()
        await first.add(STREAM)
        got = await drain(first, 6)
        assert [item.redelivered for item in got] == [False] * 6
        await first.ack(got[:2])
        await first.close()
        await sent(bus, STREAM, envelopes(2, start=6))
        second = await bus.consume_raw()
        await second.add(STREAM)
        again = await drain(second, 6)
        assert bodies(again) == envelopes(6, start=2)
        assert [item.redelivered for item in again] == [True] * 4 + [False] * 2

    async def test_acknowledged_is_exactly_what_was_given(self, bus: Bus) -> None:
        await bus.declare(OTHER)
        await sent(bus, STREAM, envelopes(8))
        await sent(bus, OTHER, envelopes(4))
        first = await bus.consume_raw()
        await first.add(STREAM)
        await first.add(OTHER)
        got = await drain(first, 12)
        mine = [item for item in got if item.key == STREAM.stream]
        theirs = [item for item in got if item.key == OTHER.stream]
        await first.ack([mine[0], mine[1], mine[4], theirs[2], mine[7]])
        await first.ack([mine[2], mine[2], mine[0]])
        await first.close()
        second = await bus.consume_raw()
        await second.add(STREAM)
        await second.add(OTHER)
        again = await drain(second, 6)
        assert bodies([item for item in again if item.key == STREAM.stream]) == [
            b"envelope 3",
            b"envelope 5",
            b"envelope 6",
        ]
        assert bodies([item for item in again if item.key == OTHER.stream]) == [
            b"envelope 0",
            b"envelope 1",
            b"envelope 3",
        ]

    async def test_account_stream_redelivers_as_often_as_it_takes(self, bus: Bus) -> None:
        await bus.declare(ACCOUNT)
        await sent(bus, ACCOUNT, envelopes(2))
        for _ in range(25):
            consumer = await bus.consume_raw()
            await consumer.add(ACCOUNT)
            assert bodies(await drain(consumer, 2)) == envelopes(2)
            await consumer.close()

    # Consumers

    async def test_receive_is_never_empty_and_keeps_its_limit(self, bus: Bus) -> None:
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        waiting = asyncio.create_task(consumer.receive(3))
        await asyncio.sleep(0)
        assert not waiting.done()
        await sent(bus, STREAM, envelopes(7))
        async with asyncio.timeout(PATIENCE):
            sizes = [len(await waiting)]
            while sum(sizes) < 7:
                sizes.append(len(await consumer.receive(3)))
        assert min(sizes) >= 1
        assert max(sizes) <= 3

    async def test_cancelled_receive_loses_nothing(self, bus: Bus) -> None:
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        waiting = asyncio.create_task(consumer.receive(1))
        await asyncio.sleep(0)
        waiting.cancel()
        await sent(bus, STREAM, envelopes(1))
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert bodies(await drain(consumer, 1)) == envelopes(1)

    async def test_stream_has_one_consumer(self, bus: Bus) -> None:
        first = await bus.consume_raw()
        await first.add(STREAM)
        second = await bus.consume_raw()
        with pytest.raises(StreamBusy, match=r"bybit\.linear\.0"):
            await second.add(STREAM)
        await second.add(OTHER)
        await sent(bus, OTHER, envelopes(1))
        assert bodies(await drain(second, 1)) == envelopes(1)
        await first.close()
        await second.add(STREAM)

    async def test_adding_twice_is_adding_once(self, bus: Bus) -> None:
        consumer = await bus.consume_raw()
        await asyncio.gather(*(consumer.add(STREAM) for _ in range(3)))
        await sent(bus, STREAM, envelopes(2))
        assert bodies(await drain(consumer, 2)) == envelopes(2)

    async def test_add_declares(self, bus: Bus) -> None:
        consumer = await bus.consume_raw()
        await consumer.add(OTHER)
        await sent(bus, OTHER, envelopes(1))
        assert bodies(await drain(consumer, 1)) == envelopes(1)

    async def test_closed_consumer_is_unavailable(self, bus: Bus) -> None:
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        waiting = asyncio.create_task(consumer.receive(1))
        await asyncio.sleep(0)
        await consumer.close()
        await consumer.close()
        for attempt in (waiting, consumer.receive(1), consumer.ack([]), consumer.add(OTHER)):
            with pytest.raises(BrokerUnavailable):
                await attempt

    # Members, ownership, release

    async def test_members_are_counted_until_they_leave_or_end(self, bus: Bus) -> None:
        first, second, third = [await bus.consume_raw(f"member {number}") for number in range(3)]
        assert [first.member, second.member] == ["member 0", "member 1"]
        assert await first.members() == 1
        assert await second.members() == 2
        await third.add(STREAM)
        assert await first.members() == 3
        await second.leave()
        assert await second.members() == 2
        await third.close()
        assert await first.members() == 1
        await first.close()
        assert await second.members() == 0

    async def test_members_of_another_plane_do_not_count(self, bus: Bus) -> None:
        market, account = await bus.consume_raw(), await bus.consume_raw("member", "account")
        assert await market.members() == 1
        assert await account.members() == 1

    async def test_a_member_that_left_keeps_what_it_owns(self, bus: Bus) -> None:
        consumer, other = await bus.consume_raw(), await bus.consume_raw()
        await consumer.add(STREAM)
        await consumer.leave()
        with pytest.raises(StreamBusy):
            await other.add(STREAM)
        await sent(bus, STREAM, envelopes(1))
        assert bodies(await drain(consumer, 1)) == envelopes(1)

    async def test_claimed_at_once_by_many_a_stream_has_one_owner(self, bus: Bus) -> None:
        consumers = [await bus.consume_raw() for _ in range(5)]
        outcomes = await asyncio.gather(*(each.add(STREAM) for each in consumers), return_exceptions=True)
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", *["StreamBusy"] * 4]
        owner = consumers[outcomes.index(None)]
        await owner.release(STREAM)
        await consumers[0].add(STREAM)

    async def test_released_stream_goes_on_where_it_was(self, bus: Bus) -> None:
        await sent(bus, STREAM, envelopes(10))
        first, second = await bus.consume_raw(), await bus.consume_raw()
        await first.add(STREAM)
        got = await drain(first, 4, limit=4)
        releasing = asyncio.create_task(first.release(STREAM))
        for one in got:
            assert not releasing.done()
            with pytest.raises(StreamBusy):
                await second.add(STREAM)
            await first.ack([one])
        async with asyncio.timeout(PATIENCE):
            await releasing
        await second.add(STREAM)
        again = await drain(second, 6)
        assert bodies(again) == envelopes(6, start=4)
        await second.ack(again)
        await sent(bus, STREAM, envelopes(2, start=10))
        assert bodies(await drain(second, 2)) == envelopes(2, start=10)

    async def test_release_leaves_other_streams_alone_and_hands_out_nothing_more(self, bus: Bus) -> None:
        await bus.declare(OTHER)
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        await consumer.add(OTHER)
        for body in envelopes(3):
            await sent(bus, STREAM, [body])
            await sent(bus, OTHER, [body])
        held = await drain(consumer, 1, limit=1)
        kept, gone = (STREAM, OTHER) if held[0].key == OTHER.stream else (OTHER, STREAM)
        releasing = asyncio.create_task(consumer.release(gone))
        await asyncio.sleep(0)
        await sent(bus, gone, [b"newer"])
        got = await drain(consumer, 3)
        assert [(item.key, item.body) for item in got] == [(kept.stream, body) for body in envelopes(3)]
        await consumer.ack([*held, *got])
        await releasing
        successor = await bus.consume_raw()
        await successor.add(gone)
        assert bodies(await drain(successor, 3)) == [*envelopes(2, start=1), b"newer"]
        await sent(bus, kept, [b"last"])
        assert bodies(await drain(consumer, 1)) == [b"last"]

    async def test_releasing_what_is_not_owned_is_nothing(self, bus: Bus) -> None:
        consumer = await bus.consume_raw()
        await consumer.release(STREAM)
        await consumer.add(STREAM)
        await consumer.release(STREAM)
        await consumer.release(STREAM)
        await consumer.add(STREAM)
        await sent(bus, STREAM, envelopes(1))
        assert bodies(await drain(consumer, 1)) == envelopes(1)

    async def test_closing_ends_a_release_that_waits(self, bus: Bus) -> None:
        await sent(bus, STREAM, envelopes(3))
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        await drain(consumer, 3)
        releasing = asyncio.create_task(consumer.release(STREAM))
        await asyncio.sleep(0)
        await consumer.close()
        with pytest.raises(BrokerUnavailable):
            await releasing
        successor = await bus.consume_raw()
        await successor.add(STREAM)
        assert bodies(await drain(successor, 3)) == envelopes(3)

    async def test_what_was_owned_is_free_when_the_consumer_ends(self, bus: Bus) -> None:
        streams = [STREAM, OTHER, ACCOUNT]
        for _ in range(3):
            consumer = await bus.consume_raw()
            await asyncio.gather(*(consumer.add(stream) for stream in streams))
            await consumer.close()

    # A session and its publisher

    async def test_publisher_of_a_session_ends_with_it(self, bus: Bus) -> None:
        session = await bus.consume_raw("member")
        await session.members()
        session.check()
        publisher, bystander = await bus.publisher(session), await bus.publisher()
        tap = await bus.subscribe(MARKET, ["#"])
        await publisher.publish(MARKET, "k", b"mine", deadline_s=DEADLINE)
        await session.close()
        with pytest.raises(BrokerUnavailable):
            session.check()
        with pytest.raises(BrokerUnavailable):
            await publisher.publish(MARKET, "k", b"too late", deadline_s=DEADLINE)
        await bystander.publish(MARKET, "k", b"theirs", deadline_s=DEADLINE)
        assert bodies(await next_of(tap, 2)) == [b"mine", b"theirs"]

    async def test_what_is_refused_does_not_end_a_session(self, bus: Bus) -> None:
        session = await bus.consume_raw()
        await session.members()
        publisher = await bus.publisher(session)
        with pytest.raises(PublishFailed):
            await publisher.publish(MARKET, "k" * 256, b"x", deadline_s=DEADLINE)
        await publisher.publish(MARKET, "k", b"x", deadline_s=DEADLINE)
        session.check()

    async def test_depth_of_a_raw_queue_is_what_nobody_was_handed(self, bus: Bus) -> None:
        assert await bus.waiting(OTHER) == 0
        await sent(bus, STREAM, envelopes(5))
        assert await bus.waiting(STREAM) == 5

    async def test_many_streams_are_cheap(self, bus: Bus) -> None:
        streams = [StreamInfo("bybit", "linear", "market", f"bybit.linear.{number}") for number in range(500)]
        consumer = await bus.consume_raw()
        async with asyncio.timeout(240):  # for what hangs: each takes some milliseconds
            await asyncio.gather(*(consumer.add(stream) for stream in streams))
        publisher = await bus.publisher()
        batch = [(raw_key(stream), stream.stream.encode()) for stream in streams]
        await publisher.publish_batch(RAW, batch, deadline_s=DEADLINE)
        got = await drain(consumer, 500)
        assert {item.key.encode() for item in got} == {item.body for item in got}
        await consumer.ack(got)

    # Bounds

    async def test_full_market_queue_drops_its_oldest(self, open_bus: OpenBus) -> None:
        async with open_bus(QueueLimits(raw_messages=5)) as bus:
            await bus.declare(STREAM)
            await sent(bus, STREAM, envelopes(12))
            consumer = await bus.consume_raw()
            await consumer.add(STREAM)
            assert bodies(await drain(consumer, 5)) == envelopes(5, start=7)

    async def test_full_market_queue_is_full_in_bytes_too(self, open_bus: OpenBus) -> None:
        async with open_bus(QueueLimits(raw_bytes=1000)) as bus:
            await bus.declare(STREAM)
            await sent(bus, STREAM, [bytes([number]) * 300 for number in range(6)])
            consumer = await bus.consume_raw()
            await consumer.add(STREAM)
            assert [body[0] for body in bodies(await drain(consumer, 3))] == [3, 4, 5]

    async def test_slow_subscriber_keeps_the_newest_and_counts(self, bus: Bus) -> None:
        tap = await bus.subscribe(MARKET, ["#"], limit=10)
        end = await bus.subscribe(MARKET, ["end"])
        publisher = await bus.publisher()
        for body in envelopes(29):
            await publisher.publish(MARKET, "trade.bybit.X", body, deadline_s=DEADLINE)
        await publisher.publish(MARKET, "end", b"end", deadline_s=DEADLINE)
        await next_of(end, 1)
        assert bodies(await next_of(tap, 10)) == [*envelopes(9, start=20), b"end"]
        assert tap.dropped == 20

    # Routing

    @pytest.mark.parametrize(
        ("pattern", "takes", "leaves"),
        [
            ("#", ["trade.bybit.BTC/USDT", "one", "a.b.c.d"], []),
            ("trade.#", ["trade.bybit.X", "trade"], ["trades.bybit.X", "quote.bybit.trade"]),
            ("trade.*.X", ["trade.bybit.X"], ["trade.X", "trade.bybit.spot.X", "trade.bybit.Y"]),
            ("*.bybit.*", ["trade.bybit.X", "quote.bybit.Y"], ["trade.mexc.X", "bybit.X"]),
            ("#.X", ["X", "trade.bybit.X"], ["trade.bybit.Y"]),
            ("trade.#.X", ["trade.X", "trade.a.b.X"], ["quote.a.X", "trade.a.XX"]),
            ("trade.bybit.BTC/USDT:USDT", ["trade.bybit.BTC/USDT:USDT"], ["trade.bybit.BTC/USDT"]),
            ("a+.(b)", ["a+.(b)"], ["aa.b"]),
        ],
    )
    async def test_topic_patterns(self, bus: Bus, pattern: str, takes: list[str], leaves: list[str]) -> None:
        tap = await bus.subscribe(MARKET, [pattern, "the.end"])
        publisher = await bus.publisher()
        keys = [*leaves, *takes, "the.end"]
        await publisher.publish_batch(MARKET, [(key, b"") for key in keys], deadline_s=DEADLINE)
        expected = takes if pattern == "#" else [*takes, "the.end"]
        got = await next_of(tap, len(expected))
        assert [delivery.key for delivery in got] == expected

    async def test_overlapping_patterns_deliver_once(self, bus: Bus) -> None:
        tap = await bus.subscribe(MARKET, ["trade.#", "*.bybit.*", "end"])
        publisher = await bus.publisher()
        keys = ["trade.bybit.X", "end"]
        await publisher.publish_batch(MARKET, [(key, b"") for key in keys], deadline_s=DEADLINE)
        assert [delivery.key for delivery in await next_of(tap, 2)] == keys

    async def test_control_is_direct(self, bus: Bus) -> None:
        requests = await bus.subscribe(CONTROL, [resync_key("bybit"), "#"])
        publisher = await bus.publisher()
        request = ResyncRequest("bybit", "bybit.linear.0", "book", "BTCUSDT", "gap")
        await publisher.publish(CONTROL, resync_key("mexc"), b"not yours", deadline_s=DEADLINE)
        await publisher.publish(CONTROL, resync_key("bybit"), encode_control(request), deadline_s=DEADLINE)
        got = await next_of(requests, 1)
        assert decode_control(got[0].body) == request

    @pytest.mark.parametrize(
        "symbol", ["BTC/USDT", "1000.5X/USDT", "100%.A/USDT", "币安人生/USDT", "BTC/USD:BTC-261225"]
    )
    async def test_any_symbol_is_one_word(self, bus: Bus, symbol: str) -> None:
        exact = await bus.subscribe(MARKET, [routing_key("trade", "bybit", symbol)])
        three_words = await bus.subscribe(MARKET, ["*.*.*"])
        publisher = await bus.publisher()
        await publisher.publish(MARKET, routing_key("trade", "bybit", symbol), b"x", deadline_s=DEADLINE)
        for tap in (exact, three_words):
            assert [delivery.key for delivery in await next_of(tap, 1)] == [routing_key("trade", "bybit", symbol)]

    async def test_two_subscribers_both_get_everything(self, bus: Bus) -> None:
        taps = [await bus.subscribe(MARKET, ["#"]) for _ in range(2)]
        publisher = await bus.publisher()
        await publisher.publish_batch(MARKET, [("t.b.X", body) for body in envelopes(20)], deadline_s=DEADLINE)
        for tap in taps:
            assert bodies(await next_of(tap, 20)) == envelopes(20)

    async def test_subscriber_does_not_take_from_the_raw_queue(self, bus: Bus) -> None:
        recorder = await bus.subscribe(RAW, ["market.#"])
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        await sent(bus, STREAM, envelopes(3))
        assert bodies(await next_of(recorder, 3)) == envelopes(3)
        assert bodies(await drain(consumer, 3)) == envelopes(3)

    async def test_closed_subscriber_is_gone(self, bus: Bus) -> None:
        tap = await bus.subscribe(RAW, ["market.mexc.#"])
        publisher = await bus.publisher()
        await publisher.publish(RAW, raw_key(OTHER), b"x", deadline_s=DEADLINE)
        await tap.close()
        await tap.close()
        with pytest.raises(PublishFailed, match="returned"):
            await publisher.publish(RAW, raw_key(OTHER), b"x", deadline_s=DEADLINE)
        with pytest.raises(BrokerUnavailable):
            await tap.receive()

    # Bodies

    @pytest.mark.parametrize("size", [0, 1, 131_064, 131_065, 1 << 20, 9 << 20, MAX_BODY_BYTES])
    async def test_bodies_of_any_size_pass_untouched(self, bus: Bus, size: int) -> None:
        body = bytes(range(256)) * (size // 256) + bytes(size % 256)
        await sent(bus, STREAM, [body, b"behind it"])
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        assert bodies(await drain(consumer, 2)) == [body, b"behind it"]

    # The end

    async def test_left_bus_is_unavailable(self, open_bus: OpenBus) -> None:
        async with open_bus() as bus:
            consumer = await bus.consume_raw()
            await consumer.add(STREAM)
            tap = await bus.subscribe(MARKET, ["#"])
            publisher = await bus.publisher()
        assert not bus.connected
        for attempt in (
            consumer.receive(1),
            tap.receive(),
            publisher.publish(MARKET, "k", b"x", deadline_s=DEADLINE),
            bus.declare(STREAM),
        ):
            with pytest.raises(BrokerUnavailable):
                await attempt

    async def test_raw_queue_outlives_its_consumer(self, open_bus: OpenBus) -> None:
        async with open_bus() as bus:
            await bus.declare(STREAM)
            await sent(bus, STREAM, envelopes(3))
            consumer = await bus.consume_raw()
            await consumer.add(STREAM)
            await drain(consumer, 3)
            await consumer.close()
            successor = await bus.consume_raw()
            await successor.add(STREAM)
            assert bodies(await drain(successor, 3)) == envelopes(3)
