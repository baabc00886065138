"""The short way for frames that come and go by the thousand: on aiormq's connection, past aiormq.

aiormq reads each frame in three coroutine steps, makes objects of it, and puts it through two queues: 50 µs for a
delivery, 10 for a confirm. Here bytes are looked at as they arrive. Whole frames on a channel that has a *taker* go
there at once; everything else goes on to aiormq, which keeps what it is good at: opening, closing, requests and their
answers, heartbeats. What a taker is given is ahead of what aiormq reads, never behind it: when a request is answered,
every frame in front of the answer has been taken.
"""

import asyncio
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import WeakKeyDictionary

from aio_pika import RobustConnection
from aiormq.connection import TransportFactory
from aiormq.exceptions import AMQPConnectionError

if TYPE_CHECKING:
    import aiormq
    from aiormq.abc import AbstractConnection
    from yarl import URL

__all__ = ["BODY", "HEADER", "METHOD", "FrameTap", "Lane", "LaneConnection", "Taker"]

METHOD: Final = 1
HEADER: Final = 2
BODY: Final = 3
HEARTBEAT: Final = 8
"""Kinds of frames (AMQP 0-9-1 section 4.2.3)."""

KINDS: Final = frozenset({METHOD, HEADER, BODY, HEARTBEAT})
HEAD: Final = Struct(">BHI")
AROUND: Final = HEAD.size + 1
"""Bytes of a frame around its payload."""

SIGN_OF_LIFE: Final = HEAD.pack(HEARTBEAT, 0, 0) + b"\xce"
SIGN_EVERY_S: Final = 1.0
"""A broker that sends frames sends no heartbeats: aiormq is told of those that it doesn't see."""


CONGESTED_BYTES: Final = 64 * 1024
"""Where asyncio's transports begin to hold writers up, too."""


class Taker(Protocol):
    """Takes the frames of one channel. Must not raise: the connection would end."""

    def take(self, kind: int, payload: bytes) -> bool:
        """A frame; False leaves it to aiormq."""
        ...


class FrameTap(asyncio.StreamReader):
    """What aiormq reads from: without the frames that are taken before."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self.takers: dict[int, Taker] = {}
        self._time = loop.time
        self._signed = loop.time()
        self._rest = b""
        self._aligned = True

    def feed_data(self, data: bytes) -> None:  # type: ignore[override]  # what a transport gives
        """Bytes from the socket."""
        if not self._aligned:
            super().feed_data(data)
            return
        buffer = self._rest + data if self._rest else data
        left: list[bytes] = []
        at = behind_taken = 0
        while len(buffer) - at >= AROUND:
            kind, channel, size = HEAD.unpack_from(buffer, at)
            if kind not in KINDS:  # no AMQP, or the answer of a broker of another version: aiormq says so
                self._aligned = False
                at = len(buffer)
                break
            end = at + size + AROUND
            if end > len(buffer):
                break
            taker = self.takers.get(channel)
            if taker is not None and taker.take(kind, buffer[at + HEAD.size : end - 1]):
                left.append(buffer[behind_taken:at])
                behind_taken = end
            at = end
        if behind_taken:
            self._sign(left)
        left.append(buffer[behind_taken:at])
        self._rest = buffer[at:]
        if rest := b"".join(left):
            super().feed_data(rest)

    def feed_eof(self) -> None:
        """The end, with what came of a frame."""
        if self._rest:
            rest, self._rest = self._rest, b""
            super().feed_data(rest)
        super().feed_eof()

    def _sign(self, left: list[bytes]) -> None:
        now = self._time()
        if now - self._signed >= SIGN_EVERY_S:
            self._signed = now
            left.append(SIGN_OF_LIFE)


class Lane:
    """One connection's short way, in both directions."""

    def __init__(self, tap: FrameTap, writer: asyncio.StreamWriter) -> None:
        self._takers = tap.takers
        self._writer = writer

    def attach(self, channel: "aiormq.Channel", taker: Taker) -> None:
        """Give the taker the frames of a channel, until it is closed."""
        takers, number = self._takers, channel.number
        takers[number] = taker

        def closed(_: "asyncio.Future[object]") -> None:
            if takers.get(number) is taker:
                del takers[number]

        channel.closing.add_done_callback(closed)

    def write(self, frames: bytes) -> None:
        """Write whole frames, at once; raises ConnectionError. Whoever writes much looks at ``congested``."""
        writer = self._writer
        if writer.is_closing():
            raise ConnectionResetError("the connection was lost")
        writer.write(frames)

    @property
    def congested(self) -> bool:
        """Whether so much waits for the socket that nothing should be written before :meth:`drain` is through."""
        return self._writer.transport.get_write_buffer_size() > CONGESTED_BYTES

    async def drain(self) -> None:
        """Wait until the socket has taken what was written, nearly; raises ConnectionError."""
        await self._writer.drain()


class _Transports(TransportFactory):
    """Makes the transport of each connection attempt; remembers the way of the last."""

    def __init__(self) -> None:
        self.lane: Lane | None = None

    async def create(
        self,
        url: "URL",
        **kwargs: Any,  # noqa: ANN401 - the library's own
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect; raises AMQPConnectionError."""
        provider = kwargs.pop("ssl_context_provider")
        context = await provider.get_context() if url.scheme == "amqps" else None
        loop = asyncio.get_running_loop()
        tap = FrameTap(loop)
        protocol = asyncio.StreamReaderProtocol(tap, loop=loop)
        try:
            transport, _ = await loop.create_connection(
                lambda: protocol, url.host or "localhost", url.port or 0, ssl=context, **kwargs
            )
        except OSError as error:
            raise AMQPConnectionError(*error.args) from error
        writer = asyncio.StreamWriter(transport, protocol, tap, loop)
        self.lane = Lane(tap, writer)
        return tap, writer


class LaneConnection(RobustConnection):
    """aio-pika's connection, each of whose underlying connections has a lane."""

    def __init__(
        self,
        url: "URL",
        loop: asyncio.AbstractEventLoop | None = None,
        **kwargs: Any,  # noqa: ANN401 - the library's own
    ) -> None:
        super().__init__(url, loop, **kwargs)
        self._transports = _Transports()
        self.kwargs["transport_factory"] = self._transports
        self._lanes: WeakKeyDictionary[AbstractConnection, Lane] = WeakKeyDictionary()

    def lane(self, channel: "aiormq.Channel") -> Lane:
        """The lane of a channel's connection; raises ConnectionError when that is gone."""
        lane = self._lanes.get(channel.connection)
        if lane is None:
            raise ConnectionResetError("the connection was lost")
        return lane

    async def _on_connected(self) -> None:
        if self.transport is not None and self._transports.lane is not None:
            self._lanes[self.transport.connection] = self._transports.lane
        await super()._on_connected()
