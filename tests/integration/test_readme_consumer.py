"""The consumer that README shows, as it stands there."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from shared.bus.rabbit import RabbitBus
from shared.messages import Trade, encode_messages
from shared.topology import MARKET
from tests.support.paths import ROOT

pytestmark = pytest.mark.integration

KEY = "trade.bybit.BTC/USDT"
TRADES = 5


def code() -> str:
    """The first block of Python of the chapter."""
    _, _, chapter = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Consume\n")
    _, _, block = chapter.partition("```python\n")
    return block.partition("```\n")[0]


def body(number: int, symbol: str = "BTC/USDT") -> bytes:
    return encode_messages(
        [Trade("bybit", symbol, "BTCUSDT", None, 1, 2, "bybit.spot.0", 7, number, 0, "id", f"{number}.5", "2", "buy")]
    )


@pytest.fixture
async def bus(rabbit_url: str) -> AsyncIterator[RabbitBus]:
    async with RabbitBus(rabbit_url, "test") as bus:
        yield bus


async def test_it_prints_each_trade_once(bus: RabbitBus, rabbit_url: str, tmp_path: Path) -> None:
    file = tmp_path / "consumer.py"
    file.write_text(code())
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-u",
        str(file),
        env={**os.environ, "AMQP_URL": rabbit_url},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    publisher = await bus.publisher()

    async def publish() -> None:
        """Every trade comes again, with the one before it, and on another key where it counts for itself."""
        number = 0
        while True:
            number += 1
            for key, again in ((KEY, number), (KEY, max(1, number - 1)), (KEY, number), ("quote.bybit.x", number)):
                await publisher.publish(MARKET, key, body(again), deadline_s=10)
            await asyncio.sleep(0.05)

    publishing = asyncio.create_task(publish())
    try:
        async with asyncio.timeout(60):
            lines = [(await process.stdout.readline()).decode().split() for _ in range(TRADES)]
    finally:
        publishing.cancel()
        process.kill()
        await process.wait()
        await asyncio.gather(publishing, return_exceptions=True)
    first = float(lines[0][-1])
    assert lines == [["BTC/USDT", "buy", "2", f"{first + number}"] for number in range(TRADES)]
