"""The account plane's normalizer on a real RabbitMQ: killed, refused, and never out of order."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aio_pika
import pytest
from msgspec import json

from shared.bus.base import Subscriber
from shared.bus.rabbit import RabbitBus
from shared.errors import BrokerError
from shared.topology import ACCOUNT, RAW, raw_key
from tests.support.eventually import eventually, eventually_async
from tests.support.processes import Stage, counter
from tests.unit.cli.processes import finished
from tests.unit.normalizer.account_plane import MAIN, accounts_running, begin, envelope_of, fills
from tests.unit.normalizer.plane import announce, messages

pytestmark = pytest.mark.integration

FRAMES = 300


@pytest.fixture
async def bus(rabbit_url: str) -> AsyncIterator[RabbitBus]:
    async with RabbitBus(rabbit_url, "test") as bus:
        yield bus


@asynccontextmanager
async def announced(bus: RabbitBus) -> AsyncIterator[None]:
    """As ingest does, again and again."""

    async def repeat() -> None:
        while True:
            with suppress(BrokerError):
                await announce(bus, MAIN)
            await asyncio.sleep(0.2)

    await bus.declare(MAIN)
    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()


async def send(bus: RabbitBus, *bodies: bytes) -> None:
    publisher = await bus.publisher()
    for body in bodies:  # one after the other, as an account's ingest does
        await publisher.publish(RAW, raw_key(MAIN), body, deadline_s=10)


async def collect(subscriber: Subscriber, found: list[dict[str, Any]], last: str) -> None:
    while not found or found[-1]["execution_id"] != last:
        found += json.decode((await subscriber.receive()).body)


async def test_killed_again_and_again_every_fill_comes_once_and_in_order(
    bus: RabbitBus, rabbit_url: str, tmp_path: Path
) -> None:
    account = await bus.subscribe(ACCOUNT, ["fill.#"], limit=100_000)
    found: list[dict[str, Any]] = []
    collecting = asyncio.create_task(collect(account, found, f"e-{FRAMES - 1}"))
    environment = {"AMQP_URL": rabbit_url, "TIDEGATE_ACCOUNT__STATE_DIRECTORY": str(tmp_path)}
    arguments = ("normalizer", "--plane", "account")
    stage = await asyncio.to_thread(lambda: Stage(*arguments, environment=environment))
    try:
        async with announced(bus):
            await send(bus, envelope_of(0, begin()))
            sending = asyncio.create_task(
                send(bus, *(envelope_of(3 + at, fills(at)) for at in range(FRAMES)))  # each in an envelope of its own
            )
            for share in (0.2, 0.6):
                await eventually(lambda: len(found) > share * FRAMES, "fills come", within=60)  # noqa: B023 - awaited here
                os.kill(stage.process.pid, signal.SIGKILL)
                await asyncio.to_thread(stage.close)
                stage = await asyncio.to_thread(lambda: Stage(*arguments, environment=environment))
            await sending
            async with asyncio.timeout(60):
                await collecting
            await asyncio.to_thread(stage.wait_ready)
            assert await asyncio.to_thread(stage.terminate) == 0
    finally:
        collecting.cancel()
        stage.close()
    identities = [(each["epoch"], each["frame"], each["part"]) for each in found]
    new = [each for index, each in enumerate(found) if identities[index] not in identities[:index]]
    assert [each["execution_id"] for each in new] == [f"e-{at}" for at in range(FRAMES)]
    # What came again came with the identity that it had.
    known = {each["execution_id"]: (each["epoch"], each["frame"], each["part"]) for each in new}
    assert all(known[each["execution_id"]] == identities[index] for index, each in enumerate(found))


async def test_a_refused_message_is_tried_again_and_nothing_overtakes_it(
    bus: RabbitBus, rabbit_url: str, tmp_path: Path
) -> None:
    """A consumer's queue is full and refuses: RabbitMQ answers nack. When it has room, all of it comes, in order."""
    async with await aio_pika.connect(rabbit_url) as connection, accounts_running(bus, tmp_path) as plane:
        channel = await connection.channel()
        full: dict[str, Any] = {"x-max-length": 1, "x-overflow": "reject-publish"}
        queue = await channel.declare_queue("full", exclusive=True, arguments=full)
        await queue.bind(ACCOUNT, "fill.#")
        await plane.consume(MAIN)
        await send(bus, envelope_of(0, [*begin(), *fills(*range(6))]))
        refused = {"stage": "normalizer", "plane": "account", "reason": "nacked"}
        await eventually(lambda: plane.telemetry.total("tidegate_publish_failures_total", refused) >= 2, within=60)
        found: list[str] = []

        async def taken() -> bool:
            while (message := await queue.get(fail=False)) is not None:
                await message.ack()
                found.extend(each["execution_id"] for each in json.decode(message.body))
            return "e-5" in found

        await eventually_async(taken, "all of it comes", within=60, interval=0.05)
        assert list(dict.fromkeys(found)) == [f"e-{at}" for at in range(6)]
        await plane.done_with(9)


async def test_the_process_serves_its_health_and_metrics(bus: RabbitBus, rabbit_url: str, tmp_path: Path) -> None:
    account = await bus.subscribe(ACCOUNT, ["fill.#"])
    environment = {"AMQP_URL": rabbit_url, "TIDEGATE_ACCOUNT__STATE_DIRECTORY": str(tmp_path)}
    stage = await asyncio.to_thread(lambda: Stage("normalizer", "--plane", "account", environment=environment))
    try:
        async with announced(bus):
            await asyncio.to_thread(stage.wait_ready)
            await send(bus, envelope_of(0, [*begin(), *fills(1)]))
            assert (await messages(account, 1))[0]["execution_id"] == "e-1"

            async def shown() -> bool:
                text = await asyncio.to_thread(stage.metrics)
                labels = {"exchange": "bybit", "account": "main", "status": "authenticated"}
                return counter(text, "tidegate_account_status", **labels) == 1

            await eventually_async(shown, "the status is a metric", within=60, interval=0.2)
    finally:
        stage.close()


@pytest.mark.parametrize(("more", "shown"), [(["--json"], b'"feed":"fill"'), ([], b" fill.bybit.main.")])
async def test_tap_shows_what_accounts_are_told(
    bus: RabbitBus, rabbit_url: str, tmp_path: Path, more: list[str], shown: bytes
) -> None:
    arguments = ("tap", "--account", "fill.*.main.#", "--count", "2", *more)
    tapping = asyncio.create_task(asyncio.to_thread(finished, *arguments, more={"AMQP_URL": rabbit_url}))
    async with accounts_running(bus, tmp_path) as plane:
        await plane.consume(MAIN)
        await plane.send(envelope_of(0, begin()), stream=MAIN)
        number = 0
        while not tapping.done():
            await plane.send(envelope_of(3 + number, fills(number)), stream=MAIN)
            number += 1
            await asyncio.wait({tapping}, timeout=0.1)
    done = tapping.result()
    assert (done.returncode, done.stderr) == (0, b"")
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all(shown in line for line in lines)
