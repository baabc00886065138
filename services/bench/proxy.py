"""A TCP proxy on 127.0.0.1 that makes a peer far away: every byte is late, in both directions, by half a round trip.

Nothing else is changed: as much as there is may be under way (memory is bounded, bandwidth is not). As a process of its
own it prints its port as a line and ends with its standard input.
"""

import argparse
import asyncio
import sys
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

__all__ = ["DelayProxy", "until_input_ends"]

CHUNK: Final = 64 * 1024
CHUNKS: Final = 4096
"""Under way in one direction of a connection; its sender waits when there are more, which 50 ms do not bring."""


class DelayProxy:
    """Accepts connections on ``port`` within the block and passes their bytes on to ``host:target``."""

    def __init__(self, host: str, target: int, rtt_s: float) -> None:
        self._host = host
        self._target = target
        self._delay_s = rtt_s / 2
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.port = 0

    async def __aenter__(self) -> Self:
        """Listen; ``port`` is known from now on."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", 0, limit=2 * CHUNK)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Cut every connection."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers = [writer]
        try:
            there, back = await asyncio.open_connection(self._host, self._target, limit=2 * CHUNK)
            writers.append(back)
            await asyncio.gather(self._carry(reader, back), self._carry(there, writer))
        except OSError:
            pass  # either end is gone, and so is the other in a moment
        finally:
            for one in writers:
                one.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One direction, until the sender ends it."""
        loop = asyncio.get_running_loop()
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(CHUNKS)

        async def read() -> None:
            data = b"-"
            while data:
                data = await reader.read(CHUNK)
                await under_way.put((loop.time() + self._delay_s, data))

        async def write() -> None:
            while True:
                due, data = await under_way.get()
                if (left := due - loop.time()) > 0:
                    await asyncio.sleep(left)
                if not data:
                    break
                writer.write(data)
                await writer.drain()
            with suppress(OSError):
                writer.write_eof()

        reading = asyncio.create_task(read())
        try:
            await write()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def until_input_ends() -> None:
    """Until whoever started this process ends its standard input, or is gone."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(CHUNK):
        pass


async def _run(arguments: argparse.Namespace) -> None:
    async with DelayProxy("127.0.0.1", arguments.target, arguments.rtt_ms / 1e3) as proxy:
        sys.stdout.write(f"{proxy.port}\n")
        sys.stdout.flush()
        await until_input_ends()


def main() -> None:
    """``--target PORT --rtt-ms N``."""
    parser = argparse.ArgumentParser(description="Delay TCP to a local port.")
    parser.add_argument("--target", type=int, required=True)
    parser.add_argument("--rtt-ms", type=float, required=True)
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
