"""What the designs have in common: socket, bounded buffer, pydantic messages, file log, confirmed publish."""

import argparse
import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable
from decimal import Decimal
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import aio_pika
import orjson
from pydantic import BaseModel
from websockets.asyncio.client import connect

from services.bench.burst import topics
from tests.bench.designs.meter import Meter, micros

if TYPE_CHECKING:
    from aiormq.abc import ArgumentsType

__all__ = ["Item", "Publisher", "launch", "log", "parse"]

BUFFER_FRAMES: Final = 1_000
LOG_BYTES: Final = 64 * 1024 * 1024

log = logging.getLogger("performance_metrics")

Design = Callable[["asyncio.Queue[Item]", "Publisher", Meter], Awaitable[None]]


class Item(NamedTuple):
    """A frame in the buffer and when it came."""

    received: int
    data: str | bytes


class Level(BaseModel):
    """One level of a book."""

    price: Decimal
    size: Decimal


class Update(BaseModel):
    """The universal message of the gateway."""

    exchange: str
    symbol: str
    channel: str
    ts_exchange: int
    ts_received: float
    price: Decimal | None = None
    size: Decimal | None = None
    side: str | None = None
    bids: list[Level] = []
    asks: list[Level] = []


def parse(data: str | bytes) -> tuple[str, bytes]:
    """Routing key and body of a frame: JSON, a dictionary in the universal shape, a validated model, JSON again."""
    frame = orjson.loads(data)
    channel, _, symbol = frame["topic"].rpartition(".")
    universal: dict[str, Any] = {
        "exchange": "bybit",
        "symbol": symbol,
        "channel": channel,
        "ts_exchange": frame["ts"],
        "ts_received": time.time(),
    }
    payload = frame["data"]
    if isinstance(payload, list):
        universal |= {"price": payload[0]["p"], "size": payload[0]["v"], "side": payload[0]["S"]}
    else:
        universal |= {"bids": _levels(payload["b"]), "asks": _levels(payload["a"])}
    return f"{channel}.{symbol}", Update.model_validate(universal).model_dump_json().encode()


def _levels(pairs: list[list[str]]) -> list[dict[str, str]]:
    return [{"price": price, "size": size} for price, size in pairs]


class Publisher:
    """One message per frame, confirmed by the broker."""

    def __init__(self, exchange: aio_pika.abc.AbstractExchange, meter: Meter) -> None:
        self._exchange = exchange
        self._meter = meter

    async def publish(self, key: str, body: bytes) -> None:
        """Returns when the broker has it."""
        started = time.perf_counter_ns()
        await self._exchange.publish(aio_pika.Message(body), routing_key=key)
        took = micros(started)
        self._meter.net_write.append(took)
        log.info(
            "PUBLISHER | batch_size=1 | pool_wait=0.0000s | net_write=%.4fs | cb_state=CLOSED | cb_failures=0",
            took / 1e6,
        )


async def _read(url: str, buffer: "asyncio.Queue[Item]", meter: Meter) -> None:
    async with connect(url, compression=None) as socket:
        await socket.send(orjson.dumps({"op": "subscribe", "args": topics(), "req_id": "1"}).decode())
        await socket.recv()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        async for data in socket:
            received = meter.received()
            try:
                buffer.put_nowait(Item(received, data))
            except asyncio.QueueFull:
                meter.drop()
                log.warning("BUFFER | exchange=bybit | symbol=BTC/USDT | qsize=%d | dropped=True", buffer.qsize())


async def _run(arguments: argparse.Namespace, design: Design, meter: Meter) -> None:
    connection = await aio_pika.connect(arguments.amqp)
    channel = await connection.channel()
    exchange = await channel.declare_exchange("bench.market", aio_pika.ExchangeType.TOPIC)
    bounds: ArgumentsType = {"x-max-length": 1_000, "x-overflow": "drop-head"}
    await (await channel.declare_queue("bench.sink", durable=True, arguments=bounds)).bind(exchange, "#")
    buffer: asyncio.Queue[Item] = asyncio.Queue(BUFFER_FRAMES)
    meter.watch()
    await asyncio.gather(
        _read(arguments.websocket, buffer, meter), design(buffer, Publisher(exchange, meter), meter), meter.sample()
    )


def launch(design: Design) -> None:
    """Run a design as its own process: says ``ready``, and its report when standard input has a line or ends."""
    parser = argparse.ArgumentParser()
    for name in ("--websocket", "--amqp"):
        parser.add_argument(name, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--memory-mib", type=float, required=True)
    arguments = parser.parse_args()
    handler = RotatingFileHandler(arguments.log, maxBytes=LOG_BYTES, backupCount=1)
    handler.setFormatter(logging.Formatter("%(asctime)s | %(levelname)-7s | %(name)s | %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    asyncio.run(_run(arguments, design, Meter(arguments.memory_mib)))
