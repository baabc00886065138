"""One WebSocket connection to a venue. The only module that knows the ``websockets`` library.

Messages are pushed to a sink as they come off the socket, synchronously: nothing downstream can hold up reading, and
no task is woken per message. Text is not decoded: an adapter wants bytes.

Nearly everything that a venue sends is a message in one frame, neither compressed nor masked (RFC 6455 section 5.2).
Those are cut out of what was read right here, for a tenth of what the library's parser takes. It gets every other
frame, and keeps the handshakes, pings, fragments, compression, errors and the state.
"""

import os
from asyncio import BufferedProtocol
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Self

from websockets.asyncio.client import ClientConnection, connect
from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.frames import Frame, Opcode
from websockets.protocol import OPEN, Event

from shared.errors import StreamClosed

__all__ = ["MessageSink", "WebSocketStream"]

MessageSink = Callable[[bytes, bool], None]
"""Takes a whole message and whether it was binary. If it raises, the connection ends."""

_TEXT, _BINARY, _CONT = Opcode.TEXT, Opcode.BINARY, Opcode.CONT
"""Bound once: looking up an enumeration's member costs as much as a short function (Python 3.11)."""

READ_BYTES: Final = 32 * 1024
"""So much is handled at once: some 130 messages of a busy stream. After a stall much more is there to be read."""

WHOLE_TEXT, WHOLE_BINARY = 0x81, 0x82
"""First byte of a message in one frame, without an extension."""
LONGER, HUGE = 126, 127
"""Lengths that say that the length follows, in two bytes or in eight."""

MAX_FRAGMENTS: Final = 10_000
CLOSE_TIMEOUT_S: Final = 1.0
NO_CLOSE_FRAME: Final = 1006
"""RFC 6455 section 7.4.1."""


