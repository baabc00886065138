"""Connections that are closed for one, and two of one's own that must not share a fate."""

import asyncio

import pytest

from shared.bus.base import RawConsumer, StreamBusy
from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.errors import BrokerUnavailable
from shared.topology import MARKET, RAW, raw_key
from tests.contract.bus_conformance import DEADLINE, STREAM, bodies, drain, envelopes, next_of, sent
from tests.fault.broker import Broker
from tests.support.eventually import eventually, eventually_async
from tests.support.rabbit import RabbitNode

pytestmark = pytest.mark.fault


async def test_closed_by_an_operator(broker: Broker, publishing: PublisherKind) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        publisher = await bus.publisher()
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        tap = await bus.subscribe(MARKET, ["#"])
        await publisher.publish(RAW, raw_key(STREAM), b"unacknowledged", deadline_s=DEADLINE)
        await drain(consumer, 1)
        receiving = asyncio.create_task(consumer.receive(1))
        await broker.close_all_connections()
        async with asyncio.timeout(60):
            with pytest.raises(BrokerUnavailable):
                await receiving
        with pytest.raises(BrokerUnavailable):
            await consumer.ack([])

        async def published() -> bool:
            try:
                await publisher.publish(RAW, raw_key(STREAM), b"after", deadline_s=DEADLINE)
            except BrokerUnavailable:
                return False
            return True

        async def consuming() -> RawConsumer | None:
            successor = await bus.consume_raw()
            try:
                await successor.add(STREAM)
            except (BrokerUnavailable, StreamBusy):
                return None
            return successor

        assert await eventually_async(published)
        successor = await eventually_async(consuming)
        assert successor is not None
        again = await drain(successor, 2)
        assert [(item.body, item.redelivered) for item in again] == [(b"unacknowledged", True), (b"after", False)]
        receiving_tap = asyncio.create_task(next_of(tap, 1))
        while not receiving_tap.done():
            await publisher.publish(MARKET, "t.b.X", b"again", deadline_s=DEADLINE)
            await asyncio.wait((receiving_tap,), timeout=0.05)
        assert bodies(receiving_tap.result()) == [b"again"]


async def test_a_loss_is_counted_however_soon_it_is_mended(broker: Broker) -> None:
    async with RabbitBus(broker.url, "test") as bus:
        assert [state.losses for state in bus.connections.values()] == [0, 0]
        for times in (1, 2):
            await broker.close_all_connections()
            await eventually(lambda: [state.losses for state in bus.connections.values()] == [times, times])  # noqa: B023
            await eventually(lambda: bus.connected)
    assert [state.losses for state in bus.connections.values()] == [2, 2]


async def test_attempts_to_connect_again_are_no_losses(own_rabbit_node: RabbitNode) -> None:
    async with RabbitBus(own_rabbit_node.url, "test") as bus:
        await asyncio.to_thread(own_rabbit_node.kill)
        publisher = await bus.publisher()
        for _ in range(3):
            with pytest.raises(BrokerUnavailable):
                await publisher.publish(RAW, raw_key(STREAM), b"1", deadline_s=1.5)
        await asyncio.to_thread(own_rabbit_node.start)
        await eventually(lambda: bus.connected, within=60)
        assert [state.losses for state in bus.connections.values()] == [1, 1]


async def test_refused_consumer_costs_nobody_else(rabbit_url: str) -> None:
    async with RabbitBus(rabbit_url, "first") as first, RabbitBus(rabbit_url, "second") as second:
        holder = await first.consume_raw()
        await holder.add(STREAM)
        other = await second.consume_raw()
        for _ in range(5):
            with pytest.raises(StreamBusy):
                await other.add(STREAM)
        await sent(second, STREAM, envelopes(3))
        got = await drain(holder, 3)
        await holder.ack(got)
        assert bodies(got) == envelopes(3)
        assert second.connected


async def test_connections_are_two_and_named(broker: Broker) -> None:
    async with RabbitBus(broker.url, "ingest bybit") as bus:
        await bus.declare(STREAM)
        rows = await broker.listed("connections", "client_properties", "timeout")
    mine = [row for row in rows if "ingest bybit" in row[0]]
    assert sorted("ingest bybit publish" in row[0] for row in mine) == [False, True]
    assert [row[1] for row in mine] == ["10", "10"]


async def test_market_is_transient_and_account_is_not(broker: Broker, publishing: PublisherKind) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        await bus.declare(STREAM)
        await sent(bus, STREAM, envelopes(4))
        publisher = await bus.publisher()
        await publisher.publish("quarantine", "account", b"a frame", deadline_s=DEADLINE)
        rows = await broker.listed("queues", "name", "messages", "messages_persistent")
    counts = {name: counts for name, *counts in rows}
    assert counts["raw.market.bybit.linear.0"] == ["4", "0"]
    assert counts["quarantine.account"] == ["1", "1"]
