"""Frames in quarantine: looked at without being touched, tried again, taken out."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec import json

from shared.bus.base import Bus
from shared.bus.memory import MemoryBus
from shared.bus.rabbit import RabbitBus
from shared.quarantine import QuarantineRecord, encode_record
from shared.topology import QUARANTINE
from tests.support.eventually import eventually_async
from tests.unit.cli.processes import finished

pytestmark = pytest.mark.integration

TIME = 1_790_000_000_000
TRADE = (
    '{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":%d,'
    '"data":[{"T":%d,"s":"BTCUSDT","S":"Buy","v":"1","p":"%s","i":"t%d"}]}'
)


def record(number: int, data: bytes, code: str = "bad_number", kind: int = 0) -> QuarantineRecord:
    received = TIME * 1_000_000
    return QuarantineRecord(
        "bybit", "linear", "market", "bybit.linear.0", 7, number, kind, received, received, code, "p: …", data
    )


def trade(price: str, number: int) -> bytes:
    return (TRADE % (TIME, TIME, price, number)).encode()


@pytest.fixture(params=["memory", "rabbit"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    if request.param == "memory":
        async with MemoryBus() as memory:
            yield memory
    else:
        async with RabbitBus(request.getfixturevalue("rabbit_url"), "test") as rabbit:
            yield rabbit


async def fill(bus: Bus, count: int) -> list[bytes]:
    bodies = [b"%d" % number for number in range(count)]
    publisher = await bus.publisher()
    await publisher.publish_batch(QUARANTINE, [("market", body) for body in bodies], deadline_s=5.0)
    return bodies


async def seen(bus: Bus, limit: int = 1_000) -> list[bytes]:
    held = await bus.quarantined("market", limit)
    await held.close()
    return held.bodies


async def test_looking_changes_nothing(bus: Bus) -> None:
    bodies = await fill(bus, 30)

    async def as_before() -> bool:
        return await seen(bus) == bodies

    for limit in (1, 7, 30, 500):
        await eventually_async(as_before, "all are back in their order")
        assert await seen(bus, limit) == bodies[:limit]
    await eventually_async(as_before, "all are back in their order")


async def test_what_is_held_is_nobody_else_s_and_what_is_discarded_is_gone(bus: Bus) -> None:
    bodies = await fill(bus, 10)
    held = await bus.quarantined("market", 4)
    assert await seen(bus) == bodies[4:]
    await held.discard()
    await held.close()

    async def the_rest() -> bool:
        return await seen(bus) == bodies[4:]

    await eventually_async(the_rest, "the rest is there")


async def test_an_empty_quarantine_gives_nothing(bus: Bus) -> None:
    held = await bus.quarantined("account", 5)
    assert held.bodies == []
    await held.discard()
    await held.close()


@pytest.fixture
async def filled(rabbit_url: str) -> str:
    """A broker with three frames in quarantine: one that would be taken today, a broken one, and no envelope."""
    records = [
        record(1, trade("65000.5", 1), "unknown_event"),
        record(2, trade("NaN", 2)),
        record(3, b"\xff\xfe", "invalid_envelope", kind=-1),
    ]
    async with RabbitBus(rabbit_url, "test") as bus:
        publisher = await bus.publisher()
        bodies = [("market", encode_record(one)) for one in records]
        await publisher.publish_batch(QUARANTINE, [*bodies, ("market", b"no record")], deadline_s=5.0)
    return rabbit_url


def quarantine(url: str, *arguments: str) -> tuple[int, list[str], list[str]]:
    done = finished("quarantine", *arguments, more={"AMQP_URL": url})
    assert b"Traceback" not in done.stderr
    return done.returncode, done.stdout.decode().splitlines(), done.stderr.decode().splitlines()


async def test_the_list_tells_what_where_and_why(filled: str) -> None:
    status, shown, told = quarantine(filled)
    assert status == 0
    assert shown[1].startswith("2026-09-21 14:13:20 bybit.linear.0 epoch=7 frame=2 bad_number: p: … | ")
    assert len(shown) == 3
    assert told[0].startswith("tidegate: invalid_envelope: quarantine record")
    assert told[-1] == "tidegate: 3 of 4 frames in quarantine.market"
    status, shown, _ = quarantine(filled, "--json")
    rows: list[dict[str, Any]] = [json.decode(line) for line in shown]
    assert [row["frame"] for row in rows] == [1, 2, 3]
    assert rows[0]["data"] == trade("65000.5", 1).decode()
    assert rows[2]["data_base64"] == "//4="
    assert [json.decode(line)["frame"] for line in quarantine(filled, "--json", "--code", "bad_number")[1]] == [2]
    assert quarantine(filled, "--stream", "bybit.spot.0")[1] == []


async def test_a_replay_prints_what_the_frames_give_now(filled: str) -> None:
    status, shown, told = quarantine(filled, "--replay")
    assert status == 3
    (message,) = [json.decode(line) for line in shown]
    assert (message["feed"], message["symbol"], message["price"]) == ("trade", "BTC/USDT:USDT", "65000.5")
    again = [json.decode(line) for line in told if line.startswith("{")]
    assert [(one["frame"], one["code"]) for one in again] == [(2, "bad_number"), (3, "invalid_envelope")]


async def test_what_is_taken_is_gone_and_only_then(filled: str) -> None:
    assert len(quarantine(filled)[1]) == 3
    status, shown, told = quarantine(filled, "--take", "--json", "--limit", "2")
    assert (status, len(shown)) == (0, 2)
    assert told[-1] == "tidegate: 2 of 2 frames removed from quarantine.market"
    assert [json.decode(line)["frame"] for line in quarantine(filled, "--json")[1]] == [3]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--limit", "0"), "tidegate: --limit: must be 1 to 10000, 0 was given"),
        (("--take", "--code", "x"), "tidegate: --take: removes all that was looked at: it does not go with"),
    ],
)
def test_unusable_arguments(arguments: tuple[str, ...], line: str) -> None:
    status, shown, told = quarantine("amqp://127.0.0.1:1/", *arguments)
    assert (status, shown) == (2, [])
    assert told[-1].startswith(line)
