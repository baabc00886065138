"""``python -m tests.bench.baselines.relay ingest|normalizer``: the least that two hops cost with aio-pika.

One message per frame, nothing parsed, nothing confirmed or acknowledged. The receive time goes in front of the frame,
written as in a message, so that the consumer of the benchmark finds it.
"""

import asyncio
import os
import sys
import time

import aio_pika
from websockets.asyncio.client import connect

from services.bench.measuring.control import reply
from tests.bench.baselines.normalizing import SUBSCRIBE

QUEUE = "relay.raw"
KEY = "relay.bybit.BTC/USDT:USDT"


async def first_hop(channel: aio_pika.abc.AbstractChannel) -> None:
    async with connect(os.environ["BENCH_WEBSOCKET"], max_size=None, compression=None) as socket:
        await socket.send(SUBSCRIBE)
        await socket.recv()
        reply("ready")
        async for data in socket:
            frame = data.encode() if isinstance(data, str) else data
            stamped = b'"ts_received":%d,"part":0,' % time.time_ns() + frame
            await channel.default_exchange.publish(aio_pika.Message(stamped), QUEUE)


async def second_hop(channel: aio_pika.abc.AbstractChannel) -> None:
    queue = await channel.declare_queue(QUEUE, durable=True)
    market = await channel.get_exchange("market")

    async def relay(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        await market.publish(aio_pika.Message(message.body), KEY)

    await queue.consume(relay, no_ack=True)
    reply("ready")
    await asyncio.Event().wait()


async def main(stage: str) -> None:
    async with await aio_pika.connect_robust(os.environ["AMQP_URL"]) as connection:
        channel = await connection.channel(publisher_confirms=False)
        await (first_hop if stage == "ingest" else second_hop)(channel)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
