"""``python -m services.bench.measuring.consumer EXCHANGE PATTERN…``: counts frames whose messages come, and how late.

Standard input and output as in the generator: ``"count"`` is answered with totals, ``"latencies"`` with the percentiles
of what came since the last time. The broker is the settings'. Decodes nothing: every frame of the benchmark makes a
message with part 0, and a message says when its frame was received.
"""

import asyncio
import re
import sys
import time
from array import array
from typing import Final

from msgspec import Struct, json

from services.bench.measuring.control import commands, reply
from services.cli.connecting import rabbit
from shared.bus.base import Subscriber
from shared.settings import load

__all__ = ["Counts", "Latencies", "main"]

HOLD: Final = 400_000
MOST: Final = 4_000_000
FIRST_PART: Final = b'"part":0,'
RECEIVED: Final = re.compile(rb'"ts_received":(\d+)')


class Counts(Struct):
    """Since the start; ``dropped`` are AMQP messages that this process was too slow for."""

    frames: int
    deliveries: int
    dropped: int


class Latencies(Struct):
    """Microseconds from the receive time in the message to its delivery here, of ``count`` messages."""

    count: int
    p50_us: float
    p99_us: float
    p999_us: float


class Consumer:
    """Takes deliveries for as long as the process lives."""

    def __init__(self, subscriber: Subscriber, *, timed: bool) -> None:
        self._subscriber = subscriber
        self._timed = timed
        self._frames = self._deliveries = 0
        self._late = array("q")

    async def run(self) -> None:
        """Until cancelled."""
        receive = self._subscriber.receive
        while True:
            body = (await receive()).body
            self._deliveries += 1
            self._frames += body.count(FIRST_PART)
            if self._timed and len(self._late) < MOST:
                now = time.time_ns()
                self._late.extend([now - int(received) for received in RECEIVED.findall(body)])

    def counts(self) -> Counts:
        """So far."""
        return Counts(self._frames, self._deliveries, self._subscriber.dropped)

    def latencies(self) -> Latencies:
        """Since the last call."""
        late, self._late = sorted(self._late), array("q")

        def percentile(share: float) -> float:
            return round(late[min(len(late) - 1, int(len(late) * share))] / 1_000, 1) if late else 0.0

        return Latencies(len(late), percentile(0.5), percentile(0.99), percentile(0.999))


async def main(exchange: str, *patterns: str, timed: bool) -> None:
    """Serve until the input ends."""
    async with rabbit(load(), "bench consumer") as bus:
        consumer = Consumer(await bus.subscribe(exchange, patterns, limit=HOLD), timed=timed)
        running = asyncio.create_task(consumer.run())
        reply("ready")
        async for line in commands():
            if running.done():
                running.result()
            reply(consumer.latencies() if json.decode(line) == "latencies" else consumer.counts())
        running.cancel()


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--timed"]
    sys.exit(asyncio.run(main(*arguments, timed="--timed" in sys.argv)))
