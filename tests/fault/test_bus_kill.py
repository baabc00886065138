"""kill -9 of the broker, and its way back."""

import asyncio

import pytest

from shared.bus.base import Publisher, RawConsumer
from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.errors import BrokerError, BrokerUnavailable, PublishFailed
from shared.topology import CONTROL, MARKET, RAW, raw_key
from tests.contract.bus_conformance import ACCOUNT, DEADLINE, STREAM, bodies, drain, envelopes, next_of, sent
from tests.fault.broker import Broker
from tests.support.eventually import eventually, eventually_async
from tests.support.rabbit import RabbitNode

pytestmark = pytest.mark.fault


async def published(publisher: Publisher, key: str, body: bytes) -> bool:
    try:
        await publisher.publish(RAW, key, body, deadline_s=DEADLINE)
    except BrokerError:
        return False
    return True


async def publish_until_it_breaks(publisher: Publisher, key: str, acked: list[bytes], doubtful: list[bytes]) -> None:
    """Twenty in flight, as ingest has them."""
    number = 0
    while not doubtful:
        batch = envelopes(20, start=number)
        number += 20
        outcomes = await asyncio.gather(*(published(publisher, key, body) for body in batch))
        for body, taken in zip(batch, outcomes, strict=True):
            (acked if taken else doubtful).append(body)


async def drain_until_it_breaks(consumer: RawConsumer, seen: list[bytes]) -> None:
    try:
        while True:
            got = await consumer.receive(100)
            seen += bodies(got)
            await consumer.ack(got)
    except BrokerUnavailable:
        return


async def test_nothing_confirmed_is_lost_and_nobody_hangs(broker: Broker, publishing: PublisherKind) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        await bus.declare(ACCOUNT)
    # RabbitMQ 3.10 keeps a new quorum queue's place in memory at first; killed then, it forgets the queue's log.
    await broker.stop()
    await broker.start()
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        publisher = await bus.publisher()
        consumer = await bus.consume_raw()
        await consumer.add(ACCOUNT)
        acked: list[bytes] = []
        doubtful: list[bytes] = []
        seen: list[bytes] = []
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            group.create_task(publish_until_it_breaks(publisher, raw_key(ACCOUNT), acked, doubtful))
            group.create_task(drain_until_it_breaks(consumer, seen))
            await eventually(lambda: len(acked) > 200)
            await broker.kill()
        assert doubtful
        await broker.start()
        await eventually(lambda: bus.connected)
        assert await eventually_async(lambda: published(publisher, raw_key(ACCOUNT), b"last"))
        successor = await bus.consume_raw()
        await successor.add(ACCOUNT)
        rest: list[bytes] = []
        while b"last" not in rest:
            rest += bodies(await drain(successor, 1))
        everything = seen + rest
        assert set(acked) <= set(everything)
        assert set(everything) <= {*acked, *doubtful, b"last"}
        fresh = [body for body in rest if body not in seen]
        assert [body for body in fresh if body in acked] == [body for body in acked if body in fresh]


async def test_without_a_broker_everything_fails_fast(broker: Broker, publishing: PublisherKind) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        await sent(bus, STREAM, envelopes(1))
        await broker.kill()
        await eventually(lambda: not bus.connected)
        consumer = await bus.consume_raw()
        async with asyncio.timeout(30):
            for _ in range(100):
                with pytest.raises(BrokerUnavailable):
                    await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=60)
            for attempt in (consumer.add(STREAM), bus.declare(ACCOUNT), bus.subscribe(MARKET, ["#"])):
                with pytest.raises(BrokerUnavailable):
                    await attempt


async def test_no_broker_at_the_start_is_unavailable(broker: Broker) -> None:
    await broker.kill()
    bus = RabbitBus(broker.url, "test")
    with pytest.raises(BrokerUnavailable, match=f"127.0.0.1:{broker.node.port}") as failure:
        await bus.__aenter__()
    assert "guest" not in str(failure.value)
    await broker.start()
    async with bus:
        assert bus.connected


