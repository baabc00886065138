"""The normalizer while its broker is killed, restarted, alarmed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from services.cli.local_rabbit import RabbitNode
from shared.bus.base import Subscriber
from shared.bus.rabbit import RabbitBus
from shared.errors import BrokerError
from shared.settings import Settings
from shared.topology import MARKET
from tests.support.eventually import eventually, eventually_async
from tests.unit.normalizer.plane import LINEAR, Plane, connected, envelope, messages, running, trades_of

pytestmark = pytest.mark.fault

SETTINGS = Settings.model_validate({"broker": {"publish_deadline_s": 2.0}, "normalizer": {"publish_retries": 1}})


@pytest.fixture
def node(own_rabbit_node: RabbitNode) -> RabbitNode:
    return own_rabbit_node


@asynccontextmanager
async def consumed(node: RabbitNode) -> AsyncIterator[tuple[Plane, Subscriber]]:
    """A normalizer that consumes one stream, and a subscriber to its trades on a bus of its own."""
    async with RabbitBus(node.url, "test consumer") as own, RabbitBus(node.url, "test") as bus:
        market = await own.subscribe(MARKET, ["trade.#"], limit=100_000)
        async with running(bus, SETTINGS) as plane:
            await plane.consume(LINEAR)
            await plane.send(envelope(0, [connected(), *trades_of("begin")]))
            assert (await messages(market, 1))[0]["trade_id"] == "begin"
            yield plane, market


async def send(plane: Plane, *bodies: bytes) -> None:
    """As soon as the broker takes them."""

    async def sent() -> bool:
        try:
            await plane.send(*bodies)
        except BrokerError:
            return False
        return True

    await eventually_async(sent, "the broker takes envelopes", within=90, interval=0.5)


async def until(market: Subscriber, last: str) -> list[str]:
    """Trade ids up to this one."""
    found: list[str] = []
    async with asyncio.timeout(90):
        while last not in found:
            try:
                found += [message["trade_id"] for message in await messages(market, 1)]
            except TimeoutError:
                continue
    return found


async def test_after_a_killed_broker_everything_flows_again(node: RabbitNode) -> None:
    async with consumed(node) as (plane, market):
        await asyncio.to_thread(node.kill)
        await eventually(lambda: not plane.normalizer.consuming, "the session is lost", within=60)
        await asyncio.to_thread(node.start)
        await eventually(lambda: LINEAR.stream in plane.normalizer.consuming, "it is consumed again", within=90)
        # A subscriber's queue comes back by itself, when is its own affair.
        number = 2

        async def heard() -> bool:
            nonlocal number
            await send(plane, envelope(number, trades_of(f"probe{number}")))
            number += 1
            return bool(await messages_within(market, 2.0))

        await eventually_async(heard, "a message comes through", within=90, interval=0.1)
        await send(plane, *(envelope(number + at, trades_of(f"after{at}")) for at in range(10)))
        found = await until(market, "after9")
        assert [each for each in found if each.startswith("after")] == [f"after{at}" for at in range(10)]
        await eventually(plane.conserved, within=60)


async def messages_within(market: Subscriber, seconds: float) -> list[str]:
    try:
        async with asyncio.timeout(seconds):
            return [message["trade_id"] for message in await messages(market, 1)]
    except TimeoutError:
        return []


async def test_closed_connections_cost_a_session_and_no_frame(node: RabbitNode) -> None:
    async with consumed(node) as (plane, market):
        for round_ in range(2):
            first = 2 + 500 * round_
            await send(plane, *(envelope(first + at, trades_of(first + at)) for at in range(500)))
            await asyncio.to_thread(node.ctl, "close_all_connections", "test")
        await eventually(lambda: LINEAR.stream in plane.normalizer.consuming, "it is consumed again", within=60)
        await eventually(
            lambda: plane.frames("published") + plane.frames("repeated") >= 1002 and plane.conserved(),
            "all frames were dealt with",
            within=60,
        )
        assert plane.frames("received") >= 1002
        del market


async def test_a_memory_alarm_stops_publishing_and_nothing_is_lost(node: RabbitNode) -> None:
    async with consumed(node) as (plane, market):
        await send(plane, *(envelope(2 + at, trades_of(f"before{at}")) for at in range(20)))
        await asyncio.to_thread(node.memory_alarm, on=True)
        blocked = asyncio.create_task(send(plane, envelope(22, trades_of("during"))))
        await asyncio.to_thread(node.memory_alarm, on=False)
        await blocked
        await send(plane, envelope(23, trades_of("after")))
        found = await until(market, "after")
        wanted = [*(f"before{at}" for at in range(20)), "during", "after"]
        assert list(dict.fromkeys(found)) == wanted
        await eventually(plane.conserved, within=60)


async def test_it_ends_while_the_alarm_lasts(node: RabbitNode) -> None:
    async with consumed(node) as (plane, _):
        await asyncio.to_thread(node.memory_alarm, on=True)
        plane.stop.set()
    assert plane.normalizer.consuming == {}
