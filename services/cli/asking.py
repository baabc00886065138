"""Asks ingest for what a recording needs of streams that run already: the instrument lists, then snapshots."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from typing import Final

from shared.bus.base import Bus, Publisher
from shared.bus.routing import matches
from shared.control import Announcement, ResyncRequest, StreamInfo, decode_control, encode_control
from shared.errors import BrokerError, ParseError
from shared.topology import CONTROL, announcement_key, raw_key, resync_key

__all__ = ["ask_for_state"]

LISTED_S: Final = 2.0
"""Without a list ahead of them MEXC's snapshots of contracts can't be read, and ingest may have to fetch it."""
STATEFUL: Final = ("book", "ticker")
DEADLINE_S: Final = 5.0


async def ask_for_state(bus: Bus, patterns: Sequence[str], listen_s: float) -> None:
    """Ask once for each stream that matches and is announced within so long: a later one begins while it is recorded.

    Where ingest can't be asked that is told on standard error.
    """
    publisher = await bus.publisher()
    try:
        async with asyncio.TaskGroup() as tasks:
            async for stream in _announced(bus, patterns, listen_s):
                tasks.create_task(_ask(publisher, stream))
    except* BrokerError as errors:
        first = errors.exceptions[0]
        sys.stderr.write(f"tidegate: ingest can't be asked for snapshots, books may be missing: {first}\n")


async def _announced(bus: Bus, patterns: Sequence[str], listen_s: float) -> AsyncIterator[StreamInfo]:
    """Each stream once."""
    known: set[str] = set()
    subscriber = await bus.subscribe(CONTROL, [announcement_key()])
    end = time.monotonic() + listen_s
    try:
        while True:
            try:
                async with asyncio.timeout(end - time.monotonic()):
                    message = decode_control((await subscriber.receive()).body)
            except ParseError:
                continue  # that is for others to complain about
            if isinstance(message, Announcement):
                for stream in message.streams:
                    if stream.stream not in known and any(matches("topic", one, raw_key(stream)) for one in patterns):
                        known.add(stream.stream)
                        yield stream
    except TimeoutError:
        return
    finally:
        await subscriber.close()


async def _ask(publisher: Publisher, stream: StreamInfo) -> None:
    await _send(publisher, stream, "instruments")
    await asyncio.sleep(LISTED_S)
    for feed in STATEFUL:
        await _send(publisher, stream, feed)


async def _send(publisher: Publisher, stream: StreamInfo, feed: str) -> None:
    body = encode_control(ResyncRequest(stream.exchange, stream.stream, feed, None, "recording"))
    await publisher.publish(CONTROL, resync_key(stream.exchange), body, deadline_s=DEADLINE_S)
