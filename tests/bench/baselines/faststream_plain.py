"""``python -m tests.bench.baselines.faststream_plain ingest|normalizer``: FastStream as its manual shows it.

One message per frame through ``publish`` and ``subscriber``; confirms are pipelined: many publishes are under way.
"""

import asyncio
import os
import sys

from faststream.rabbit import Channel, ExchangeType, RabbitBroker, RabbitExchange, RabbitQueue
from websockets.asyncio.client import connect

from services.bench.measuring.control import reply
from tests.bench.baselines.normalizing import SUBSCRIBE, OneByOne, packed

IN_FLIGHT = 200
QUEUE = RabbitQueue("faststream.raw", durable=True)
MARKET = RabbitExchange("market", type=ExchangeType.TOPIC, durable=True)


async def ingest(broker: RabbitBroker) -> None:
    await broker.start()
    permits = asyncio.Semaphore(IN_FLIGHT)
    under_way: set[asyncio.Task[None]] = set()

    async def publish(body: bytes) -> None:
        try:
            await broker.publish(body, QUEUE)
        finally:
            permits.release()

    async with connect(os.environ["BENCH_WEBSOCKET"], max_size=None, compression=None) as socket:
        await socket.send(SUBSCRIBE)
        await socket.recv()
        reply("ready")
        async for data in socket:
            await permits.acquire()
            task = asyncio.create_task(publish(packed(data.encode() if isinstance(data, str) else data)))
            under_way.add(task)
            task.add_done_callback(under_way.discard)


async def normalizer(broker: RabbitBroker) -> None:
    parser = OneByOne()

    @broker.subscriber(QUEUE, channel=Channel(prefetch_count=IN_FLIGHT))
    async def take(body: bytes) -> None:
        for key, message in parser.take(body):
            await broker.publish(message, exchange=MARKET, routing_key=key)

    await broker.start()
    reply("ready")
    await asyncio.Event().wait()


async def main(stage: str) -> None:
    async with RabbitBroker(os.environ["AMQP_URL"], logger=None) as broker:
        await (ingest if stage == "ingest" else normalizer)(broker)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
