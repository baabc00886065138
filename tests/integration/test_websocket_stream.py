"""The WebSocket transport against servers that behave, and such that don't."""

import asyncio
import base64
import hashlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from shared.errors import StreamClosed
from shared.transport.websocket import MAX_FRAGMENTS, READ_BYTES, WebSocketStream
from tests.support.eventually import eventually
from tests.support.venue_server import Conversation, VenueServer

pytestmark = pytest.mark.integration

CLOSE_1001 = b"\x88\x02\x03\xe9"
MEBIBYTE = 1024 * 1024


def stream(url: str, *, max_size: int = 32 * MEBIBYTE, ping_interval_s: float | None = None) -> WebSocketStream:
    return WebSocketStream(url, max_size=max_size, open_timeout_s=2.0, ping_interval_s=ping_interval_s)


async def ended(socket: WebSocketStream) -> StreamClosed:
    async with asyncio.timeout(60):
        return await socket.wait_closed()


async def received(script: Callable[[Conversation], Awaitable[None]], count: int) -> list[tuple[bytes, bool]]:
    """The first messages of a conversation."""
    messages: list[tuple[bytes, bool]] = []
    async with VenueServer(script) as server, stream(server.websocket) as socket:
        socket.listen(lambda data, binary: messages.append((data, binary)))
        await eventually(lambda: len(messages) >= count, "the messages came")
    return messages


async def test_text_and_binary_come_as_bytes() -> None:
    async def script(one: Conversation) -> None:
        await one.send("grün")
        await one.send(b"\x00\xff")
        await one.until_gone()

    assert await received(script, 2) == [("grün".encode(), False), (b"\x00\xff", True)]


async def test_fragments_are_one_message_and_control_frames_between_them_none() -> None:
    async def script(one: Conversation) -> None:
        one.raw(b"\x02\x02ab" + b"\x89\x01p" + b"\x00\x01c" + b"\x80\x02de")
        one.raw(b"\x81\x01z")
        await one.until_gone()

    assert await received(script, 2) == [(b"abcde", True), (b"z", False)]


async def test_a_message_in_too_many_fragments_ends_the_connection() -> None:
    async def script(one: Conversation) -> None:
        one.raw(b"\x01\x00" + b"\x00\x00" * (MAX_FRAGMENTS + 10))
        await one.until_gone()

    async with VenueServer(script) as server, stream(server.websocket) as socket:
        socket.listen(lambda _data, _binary: None)
        why = await ended(socket)
    assert why.code == 1006
    assert "fragments" in why.reason


def frame(first: int, payload: bytes) -> bytes:
    """RFC 6455 section 5.2, unmasked."""
    size = len(payload)
    if size < 126:
        return bytes((first, size)) + payload
    return bytes((first, 126)) + size.to_bytes(2, "big") + payload if size < 65_536 else long_frame(first, payload)


def long_frame(first: int, payload: bytes) -> bytes:
    return bytes((first, 127)) + len(payload).to_bytes(8, "big") + payload


@pytest.mark.parametrize("seed", range(6))
async def test_messages_are_whole_and_in_order_however_they_are_cut(seed: int) -> None:
    chance = random.Random(seed)
    expected: list[tuple[bytes, bool]] = []
    wire = b""
    for _ in range(300):
        payload = chance.randbytes(chance.choice((0, 1, 125, 126, 127, 300, 4_000, READ_BYTES, READ_BYTES + 1, 70_000)))
        binary = chance.random() < 0.3
        opcode = 2 if binary else 1
        match chance.choice(("whole", "whole", "whole", "ping", "fragments", "long")):
            case "whole":
                wire += frame(0x80 | opcode, payload)
            case "long":
                wire += long_frame(0x80 | opcode, payload)
            case "fragments":
                half = len(payload) // 2
                wire += frame(opcode, payload[:half]) + frame(0x8A, b"between") + frame(0x80, payload[half:])
            case "ping":
                wire += frame(0x89, payload[:125])
                continue
        expected.append((payload, binary))

    async def script(one: Conversation) -> None:
        at = 0
        while at < len(wire):
            behind = at + chance.choice((1, 2, 3, 50, 5_000, 200_000))
            one.raw(wire[at:behind])
            await asyncio.sleep(0)
            at = behind
        await one.until_gone()

    assert await received(script, len(expected)) == expected


