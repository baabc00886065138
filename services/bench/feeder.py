"""The venue of ``bench journey``: a WebSocket and an instrument list, on one port of 127.0.0.1.

As a process of its own it prints its port, waits for a line on standard input, sends the burst at its rate to whoever
is connected, prints one JSON line about how that went, and ends with its input. Frames go out as bytes that were made
before, so that a frame costs this process next to nothing.
"""

import argparse
import asyncio
import mmap
import sys
from base64 import b64encode
from hashlib import sha1
from pathlib import Path
from typing import Final

from msgspec import Struct, json

from services.bench.burst import instruments_reply, read_index

__all__ = ["FeedReport"]

TICK_S: Final = 0.001
BEHIND_BYTES: Final = 32 * 1024 * 1024
"""A reader that is so far behind misses frames, as venues cut it off."""
GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455 section 1.3."""
PONG: Final = b'{"success":true,"ret_msg":"pong","op":"ping"}'


class FeedReport(Struct):
    """How the burst went out."""

    offered: int
    """Frames that were due."""
    skipped: int
    """Of those, not sent: the reader was more than 32 MiB behind, or not there."""
    late_p99_ms: float
    """How long after its time a frame was written to the socket."""
    late_max_ms: float


class Feeder:
    """Serves one reader at a time, the newest."""

    def __init__(self) -> None:
        self._reader: asyncio.StreamWriter | None = None

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: a request for the instruments, or the WebSocket."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
            if fields.get(b"upgrade") != b"websocket":
                _answer(writer, instruments_reply())
                return
            key = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
            _upgrade(writer, key.split(b":", 1)[1].strip())
            self._reader = writer
            await _listen(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            if self._reader is writer:
                self._reader = None
            writer.close()

    async def send(self, path: Path, rate: float) -> FeedReport:
        """The whole burst; frames that nobody can take at their time are skipped, not kept."""
        offsets = read_index(path)
        frames, sent, skipped = len(offsets) - 1, 0, 0
        late: list[float] = []
        loop = asyncio.get_running_loop()
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            started = loop.time()
            while sent < frames:
                elapsed = loop.time() - started
                due = min(frames, int(elapsed * rate))
                if due > sent:
                    writer = self._reader
                    if writer is None or writer.transport.get_write_buffer_size() > BEHIND_BYTES:
                        skipped += due - sent
                    else:
                        writer.write(data[offsets[sent] : offsets[due]])
                    late.append(elapsed - sent / rate)
                    sent = due
                await asyncio.sleep(TICK_S)
        late.sort()
        return FeedReport(frames, skipped, 1e3 * late[int(0.99 * (len(late) - 1))], 1e3 * late[-1])


def _answer(writer: asyncio.StreamWriter, body: bytes) -> None:
    head = (
        f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    writer.write(head.encode() + body)


def _upgrade(writer: asyncio.StreamWriter, key: bytes) -> None:
    accept = b64encode(sha1(key + GUID, usedforsecurity=False).digest())
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
    )


async def _listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer subscriptions and pings until the client goes."""
    while True:
        first, size = await reader.readexactly(2)
        size &= 0x7F
        if size >= 126:
            size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
        mask = await reader.readexactly(4)
        payload = bytes(byte ^ mask[at % 4] for at, byte in enumerate(await reader.readexactly(size)))
        opcode = first & 0x0F
        if opcode == 0x8:
            return
        if opcode == 0x9:
            writer.write(bytes((0x8A, len(payload))) + payload)
        elif opcode == 0x1:
            _reply(writer, payload)


def _reply(writer: asyncio.StreamWriter, payload: bytes) -> None:
    request = json.decode(payload)
    answer = PONG
    if request["op"] != "ping":
        answer = json.encode({"success": True, "ret_msg": "", "req_id": request.get("req_id", ""), "op": request["op"]})
    writer.write(bytes((0x81, 126)) + len(answer).to_bytes(2, "big") + answer)


async def _run(path: Path, rate: float) -> None:
    feeder = Feeder()
    server = await asyncio.start_server(feeder.accept, "127.0.0.1", 0)
    _say(str(server.sockets[0].getsockname()[1]).encode())
    loop = asyncio.get_running_loop()
    control = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(control), sys.stdin)
    if await control.readline():
        _say(json.encode(await feeder.send(path, rate)))
        await control.read()
    server.close()


def _say(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def main() -> None:
    """``--burst FILE --rate N``."""
    parser = argparse.ArgumentParser(description="Send a burst to a WebSocket client.")
    parser.add_argument("--burst", type=Path, required=True)
    parser.add_argument("--rate", type=float, required=True)
    arguments = parser.parse_args()
    asyncio.run(_run(arguments.burst, arguments.rate))


if __name__ == "__main__":
    main()
