"""The account normalizer while its broker is killed: nothing is lost, nothing overtakes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aio_pika
import pytest
from msgspec import json

from services.cli.local_rabbit import RabbitNode
from shared.bus.rabbit import RabbitBus
from shared.errors import BrokerError
from shared.topology import ACCOUNT, RAW, raw_key
from tests.support.eventually import eventually, eventually_async
from tests.unit.normalizer.account_plane import MAIN, accounts_running, begin, envelope_of, fills

pytestmark = pytest.mark.fault

FRAMES = 200
DURABLE: dict[str, Any] = {"x-queue-type": "quorum"}
"""A consumer's own queue that survives the broker, as a risk manager would have one."""


SYNC = "[dets:sync(Table) || Table <- dets:all()]."
"""RabbitMQ 3.10 writes down which quorum queues a node has only every three minutes: one that was declared later does
not come back after a kill."""


@asynccontextmanager
async def queue_of_a_consumer(url: str) -> AsyncIterator[aio_pika.abc.AbstractQueue]:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        queue = await channel.declare_queue("risk", durable=True, arguments=DURABLE)
        await queue.bind(ACCOUNT, "fill.#")
        yield queue


async def send(bus: RabbitBus) -> None:
    """One frame after the other; each again until the broker confirms it, as ingest does."""
    publisher = await bus.publisher()
    for at in range(FRAMES):
        while True:
            try:
                await publisher.publish(RAW, raw_key(MAIN), envelope_of(3 + at, fills(at)), deadline_s=2.0)
            except BrokerError:
                await asyncio.sleep(0.2)
            else:
                break


async def test_a_killed_broker_costs_no_fill_and_no_order(own_rabbit_node: RabbitNode, tmp_path: Path) -> None:
    node = own_rabbit_node
    found: list[tuple[int, str]] = []

    async def taken() -> bool:
        async with queue_of_a_consumer(node.url) as queue:
            while (message := await queue.get(fail=False)) is not None:
                found.extend((each["frame"], each["execution_id"]) for each in json.decode(message.body))
                await message.ack()
        return bool(found) and found[-1][1] == f"e-{FRAMES - 1}"

    async with RabbitBus(node.url, "test") as bus, accounts_running(bus, tmp_path) as plane:
        async with queue_of_a_consumer(node.url):
            await plane.consume(MAIN)
        publisher = await bus.publisher()
        await publisher.publish(RAW, raw_key(MAIN), envelope_of(0, begin()), deadline_s=10.0)
        sending = asyncio.create_task(send(bus))
        await eventually(lambda: plane.frames("published") > FRAMES // 4, "frames are dealt with", within=60)
        await asyncio.to_thread(node.ctl, "eval", SYNC)
        await asyncio.to_thread(node.kill)
        await asyncio.to_thread(node.start)
        await sending
        await eventually_async(taken, "all of it comes", within=90, interval=0.5)
    news = list(dict.fromkeys(found))
    assert news == [(3 + at, f"e-{at}") for at in range(FRAMES)]
