"""``tidegate streams`` on a real broker."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import json

from services.cli.local_rabbit import free_ports
from shared.bus.rabbit import RabbitBus
from shared.control import Announcement, Holding, Holdings, StreamInfo, encode_control
from shared.topology import CONTROL, RAW, announcement_key, holdings_key, raw_key
from tests.support.paths import ROOT
from tests.support.terminal import on_terminal, plain
from tests.unit.cli.processes import command, environment, finished

pytestmark = pytest.mark.integration

STREAMS = [StreamInfo("bybit", "spot", "market", f"bybit.spot.{number}") for number in range(3)]
OTHER = StreamInfo("mexc", "spot", "market", "mexc.spot.0")
SINCE = 1_790_000_000_000_000_000


@asynccontextmanager
async def speaking(url: str, *holders: int, garbage: bool = False) -> AsyncIterator[None]:
    """An ingest that feeds all streams; normalizers with these pids share them, the last stream has no owner."""
    async with RabbitBus(url, "test") as bus:
        for stream in (*STREAMS, OTHER):
            await bus.declare(stream)
        publisher = await bus.publisher()
        await publisher.publish_batch(RAW, [(raw_key(OTHER), b"x")] * 5, deadline_s=10)

        async def speak() -> None:
            frames = 0
            while True:
                frames += 100
                body = encode_control(Announcement("ingest@1", [*STREAMS, OTHER]))
                await publisher.publish(CONTROL, announcement_key(), body, deadline_s=10)
                for at, pid in enumerate(holders):
                    held = [
                        Holding(one.stream, one.exchange, one.product, SINCE, frames, 2_000_000, SINCE)
                        for one in STREAMS[at :: len(holders)]
                    ]
                    body = encode_control(Holdings(f"here:{pid}:abcd", "here", pid, held))
                    await publisher.publish(CONTROL, holdings_key(), body, deadline_s=10)
                if garbage:
                    await publisher.publish(CONTROL, holdings_key(), b"{garbage", deadline_s=10)
                await asyncio.sleep(0.5)

        task = asyncio.create_task(speak())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def streams(*arguments: str, url: str) -> subprocess.CompletedProcess[bytes]:
    return await asyncio.to_thread(finished, "streams", *arguments, more={"AMQP_URL": url})


async def test_every_stream_is_told_with_its_owner_and_what_waits(rabbit_url: str) -> None:
    async with speaking(rabbit_url, 11, 12, garbage=True):
        done = await streams("--json", url=rabbit_url)
    assert done.returncode == 1
    assert b"a message of holdings was not understood" in done.stderr
    report: dict[str, Any] = json.decode(done.stdout)
    rows = {row["stream"]: row for row in report["streams"]}
    assert {name: (row["host"], row["pid"]) for name, row in rows.items()} == {
        "bybit.spot.0": ("here", 11),
        "bybit.spot.1": ("here", 12),
        "bybit.spot.2": ("here", 11),
        "mexc.spot.0": (None, None),
    }
    assert (rows["mexc.spot.0"]["waiting"], rows["bybit.spot.0"]["waiting"]) == (5, 0)
    assert rows["bybit.spot.0"]["frames_per_s"] > 50
    assert (rows["bybit.spot.0"]["since_ns"], rows["bybit.spot.0"]["lag_ns"]) == (SINCE, 2_000_000)
    assert [one["streams"] for one in report["members"]] == [2, 1]


async def test_without_normalizers_it_says_so(rabbit_url: str) -> None:
    async with speaking(rabbit_url):
        done = await streams(url=rabbit_url)
    assert done.returncode == 1
    assert b"no normalizer was heard within 4.4 s: none runs on this broker" in done.stderr
    lines = done.stdout.decode().splitlines()
    assert lines[-1] == "4 streams, normalizers: none; without an owner: 4"
    assert lines[-2] == "mexc.spot.0 owner=nobody for=- frames/s=- lag=- waiting=5"


async def test_without_ingest_it_says_so(rabbit_url: str) -> None:
    done = await streams(url=rabbit_url)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no stream was announced within 4.4 s: no ingest runs on this broker" in done.stderr


def test_without_a_broker_it_says_so() -> None:
    port = free_ports(1)[0]
    done = finished("streams", more={"AMQP_URL": f"amqp://guest:guest@127.0.0.1:{port}/"})
    assert (done.returncode, done.stdout) == (1, b"")
    assert f"127.0.0.1:{port}" in done.stderr.decode()


async def test_watching_goes_on_until_it_is_stopped(rabbit_url: str) -> None:
    async with speaking(rabbit_url, 11):
        watching = await asyncio.create_subprocess_exec(
            *command("streams", "--watch", "--json"),
            cwd=ROOT,
            env=environment({"AMQP_URL": rabbit_url}),
            stdout=subprocess.PIPE,
        )
        assert watching.stdout is not None
        reports = [json.decode(await watching.stdout.readline()) for _ in range(3)]
        watching.send_signal(signal.SIGINT)
        assert await watching.wait() == 0
    assert all(len(report["streams"]) == 4 for report in reports)


async def test_watching_on_a_terminal_shows_a_table_and_leaves_it_clean(rabbit_url: str) -> None:
    def watch() -> tuple[str, int, bool]:
        values = {**os.environ, "AMQP_URL": rabbit_url}
        with on_terminal(command("streams", "--watch"), values, 24, 80) as terminal:
            before, shown = terminal.modes(), ""
            while "without an owner" not in shown:
                shown = plain(terminal.look(1.0))
                assert terminal.process.poll() is None, shown
            terminal.interrupt()
            while terminal.process.poll() is None:
                terminal.look()
            return shown, terminal.process.returncode, terminal.modes() == before

    async with speaking(rabbit_url, 11):
        shown, status, clean = await asyncio.to_thread(watch)
    assert "here:11" in shown
    assert "nobody" in shown
    assert (status, clean) == (0, True)
