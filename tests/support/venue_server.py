"""A venue that does exactly what a test says: WebSocket conversations and REST replies on one port."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from aiohttp import WSMsgType, web
from msgspec import json

__all__ = ["Conversation", "Reply", "VenueServer", "acknowledge", "trade"]

LINGER_RESET = struct.pack("ii", 1, 0)


class Reply:
    """One REST reply. ``delay`` in seconds; ``drop`` closes the connection instead of answering."""

    def __init__(
        self, body: bytes = b"{}", status: int = 200, delay: float = 0.0, retry_after: str = "", *, drop: bool = False
    ) -> None:
        self.body = body
        self.status = status
        self.delay = delay
        self.retry_after = retry_after
        self.drop = drop


class Conversation:
    """The server's end of one WebSocket connection; ``number`` counts from 1."""

    def __init__(self, number: int, websocket: web.WebSocketResponse, transport: asyncio.Transport) -> None:
        self.number = number
        self.received: list[Any] = []
        self._websocket = websocket
        self._transport = transport

    async def receive(self) -> Any:
        """The client's next JSON message; raises ConnectionError when it is gone."""
        message = await self._websocket.receive()
        if message.type is not WSMsgType.TEXT:
            raise ConnectionError(f"the client sent {message.type.name}")
        decoded = json.decode(message.data)
        self.received.append(decoded)
        return decoded

    async def until_gone(self) -> None:
        """Take what comes until the client is gone."""
        try:
            while True:
                await self.receive()
        except ConnectionError:
            return

    async def send(self, message: str | bytes | dict[str, Any]) -> None:
        """One frame: text, or binary for bytes."""
        if isinstance(message, bytes):
            await self._websocket.send_bytes(message)
        else:
            await self._websocket.send_str(message if isinstance(message, str) else json.encode(message).decode())

    async def close(self, code: int, reason: str = "") -> None:
        """Close with a close frame."""
        await self._websocket.close(code=code, message=reason.encode())

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        self._transport.write(data)

    def deaf(self) -> None:
        """Read nothing any more, pings and close frames included."""
        self._transport.pause_reading()

    def finish(self) -> None:
        """End the TCP connection without a close frame."""
        self._transport.close()

    def reset(self) -> None:
        """RST instead of FIN."""
        if self._transport.is_closing():
            return
        handle = self._transport.get_extra_info("socket")
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
        self._transport.abort()


Script = Callable[[Conversation], Awaitable[None]]


class VenueServer:
    """``script`` is run for every connection; REST paths answer ``replies[path]`` in turn, the last one for ever.

    A refused handshake: ``refusals`` holds the HTTP statuses of the next ones.
    """

    def __init__(self, script: Script | None = None, replies: Mapping[str, Sequence[Reply]] | None = None) -> None:
        self.script = script
        self.replies = {path: list(each) for path, each in (replies or {}).items()}
        self.refusals: list[int] = []
        self.attempts = 0
        self.open = 0
        self.conversations: list[Conversation] = []
        self.requests: list[str] = []
        self.failures: list[BaseException] = []
        self.port = 0
        self._scripts: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None

    @property
    def websocket(self) -> str:
        """Base of its WebSocket URLs."""
        return f"ws://127.0.0.1:{self.port}"

    @property
    def rest(self) -> str:
        """Base of its REST URLs."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            for conversation in self.conversations:
                conversation.reset()
            for task in self._scripts:
                task.cancel()
            await self._runner.cleanup()
        if self.failures and error is None:
            raise self.failures[0]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() != "websocket":
            return await self._answer(request)
        self.attempts += 1
        if self.refusals:
            return web.Response(status=self.refusals.pop(0), text="no")
        websocket = web.WebSocketResponse(compress=False, max_msg_size=0, timeout=0.5)
        await websocket.prepare(request)
        transport = request.transport
        if self.script is None or not isinstance(transport, asyncio.Transport):
            return websocket
        conversation = Conversation(self.attempts, websocket, transport)
        self.conversations.append(conversation)
        self.open += 1
        self._remember(asyncio.current_task())
        try:
            await self.script(conversation)
        except ConnectionError:
            pass
        except Exception as failure:  # noqa: BLE001 - a mistake in the test's script is shown at its end
            self.failures.append(failure)
        finally:
            self.open -= 1
        return websocket

    def _remember(self, task: "asyncio.Task[Any] | None") -> None:
        if task is not None:
            self._scripts.add(task)
            task.add_done_callback(self._scripts.discard)

    async def _answer(self, request: web.Request) -> web.Response:
        self.requests.append(request.path_qs)
        replies = self.replies.get(request.path)
        if not replies:
            return web.Response(status=404, text="no such path")
        reply = replies[0] if len(replies) == 1 else replies.pop(0)
        await asyncio.sleep(reply.delay)
        if reply.drop and request.transport is not None:
            request.transport.abort()
        headers = {"Retry-After": reply.retry_after} if reply.retry_after else {}
        return web.Response(status=reply.status, body=reply.body, headers=headers)


async def acknowledge(conversation: Conversation, *, reject: str = "") -> list[str]:
    """Answer one Bybit subscription request; the topics that were asked for."""
    request = await conversation.receive()
    while request["op"] == "ping":
        request = await conversation.receive()
    topics = list(request["args"])
    refused = reject in topics
    await conversation.send(
        {
            "success": not refused,
            "ret_msg": f"error:handler not found,topic:{reject}" if refused else "",
            "conn_id": "c",
            "req_id": request["req_id"],
            "op": request["op"],
        }
    )
    return topics


def trade(symbol: str = "BTCUSDT", number: int = 1, padding: int = 0) -> str:
    """A Bybit trade frame; ``padding`` more characters make it as large as wanted."""
    item = {"T": 1_800_000_000_000 + number, "s": symbol, "S": "Buy", "v": "1", "p": "100", "i": f"t{number}"}
    frame: dict[str, Any] = {"topic": f"publicTrade.{symbol}", "type": "snapshot", "ts": 1_800_000_000_000}
    if padding:
        frame["padding"] = "x" * padding
    return json.encode({**frame, "data": [item]}).decode()
