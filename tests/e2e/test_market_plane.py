"""The market plane as separate processes on a real RabbitMQ: bursts, and faults on both sides of it."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any, Final

import aio_pika
import pytest

from services.cli.local_rabbit import RabbitNode, free_ports
from tests.support.consumer import CheckingConsumer
from tests.support.eventually import eventually_async
from tests.support.processes import Stage, counter, fetch_json, post_json

pytestmark = pytest.mark.e2e

EXCHANGES: Final = ("bybit", "mexc", "binance")
SECONDS: Final = 60.0
QUEUE: Final = "checker"


class Plane:
    """Simulator, ingest of every exchange, normalizer."""

    def __init__(self, node: RabbitNode) -> None:
        self.node = node
        port = free_ports(1)[0]
        environment = {
            "AMQP_URL": node.url,
            "TIDEGATE_SIMULATOR__CONNECT": f"127.0.0.1:{port}",
            "TIDEGATE_INGEST__IDLE_TIMEOUT_S": "4",
            "TIDEGATE_INGEST__RECONNECT_CAP_S": "2",
            "TIDEGATE_BROKER__PUBLISH_DEADLINE_S": "2",
        }
        self.control = f"http://127.0.0.1:{port}/control"
        self.simulator = Stage("simulator", "--port", str(port), environment=environment)
        self.normalizer = Stage("normalizer", environment=environment)
        self.ingests = {name: Stage("ingest", name, environment=environment) for name in EXCHANGES}

    @property
    def stages(self) -> list[Stage]:
        return [self.simulator, self.normalizer, *self.ingests.values()]

    def wait_ready(self) -> None:
        for stage in [self.normalizer, *self.ingests.values()]:
            stage.wait_ready()

    def close(self) -> None:
        for stage in self.stages:
            stage.close()


@asynccontextmanager
async def consuming(url: str, checker: CheckingConsumer) -> AsyncIterator[None]:
    """A durable queue bound to everything, so that nobody publishes past it while the broker restarts."""
    connection = await aio_pika.connect_robust(url + "?heartbeat=5", reconnect_interval=0.5)
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=1000)
    exchange = await channel.declare_exchange("market", aio_pika.ExchangeType.TOPIC, durable=True)
    queue = await channel.declare_queue(QUEUE, durable=True)
    await queue.bind(exchange, "#")

    async def take(message: aio_pika.abc.AbstractIncomingMessage) -> None:
        checker.take(message.body)
        await message.ack()

    await queue.consume(take)
    try:
        yield
    finally:
        await connection.close()


async def faults(plane: Plane, elapsed: Callable[[], float]) -> dict[str, int]:
    """Bursts, three faults of the broker and three kinds of the venues', spread over the minute."""
    node = plane.node
    happened: dict[str, int] = {}

    async def venue(kind: str, **fields: Any) -> None:
        await asyncio.to_thread(post_json, f"{plane.control}/faults", {"kind": kind, **fields})
        happened[kind] = happened.get(kind, 0) + 1

    async def broker(name: str, *steps: Callable[[], object]) -> None:
        for step in steps:
            await asyncio.to_thread(step)
        happened[name] = happened.get(name, 0) + 1

    async def burst() -> None:
        await asyncio.to_thread(post_json, f"{plane.control}/burst", {"factor": 10.0, "seconds": 6.0})

    def close_connections() -> None:
        node.ctl("close_all_connections", "test")

    plan: list[tuple[float, Callable[[], Awaitable[None]]]] = [
        (4, burst),
        (6, lambda: venue("gap", exchange="bybit", product="linear", symbol="BTCUSDT")),
        (8, lambda: venue("gap", exchange="binance", product="usdm", symbol="BTCUSDT")),
        (10, lambda: venue("gap", exchange="mexc", product="spot", symbol="BTCUSDT")),
        # Before the broker's troubles: however long these take, the bad frames get through to be rejected.
        (12, lambda: venue("malformed", exchange="mexc", product="futures", count=3)),
        (14, lambda: broker("closed connections", close_connections)),
        (20, lambda: venue("disconnect", exchange="binance", product="spot")),
        (22, burst),
        (26, lambda: broker("memory alarm", lambda: node.memory_alarm(on=True))),
        (29, lambda: broker("memory alarm over", lambda: node.memory_alarm(on=False))),
        (35, lambda: venue("silence", exchange="bybit", product="spot", seconds=6.0)),
        (42, lambda: broker("killed", node.kill, node.start)),
        (50, burst),
    ]
    for due, act in plan:
        await asyncio.sleep(max(0.0, due - elapsed()))
        await act()
    await asyncio.sleep(max(0.0, SECONDS - elapsed()))
    return happened


