"""A broker that holds its connections open and says nothing (SIGSTOP stands for a black hole in the network, too)."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from time import monotonic
from typing import Any

import pytest

from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.bus.rabbit.plain import IN_FLIGHT
from shared.errors import BrokerError, BrokerUnavailable, PublishFailed
from shared.topology import MARKET, RAW, raw_key
from tests.contract.bus_conformance import DEADLINE, STREAM, bodies, drain, envelopes, next_of, sent
from tests.fault.broker import Broker
from tests.support.eventually import eventually

pytestmark = pytest.mark.fault

FROZEN_FOR = 0.5
SLACK = 15.0


@pytest.fixture
async def bus(broker: Broker, publishing: PublisherKind) -> AsyncIterator[RabbitBus]:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        await bus.declare(STREAM)
        yield bus


async def failure_of(attempt: Coroutine[Any, Any, None]) -> BrokerError | None:
    try:
        await attempt
    except BrokerError as error:
        return error
    return None


async def test_publish_keeps_its_deadline(broker: Broker, bus: RabbitBus) -> None:
    publisher = await bus.publisher()
    await publisher.publish(RAW, raw_key(STREAM), b"before", deadline_s=DEADLINE)
    await broker.freeze()
    begin = monotonic()
    failures = await asyncio.gather(
        *(
            failure_of(publisher.publish(RAW, raw_key(STREAM), bytes(100_000), deadline_s=FROZEN_FOR))
            for _ in range(200)
        )
    )
    took = monotonic() - begin
    broker.thaw()
    assert {type(failure) for failure in failures} == {PublishFailed}
    assert {failure.reason for failure in failures if isinstance(failure, PublishFailed)} == {"timeout"}
    assert took < FROZEN_FOR + SLACK
    await publisher.publish(RAW, raw_key(STREAM), b"after", deadline_s=DEADLINE)
    consumer = await bus.consume_raw()
    await consumer.add(STREAM)
    got: list[bytes] = []
    while b"after" not in got:
        some = await drain(consumer, 1)
        got += bodies(some)
        await consumer.ack(some)
    assert (got[0], got[-1]) == (b"before", b"after")


async def test_new_publishers_keep_their_deadline_too(broker: Broker, bus: RabbitBus) -> None:
    publishers = [await bus.publisher() for _ in range(30)]
    await broker.freeze()
    begin = monotonic()
    failures = await asyncio.gather(
        *(
            failure_of(publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=FROZEN_FOR))
            for publisher in publishers
            for _ in range(3)
        )
    )
    took = monotonic() - begin
    broker.thaw()
    assert {type(failure) for failure in failures} == {PublishFailed}
    assert took < FROZEN_FOR + SLACK
    for publisher in publishers:
        await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=DEADLINE)


async def test_cancelling_a_publish_is_a_cancellation(broker: Broker, bus: RabbitBus) -> None:
    publisher = await bus.publisher()
    await broker.freeze()
    tasks = [asyncio.create_task(publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=60)) for _ in range(5)]
    await asyncio.wait(tasks, timeout=FROZEN_FOR)
    for task in tasks:
        task.cancel()
    async with asyncio.timeout(SLACK):
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    broker.thaw()
    assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
    await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=DEADLINE)


async def test_returned_after_the_deadline_does_not_harm_the_channel(broker: Broker, bus: RabbitBus) -> None:
    publisher = await bus.publisher()
    await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=DEADLINE)
    await broker.freeze()
    for _ in range(5):
        with pytest.raises(PublishFailed, match="not confirmed"):
            await publisher.publish(RAW, "market.nobody", b"x", deadline_s=0.1)
    broker.thaw()
    await publisher.publish(RAW, raw_key(STREAM), b"y", deadline_s=DEADLINE)
    assert publisher.blocked is None
    for body in envelopes(50):
        await publisher.publish(RAW, raw_key(STREAM), body, deadline_s=DEADLINE)


async def test_plain_publisher_has_a_bounded_number_under_way_and_gets_every_permit_back(broker: Broker) -> None:
    async with RabbitBus(broker.url, "test", publisher="plain") as bus:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        await publisher.publish(RAW, raw_key(STREAM), b"before", deadline_s=DEADLINE)
        many = [(raw_key(STREAM), body) for body in envelopes(3 * IN_FLIGHT)]
        before = len(asyncio.all_tasks())
        await broker.freeze()
        batches = [asyncio.create_task(publisher.publish_batch(RAW, many, deadline_s=60)) for _ in range(3)]
        await eventually(lambda: len(asyncio.all_tasks()) >= before + IN_FLIGHT)
        assert len(asyncio.all_tasks()) <= before + IN_FLIGHT + len(batches)
        for batch in batches:
            batch.cancel()
        outcomes = await asyncio.gather(*batches, return_exceptions=True)
        broker.thaw()
        assert {type(outcome) for outcome in outcomes} == {asyncio.CancelledError}
        await eventually(lambda: len(asyncio.all_tasks()) <= before)
        await publisher.publish_batch(RAW, many, deadline_s=DEADLINE)


async def test_leaving_takes_a_bounded_time_and_leaves_nothing(broker: Broker) -> None:
    before = asyncio.all_tasks()
    async with asyncio.timeout(40):
        async with RabbitBus(broker.url, "test") as bus:
            consumer = await bus.consume_raw()
            await consumer.add(STREAM)
            await bus.subscribe(MARKET, ["#"])
            await broker.freeze()
    broker.thaw()
    assert not bus.connected
    await eventually(lambda: asyncio.all_tasks() <= before)


@pytest.fixture
def impatient(broker: Broker, publishing: PublisherKind) -> Callable[[], RabbitBus]:
    def make() -> RabbitBus:
        return RabbitBus(f"{broker.url}?heartbeat=1", "test", publisher=publishing)

    return make


async def test_silence_for_three_heartbeats_is_a_lost_connection(
    broker: Broker, impatient: Callable[[], RabbitBus]
) -> None:
    async with impatient() as bus:
        publisher = await bus.publisher()
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        tap = await bus.subscribe(MARKET, ["#"])
        await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=DEADLINE)
        await drain(consumer, 1)
        receiving = asyncio.create_task(consumer.receive(1))
        await broker.freeze()
        in_flight = asyncio.create_task(publisher.publish(RAW, raw_key(STREAM), b"y", deadline_s=60))
        async with asyncio.timeout(30):
            for attempt in (receiving, in_flight):
                with pytest.raises(BrokerUnavailable):
                    await attempt
        await consumer.close()
        await eventually(lambda: not bus.connected)
        broker.thaw()
        await eventually(lambda: bus.connected, within=30)
        await sent(bus, STREAM, envelopes(1))
        receiving_tap = asyncio.create_task(next_of(tap, 1))
        while not receiving_tap.done():
            await publisher.publish(MARKET, "t.b.X", b"again", deadline_s=DEADLINE)
            await asyncio.wait((receiving_tap,), timeout=0.05)
        assert bodies(receiving_tap.result()) == [b"again"]
