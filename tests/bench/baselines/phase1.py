"""``python -m tests.bench.baselines.phase1 ingest|normalizer``: one message per frame, every confirm awaited."""

import asyncio
import os
import sys

import aio_pika
from websockets.asyncio.client import connect

from services.bench.measuring.control import reply
from tests.bench.baselines.normalizing import SUBSCRIBE, OneByOne, packed

QUEUE = "phase1.raw"
PREFETCH = 100


async def ingest(channel: aio_pika.abc.AbstractChannel) -> None:
    async with connect(os.environ["BENCH_WEBSOCKET"], max_size=None, compression=None) as socket:
        await socket.send(SUBSCRIBE)
        await socket.recv()
        reply("ready")
        async for data in socket:
            await channel.default_exchange.publish(aio_pika.Message(packed(_bytes(data))), QUEUE)


async def normalizer(channel: aio_pika.abc.AbstractChannel) -> None:
    await channel.set_qos(PREFETCH)
    queue = await channel.declare_queue(QUEUE, durable=True)
    market = await channel.get_exchange("market")
    parser = OneByOne()
    reply("ready")
    async with queue.iterator() as messages:
        async for message in messages:
            for key, body in parser.take(message.body):
                await market.publish(aio_pika.Message(body), key)
            await message.ack()


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


async def main(stage: str) -> None:
    async with await aio_pika.connect_robust(os.environ["AMQP_URL"]) as connection:
        channel = await connection.channel(publisher_confirms=True)
        await (ingest if stage == "ingest" else normalizer)(channel)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
