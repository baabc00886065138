"""The in-process bus."""

import asyncio

import pytest

from shared.bus.memory import MemoryBus
from shared.errors import PublishFailed
from shared.topology import RAW, QueueLimits, raw_key
from tests.contract.bus_conformance import ACCOUNT, DEADLINE, STREAM, BusConformance, OpenBus, bodies, drain, envelopes


@pytest.fixture
def open_bus() -> OpenBus:
    def make(limits: QueueLimits | None = None) -> MemoryBus:
        return MemoryBus(limits)

    return make


class TestMemoryBus(BusConformance):
    pass


async def test_account_queue_refuses_when_it_is_full() -> None:
    async with MemoryBus(QueueLimits(raw_messages=2)) as bus:
        await bus.declare(ACCOUNT)
        publisher = await bus.publisher()
        for body in envelopes(2):
            await publisher.publish(RAW, raw_key(ACCOUNT), body, deadline_s=DEADLINE)
        with pytest.raises(PublishFailed) as failure:
            await publisher.publish(RAW, raw_key(ACCOUNT), b"third", deadline_s=DEADLINE)
        assert failure.value.reason == "nacked"
        consumer = await bus.consume_raw()
        await consumer.add(ACCOUNT)
        assert bodies(await drain(consumer, 2)) == envelopes(2)


async def test_busy_publisher_leaves_the_loop_to_others() -> None:
    async with MemoryBus() as bus:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        receiving = asyncio.create_task(drain(consumer, 10))
        published = 0
        while not receiving.done():
            await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=DEADLINE)
            published += 1
            assert published < 1000
        assert len(receiving.result()) >= 10


async def test_what_was_handed_out_does_not_count_as_full() -> None:
    async with MemoryBus(QueueLimits(raw_messages=3)) as bus:
        publisher = await bus.publisher()
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        for body in envelopes(3):
            await publisher.publish(RAW, raw_key(STREAM), body, deadline_s=DEADLINE)
        handed_out = await drain(consumer, 3)
        for body in envelopes(3, start=3):
            await publisher.publish(RAW, raw_key(STREAM), body, deadline_s=DEADLINE)
        assert bodies(handed_out + await drain(consumer, 3)) == envelopes(6)
        await consumer.close()
        successor = await bus.consume_raw()
        await successor.add(STREAM)
        assert bodies(await drain(successor, 3)) == envelopes(3, start=3)
