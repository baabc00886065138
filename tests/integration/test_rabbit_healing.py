"""Queues that are deleted under a running service come back."""

import aio_pika
import pytest

from shared.bus.rabbit import RabbitBus
from shared.control import StreamInfo
from shared.errors import PublishFailed
from shared.topology import QUARANTINE, RAW, QueueLimits, quarantine_queue, raw_key, raw_queue

pytestmark = pytest.mark.integration

STREAM = StreamInfo("bybit", "linear", "market", "bybit.linear.0")


@pytest.mark.parametrize(
    ("exchange", "key", "name"),
    [
        (QUARANTINE, "market", quarantine_queue("market", QueueLimits()).name),
        (RAW, raw_key(STREAM), raw_queue(STREAM, QueueLimits()).name),
    ],
)
async def test_a_queue_that_was_deleted_is_declared_again(rabbit_url: str, exchange: str, key: str, name: str) -> None:
    """The publish that finds it gone fails and says so; the next one works."""
    async with RabbitBus(rabbit_url, "test") as bus, await aio_pika.connect(rabbit_url) as connection:
        await bus.declare(STREAM)
        publisher = await bus.publisher()
        await publisher.publish(exchange, key, b"1", deadline_s=5)
        channel = await connection.channel()
        await channel.queue_delete(name)
        with pytest.raises(PublishFailed, match="returned"):
            await publisher.publish(exchange, key, b"2", deadline_s=5)
        await publisher.publish(exchange, key, b"3", deadline_s=5)
        queue = await channel.declare_queue(name, passive=True)
        message = await queue.get()
        assert message is not None
        assert message.body == b"3"
        await message.ack()
