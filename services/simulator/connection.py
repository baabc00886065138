"""One client's socket: bytes out in one write per tick, bounded."""

import asyncio
import socket
import struct
from dataclasses import dataclass, field

from aiohttp import web

from services.simulator.frames import frame, ping, pong
from services.simulator.session import Session
from services.simulator.venues.base import Venue

__all__ = ["Connection"]

LINGER_RESET = struct.pack("ii", 1, 0)
"""Closing a socket with linger 0 sends RST instead of FIN."""


@dataclass(eq=False)
class Connection:
    """Pending frames leave with :meth:`flush`. ``silent_until_ns`` holds data back, ``dead`` everything.

    ``ended`` is why it ended, in one of a few words; the first reason counts.
    """

    number: int
    venue: Venue
    session: Session
    socket: web.WebSocketResponse
    transport: asyncio.Transport
    write_limit: int
    opened_ns: int
    topics: dict[str, bool] = field(default_factory=dict)
    sent: dict[str, int] = field(default_factory=dict)
    last_data_ns: int = 0
    silent_until_ns: int = 0
    dead: bool = False
    ended: str = ""
    playing: bool = False
    played: bool = False
    _pending: list[bytes] = field(default_factory=list)

    def data(self, topic: str, data: bytes, now_ns: int) -> bool:
        """Queue a data frame; whether it was taken."""
        if self.dead or self.ended or now_ns < self.silent_until_ns:
            return False
        self._pending.append(data)
        self.sent[topic] = self.sent.get(topic, 0) + 1
        self.last_data_ns = now_ns
        return True

    def text(self, payload: bytes) -> None:
        """Queue a reply."""
        if not self.dead:
            self._pending.append(frame(payload))

    def ping(self, payload: bytes) -> None:
        """Queue a protocol ping."""
        if not self.dead:
            self._pending.append(ping(payload))

    def pong(self, payload: bytes) -> None:
        """Queue the answer to the client's protocol ping."""
        if not self.dead:
            self._pending.append(pong(payload))

    def raw(self, data: bytes) -> None:
        """Queue bytes that are no whole frame."""
        self._pending.append(data)

    @property
    def has_pending(self) -> bool:
        """Whether a flush would write."""
        return bool(self._pending)

    def flush(self) -> bool:
        """Write what is pending; False when the client left too much unread and was cut off."""
        if not self._pending:
            return True
        data, self._pending = self._pending, []
        if self.transport.is_closing():
            return True
        if self.transport.get_write_buffer_size() > self.write_limit:
            self.abort("slow_client")
            return False
        self.transport.write(data[0] if len(data) == 1 else b"".join(data))
        return True

    def die(self) -> None:
        """Stop talking and listening, without telling the client."""
        self.flush()
        self.dead = True
        self.ended = self.ended or "half_close"
        self.transport.pause_reading()

    def abort(self, why: str) -> None:
        """Reset the connection; the client sees no close frame."""
        self.ended = self.ended or why
        handle = self.transport.get_extra_info("socket")
        if handle is not None and not self.transport.is_closing():
            handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
        self.transport.abort()

    async def close(self, code: int, reason: str, why: str) -> None:
        """Close with a close frame; the client has two seconds to answer it."""
        self.flush()
        self.ended = self.ended or why
        await self.socket.close(code=code, message=reason.encode())
