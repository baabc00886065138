"""``python -m services.bench.measuring.envelopes COUNT``: plays prebuilt frames into the raw queues of COUNT streams.

Standard input and output as in the generator; the first line says that everything is declared. What ingest would do,
without sockets: it announces the streams and publishes their envelopes in turn, all at the same rate, confirmed. The
broker is the settings'.
"""

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Final

from msgspec import json

from services.bench.measuring.control import commands, reply
from services.bench.measuring.frames import LOOP_FRAMES, build
from services.bench.measuring.generator import Play, Played
from services.cli.connecting import rabbit
from shared.bus.base import Publisher
from shared.control import Announcement, StreamInfo, encode_control
from shared.envelope import SCHEMA_VERSION, Envelope, Frame, FrameKind, encode_envelope
from shared.settings import load
from shared.topology import CONTROL, RAW, announcement_key, raw_key

__all__ = ["FRAMES_EACH", "main", "stream_names"]

FRAMES_EACH: Final = 4
"""Frames of an envelope: about what an ingest makes of a busy stream."""
ANNOUNCE_S: Final = 0.5
TURN_S: Final = 0.002
DEADLINE_S: Final = 10.0
GRACE: Final = 1.02


def stream_names(count: int) -> list[str]:
    """The streams' names."""
    return [f"bybit.linear.{number}" for number in range(count)]


class _Stream:
    """Where one stream stands in the loop of frames."""

    def __init__(self, name: str, epoch: int) -> None:
        self.info = StreamInfo("bybit", "linear", "market", name)
        self._epoch = epoch
        self._next = 0

    def envelope(self, payloads: Sequence[bytes]) -> tuple[str, bytes]:
        """Routing key and body of the next envelope."""
        now, first = time.time_ns(), self._next
        self._next += FRAMES_EACH
        frames = [Frame(FrameKind.TEXT, now, payloads[at % len(payloads)]) for at in range(first, self._next)]
        info = self.info
        body = encode_envelope(
            Envelope(SCHEMA_VERSION, info.exchange, info.product, info.plane, info.stream, self._epoch, first, frames)
        )
        return raw_key(info), body


async def _announce(streams: Sequence[_Stream], publisher: Publisher) -> None:
    body = encode_control(Announcement("bench", [stream.info for stream in streams]))
    while True:
        await publisher.publish(CONTROL, announcement_key(), body, deadline_s=DEADLINE_S)
        await asyncio.sleep(ANNOUNCE_S)


async def _play(wanted: Play, streams: list[_Stream], payloads: Sequence[bytes], publisher: Publisher) -> Played:
    """``rate * seconds`` frames over all streams; less when time was too short."""
    now = asyncio.get_running_loop().time
    total, sent, blocked, begun = int(wanted.rate * wanted.seconds) // FRAMES_EACH, 0, 0.0, now()
    deadline = begun + wanted.seconds * GRACE
    while sent < total and now() < deadline:
        due = min(total, int((now() - begun) * wanted.rate / FRAMES_EACH) + 1) - sent
        if due > 0:
            batch = [streams[(sent + at) % len(streams)].envelope(payloads) for at in range(due)]
            waited = now()
            await publisher.publish_batch(RAW, batch, deadline_s=DEADLINE_S)
            blocked += max(0.0, now() - waited - TURN_S)
            sent += due
        await asyncio.sleep(max(0.0, min(TURN_S, begun + sent * FRAMES_EACH / wanted.rate - now())))
    return Played(sent * FRAMES_EACH, now() - begun, blocked)


async def main(count: int) -> None:
    """Serve until the input ends."""
    payloads = build(LOOP_FRAMES)
    epoch = time.time_ns() // 1_000_000
    streams = [_Stream(name, epoch) for name in stream_names(count)]
    async with rabbit(load(), "bench envelopes") as bus:
        for stream in streams:
            await bus.declare(stream.info)
        announcing = asyncio.create_task(_announce(streams, await bus.publisher()))
        publisher = await bus.publisher()
        reply("ready")
        async for line in commands():
            if announcing.done():
                announcing.result()
            reply(await _play(json.decode(line, type=Play), streams, payloads, publisher))
        announcing.cancel()


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]))))
