"""A plain client for the simulator's sockets, and helpers for markets that a test drives itself."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import aiohttp
from websockets.asyncio.client import ClientConnection, connect

from services.simulator import SimulatorSettings, select
from services.simulator.engine import Market
from services.simulator.instruments import Instrument

Decoded = Any
"""A decoded frame: JSON of any shape, or bytes."""

START_NS = 1_800_000_000_000_000_000
SECOND_NS = 1_000_000_000
WITHIN_S = 60.0


def quick(exchange: str, product: str, *symbols: str) -> SimulatorSettings:
    """Settings with few instruments of one product and a lively market."""
    instruments = select(*symbols, exchange=exchange, product=product)
    return SimulatorSettings(rate=200.0, instruments=instruments)


def instrument(exchange: str, product: str, native_symbol: str) -> Instrument:
    (found,) = select(native_symbol, exchange=exchange, product=product)
    return found


def market(exchange: str, product: str, native_symbol: str, rate: float = 50.0, seed: int = 7) -> Market:
    return Market(instrument(exchange, product, native_symbol), seed, START_NS, rate)


def driven(one: Market, seconds: float, step_ns: int = 10_000_000) -> int:
    """Drive a market for a while; the time it has then."""
    now_ns = one.now_ns
    for _ in range(int(seconds * SECOND_NS) // step_ns):
        now_ns += step_ns
        one.step(now_ns)
    return now_ns


class Client:
    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    async def send(self, request: object) -> None:
        await self.socket.send(json.dumps(request))

    async def raw(self, within: float = WITHIN_S) -> str | bytes:
        async with asyncio.timeout(within):
            return await self.socket.recv()

    async def next(self, within: float = WITHIN_S) -> Decoded:
        """The next frame: decoded JSON (numbers with a point as decimals), or bytes."""
        frame = await self.raw(within)
        return json.loads(frame, parse_float=Decimal) if isinstance(frame, str) else frame

    async def until(self, wanted: Callable[[Any], object], within: float = WITHIN_S) -> Decoded:
        """The first frame that satisfies; the others are thrown away."""
        async with asyncio.timeout(within):
            while True:
                frame = await self.next(within)
                if wanted(frame):
                    return frame

    async def rest(self, quiet: float = 0.4) -> list[Any]:
        """Everything until nothing comes any more."""
        frames = []
        while True:
            try:
                frames.append(await self.next(quiet))
            except TimeoutError:
                return frames

    async def closed(self) -> int:
        """The close code, once it is closed."""
        async with asyncio.timeout(WITHIN_S):
            await self.socket.wait_closed()
        return self.socket.close_code or 0


@asynccontextmanager
async def client(url: str) -> AsyncIterator[Client]:
    async with connect(url, ping_interval=None, max_size=None, compression=None, close_timeout=1, proxy=None) as socket:
        yield Client(socket)


async def get(url: str) -> tuple[int, Any]:
    """Status and decoded body (text where it is no JSON)."""
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        text = await response.text()
        return response.status, json.loads(text, parse_float=Decimal) if "json" in response.content_type else text


async def post(url: str, body: object = None) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
        return response.status, await response.json()
