"""Private REST calls: signed when they leave, sent as signed, and nothing of the secrets in what comes of them."""

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from shared.accounts.base import Call, SignedRequest
from shared.errors import RequestFailed, StreamClosed
from shared.exchanges.base import Limits
from shared.transport.http import RestClient
from shared.transport.websocket import WebSocketStream

pytestmark = pytest.mark.integration

KEY, SIGNATURE = "planted-key", "planted-signature"
LIMITS = Limits(1, 1, 1.0, rest_weight=100, rest_interval_s=1.0, connections_per_interval=1, connection_interval_s=1.0)


class Seen:
    """What a server was asked, and what it answers."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answer: Callable[[web.Request], Awaitable[web.StreamResponse]] = self.fine
        self.base = ""

    async def fine(self, request: web.Request) -> web.StreamResponse:
        del request
        return web.Response(body=b'{"fine":true}')

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.requests.append((request.method, request.raw_path, dict(request.headers), body))
        return await self.answer(request)


@asynccontextmanager
async def server() -> AsyncIterator[Seen]:
    seen = Seen()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", seen.handle)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    seen.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield seen
    finally:
        await runner.cleanup()


def signed(base: str, call: Call) -> SignedRequest:
    query = f"symbol=BTCUSDT&list=%5B%22A%22%2C%22B%22%5D&timestamp=1&signature={SIGNATURE}"
    return SignedRequest(call, f"{base}{call.path}?{query}", {"X-KEY": KEY}, call.body)


CALL = Call("GET", "/orders", (("symbol", "BTCUSDT"), ("list", '["A","B"]')))


async def test_url_headers_and_body_arrive_as_they_were_signed() -> None:
    async with server() as seen, RestClient(LIMITS) as client:
        call = Call("POST", "/key", CALL.parameters, body='{"a":"\u00e9"}')
        await client.send(call, lambda: signed(seen.base, call))
    method, path, headers, body = seen.requests[0]
    assert (method, body.decode()) == ("POST", '{"a":"\u00e9"}')
    assert path == f"/key?symbol=BTCUSDT&list=%5B%22A%22%2C%22B%22%5D&timestamp=1&signature={SIGNATURE}"
    assert headers["X-KEY"] == KEY


async def test_the_reply_names_the_call_and_not_how_it_was_signed() -> None:
    async with server() as seen, RestClient(LIMITS) as client:
        reply = await client.send(CALL, lambda: signed(seen.base, CALL))
    assert reply.url == f"{seen.base}/orders?symbol=BTCUSDT&list=%5B%22A%22%2C%22B%22%5D"
    assert (reply.status, reply.body) == (200, b'{"fine":true}')


async def test_a_call_is_signed_when_its_turn_has_come() -> None:
    """What waited for the rate limit would be too old."""
    narrow = Limits(1, 1, 1.0, rest_weight=1, rest_interval_s=0.2, connections_per_interval=1, connection_interval_s=1)
    times: list[float] = []
    async with server() as seen, RestClient(narrow) as client:
        loop = asyncio.get_running_loop()

        def sign() -> SignedRequest:
            times.append(loop.time() - asked)
            return signed(seen.base, CALL)

        asked = loop.time()
        await asyncio.gather(*(client.send(CALL, sign) for _ in range(3)))
    assert times[2] > 0.3


async def drop(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def elsewhere(request: web.Request) -> web.StreamResponse:
    raise web.HTTPFound(f"http://localhost:1/{SIGNATURE}")


async def slow(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(5)
    return web.Response()


async def busy(request: web.Request) -> web.StreamResponse:
    return web.Response(status=500, text=f"{KEY} {SIGNATURE}")


@pytest.mark.parametrize("answer", [drop, slow, busy])
async def test_a_failure_shows_neither_key_nor_signature(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> None:
    async with server() as seen, RestClient(LIMITS, timeout_s=0.3) as client:
        seen.answer = answer
        with pytest.raises(RequestFailed) as caught:
            await client.send(CALL, lambda: signed(seen.base, CALL))
        shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caught.value.url
    assert f"GET {seen.base}/orders" in str(caught.value)
    assert KEY not in shown
    assert SIGNATURE not in shown


@pytest.mark.parametrize("base", ["http://127.0.0.1:1", "http://no-such-host.invalid", "nonsense"])
async def test_nobody_there_shows_nothing_either(base: str) -> None:
    async with RestClient(LIMITS, timeout_s=2.0) as client:
        with pytest.raises(RequestFailed) as caught:
            await client.send(CALL, lambda: signed(base, CALL))
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + caught.value.url
    assert SIGNATURE not in shown
    assert KEY not in shown


async def test_a_redirection_is_an_answer_and_is_not_followed() -> None:
    async with server() as seen, RestClient(LIMITS) as client:
        seen.answer = elsewhere
        reply = await client.send(CALL, lambda: signed(seen.base, CALL))
    assert reply.status == 302
    assert len(seen.requests) == 1


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("ws://127.0.0.1:1/ws?listenKey={}", "Connection refused"),
        ("ws://127.0.0.1:{port}/ws/{}", "InvalidStatus: 403"),
        ("nonsense://{}", "InvalidURI"),
        ("ws://no-such-host.invalid/{}", "gaierror"),
    ],
)
async def test_a_socket_that_cannot_be_opened_is_called_by_its_label(url: str, problem: str) -> None:
    async with server() as seen:

        async def forbidden(request: web.Request) -> web.StreamResponse:
            return web.Response(status=403, text=request.raw_path)

        seen.answer = forbidden
        secret = url.format(SIGNATURE, port=seen.base.rpartition(":")[2])
        socket = WebSocketStream(secret, max_size=1000, open_timeout_s=2.0, ping_interval_s=None, label="the label")
        with pytest.raises(StreamClosed) as caught:
            await socket.__aenter__()
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert "connecting to the label failed" in shown
    assert problem in shown
    assert SIGNATURE not in shown
