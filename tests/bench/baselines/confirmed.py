"""``python -m tests.bench.baselines.confirmed KEY BYTES``: a bare aio-pika loop, one confirmed publish after another.

Asked for a number, it publishes so many persistent, mandatory messages and answers with the seconds that they took.
"""

import asyncio
import os
import sys
import time

import aio_pika
from msgspec import json

from services.bench.measuring.control import commands, reply


async def main(key: str, size: int) -> None:
    async with await aio_pika.connect_robust(os.environ["AMQP_URL"]) as connection:
        channel = await connection.channel(publisher_confirms=True)
        exchange = await channel.get_exchange("raw")
        reply("ready")
        async for line in commands():
            begun = time.perf_counter()
            for _ in range(json.decode(line, type=int)):
                message = aio_pika.Message(bytes(size), delivery_mode=aio_pika.DeliveryMode.PERSISTENT)
                await exchange.publish(message, key, mandatory=True)
            reply(time.perf_counter() - begun)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