async def test_a_minute_of_bursts_and_faults_loses_nothing_silently(own_rabbit_node: RabbitNode) -> None:
    """Books rebuilt from the canonical feed equal the simulator's, every frame is accounted for, nobody died."""
    loop = asyncio.get_running_loop()
    checker = CheckingConsumer()
    async with consuming(own_rabbit_node.url, checker):
        plane = await asyncio.to_thread(Plane, own_rabbit_node)
        try:
            await asyncio.to_thread(plane.wait_ready)
            started = loop.time()
            happened = await faults(plane, lambda: loop.time() - started)
            assert len(happened) >= 7
            await books_equal(plane, checker)
            await verdict(plane, checker)
        finally:
            plane.close()


async def verdict(plane: Plane, checker: CheckingConsumer) -> None:
    assert [stage.name for stage in plane.stages if not stage.running] == []
    assert checker.inversions == []
    assert checker.crossed == []
    assert checker.messages > 10_000
    for status in ("connected", "disconnected", "gap", "resync", "live"):
        assert checker.statuses.get(status), f"no consumer heard of {status}"
    for feed in ("trade", "quote", "ticker", "book_snapshot", "book_delta", "funding", "mark_price", "candle"):
        assert checker.feeds.get(feed), f"no {feed} came"
    await conservation(plane)
    assert {stage.name: stage.terminate() for stage in plane.stages} == {stage.name: 0 for stage in plane.stages}


async def books_equal(plane: Plane, checker: CheckingConsumer) -> None:
    """Once the market stands still, every book of the feed is the engine's own."""
    await asyncio.to_thread(post_json, f"{plane.control}/pause", {})
    state = await asyncio.to_thread(fetch_json, f"{plane.control}/state")
    expected = {
        (f"{exchange}.{product}", symbol)
        for exchange, products in state["exchanges"].items()
        for product, one in products.items()
        for symbol in one["symbols"]
    }

    async def differing() -> bool:
        wrong = await asyncio.to_thread(compare, plane, checker)
        assert wrong == []
        return True

    await eventually_async(differing, "the books are equal", within=60, interval=1.0)
    seen = set(checker.books)
    assert seen <= expected
    assert len(seen) >= 30


def compare(plane: Plane, checker: CheckingConsumer) -> list[str]:
    wrong = []
    for (place, symbol), book in checker.books.items():
        exchange, product = place.split(".")
        own = fetch_json(f"{plane.control}/book/{exchange}/{product}/{symbol}?depth=20")
        bids, asks = book.top(20)
        prices = [[price for price, _ in side] for side in (bids, asks)]
        own_prices = [[Decimal(level[0]) for level in own[side]] for side in ("bids", "asks")]
        if not book.valid or prices != own_prices:
            wrong.append(f"{place} {symbol}: valid={book.valid}")
    return wrong


async def conservation(plane: Plane) -> None:
    """received = published + conflated + shed + rejected + in flight, at every stage, once nothing moves."""

    async def holds() -> bool:
        texts = {name: await asyncio.to_thread(stage.metrics) for name, stage in plane.ingests.items()}
        for name, text in texts.items():
            received = counter(text, "tidegate_frames_received_total", stage="ingest", exchange=name)
            published = counter(text, "tidegate_frames_published_total", stage="ingest", exchange=name)
            conflated = counter(text, "tidegate_frames_conflated_total", exchange=name)
            shed = counter(text, "tidegate_frames_shed_total", exchange=name)
            waiting = counter(text, "tidegate_frames_in_flight", stage="ingest", exchange=name)
            assert received == published + conflated + shed + waiting, name
            assert received > 1_000
        text = await asyncio.to_thread(plane.normalizer.metrics)
        received = counter(text, "tidegate_frames_received_total", stage="normalizer")
        published = counter(text, "tidegate_frames_published_total", stage="normalizer")
        rejected = counter(text, "tidegate_frames_rejected_total")
        repeated = counter(text, "tidegate_frames_repeated_total")
        waiting = counter(text, "tidegate_frames_in_flight", stage="normalizer")
        returned = counter(text, "tidegate_frames_returned_total")
        assert received == published + rejected + repeated + returned + waiting
        assert rejected >= 3
        return True

    await eventually_async(holds, "the conservation law holds", within=60, interval=0.5)


def test_every_process_says_what_is_wrong_with_an_unreachable_broker() -> None:
    """No broker: the process ends with status 1 and one line that names the address."""
    environment = {**os.environ, "AMQP_URL": f"amqp://guest:guest@127.0.0.1:{free_ports(1)[0]}/"}
    stage = Stage("check", environment=environment)
    try:
        assert stage.process.wait(timeout=60) == 1
        assert "FAIL  broker: amqp://127.0.0.1:" in stage.log()
        assert "guest" not in stage.log()
    finally:
        stage.close()