@pytest.mark.parametrize("how", ["kill", "stop"])
async def test_ten_messages_are_processed_after_a_restart(broker: Broker, how: str) -> None:
    async with RabbitBus(broker.url, "test") as bus:
        publisher = await bus.publisher()
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        tap = await bus.subscribe(MARKET, ["#"])
        requests = await bus.subscribe(CONTROL, ["streams"])
        waiting = asyncio.create_task(consumer.receive(1))
        await (broker.kill() if how == "kill" else broker.stop())
        async with asyncio.timeout(60):
            with pytest.raises(BrokerUnavailable):
                await waiting
        await consumer.close()
        await broker.start()
        await eventually(lambda: bus.connected)

        successor = await bus.consume_raw()
        await successor.add(STREAM)
        assert await eventually_async(lambda: published(publisher, raw_key(STREAM), b"envelope 0"))
        for body in envelopes(9, start=1):
            await publisher.publish(RAW, raw_key(STREAM), body, deadline_s=DEADLINE)
        got = await drain(successor, 10)
        await successor.ack(got)
        assert bodies(got) == envelopes(10)

        for subscriber, exchange, key in ((tap, MARKET, "trade.bybit.X"), (requests, CONTROL, "streams")):
            receiving = asyncio.create_task(next_of(subscriber, 1))
            while not receiving.done():  # it resumes by itself; until then nobody is bound
                await publisher.publish(exchange, key, b"again", deadline_s=DEADLINE)
                await asyncio.wait((receiving,), timeout=0.05)
            assert bodies(receiving.result()) == [b"again"]
        consumers = dict(await broker.listed("queues", "name", "consumers"))
        assert consumers["raw.market.bybit.linear.0"] == "1"
        assert consumers.pop("normalizers.market") == "1"
        assert consumers.pop("lock.raw.market.bybit.linear.0") == "0"
        assert sorted(consumers.values()) == ["0", "0", "1", "1", "1"]


async def test_topology_comes_back_when_the_broker_lost_its_data(own_rabbit_node: RabbitNode) -> None:
    async with RabbitBus(own_rabbit_node.url, "test") as bus:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        tap = await bus.subscribe(MARKET, ["#"])
        await sent(bus, STREAM, envelopes(1))
        await asyncio.to_thread(own_rabbit_node.ctl, "stop_app")
        await asyncio.to_thread(own_rabbit_node.ctl, "reset")
        await asyncio.to_thread(own_rabbit_node.ctl, "start_app")
        await eventually(lambda: bus.connected)
        assert await eventually_async(lambda: published(publisher, raw_key(STREAM), b"anew"))
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        assert bodies(await drain(consumer, 1)) == [b"anew"]
        receiving = asyncio.create_task(next_of(tap, 1))
        while not receiving.done():
            await publisher.publish(MARKET, "trade.bybit.X", b"again", deadline_s=DEADLINE)
            await asyncio.wait((receiving,), timeout=0.05)
        assert bodies(receiving.result()) == [b"again"]


async def test_broker_that_goes_while_one_leaves_does_not_hold_one_up(broker: Broker) -> None:
    async with asyncio.timeout(60):
        async with RabbitBus(broker.url, "test") as bus:
            consumer = await bus.consume_raw()
            await consumer.add(STREAM)
            await bus.subscribe(MARKET, ["#"])
            await broker.kill()
        with pytest.raises(BrokerUnavailable):
            await consumer.receive(1)


async def test_doubt_is_told_from_refusal(broker: Broker, publishing: PublisherKind) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=DEADLINE)
        await broker.freeze()
        in_flight = asyncio.create_task(publisher.publish(RAW, raw_key(STREAM), b"y", deadline_s=60))
        await asyncio.sleep(0)
        await broker.kill()
        async with asyncio.timeout(45):
            with pytest.raises((BrokerUnavailable, PublishFailed)):
                await in_flight
