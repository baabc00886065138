"""One WebSocket connection to a venue. The only module that knows the ``websockets`` library.

Messages are pushed to a sink as they come off the socket, synchronously: nothing downstream can hold up reading, and
no task is woken per message. Text is not decoded: an adapter wants bytes.
"""

import asyncio
import ssl
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, InvalidURI, WebSocketException
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.protocol import Event, State

from shared.errors import StreamClosed

__all__ = ["MessageSink", "WebSocketStream"]

MessageSink = Callable[[bytes, bool], None]
"""Takes a whole message and whether it was binary. It must not raise."""

MAX_FRAGMENTS: Final = 10_000


def _ignore(data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
    """What comes after the stream was left."""
    del data, binary


class _PushConnection(ClientConnection):
    """A connection that hands messages to a sink instead of queueing them for ``recv``."""

    sink: MessageSink = staticmethod(_ignore)
    _fragments: list[bytes | bytearray | memoryview]
    _binary: bool

    def process_event(self, event: Event) -> None:
        """Called by the library for the handshake response, then for each frame."""
        if isinstance(event, Response) or not isinstance(event, Frame):
            super().process_event(event)
            return
        opcode = event.opcode
        if opcode is Opcode.TEXT or opcode is Opcode.BINARY:
            if event.fin:
                self.sink(bytes(event.data), opcode is Opcode.BINARY)
            else:
                self._fragments = [event.data]
                self._binary = opcode is Opcode.BINARY
        elif opcode is Opcode.CONT:
            self._fragments.append(event.data)
            if event.fin:
                self.sink(b"".join(self._fragments), self._binary)
                self._fragments = []
            elif len(self._fragments) > MAX_FRAGMENTS:
                self.transport.abort()
        else:
            super().process_event(event)


class WebSocketStream:
    """A connection as an asynchronous context manager.

    ``max_size`` bounds a message in bytes (the venue's largest snapshot must fit; more ends the connection with 1009).
    Protocol pings go out every ``ping_interval_s`` and end the connection when unanswered for as long; they are what
    notices a half-open socket where the venue's silence could be legitimate.
    """

    def __init__(
        self, url: str, sink: MessageSink, *, max_size: int, open_timeout_s: float, ping_interval_s: float | None
    ) -> None:
        class Connection(_PushConnection):
            pass

        Connection.sink = staticmethod(sink)  # on the class: data may come with the handshake's last packet
        self._url = url
        self._connect = connect(
            url,
            create_connection=Connection,
            max_size=max_size,
            open_timeout=open_timeout_s,
            ping_interval=ping_interval_s,
            ping_timeout=ping_interval_s,
            close_timeout=1.0,
            max_queue=None,
            proxy=None,
            compression="deflate",
        )
        self._connection: _PushConnection | None = None

    async def __aenter__(self) -> Self:
        """Connect; raises StreamClosed (code 1006) that says why it could not."""
        try:
            connection = await self._connect
        except (OSError, TimeoutError, InvalidHandshake, InvalidURI, WebSocketException, ssl.SSLError) as error:
            raise StreamClosed(1006, f"connecting to {self._url} failed: {type(error).__name__}: {error}") from error
        if not isinstance(connection, _PushConnection):
            raise TypeError(f"websockets made a {type(connection).__name__}")
        self._connection = connection
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close politely for a second, then abort."""
        connection = self._open
        connection.sink = _ignore
        try:
            async with asyncio.timeout(1.5):
                await connection.close()
        except TimeoutError:
            connection.transport.abort()

    async def send(self, text: str) -> None:
        """Send one text message; raises StreamClosed."""
        try:
            await self._open.send(text)
        except WebSocketException as error:
            raise self._closed(str(error)) from error

    async def wait_closed(self) -> StreamClosed:
        """Wait until the connection has ended, whoever ended it; returns why."""
        await self._open.wait_closed()
        return self._closed("")

    def abort(self) -> None:
        """Drop the TCP connection now, without a closing handshake (the peer may be dead)."""
        self._open.transport.abort()

    @property
    def is_open(self) -> bool:
        """Whether messages may still come."""
        return self._open.state is State.OPEN

    @property
    def _open(self) -> _PushConnection:
        if self._connection is None:
            raise RuntimeError("the stream was used before it was entered")
        return self._connection

    def _closed(self, detail: str) -> StreamClosed:
        connection = self._open
        return StreamClosed(connection.close_code or 1006, connection.close_reason or detail)
