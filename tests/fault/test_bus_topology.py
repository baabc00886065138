"""Queues and AMQP exchanges that exist otherwise than they should, or no longer."""

import asyncio
from collections.abc import AsyncIterator

import aio_pika
import pytest
from aio_pika.abc import AbstractChannel

from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.errors import BrokerUnavailable, TopologyMismatch
from shared.topology import MARKET, RAW, QueueLimits, raw_key
from tests.contract.bus_conformance import ACCOUNT, DEADLINE, STREAM, bodies, drain, envelopes, next_of, sent
from tests.fault.broker import Broker
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.fault


@pytest.fixture
async def operator(rabbit_url: str) -> AsyncIterator[AbstractChannel]:
    """Someone else's hand on the broker."""
    async with await aio_pika.connect(rabbit_url) as connection, connection.channel() as channel:
        yield channel


async def test_other_limits_are_a_mismatch_that_says_which(rabbit_url: str) -> None:
    async with RabbitBus(rabbit_url, "old", QueueLimits(raw_messages=10)) as old:
        await old.declare(STREAM)
        async with RabbitBus(rabbit_url, "new", QueueLimits(raw_messages=100)) as new:
            for attempt in range(3):
                with pytest.raises(TopologyMismatch) as failure:
                    await new.declare(STREAM)
                assert str(failure.value) == (
                    "queue raw.market.bybit.linear.0 exists with x-max-length = 10, ours was 100"
                ), attempt
            consumer = await new.consume_raw()
            with pytest.raises(TopologyMismatch):
                await consumer.add(STREAM)
            await new.declare(ACCOUNT)
            await sent(new, ACCOUNT, envelopes(1))
            await consumer.add(ACCOUNT)
            assert bodies(await drain(consumer, 1)) == envelopes(1)
            assert new.connected
        await sent(old, STREAM, envelopes(1))


async def test_mismatch_at_the_start_ends_the_start(rabbit_url: str, operator: AbstractChannel) -> None:
    await operator.declare_exchange(MARKET, "fanout", durable=True)
    bus = RabbitBus(rabbit_url, "test")
    with pytest.raises(TopologyMismatch, match="AMQP exchange market exists with type = fanout, ours was topic"):
        await bus.__aenter__()
    assert not bus.connected


async def test_queue_of_another_kind_is_a_mismatch(rabbit_url: str, operator: AbstractChannel) -> None:
    await operator.declare_queue("raw.market.bybit.linear.0", durable=False)
    async with RabbitBus(rabbit_url, "test") as bus:
        with pytest.raises(TopologyMismatch, match=r"queue raw\.market\.bybit\.linear\.0 exists with durable = "):
            await bus.declare(STREAM)


async def test_deleted_exchange_is_made_again(
    rabbit_url: str, operator: AbstractChannel, publishing: PublisherKind
) -> None:
    async with (
        RabbitBus(rabbit_url, "test", publisher=publishing) as bus,
        RabbitBus(rabbit_url, "elsewhere") as elsewhere,
    ):
        publisher, bystander = await bus.publisher(), await bus.publisher()
        consumer = await elsewhere.consume_raw()
        await consumer.add(STREAM)
        tap = await bus.subscribe(MARKET, ["#"])
        await publisher.publish(MARKET, "t.b.X", b"x", deadline_s=DEADLINE)
        await bystander.publish(RAW, raw_key(STREAM), b"x", deadline_s=DEADLINE)
        await next_of(tap, 1)
        await operator.exchange_delete(MARKET)

        many = (publisher.publish(MARKET, "t.b.X", b"y", deadline_s=DEADLINE) for _ in range(20))
        outcomes = await asyncio.gather(*many, return_exceptions=True)
        assert {isinstance(outcome, BrokerUnavailable) for outcome in outcomes} == {True}

        async def again() -> bool:
            try:
                await publisher.publish(MARKET, "t.b.X", b"again", deadline_s=DEADLINE)
                await bystander.publish(RAW, raw_key(STREAM), b"mine", deadline_s=DEADLINE)
            except BrokerUnavailable:
                return False
            return True

        assert await eventually_async(again)
        got = await drain(consumer, 2)
        assert {item.body for item in got} <= {b"x", b"mine"}
        await consumer.ack(got)


async def test_consumer_of_a_deleted_queue_ends(rabbit_url: str, operator: AbstractChannel) -> None:
    async with RabbitBus(rabbit_url, "test") as bus:
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        receiving = asyncio.create_task(consumer.receive(1))
        await asyncio.sleep(0)
        await operator.queue_delete("raw.market.bybit.linear.0")
        async with asyncio.timeout(60):
            with pytest.raises(BrokerUnavailable, match=r"raw\.market\.bybit\.linear\.0"):
                await receiving
        await consumer.close()
        successor = await bus.consume_raw()
        await successor.add(STREAM)
        await sent(bus, STREAM, envelopes(1))
        assert bodies(await drain(successor, 1)) == envelopes(1)


async def test_who_may_not_declare_uses_what_is_there(broker: Broker) -> None:
    """As a user with permission for queues of its own and to read, which a consumer of the feed is."""
    own = "^subscription\\."
    await asyncio.to_thread(broker.node.ctl, "add_user", "reader", "secret")
    try:
        await asyncio.to_thread(broker.node.ctl, "set_permissions", "-p", broker.vhost, "reader", own, own, ".*")
        limited = broker.url.replace("guest:guest", "reader:secret")
        with pytest.raises(BrokerUnavailable, match="AMQP exchange raw is not there, and may not be declared"):
            await RabbitBus(limited, "reader").__aenter__()
        async with RabbitBus(broker.url, "owner") as owner, RabbitBus(limited, "reader") as reader:
            tap = await reader.subscribe(MARKET, ["#"])
            publisher = await owner.publisher()
            await publisher.publish(MARKET, "t.b.X", b"x", deadline_s=DEADLINE)
            assert bodies(await next_of(tap, 1)) == [b"x"]
            with pytest.raises(BrokerUnavailable, match=r"queue raw\.market\.bybit\.linear\.0 is not there"):
                await reader.declare(STREAM)
            await owner.declare(STREAM)
            await reader.declare(STREAM)
    finally:
        await asyncio.to_thread(broker.node.ctl, "delete_user", "reader")


async def test_ttl_is_the_queue_s(rabbit_url: str) -> None:
    async with RabbitBus(rabbit_url, "test", QueueLimits(raw_ttl_ms=1)) as bus:
        await bus.declare(STREAM)
        await sent(bus, STREAM, envelopes(3))
        async with await aio_pika.connect(rabbit_url) as connection:
            channel = await connection.channel()

            async def expired() -> bool:
                queue = await channel.declare_queue("raw.market.bybit.linear.0", passive=True)
                return queue.declaration_result.message_count == 0

            assert await eventually_async(expired)
