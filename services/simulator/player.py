"""Plays a recording to whoever subscribes to one product, instead of the engine."""

import asyncio
from collections.abc import Iterable

from services.simulator.connection import Connection
from services.simulator.frames import frame

__all__ = ["Player", "RecordedFrame"]

RecordedFrame = tuple[int, bytes, bool]
"""(nanoseconds to wait before it, the frame's payload, whether it is binary)."""

ROOM_INTERVAL_S = 0.01
ROOM_CHECKS = 3000
"""How often a full buffer is looked at again: a client that reads nothing for half a minute is cut off."""


class Player:
    """Every connection gets the whole recording once, from the start, after its first subscription.

    ``speed`` divides the delays; 0 plays without any. A client that reads slower than the recording slows it down.
    """

    def __init__(self, frames: Iterable[RecordedFrame], speed: float = 1.0) -> None:
        if speed < 0:
            raise ValueError(f"speed must not be negative, received {speed!r}")
        self.frames = tuple(frames)
        self.speed = speed

    async def play(self, connection: Connection) -> None:
        """The recording, to one connection."""
        for delay_ns, payload, binary in self.frames:
            if self.speed and delay_ns:
                await asyncio.sleep(delay_ns / self.speed / 1e9)
            if not await _room(connection):
                connection.abort("slow_client")
            if connection.ended or connection.transport.is_closing():
                return
            connection.raw(frame(payload, binary=binary))
            connection.flush()
        connection.played = True


async def _room(connection: Connection) -> bool:
    for _ in range(ROOM_CHECKS):
        if connection.transport.get_write_buffer_size() <= connection.write_limit // 2:
            return True
        await asyncio.sleep(ROOM_INTERVAL_S)
    return False
