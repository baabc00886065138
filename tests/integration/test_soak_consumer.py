"""The checker's way to the feed, on a real broker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aio_pika
import pytest
from msgspec import DecodeError, json

from services.cli.local_rabbit import RabbitNode
from tests.soak.checker.checker import Checker
from tests.soak.checker.consumer import Consumer
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

STREAM = "venue.spot.0"


@asynccontextmanager
async def consuming(url: str) -> AsyncIterator[tuple[Checker, Consumer, "asyncio.Task[None]"]]:
    checker = Checker()
    consumer = Consumer(url, checker)
    task = asyncio.create_task(consumer.run())
    try:
        await eventually(consumer.listening.is_set, "it listens")
        yield checker, consumer, task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def trade(number: int) -> bytes:
    message = {
        "feed": "trade", "symbol": "AAA", "native_symbol": "AAA", "stream": STREAM, "epoch": 1, "frame": number,
        "part": 0, "trade_id": f"t{number}",
    }  # fmt: skip
    return json.encode([message])


async def send(url: str, *bodies: bytes, owner: str = "h:1:a", exchange: str = "market", key: str = "x") -> None:
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        target = await channel.get_exchange(exchange)
        for body in bodies:
            await target.publish(aio_pika.Message(body, app_id=owner), key)


async def test_messages_come_in_order_with_their_owners(rabbit_url: str) -> None:
    async with consuming(rabbit_url) as (checker, consumer, _):
        await send(rabbit_url, *map(trade, range(500)))
        await send(rabbit_url, trade(500), owner="h:2:b")
        holding = {"type": "holdings", "member": "h:1:a", "streams": [{"stream": STREAM, "since_ns": 1 << 62}]}
        await send(rabbit_url, json.encode(holding), exchange="control", key="holdings")
        await eventually(lambda: checker.messages == 501)
        verdict = checker.verdict({("venue.spot", "AAA"): [f"t{number}" for number in range(501)]}, {})
        assert verdict.clean
        assert [handover.new for handover in checker.owners.handovers()] == ["h:2:b"]
        assert consumer.last_ns >= checker.owners.tenures[STREAM][-1].last


async def test_a_lost_connection_is_told_and_nothing_that_waits_is_lost(own_rabbit_node: RabbitNode) -> None:
    url = own_rabbit_node.url
    async with consuming(url) as (checker, consumer, _):
        await send(url, trade(0))
        await eventually(lambda: checker.messages == 1)
        await asyncio.to_thread(own_rabbit_node.ctl, "close_all_connections", "for the test")
        await eventually(consumer.listening.is_set, "it listens again")
        await send(url, trade(1), trade(3))
        await eventually(lambda: not checker.missing({("venue.spot", "AAA"): ["t0", "t1", "t3"]}))
        verdict = checker.verdict({("venue.spot", "AAA"): ["t0", "t1", "t2", "t3"]}, {})
        assert [one.ids for one in verdict.lost] == [["t2"]]
        assert checker.verdict({("venue.spot", "AAA"): ["t0", "between", "t1", "t3"]}, {}).unseen == 1


async def test_a_message_that_is_none_ends_it(rabbit_url: str) -> None:
    async with consuming(rabbit_url) as (_, _, task):
        await send(rabbit_url, b"{garbage")
        with pytest.raises(DecodeError):
            async with asyncio.timeout(60):
                await task
