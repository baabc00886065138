"""Who owns what, put together from what ingests and normalizers say of themselves. No I/O; times are ns."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from shared.control import Announcement, Holding, Holdings, StreamInfo

__all__ = ["Board", "Member", "Report", "StreamRow"]

FORGET_NS: Final = 7_000_000_000
"""Whoever said nothing for so long is gone: three times what passes between two messages."""
KEPT: Final = 4
"""Messages of one member whose counts a rate is made of."""
MOST_MEMBERS: Final = 1_000
MOST_STREAMS: Final = 10_000


class Member(Struct, frozen=True):
    """One normalizer."""

    member: str
    host: str
    pid: int
    streams: int


class StreamRow(Struct, frozen=True):
    """One stream. Without an owner everything that only an owner knows is null.

    ``since_ns``: wall clock of the last hand-over; ``lag_ns``: how old the newest frame was when it was dealt with;
    ``waiting``: envelopes in the raw queue that no normalizer was handed, null where the broker was not asked.
    """

    stream: str
    exchange: str
    product: str
    member: str | None
    host: str | None
    pid: int | None
    since_ns: int | None
    frames_per_s: float | None
    lag_ns: int | None
    last_frame_ns: int | None
    waiting: int | None


class Report(Struct, frozen=True):
    """Everything at one moment; streams by name."""

    streams: list[StreamRow]
    members: list[Member]

    @property
    def unowned(self) -> list[str]:
        """Streams that nobody consumes."""
        return [row.stream for row in self.streams if row.member is None]


class _Heard(NamedTuple):
    at: int
    holdings: Holdings


class Board:
    """Tell it what was heard and when (monotonic clock); ask it at any time."""

    def __init__(self) -> None:
        self._streams: dict[str, tuple[int, StreamInfo]] = {}
        self._members: dict[str, list[_Heard]] = {}

    def announced(self, message: Announcement, now: int) -> None:
        """An ingest process says which streams it feeds; those of the market plane are taken."""
        for stream in message.streams:
            if stream.plane == "market" and (stream.stream in self._streams or len(self._streams) < MOST_STREAMS):
                self._streams[stream.stream] = now, stream

    def held(self, message: Holdings, now: int) -> None:
        """A normalizer says what it owns."""
        if message.member in self._members or len(self._members) < MOST_MEMBERS:
            heard = self._members.setdefault(message.member, [])
            heard.append(_Heard(now, message))
            del heard[:-KEPT]

    def streams(self, now: int) -> list[StreamInfo]:
        """The streams that are fed."""
        return [stream for at, stream in self._streams.values() if now - at <= FORGET_NS]

    def report(self, now: int, waiting: Mapping[str, int]) -> Report:
        """Everything; ``waiting`` has the depths of raw queues by stream."""
        alive = [heard for heard in self._members.values() if now - heard[-1].at <= FORGET_NS]
        # Of two that name a stream the later one has it: the other one is about to say, or died before it could.
        owned = sorted((row for heard in alive for row in _rows(heard, waiting)), key=lambda row: row.since_ns or 0)
        owners = {row.stream: row for row in owned}
        fed = {one.stream: one for one in self.streams(now)}
        orphans = {name: _orphan(one, waiting.get(name)) for name, one in fed.items() if name not in owners}
        rows = owners | orphans
        last = sorted((heard[-1].holdings for heard in alive), key=lambda one: one.member)
        members = [Member(one.member, one.host, one.pid, len(one.streams)) for one in last]
        return Report([rows[name] for name in sorted(rows)], members)


def _rows(heard: list[_Heard], waiting: Mapping[str, int]) -> Iterator[StreamRow]:
    last = heard[-1].holdings
    for one in last.streams:
        yield StreamRow(
            one.stream,
            one.exchange,
            one.product,
            last.member,
            last.host,
            last.pid,
            one.since_ns,
            _rate(heard, one),
            one.lag_ns,
            one.last_frame_ns,
            waiting.get(one.stream),
        )


def _orphan(stream: StreamInfo, waiting: int | None) -> StreamRow:
    nothing = (None,) * 7
    return StreamRow(stream.stream, stream.exchange, stream.product, *nothing, waiting)


def _rate(heard: list[_Heard], now: Holding) -> float | None:
    """Frames per second since the oldest message of the same ownership; None from a single one."""
    for at, holdings in heard[:-1]:
        for before in holdings.streams:
            if (before.stream, before.since_ns) == (now.stream, now.since_ns) and heard[-1].at > at:
                return round((now.frames - before.frames) * 1e9 / (heard[-1].at - at), 1)
    return None
