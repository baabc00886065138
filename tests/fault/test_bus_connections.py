"""Connections that are closed for one, and two of one's own that must not share a fate."""

import asyncio

import pytest

from services.cli.local_rabbit import RabbitNode
from shared.bus.base import StreamBusy
from shared.bus.rabbit import RabbitBus
from shared.errors import BrokerUnavailable
from shared.topology import MARKET, RAW, raw_key
from tests.contract.bus_conformance import DEADLINE, STREAM, bodies, drain, envelopes, next_of, sent
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.fault


async def test_closed_by_an_operator(own_rabbit_node: RabbitNode) -> None:
    async with RabbitBus(own_rabbit_node.url, "test") as bus:
        publisher = await bus.publisher()
        consumer = await bus.consume_raw()
        await consumer.add(STREAM)
        tap = await bus.subscribe(MARKET, ["#"])
        await publisher.publish(RAW, raw_key(STREAM), b"unacknowledged", deadline_s=DEADLINE)
        await drain(consumer, 1)
        receiving = asyncio.create_task(consumer.receive(1))
        await asyncio.to_thread(own_rabbit_node.ctl, "close_all_connections", "for the test")
        async with asyncio.timeout(10):
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

        async def consuming() -> bool:
            try:
                await successor.add(STREAM)
            except (BrokerUnavailable, StreamBusy):
                return False
            return True

        assert await eventually_async(published)
        successor = await bus.consume_raw()
        assert await eventually_async(consuming)
        again = await drain(successor, 2)
        assert [(item.body, item.redelivered) for item in again] == [(b"unacknowledged", True), (b"after", False)]
        receiving_tap = asyncio.create_task(next_of(tap, 1))
        while not receiving_tap.done():
            await publisher.publish(MARKET, "t.b.X", b"again", deadline_s=DEADLINE)
            await asyncio.wait((receiving_tap,), timeout=0.05)
        assert bodies(receiving_tap.result()) == [b"again"]


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


async def test_connections_are_two_and_named(own_rabbit_node: RabbitNode) -> None:
    async with RabbitBus(own_rabbit_node.url, "ingest bybit") as bus:
        await bus.declare(STREAM)
        listed = await asyncio.to_thread(own_rabbit_node.ctl, "list_connections", "client_properties", "timeout")
    assert "ingest bybit publish" in listed
    assert "ingest bybit consume" in listed
    assert [line.split()[-1] for line in listed.splitlines() if "ingest" in line] == ["10", "10"]


async def test_market_is_transient_and_account_is_not(own_rabbit_node: RabbitNode) -> None:
    async with RabbitBus(own_rabbit_node.url, "test") as bus:
        await bus.declare(STREAM)
        await sent(bus, STREAM, envelopes(4))
        publisher = await bus.publisher()
        await publisher.publish("quarantine", "account", b"a frame", deadline_s=DEADLINE)
        listed = await asyncio.to_thread(
            own_rabbit_node.ctl, "list_queues", "name", "messages", "messages_persistent", "--no-table-headers"
        )
    counts = {line.split()[0]: line.split()[1:] for line in listed.splitlines()}
    assert counts["raw.market.bybit.linear.0"] == ["4", "0"]
    assert counts["quarantine.account"] == ["1", "1"]
