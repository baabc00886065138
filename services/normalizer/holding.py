"""What this member owns, and what it tells of it."""

import os
import secrets
import socket
from collections.abc import Mapping
from typing import Final

from shared.control import Holding, Holdings, StreamInfo

__all__ = ["Held", "Owned", "member_name"]

HOST_LIMIT: Final = 200


def member_name() -> str:
    """``<host>:<pid>:<4 hex>``: unique also where containers share a host's name and count their processes from 1."""
    return f"{socket.gethostname()[:HOST_LIMIT]}:{os.getpid()}:{secrets.token_hex(2)}"


class Held:
    """One owned stream. ``begun`` is the monotonic clock when its claim began, ``since`` the wall clock (ns)."""

    __slots__ = ("begun", "first", "frames", "info", "lag", "last_frame", "since")

    def __init__(self, info: StreamInfo, begun: int, since: int) -> None:
        self.info = info
        self.begun = begun
        self.since = since
        self.frames = 0
        self.lag: int | None = None
        self.last_frame: int | None = None
        self.first = True
        """No message of it has been confirmed yet."""

    def dealt_with(self, frames: int, ts_received: int, now: int) -> None:
        """So many more frames; the newest of them was received then. ``now`` is the wall clock."""
        self.frames += frames
        self.lag = now - ts_received
        self.last_frame = now


class Owned:
    """All of them, by name."""

    def __init__(self, member: str) -> None:
        self.member = member
        self.streams: dict[str, Held] = {}
        self.fresh: set[str] = set()
        """Those of which frames came since somebody last looked; whoever looks empties it."""

    def message(self) -> Holdings:
        """What to tell everybody."""
        host, pid, _ = self.member.rsplit(":", 2)
        streams = [
            Holding(name, held.info.exchange, held.info.product, held.since, held.frames, held.lag, held.last_frame)
            for name, held in self.streams.items()
        ]
        return Holdings(self.member, host, int(pid), streams)

    def dealt_with(self, newest: Mapping[tuple[str, str], tuple[int, int]], now: int) -> None:
        """Frames that were confirmed: how many, and when the newest was received, by (exchange, stream)."""
        for (_, stream), (frames, ts_received) in newest.items():
            held = self.streams.get(stream)
            if held is not None:
                held.dealt_with(frames, ts_received, now)
                self.fresh.add(stream)
