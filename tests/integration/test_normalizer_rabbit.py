"""The normalizer on a real RabbitMQ."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aio_pika
import pytest

from shared.bus.rabbit import RabbitBus
from shared.control import ResyncRequest, StreamInfo, decode_control
from shared.envelope import decode_envelope
from shared.quarantine import decode_record
from shared.settings import Settings
from shared.topology import CONTROL, FIREHOSE, MARKET, resync_key
from tests.support.eventually import eventually, eventually_async, eventually_sync
from tests.support.processes import Stage, counter
from tests.unit.normalizer.plane import (
    LINEAR,
    SPOT,
    Plane,
    announce,
    connected,
    envelope,
    messages,
    running,
    snapshot,
    text,
    trades_of,
)

pytestmark = pytest.mark.integration


@pytest.fixture
async def bus(rabbit_url: str) -> AsyncIterator[RabbitBus]:
    async with RabbitBus(rabbit_url, "test") as bus:
        yield bus


@asynccontextmanager
async def channel_of(url: str) -> AsyncIterator[aio_pika.abc.AbstractChannel]:
    async with await aio_pika.connect(url) as connection:
        yield await connection.channel()


async def waiting(url: str, queue: str) -> int:
    """Messages that are ready in a queue."""
    async with channel_of(url) as channel:
        declared = await channel.declare_queue(queue, passive=True)
        return declared.declaration_result.message_count or 0


async def taken(url: str, queue: str) -> list[bytes]:
    """Everything that is ready in a queue, taken out."""
    found = []
    async with channel_of(url) as channel:
        source = await channel.get_queue(queue)
        while (message := await source.get(fail=False)) is not None:
            found.append(message.body)
            await message.ack()
    return found


async def test_order_and_acknowledgements(bus: RabbitBus, rabbit_url: str) -> None:
    market = await bus.subscribe(MARKET, ["trade.bybit.*"])
    async with running(bus) as plane:
        await plane.consume(LINEAR, SPOT)
        for stream in (LINEAR, SPOT):
            frames = [connected(), *trades_of(*range(300))]
            await plane.send(*(envelope(at, frames[at : at + 7], stream) for at in range(0, 301, 7)), stream=stream)
        found = await messages(market, 600)
        await plane.done_with(602)
        assert plane.frames("published") == 602
    for stream in (LINEAR, SPOT):
        mine = [message["trade_id"] for message in found if message["stream"] == stream.stream]
        assert mine == [str(number) for number in range(300)]
        assert await waiting(rabbit_url, f"raw.market.{stream.stream}") == 0


async def test_poison_is_kept_in_the_quarantine_queue(bus: RabbitBus, rabbit_url: str) -> None:
    market = await bus.subscribe(MARKET, ["trade.#"])
    control = await bus.subscribe(CONTROL, [resync_key("bybit")])
    firehose = await bus.subscribe(FIREHOSE, ["bybit.#"])
    poison = [b"\x1f\x8b broken gzip", b'{"truncated":']
    async with running(bus, Settings.model_validate({"broker": {"firehose": True}})) as plane:
        await plane.consume(LINEAR)
        good = envelope(0, [connected(), snapshot(), text(b"garbage"), *trades_of("1")])
        await plane.send(poison[0], good, poison[1], envelope(9, trades_of("2")))
        assert [message["trade_id"] for message in await messages(market, 2)] == ["1", "2"]
        async with asyncio.timeout(60):
            assert isinstance(decode_control((await control.receive()).body), ResyncRequest)
            assert (await firehose.receive()).key == "bybit.bybit.linear.0"
        await plane.done_with(7)
        assert (plane.frames("rejected"), plane.frames("lost"), plane.conserved()) == (3, 5, True)
    records = [decode_record(body) for body in await taken(rabbit_url, "quarantine.market")]
    assert [record.data for record in records] == [poison[0], b"garbage", poison[1]]
    assert [record.code for record in records] == ["invalid_envelope", "invalid_json", "invalid_envelope"]


async def test_sixty_streams(bus: RabbitBus) -> None:
    streams = [StreamInfo("bybit", "linear", "market", f"bybit.linear.{number}") for number in range(60)]
    market = await bus.subscribe(MARKET, ["trade.#"])
    async with running(bus) as plane:
        await plane.consume(*streams)
        for stream in streams:
            await plane.send(envelope(0, trades_of(stream.stream), stream), stream=stream)
        found = await messages(market, 60)
    assert {message["trade_id"] for message in found} == {stream.stream for stream in streams}


async def test_a_queue_of_other_arguments_is_told_and_costs_no_other_stream(bus: RabbitBus, rabbit_url: str) -> None:
    async with channel_of(rabbit_url) as channel:
        await channel.declare_queue(f"raw.market.{SPOT.stream}", durable=True, arguments={"x-max-length": 5})
    market = await bus.subscribe(MARKET, ["trade.#"])
    async with running(bus) as plane:
        await plane.consume(LINEAR)
        await announce(bus, SPOT)
        await eventually(lambda: "raw.market.bybit.spot.0 exists with" in (plane.normalizer.problem() or ""))
        await plane.send(envelope(0, trades_of("1")))
        assert len(await messages(market, 1)) == 1


async def test_sigterm_within_a_batch_loses_nothing(bus: RabbitBus, rabbit_url: str) -> None:
    """What was published before its end, and what is still in the queue, is everything that was sent."""
    market = await bus.subscribe(MARKET, ["trade.#"], limit=100_000)
    stage = await asyncio.to_thread(Stage, "normalizer", environment={"AMQP_URL": rabbit_url})
    try:
        await bus.declare(LINEAR)

        async def ready() -> bool:
            await announce(bus, LINEAR)
            text = await asyncio.to_thread(stage.metrics)
            return counter(text, "tidegate_streams_owned", exchange="bybit") == 1

        await asyncio.to_thread(eventually_up, stage)
        await eventually_async(ready, "the stream is consumed", within=60, interval=0.2)
        plane = Plane(bus, None, None, await bus.publisher())  # type: ignore[arg-type]
        await plane.send(*(envelope(50 * at, trades_of(*range(50 * at, 50 * at + 50))) for at in range(400)))
        got: set[str] = {message["trade_id"] for message in await messages(market, 1)}
        assert await asyncio.to_thread(stage.terminate) == 0
        await drained(market, got)
        left = [decode_envelope(body) for body in await taken(rabbit_url, f"raw.market.{LINEAR.stream}")]
        rest = {str(one.first + index) for one in left for index in range(len(one.frames))}
        assert got | rest == {str(number) for number in range(20_000)}
    finally:
        stage.close()


async def drained(subscriber: object, got: set[str]) -> None:
    """Whatever a subscriber still has."""
    while True:
        try:
            async with asyncio.timeout(3):
                got |= {message["trade_id"] for message in await messages(subscriber, 1)}  # type: ignore[arg-type]
        except TimeoutError:
            return


def eventually_up(stage: Stage) -> None:
    """Until its HTTP endpoint answers."""

    def up() -> bool:
        try:
            return bool(stage.metrics())
        except OSError:
            return False

    eventually_sync(up, "the normalizer serves /metrics", within=60)
