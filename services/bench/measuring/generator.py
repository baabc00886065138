"""``python -m services.bench.measuring.generator``: plays prebuilt frames to whoever connected last, at a given rate.

One JSON command a line on standard input (``{"rate": frames/s, "seconds": s}``), one JSON reply a line on standard
output; the first line says the port. Ends with its input. Speaks as much HTTP and WebSocket (RFC 6455) as it takes to
serve an instrument list and one stream, since the frames are to go to the socket as they are, many at a time.
"""

import asyncio
import sys
from base64 import b64encode
from hashlib import sha1
from typing import Final, cast

from msgspec import Struct, json

from services.bench.measuring.control import commands, reply
from services.bench.measuring.frames import LOOP_FRAMES, Script, build, instrument_list, script

__all__ = ["Play", "Played", "main"]

GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
HIGH_WATER: Final = 256 * 1024
MOST_AT_ONCE: Final = 2_000
GRACE: Final = 1.02
TEXT, CLOSE, PING = 1, 8, 9


class Play(Struct):
    """A command."""

    rate: float
    seconds: float


class Played(Struct):
    """What was sent, in how long; ``blocked_s`` of it the socket took nothing, because who reads it was slower."""

    sent: int
    seconds: float
    blocked_s: float


class Connection(asyncio.Protocol):
    """One HTTP connection that may become a WebSocket."""

    def __init__(self, server: "Server") -> None:
        self._server = server
        self._input = b""
        self._upgraded = False
        self.transport: asyncio.Transport
        self.writable = asyncio.Event()
        self.writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """By the loop."""
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(HIGH_WATER)

    def connection_lost(self, error: Exception | None) -> None:
        """By the loop."""
        del error
        self.writable.set()

    def pause_writing(self) -> None:
        """By the loop: the other side reads slower than we write."""
        self.writable.clear()

    def resume_writing(self) -> None:
        """By the loop."""
        self.writable.set()

    def data_received(self, data: bytes) -> None:
        """By the loop."""
        self._input += data
        while self._message() if self._upgraded else self._request():
            pass

    def _request(self) -> bool:
        head, end, rest = self._input.partition(b"\r\n\r\n")
        if not end:
            return False
        self._input = rest
        lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
        headers = {name.strip().lower(): value.strip() for name, _, value in lines}
        key = headers.get(b"sec-websocket-key")
        if key is None:
            body = instrument_list()
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
            self.transport.write(b"content-length: %d\r\n\r\n%b" % (len(body), body))
            return True
        accepted = b64encode(sha1(key + GUID, usedforsecurity=False).digest())
        self.transport.write(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n")
        self.transport.write(b"sec-websocket-accept: %b\r\n\r\n" % accepted)
        self._upgraded = True
        self._server.take(self)
        return True

    def _message(self) -> bool:
        data = self._input
        if len(data) < 6:
            return False
        start, length = 2, data[1] & 127
        if length == 126:
            start, length = 4, int.from_bytes(data[2:4], "big")
        end = start + 4 + length
        if len(data) < end:
            return False
        mask = (data[start : start + 4] * (length // 4 + 1))[:length]
        payload = bytes(a ^ b for a, b in zip(data[start + 4 : end], mask, strict=True))
        self._input = data[end:]
        self._answer(data[0] & 15, payload)
        return True

    def _answer(self, opcode: int, payload: bytes) -> None:
        if opcode == CLOSE:
            self.transport.write(b"\x88%c%b" % (len(payload), payload))
            self.transport.close()
        elif opcode == PING:
            self.transport.write(b"\x8a%c%b" % (len(payload), payload))
        elif opcode == TEXT:
            asked = json.decode(payload)
            answer = {"success": True, "ret_msg": "", "conn_id": "bench", "req_id": asked.get("req_id", "")}
            self.transport.write(script([json.encode({**answer, "op": asked["op"]})]).data)


class Server:
    """The script, and where it goes."""

    def __init__(self, frames: Script) -> None:
        self._frames = frames
        self._view = memoryview(frames.data)
        self.connection: Connection | None = None
        self._connected = asyncio.Event()
        self._position = 0

    def take(self, connection: Connection) -> None:
        """Play to this one from now on: from the start, where the books' snapshots are."""
        self.connection = connection
        self._connected.set()
        self._position = 0

    async def play(self, wanted: Play) -> Played:
        """The script's next ``rate * seconds`` frames, round and round; less when time was too short."""
        await _wait(self._connected, wanted.seconds)
        connection = self.connection
        if connection is None:
            return Played(0, 0.0, 0.0)
        now = asyncio.get_running_loop().time
        total, sent, blocked, begun = int(wanted.rate * wanted.seconds), 0, 0.0, now()
        deadline = begun + wanted.seconds * GRACE
        while sent < total and now() < deadline and not connection.transport.is_closing():
            if not connection.writable.is_set():
                stopped = now()
                await _wait(connection.writable, deadline - stopped)
                blocked += now() - stopped
                continue
            due = min(total, int((now() - begun) * wanted.rate) + 1) - sent
            if due > 0:
                sent += self._write(connection.transport, min(due, MOST_AT_ONCE))
            await asyncio.sleep(0 if due > MOST_AT_ONCE else max(0.0, begun + sent / wanted.rate - now()))
        return Played(sent, now() - begun, blocked)

    def _write(self, transport: asyncio.Transport, count: int) -> int:
        ends, first = self._frames.ends, self._position
        last = min(first + count, len(ends))
        transport.write(self._view[ends[first - 1] if first else 0 : ends[last - 1]])
        self._position = last % len(ends)
        return last - first


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        pass


async def main() -> None:
    """Serve until the input ends."""
    server = Server(script(build(LOOP_FRAMES)))
    listening = await asyncio.get_running_loop().create_server(lambda: Connection(server), "127.0.0.1", 0)
    async with listening:
        reply({"port": listening.sockets[0].getsockname()[1]})
        async for line in commands():
            reply(await server.play(json.decode(line, type=Play)))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
