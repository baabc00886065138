"""How a benchmark talks to its helper processes: JSON lines over their standard input and output."""

import asyncio
import sys
from collections.abc import AsyncIterator

from msgspec import json

__all__ = ["commands", "reply"]


async def commands() -> AsyncIterator[bytes]:
    """Lines of standard input, until it ends."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line


def reply(value: object) -> None:
    """One line to standard output."""
    sys.stdout.buffer.write(json.encode(value) + b"\n")
    sys.stdout.buffer.flush()
