"""From the journal to the broker: one frame at a time, each confirmed before the next is tried."""

import asyncio
import random
from typing import Final, Protocol

from services.ingest.account.numbering import Row
from services.ingest.account.telemetry import StreamTelemetry
from shared.backoff import Backoff
from shared.bus.base import Publisher
from shared.clock import Clock
from shared.control import StreamInfo
from shared.envelope import SCHEMA_VERSION, Envelope, encode_envelope
from shared.topology import RAW, raw_key

__all__ = ["AccountOutlet", "Source"]

RETRY_INITIAL_S: Final = 0.05
RETRY_CAP_S: Final = 5.0
GRACE_S: Final = 1.0
"""A publisher keeps its deadline itself; one that does not is cut off so much later."""


class Source(Protocol):
    """Where frames come from, in order: the journal."""

    async def next(self) -> Row:
        """The oldest frame that was not handed out yet."""
        ...

    def confirmed(self, row: Row) -> None:
        """It is in the broker."""
        ...


class AccountOutlet:
    """One stream's way out, on a publisher (a channel) of its own.

    A frame that is not confirmed, for whatever reason, is in doubt: it may be in the broker. It is published again
    under the same number until it is confirmed, for ever; whoever consumes tells a repetition by that number.
    """

    def __init__(
        self,
        stream: StreamInfo,
        publisher: Publisher,
        source: Source,
        deadline_s: float,
        clock: Clock,
        telemetry: StreamTelemetry,
    ) -> None:
        self._stream = stream
        self._key = raw_key(stream)
        self._publisher = publisher
        self._source = source
        self._deadline_s = deadline_s
        self._clock = clock
        self._telemetry = telemetry

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            row = await self._source.next()
            started = self._clock.monotonic()
            await self._deliver(self._envelope(row))
            self._source.confirmed(row)
            self._telemetry.published(self._clock.monotonic() - started)

    async def _deliver(self, body: bytes) -> None:
        backoff = Backoff(RETRY_INITIAL_S, RETRY_CAP_S)
        while True:
            try:
                async with asyncio.timeout(self._deadline_s + GRACE_S):
                    await self._publisher.publish(RAW, self._key, body, deadline_s=self._deadline_s)
                return
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                failure: BaseException = error  # a confirm that was cancelled: the connection broke under it
            except Exception as error:  # noqa: BLE001 - nothing that a publish raises may cost the frame
                failure = error
            delay_s = backoff.next(random.random())
            self._telemetry.retried(failure, backoff.attempts)
            await asyncio.sleep(delay_s)

    def _envelope(self, row: Row) -> bytes:
        stream = self._stream
        return encode_envelope(
            Envelope(
                SCHEMA_VERSION,
                stream.exchange,
                stream.product,
                stream.plane,
                stream.stream,
                row.epoch,
                row.number,
                [row.frame],
            )
        )
