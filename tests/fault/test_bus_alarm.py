"""A memory alarm: the broker reads nothing more from connections that publish, and says so."""

import asyncio

import pytest

from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.errors import PublishFailed
from shared.topology import RAW, raw_key
from tests.contract.bus_conformance import ACCOUNT, DEADLINE, STREAM, bodies, drain, envelopes, sent
from tests.fault.broker import Broker
from tests.support.eventually import eventually

pytestmark = pytest.mark.fault


async def test_publishers_are_told_and_consumers_go_on(broker: Broker, publishing: PublisherKind) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        await sent(bus, STREAM, envelopes(100))
        await broker.memory_alarm(on=True)

        with pytest.raises(PublishFailed) as failure:
            await publisher.publish(RAW, raw_key(STREAM), b"late", deadline_s=1)
        assert failure.value.reason == "timeout"
        await eventually(lambda: "memory" in (publisher.blocked or ""))
        with pytest.raises(PublishFailed, match="memory"):
            await publisher.publish(RAW, raw_key(STREAM), b"later", deadline_s=0.2)
        assert bus.connected

        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        got: list[bytes] = []
        while len(got) < 100:
            some = await drain(consumer, 1)
            got += bodies(some)
            await consumer.ack(some)
        assert got == envelopes(100)
        await bus.declare(ACCOUNT)

        await broker.memory_alarm(on=False)
        await eventually(lambda: publisher.blocked is None)
        await publisher.publish(RAW, raw_key(STREAM), b"after", deadline_s=DEADLINE)
        rest: list[bytes] = []
        while b"after" not in rest:
            rest += bodies(await drain(consumer, 1))
        assert set(rest) <= {b"late", b"later", b"after"}
        assert rest[-1] == b"after"


async def test_bus_opens_and_leaves_while_the_alarm_lasts(broker: Broker, publishing: PublisherKind) -> None:
    before = asyncio.all_tasks()
    await broker.memory_alarm(on=True)
    async with asyncio.timeout(60):
        async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
            await bus.declare(STREAM)
            publisher = await bus.publisher()
            with pytest.raises(PublishFailed, match="timeout"):
                await publisher.publish(RAW, raw_key(STREAM), b"x", deadline_s=0.5)
    assert not bus.connected
    await broker.memory_alarm(on=False)
    await eventually(lambda: asyncio.all_tasks() <= before)
