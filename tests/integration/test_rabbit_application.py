"""FastStream's application around a service, over real HTTP."""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, MutableMapping
from typing import Any
from urllib.parse import unquote

import aiohttp
import pytest

from shared.bus.rabbit import RabbitBus
from shared.bus.rabbit.application import Description, Traffic, build_application, serve
from shared.control import ControlMessage
from shared.errors import BrokerUnavailable
from shared.messages import AnyMessage
from shared.topology import CONTROL, MARKET, RAW
from tests.contract.bus_conformance import DEADLINE, next_of

pytestmark = pytest.mark.integration

Main = Callable[[], Coroutine[Any, Any, None]]


async def hello(scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@contextlib.asynccontextmanager
async def service(bus: RabbitBus, main: Main, stop: asyncio.Event) -> AsyncIterator[tuple[str, "asyncio.Task[None]"]]:
    description = Description(
        "normalizer",
        "1.2.3",
        "Raw frames in, canonical messages out.",
        publishes=[Traffic(MARKET, "*.*.*", "Canonical messages", list[AnyMessage])],
        consumes=[
            Traffic(RAW, "market.#", "Envelopes in msgpack"),
            Traffic(CONTROL, "streams", "Announcements", ControlMessage),
        ],
    )
    app = build_application(bus, main, stop, description, [("/livez", hello)])
    port = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(app, "127.0.0.1", 0, stop, on_listening=port.set_result))
    try:
        yield f"http://127.0.0.1:{await port}", task
    finally:
        stop.set()
        await asyncio.wait((task,))


async def get(url: str) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.read()


async def test_service_runs_drains_and_answers_until_then(rabbit_url: str) -> None:
    bus, stop = RabbitBus(rabbit_url, "test"), asyncio.Event()
    ready, may_end = asyncio.Event(), asyncio.Event()
    published_at_the_end: list[bytes] = []

    async def main() -> None:
        async with bus:
            tap = await bus.subscribe(MARKET, ["#"])
            ready.set()
            await stop.wait()
            await may_end.wait()
            publisher = await bus.publisher()
            await publisher.publish(MARKET, "t.b.X", b"drained", deadline_s=DEADLINE)
            published_at_the_end.extend(delivery.body for delivery in await next_of(tap, 1))

    async with service(bus, main, stop) as (url, serving):
        await asyncio.wait_for(ready.wait(), 60)
        assert bus.connected
        assert await get(f"{url}/livez") == (200, b"hello")
        assert (await get(f"{url}/nothing"))[0] == 404
        stop.set()
        assert await get(f"{url}/livez") == (200, b"hello")
        may_end.set()
        await asyncio.wait_for(serving, 60)
    assert published_at_the_end == [b"drained"]
    assert not bus.connected


async def test_http_is_there_without_a_broker(free_port: int) -> None:
    bus, stop = RabbitBus(f"amqp://127.0.0.1:{free_port}/", "test"), asyncio.Event()
    refused = asyncio.Event()

    async def main() -> None:
        with pytest.raises(BrokerUnavailable):
            await bus.__aenter__()
        refused.set()
        await stop.wait()

    async with service(bus, main, stop) as (url, serving):
        await asyncio.wait_for(refused.wait(), 60)
        assert await get(f"{url}/livez") == (200, b"hello")
        stop.set()
        await asyncio.wait_for(serving, 60)


async def test_failure_of_the_service_ends_the_server_and_is_raised(rabbit_url: str) -> None:
    async def main() -> None:
        raise LookupError("a defect")

    async with service(RabbitBus(rabbit_url, "test"), main, asyncio.Event()) as (_, serving):
        with pytest.raises(LookupError, match="a defect"):
            await asyncio.wait_for(serving, 60)


async def test_taken_port_is_an_oserror(rabbit_url: str) -> None:
    bus, stop = RabbitBus(rabbit_url, "test"), asyncio.Event()

    async def main() -> None:
        await stop.wait()

    async with service(bus, main, stop) as (url, _):
        app = build_application(RabbitBus(rabbit_url, "other"), main, stop, Description("t", "1", "d"))
        with pytest.raises(OSError, match="in use"):
            await serve(app, "127.0.0.1", int(url.rpartition(":")[2]), asyncio.Event())


async def test_asyncapi_describes_the_traffic(rabbit_url: str) -> None:
    bus, stop = RabbitBus(rabbit_url, "test"), asyncio.Event()

    async def main() -> None:
        await stop.wait()

    async with service(bus, main, stop) as (url, _):
        status, page = await get(f"{url}/asyncapi")
        assert (status, b"normalizer" in page) == (200, True)
        status, text = await get(f"{url}/asyncapi.json")
    assert status == 200
    assert b"guest" not in text
    found = json.loads(text)
    assert (found["info"]["title"], found["info"]["version"]) == ("normalizer", "1.2.3")
    assert {channel["address"] for channel in found["channels"].values()} == {"*.*.*", "market.#", "streams"}
    assert {operation["action"] for operation in found["operations"].values()} == {"send", "receive"}
    schemas = found["components"]["schemas"]
    assert {"Trade", "Announcement", "ResyncRequest"} <= set(schemas)
    assert "price" in schemas["Trade"]["properties"]
    pointers = set(re.findall(r'"\$ref": ?"#/components/schemas/([^"]+)"', text.decode()))
    assert {unquote(pointer) for pointer in pointers} <= set(schemas)
    assert {"Trade", "Announcement"} <= pointers
