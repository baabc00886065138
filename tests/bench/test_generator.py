"""The load generator, asked by a WebSocket client that is not ours."""

import asyncio
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import json
from websockets.asyncio.client import connect

from services.bench.measuring.frames import build, instrument_list
from tests.support.paths import ROOT

pytestmark = pytest.mark.e2e


class Generator:
    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.port = self.said()["port"]

    def tell(self, command: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.encode(command) + b"\n")
        self.process.stdin.flush()

    def said(self) -> Any:
        assert self.process.stdout is not None
        return json.decode(self.process.stdout.readline())


@pytest.fixture
def generator() -> Iterator[Generator]:
    command = [sys.executable, "-m", "services.bench.measuring.generator"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Generator(process)


async def test_it_sends_its_frames_in_order_and_goes_on_where_it_was(generator: Generator) -> None:
    async with connect(f"ws://127.0.0.1:{generator.port}/v5/public/linear", max_size=None) as socket:
        await socket.send('{"op":"subscribe","req_id":"7","args":["publicTrade.BTCUSDT"]}')
        answer = json.decode(await socket.recv())
        assert (answer["op"], answer["req_id"], answer["success"]) == ("subscribe", "7", True)
        received = []
        for rate in (2_000, 500):
            generator.tell({"rate": rate, "seconds": 0.5})
            received += [await socket.recv() for _ in range(rate // 2)]
            assert (await asyncio.to_thread(generator.said))["sent"] == rate // 2
    assert [str(data).encode() for data in received] == build(1_250)


async def test_a_client_that_reads_nothing_blocks_it_and_that_is_said(generator: Generator) -> None:
    async with connect(
        f"ws://127.0.0.1:{generator.port}/v5/public/linear", max_queue=1, close_timeout=0.1, compression=None
    ):
        generator.tell({"rate": 150_000, "seconds": 1.0})
        played = await asyncio.to_thread(generator.said)
    assert played["blocked_s"] > 0
    assert played["sent"] < 150_000


def test_it_lists_its_instruments_and_ends_with_its_input(generator: Generator) -> None:
    url = f"http://127.0.0.1:{generator.port}/v5/market/instruments-info?category=linear"
    with urllib.request.urlopen(url, timeout=60) as reply:
        assert reply.read() == instrument_list()
    assert generator.process.stdin is not None
    generator.process.stdin.close()
    assert generator.process.wait(60) == 0
