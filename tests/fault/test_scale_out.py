"""Normalizers that share streams, while members die, leave, come, and stand still."""

import asyncio
import signal

import pytest

from services.cli.local_rabbit import RabbitNode
from tests.support.eventually import eventually
from tests.support.fleet import Fleet, Witness, fleet, witness

pytestmark = pytest.mark.fault

STREAMS = 8


async def everything(shared: Fleet, seen: Witness) -> None:
    """All that was sent has arrived, in order, and no stream had two owners at once."""
    await seen.until(shared.feed)
    for stream, sent in shared.feed.sent.items():
        assert seen.trades(stream) == list(range(1, sent))
        assert seen.reigns(stream) <= len(shared.reigns[stream])


async def test_members_share_the_streams_and_take_over_from_the_dead(rabbit_url: str) -> None:
    async with fleet(rabbit_url, STREAMS) as shared, witness(rabbit_url) as seen:
        first, *_ = await shared.start(3)
        await shared.shared(2, 3, 3)
        first.process.kill()
        await shared.shared(4, 4)
        await everything(shared, seen)


async def test_who_is_asked_to_end_hands_over_and_who_comes_gets_a_share(rabbit_url: str) -> None:
    async with fleet(rabbit_url, STREAMS) as shared, witness(rabbit_url) as seen:
        first, _ = await shared.start(2)
        await shared.shared(4, 4)
        assert await asyncio.to_thread(first.terminate) == 0
        await shared.shared(8)
        await shared.start(1)
        await shared.shared(4, 4)
        await everything(shared, seen)


async def test_who_slept_through_its_heartbeats_publishes_nothing_more(rabbit_url: str) -> None:
    async with (
        fleet(rabbit_url, STREAMS, TIDEGATE_BROKER__HEARTBEAT_S="2") as shared,
        witness(rabbit_url) as seen,
    ):
        sleeper, _ = await shared.start(2)
        await shared.shared(4, 4)
        told = shared.holdings[sleeper.process.pid]
        await eventually(lambda: owned_by(told) <= {one.stream for one in seen.seen if one.owner == told.member})
        sleeper.process.send_signal(signal.SIGSTOP)
        shared.stages.remove(sleeper)
        await shared.shared(8)
        count = len(seen.seen)
        await eventually(lambda: len(seen.seen) > count + 500, "the others publish")
        shared.stages.append(sleeper)
        del shared.holdings[sleeper.process.pid]
        sleeper.process.send_signal(signal.SIGCONT)
        await shared.shared(4, 4)
        await everything(shared, seen)
        assert "a session ended" in sleeper.log()


async def test_a_killed_broker_costs_nobody_but_time(own_rabbit_node: RabbitNode) -> None:
    """Every stream has one owner again, and ten trades that are sent then arrive; the broker counts what it should."""
    node = own_rabbit_node
    async with fleet(node.url, STREAMS) as shared:
        await shared.start(2)
        await shared.shared(4, 4)
        await asyncio.to_thread(node.kill)
        shared.holdings.clear()
        await asyncio.to_thread(node.start)
        await shared.shared(4, 4)
        async with witness(node.url) as seen:
            before = dict(shared.feed.sent)
            await eventually(
                lambda: all(sent >= before[name] + 10 for name, sent in shared.feed.sent.items()), within=60
            )
            await seen.until(shared.feed)
        for stream in shared.feed.sent:
            trades = seen.trades(stream)
            assert trades == list(range(trades[0], trades[-1] + 1))
        rows = await asyncio.to_thread(node.ctl, "list_queues", "--no-table-headers", "name", "consumers")
        consumers = dict(line.split("\t") for line in rows.splitlines())
        assert {consumers[f"raw.market.{stream}"] for stream in shared.feed.sent} == {"1"}
        assert consumers["normalizers.market"] == "2"


async def test_who_is_asked_to_end_beside_a_frozen_broker_ends(own_rabbit_node: RabbitNode) -> None:
    node = own_rabbit_node
    async with fleet(node.url, STREAMS) as shared:
        (only,) = await shared.start(1)
        await shared.shared(STREAMS)
        node.pause()
        assert await asyncio.to_thread(only.terminate, 60) == 0
        node.resume()


def owned_by(told: object) -> set[str]:
    return {held.stream for held in told.streams}  # type: ignore[attr-defined]