def _ignore(data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
    """What comes after the stream was left."""
    del data, binary


class _PushConnection(ClientConnection, BufferedProtocol):
    """A connection that hands messages to a sink instead of queueing them for ``recv``.

    To the transport it is a buffered protocol, with or without TLS: whose buffer it is decides how much is read at
    once.
    """

    _binary: bool

    def __init__(self, protocol: ClientProtocol, **options: Any) -> None:  # noqa: ANN401 - the library's, passed on
        super().__init__(protocol, **options)
        self._early: list[tuple[bytes, bool]] = []
        self._fragments: list[bytes | bytearray | memoryview] = []
        self._ending = False
        self._room = memoryview(bytearray(READ_BYTES))
        self._limit = min(READ_BYTES, protocol.max_message_size or READ_BYTES)
        self._begun = b""
        """The beginning of a message in one frame."""
        self.sink: MessageSink = self._keep

    def listen(self, sink: MessageSink) -> None:
        """From now on to this sink, beginning with what came with the handshake's last packet."""
        early, self._early = self._early, []
        self.sink = sink
        try:
            for data, binary in early:
                sink(data, binary)
        except Exception as error:  # noqa: BLE001 - as asyncio does with what data_received() raises
            self.set_connection_exc(error)
            self.loop.call_exception_handler({"message": "a message sink raised", "exception": error})
            self.transport.abort()

    def process_event(self, event: Event) -> None:
        """Called by the library for the handshake response, then for each frame."""
        if not isinstance(event, Frame):
            super().process_event(event)
            return
        opcode = event.opcode
        if opcode is _TEXT or opcode is _BINARY:
            if event.fin:
                self.sink(bytes(event.data), opcode is _BINARY)
            else:
                self._fragments = [event.data]
                self._binary = opcode is _BINARY
        elif opcode is _CONT:
            self._fragments.append(event.data)
            if event.fin:
                message, self._fragments = b"".join(self._fragments), []
                self.sink(message, self._binary)
            elif len(self._fragments) > MAX_FRAGMENTS:
                self.set_connection_exc(ValueError(f"a message had more than {MAX_FRAGMENTS} fragments"))
                self.transport.abort()
        else:
            super().process_event(event)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - what suits the transport is too much
        """Called by the transport before it reads."""
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """Called by the transport when it has read so much."""
        self.data_received(bytes(self._room[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """What was read: messages in one frame go to the sink, and what else there is to the library."""
        if self._begun:
            data, self._begun = self._begun + data, b""
        at, end = 0, len(data)
        while at < end:
            if self._library_is_idle():
                at = self._messages(data, at)
                if at == end:
                    return
                behind = _end_of_control(data, at)
            else:
                behind = end
            self._library(data[at:behind])
            at = behind

    def eof_received(self) -> None:
        """The end, with the beginning of a frame that comes no more."""
        if self._begun:
            begun, self._begun = self._begun, b""
            self._library(begun)
        super().eof_received()

    def _library_is_idle(self) -> bool:
        """Whether the library is between two messages of an open connection."""
        protocol = self.protocol
        return protocol.state is OPEN and protocol.current_size is None and not protocol.reader.buffer

    def _messages(self, data: bytes, at: int) -> int:
        """Hand on whole messages from there on; where the first frame begins that is none, or the end.

        The beginning of a message is kept, unless it is too long to come with the next read.
        """
        end = len(data)
        while end - at >= 2:
            first, size, begin = data[at], data[at + 1], at + 2
            if first not in {WHOLE_TEXT, WHOLE_BINARY} or size >= HUGE:
                return at
            if size == LONGER:
                begin += 2
                size = int.from_bytes(data[at + 2 : begin], "big")
            if size > self._limit:
                return at
            behind = begin + size
            if behind > end:
                break
            self.sink(data[begin:behind], first == WHOLE_BINARY)
            at = behind
        self._begun = data[at:]
        return end

    def _library(self, data: bytes) -> None:
        """To the library. Once a closing handshake began, the TCP connection ends in bounded time.

        The library keeps its own close deadline for callers of ``recv`` and ``send`` only; a peer that sends a close
        frame and leaves the connection open would be waited for.
        """
        super().data_received(data)
        if self.close_deadline is not None and not self._ending:
            self._ending = True
            self.loop.call_at(self.close_deadline, self.transport.abort)

    def why(self) -> StreamClosed:
        """Why the connection ended: the close frame that came first, or what broke."""
        protocol = self.protocol
        sent = protocol.close_sent
        close = sent if sent is not None and not protocol.close_rcvd_then_sent else protocol.close_rcvd
        if close is not None:
            return StreamClosed(close.code, close.reason)
        broke = self.connection_exc or protocol.parser_exc
        return StreamClosed(NO_CLOSE_FRAME, "" if broke is None else f"{type(broke).__name__}: {broke}")

    def _keep(self, data: bytes, binary: bool) -> None:  # noqa: FBT001 - the shape of MessageSink
        self._early.append((data, binary))


class WebSocketStream:
    """A connection as an asynchronous context manager; messages go where :meth:`listen` says.

    ``max_size`` bounds a message in bytes (the venue's largest snapshot must fit; more ends the connection with 1009).
    Protocol pings go out every ``ping_interval_s`` and end the connection when unanswered for as long; they are what
    notices a half-open socket where the venue's silence could be legitimate. ``label`` stands for a URL that holds a
    secret in what a failure says.
    """

    def __init__(
        self,
        url: str,
        *,
        max_size: int,
        open_timeout_s: float,
        ping_interval_s: float | None,
        label: str | None = None,
    ) -> None:
        self._url = url
        self._label = label
        self._max_size = max_size
        self._open_timeout_s = open_timeout_s
        self._ping_interval_s = ping_interval_s
        self._connection: _PushConnection | None = None

    async def __aenter__(self) -> Self:
        """Connect; raises StreamClosed (code 1006) that says why it could not."""
        try:
            connection = await connect(
                self._url,
                create_connection=_PushConnection,
                max_size=self._max_size,
                open_timeout=self._open_timeout_s,
                ping_interval=self._ping_interval_s,
                ping_timeout=self._ping_interval_s,
                close_timeout=CLOSE_TIMEOUT_S,
                max_queue=None,
                proxy=None,
                compression="deflate",
            )
        except (OSError, ValueError, WebSocketException) as error:  # ValueError: what is no URL or host
            if self._label is not None:
                raise StreamClosed(NO_CLOSE_FRAME, f"connecting to {self._label} failed: {_kind(error)}") from None
            problem = f"connecting to {self._url} failed: {type(error).__name__}: {error}"
            raise StreamClosed(NO_CLOSE_FRAME, problem) from error
        if not isinstance(connection, _PushConnection):
            raise TypeError(f"websockets made a {type(connection).__name__}")
        self._connection = connection
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close politely for a second, then abort."""
        self.leave()
        try:
            await self._open.close()
        finally:
            self._open.transport.abort()

    def listen(self, sink: MessageSink) -> None:
        """Hand every message to ``sink``, those included that came before this call."""
        self._open.listen(sink)

    def leave(self) -> None:
        """Hand on nothing from now on."""
        self._open.sink = _ignore

    async def send(self, text: str) -> None:
        """Send one text message; raises StreamClosed."""
        try:
            await self._open.send(text)
        except WebSocketException as error:
            raise self._open.why() from error

    async def wait_closed(self) -> StreamClosed:
        """Wait until the connection has ended, whoever ended it; returns why."""
        await self._open.wait_closed()
        return self._open.why()

    def abort(self) -> None:
        """Drop the TCP connection now, without a closing handshake (the peer may be dead)."""
        self._open.transport.abort()

    @property
    def _open(self) -> _PushConnection:
        if self._connection is None:
            raise RuntimeError("the stream was used before it was entered")
        return self._connection


def _end_of_control(data: bytes, at: int) -> int:
    """Where a ping, pong or close ends that begins there; else the end: what it is the library will find out."""
    if len(data) - at >= 2 and data[at] & 0x88 == 0x88 and data[at + 1] < LONGER:
        return min(len(data), at + 2 + data[at + 1])
    return len(data)


def _kind(error: Exception) -> str:
    """What kind of failure, in words that hold nothing of the URL."""
    if isinstance(error, InvalidStatus):
        return f"InvalidStatus: {error.response.status_code}"
    number = error.errno if isinstance(error, OSError) else None
    return f"{type(error).__name__}: {os.strerror(number)}" if number and number > 0 else type(error).__name__
