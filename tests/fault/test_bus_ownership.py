"""Locks, leases, and what a session's publisher does when something went wrong."""

import asyncio

import pytest

from shared.bus.base import Publisher, RawConsumer, StreamBusy
from shared.bus.rabbit import PublisherKind, RabbitBus
from shared.errors import BrokerError, BrokerUnavailable, PublishFailed
from shared.topology import FIREHOSE, MARKET
from tests.contract.bus_conformance import DEADLINE, STREAM, bodies, drain, envelopes, next_of, sent
from tests.fault.broker import Broker
from tests.support.eventually import eventually, eventually_async

pytestmark = pytest.mark.fault

USUAL = "element(2, application:get_env(rabbit, max_message_size))."
LIMIT = "application:set_env(rabbit, max_message_size, {0}), persistent_term:put(max_message_size, {0})."
"""RabbitMQ 3.10 reads the one, 4 the other, for every channel that is opened."""


async def close_connection(broker: Broker, name: str) -> None:
    """An operator closes one connection, by its name."""

    async def pid() -> str | None:
        rows = await broker.listed("connections", "pid", "client_properties")
        return next((row[0] for row in rows if f'"{name}"' in row[1]), None)

    found = await eventually_async(pid, f"{name} is connected")
    assert found is not None
    await asyncio.to_thread(broker.node.ctl, "close_connection", found, "for the test")


async def owned(consumer: RawConsumer) -> bool:
    """Whether it could own the stream."""
    try:
        await consumer.add(STREAM)
    except (StreamBusy, BrokerUnavailable):
        return False
    return True


async def failure_of(publisher: Publisher, exchange: str, body: bytes, deadline_s: float = DEADLINE) -> BrokerError:
    with pytest.raises(BrokerError) as failure:
        await publisher.publish(exchange, "k", body, deadline_s=deadline_s)
    return failure.value


@pytest.mark.parametrize("purpose", ["publish", "consume"])
async def test_either_lost_connection_ends_a_session_and_frees_what_it_owned(broker: Broker, purpose: str) -> None:
    async with RabbitBus(broker.url, "first") as first, RabbitBus(broker.url, "second") as second:
        session, other = await first.consume_raw(), await second.consume_raw()
        await session.add(STREAM)
        await sent(first, STREAM, envelopes(3))
        await drain(session, 3)
        publisher = await first.publisher(session)
        assert not await owned(other)
        await close_connection(broker, f"first {purpose}")
        async with asyncio.timeout(60):
            with pytest.raises(BrokerUnavailable):
                await session.receive(1)
        await failure_of(publisher, MARKET, b"too late")
        await session.close()
        await eventually(lambda: first.connected)
        await failure_of(publisher, MARKET, b"much too late")
        assert await eventually_async(lambda: owned(other), "the lock is free")
        assert await other.members() == 1
        assert bodies(await drain(other, 3)) == envelopes(3)


async def test_a_lost_consuming_connection_frees_its_locks_by_itself(broker: Broker) -> None:
    async with RabbitBus(broker.url, "first") as first, RabbitBus(broker.url, "second") as second:
        session, other = await first.consume_raw(), await second.consume_raw()
        await session.add(STREAM)
        await close_connection(broker, "first consume")
        assert await eventually_async(lambda: owned(other), "the lock is free")
        assert not await owned(session)


async def test_nothing_is_published_once_the_broker_has_been_silent_for_a_heartbeat(
    broker: Broker, publishing: PublisherKind
) -> None:
    """Long before either side gives the connection up."""
    async with RabbitBus(f"{broker.url}?heartbeat=2", "test", publisher=publishing) as bus:
        session = await bus.consume_raw()
        await session.add(STREAM)
        tap = await bus.subscribe(MARKET, ["#"])
        publisher, bystander = await bus.publisher(session), await bus.publisher()
        await publisher.publish(MARKET, "k", b"held", deadline_s=DEADLINE)
        await broker.freeze()
        await eventually(lambda: not held(session), "the lease is over")
        assert bus.connected
        broker.thaw()
        assert "has not answered for a heartbeat" in str(await failure_of(publisher, MARKET, b"fenced"))
        await bystander.publish(MARKET, "k", b"theirs", deadline_s=DEADLINE)
        assert bodies(await next_of(tap, 2)) == [b"held", b"theirs"]


def held(session: RawConsumer) -> bool:
    try:
        session.check()
    except BrokerUnavailable:
        return False
    return True


