"""An event loop that is held up for longer than a publish may take, beside a broker that confirmed in time."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

import pytest

from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.topology import RAW, raw_key
from tests.contract.bus_conformance import DEADLINE, STREAM
from tests.fault.broker import Broker

pytestmark = pytest.mark.fault

SHORT = 0.5
TURNS = 300
"""Of the loop, in which a hundred messages are written."""


@pytest.fixture
async def bus(broker: Broker, publishing: PublisherKind) -> AsyncIterator[RabbitBus]:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        await bus.declare(STREAM)
        yield bus


def hold_the_loop(seconds: float) -> None:
    """What a long garbage collection does."""
    end = monotonic() + seconds
    while monotonic() < end:
        pass


@pytest.mark.parametrize("size", [1, 100])
async def test_a_confirm_that_is_there_when_the_deadline_is_noticed_counts(
    broker: Broker, bus: RabbitBus, size: int
) -> None:
    publisher = await bus.publisher()
    key = raw_key(STREAM)
    await publisher.publish(RAW, key, b"opens the channel", deadline_s=DEADLINE)
    batch = [(key, b"%d" % number) for number in range(size)]
    await broker.freeze()
    publishing = asyncio.create_task(publisher.publish_batch(RAW, batch, deadline_s=SHORT))
    for _ in range(TURNS):
        await asyncio.sleep(0)
    broker.thaw()
    hold_the_loop(2 * SHORT)
    await publishing