@asynccontextmanager
async def eager_server() -> AsyncIterator[int]:
    """Sends two messages in the same packet as the handshake's answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        key = next(line for line in request.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key:"))
        token = key.split(b":", 1)[1].strip() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(token).digest())  # noqa: S324 - RFC 6455 says so
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        writer.write(head + b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n" + b"\x81\x02hi" + b"\x82\x01!")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def test_what_comes_with_the_handshake_waits_for_the_listener() -> None:
    messages: list[bytes] = []
    async with eager_server() as port, stream(f"ws://127.0.0.1:{port}/") as socket:
        socket.listen(lambda data, _: messages.append(data))
        await eventually(lambda: messages == [b"hi", b"!"], "both messages came, in order")


@pytest.mark.parametrize("code", [1000, 1001, 1008, 1012])
async def test_a_close_frame_says_why(code: int) -> None:
    async with VenueServer(lambda one: one.close(code, "maintenance")) as server, stream(server.websocket) as socket:
        socket.listen(lambda _data, _binary: None)
        why = await ended(socket)
    assert (why.code, why.reason) == (code, "maintenance")


async def test_a_reset_is_1006_and_says_what_broke() -> None:
    async def script(one: Conversation) -> None:
        one.reset()
        await one.until_gone()

    async with VenueServer(script) as server, stream(server.websocket) as socket:
        socket.listen(lambda _data, _binary: None)
        why = await ended(socket)
    assert why.code == 1006
    assert "Error" in why.reason


async def test_a_close_frame_on_a_connection_that_stays_open_ends_it() -> None:
    async def script(one: Conversation) -> None:
        one.raw(CLOSE_1001)
        one.deaf()
        await asyncio.Event().wait()

    async with VenueServer(script) as server, stream(server.websocket) as socket:
        socket.listen(lambda _data, _binary: None)
        why = await ended(socket)
    assert why.code == 1001


async def test_a_backlog_lets_others_have_their_turn() -> None:
    """However much waits in the socket, one turn of the loop handles no more than one read."""
    frame, count = b"\x82\x78" + bytes(0x78), 20_000

    async def script(one: Conversation) -> None:
        await one.receive()
        one.raw(frame * count)
        await one.until_gone()

    turns = [0]

    async def take_turns() -> None:
        while sum(turns) < count * len(frame):
            turns.append(0)
            await asyncio.sleep(0)

    def sink(data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
        assert binary
        turns[-1] += len(data) + 2

    async with VenueServer(script) as server, stream(server.websocket) as socket:
        socket.listen(sink)
        await socket.send("{}")
        async with asyncio.timeout(60):
            await take_turns()
    assert 0 < max(turns) <= READ_BYTES + len(frame)


@pytest.mark.parametrize("size", [5_000_000, 8 * MEBIBYTE])
async def test_large_messages_pass(size: int) -> None:
    async def script(one: Conversation) -> None:
        await one.send("x" * size)
        await one.until_gone()

    ((data, binary),) = await received(script, 1)
    assert (len(data), binary) == (size, False)


@pytest.mark.parametrize("deaf", [False, True])
async def test_a_message_over_the_limit_ends_the_connection_with_1009(*, deaf: bool) -> None:
    async def script(one: Conversation) -> None:
        await one.send("x" * 2_000_000)
        if deaf:
            one.deaf()
            await asyncio.Event().wait()
        await one.until_gone()

    async with VenueServer(script) as server, stream(server.websocket, max_size=MEBIBYTE) as socket:
        socket.listen(lambda _data, _binary: None)
        why = await ended(socket)
    assert why.code == 1009
    assert "2000000" in why.reason


async def test_a_peer_that_answers_no_ping_is_given_up() -> None:
    async def script(one: Conversation) -> None:
        one.deaf()
        await asyncio.Event().wait()

    async with VenueServer(script) as server, stream(server.websocket, ping_interval_s=0.2) as socket:
        socket.listen(lambda _data, _binary: None)
        why = await ended(socket)
    assert why.code == 1011
    assert "ping" in why.reason


async def test_a_refused_handshake_says_the_status() -> None:
    async with VenueServer() as server:
        server.refusals.append(403)
        with pytest.raises(StreamClosed, match="403"):
            async with stream(server.websocket):
                pass


@pytest.mark.parametrize("url", ["ws://127.0.0.1:1/", "ws://no-such-host.invalid/", "ws://[::1", "ws://a..b/"])
async def test_what_cannot_be_reached_is_a_closed_stream(url: str) -> None:
    with pytest.raises(StreamClosed) as caught:
        async with stream(url):
            pass
    assert caught.value.code == 1006


async def test_a_sink_that_raises_ends_the_connection_and_is_named() -> None:
    async def script(one: Conversation) -> None:
        await one.send("x")
        await one.until_gone()

    def sink(data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
        raise LookupError(f"cannot take {data!r}, binary {binary}")

    problems: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: problems.append(str(context["exception"])))
    async with VenueServer(script) as server, stream(server.websocket) as socket:
        socket.listen(sink)
        why = await ended(socket)
    assert "LookupError: cannot take b'x'" in why.reason
    assert problems == ["cannot take b'x', binary False"]


async def test_nothing_is_handed_on_after_leaving() -> None:
    go = asyncio.Event()

    async def script(one: Conversation) -> None:
        await one.send("before")
        await go.wait()
        await one.send("after")
        await one.close(1000)

    messages: list[bytes] = []
    async with VenueServer(script) as server, stream(server.websocket) as socket:
        socket.listen(lambda data, _: messages.append(data))
        await eventually(lambda: messages, "the first message came")
        socket.leave()
        go.set()
        await ended(socket)
    assert messages == [b"before"]


async def test_sending_on_a_closed_connection_says_why_it_closed() -> None:
    async with VenueServer(lambda one: one.close(1012, "restart")) as server, stream(server.websocket) as socket:
        socket.listen(lambda _data, _binary: None)
        await ended(socket)
        with pytest.raises(StreamClosed, match="1012 restart"):
            await socket.send("hello")