async def test_a_session_goes_on_for_as_long_as_the_broker_answers(broker: Broker) -> None:
    async with RabbitBus(f"{broker.url}?heartbeat=1", "test") as bus:
        session = await bus.consume_raw()
        loop = asyncio.get_running_loop()
        end = loop.time() + 2.5
        while loop.time() < end:
            assert await session.members() == 1
            session.check()


async def test_nothing_goes_out_behind_what_was_not_written_whole(broker: Broker, publishing: PublisherKind) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
        session = await bus.consume_raw()
        await session.members()
        tap = await bus.subscribe(MARKET, ["#"])
        publisher, bystander = await bus.publisher(session), await bus.publisher()
        await publisher.publish(MARKET, "k", b"first", deadline_s=DEADLINE)
        await broker.freeze()
        large = [("k", bytes([number]) * 1_000_000) for number in range(30)]
        waiting = [
            asyncio.create_task(publisher.publish_batch(MARKET, messages, deadline_s=deadline_s))
            for messages, deadline_s in ((large, 0.5), ([("k", b"behind")], 30), ([("k", b"far behind")], 30))
        ]
        async with asyncio.timeout(60):
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        broker.thaw()
        assert [type(outcome) for outcome in outcomes] == [PublishFailed, BrokerUnavailable, BrokerUnavailable]
        await failure_of(publisher, MARKET, b"later")
        assert await eventually_async(lambda: taken(bystander, b"last"))
        found: list[bytes] = []
        while b"last" not in found:
            found += [body[:5] for body in bodies(await next_of(tap, 1))]
        assert found == [b"first", *(bytes([number]) * 5 for number in range(len(found) - 2)), b"last"]


async def taken(publisher: Publisher, body: bytes) -> bool:
    try:
        await publisher.publish(MARKET, "k", body, deadline_s=DEADLINE)
    except BrokerError:
        return False
    return True


async def test_a_lost_channel_is_the_end_of_a_session_s_publisher(broker: Broker, publishing: PublisherKind) -> None:
    async with RabbitBus(broker.url, "test", publisher=publishing) as bus, RabbitBus(broker.url, "watch") as watching:
        session = await bus.consume_raw()
        await session.members()
        tap = await watching.subscribe(FIREHOSE, ["#"])
        publisher, bystander = await bus.publisher(session), await watching.publisher()
        await publisher.publish(MARKET, "k", b"x", deadline_s=DEADLINE)
        await asyncio.to_thread(
            broker.node.ctl,
            "eval",
            f'rabbit_exchange:delete({{resource, <<"{broker.vhost}">>, exchange, <<"market">>}}, false, <<"test">>).',
        )
        lost = asyncio.create_task(failure_of(publisher, MARKET, b"to nowhere"))
        await asyncio.sleep(0)
        behind = [asyncio.create_task(failure_of(publisher, FIREHOSE, b"behind")) for _ in range(3)]
        async with asyncio.timeout(60):
            assert isinstance(await lost, BrokerUnavailable)
            # What was written before the broker's answer came is nothing to it: the channel was closed by then.
            assert {type(await one) for one in behind} <= {BrokerUnavailable, type(await lost)}
        await failure_of(publisher, FIREHOSE, b"later")
        await bystander.publish(FIREHOSE, "k", b"theirs", deadline_s=DEADLINE)
        assert bodies(await next_of(tap, 1)) == [b"theirs"]


async def test_the_broker_s_limit_of_a_body_is_asked_once(broker: Broker, publishing: PublisherKind) -> None:
    usual = await asyncio.to_thread(
        broker.node.ctl, "eval", "element(2, application:get_env(rabbit, max_message_size))."
    )
    await asyncio.to_thread(broker.node.ctl, "eval", LIMIT.format(100_000))
    try:
        async with RabbitBus(broker.url, "test", publisher=publishing) as bus:
            tap = await bus.subscribe(MARKET, ["#"])
            session = await bus.consume_raw()
            await session.members()
            publisher = await bus.publisher(session)
            assert isinstance(await failure_of(publisher, MARKET, bytes(100_001)), PublishFailed)
            assert isinstance(await failure_of(publisher, MARKET, b"the channel is lost"), BrokerUnavailable)
            successor = await bus.publisher(session)
            refused = await failure_of(successor, MARKET, bytes(100_001))
            assert "the broker takes 100000" in str(refused)
            await successor.publish(MARKET, "k", bytes(100_000), deadline_s=DEADLINE)
            assert [len(body) for body in bodies(await next_of(tap, 1))] == [100_000]
    finally:
        await asyncio.to_thread(broker.node.ctl, "eval", LIMIT.format(int(usual)))
