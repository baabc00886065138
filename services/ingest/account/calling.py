"""Private REST calls of one stream: signed with the venue's time when they leave, tried again where that helps."""

import asyncio
import random
from typing import Final

from services.ingest.account.clock import VenueClock
from services.ingest.account.telemetry import StreamTelemetry
from shared.accounts.base import AccountAdapter, AccountPlan, Call, Credentials, SignedRequest
from shared.backoff import Backoff
from shared.clock import Clock
from shared.envelope import RestReply
from shared.errors import AccountRefused, RequestFailed
from shared.transport.http import RestClient

__all__ = ["Caller"]

ATTEMPTS: Final = 3
SAMPLES: Final = 3
GOOD_ROUND_TRIP: Final = 1_000_000_000
"""A measurement of the clock that took longer (ns) is repeated, and the quickest counts."""


class Caller:
    """Calls on behalf of one plan. ``venue_clock`` is measured here and read by whoever signs."""

    def __init__(
        self,
        adapter: AccountAdapter,
        plan: AccountPlan,
        client: RestClient,
        credentials: Credentials,
        clock: Clock,
        telemetry: StreamTelemetry,
    ) -> None:
        self._adapter = adapter
        self._plan = plan
        self._client = client
        self._credentials = credentials
        self._clock = clock
        self._telemetry = telemetry
        self.venue_clock = VenueClock()

    def now_ms(self) -> int:
        """The venue's time."""
        return self.venue_clock.now_ms(self._clock.monotonic(), self._clock.wall())

    @property
    def clock_due(self) -> bool:
        """Whether the venue's clock should be measured."""
        return self.venue_clock.due(self._clock.monotonic(), self._clock.wall())

    async def call(self, call: Call) -> RestReply:
        """The reply; raises RequestFailed after some attempts, AccountRefused at once."""
        reply = await self.plain(call)
        why = self._adapter.refused(reply) if call.signed else None
        if why is not None:
            raise AccountRefused(why)
        return reply

    async def plain(self, call: Call) -> RestReply:
        """The reply, whatever it says; raises RequestFailed after some attempts."""
        backoff = Backoff(0.5, 5.0)
        while True:
            try:
                return await self._client.send(call, lambda: self._sign(call))
            except RequestFailed as error:
                self._telemetry.request_failed(error)
                if backoff.attempts + 1 == ATTEMPTS:
                    raise
                await asyncio.sleep(backoff.next(random.random()))

    async def measure_clock(self, limit_ms: int) -> None:
        """Ask the venue for its time; raises RequestFailed or ParseError."""
        best: tuple[int, int, int, int, int] | None = None
        for _ in range(SAMPLES):
            sample = await self._sample()
            best = sample if best is None else min(best, sample)
            if best[0] <= GOOD_ROUND_TRIP:
                break
        if best is not None:
            self.venue_clock.measure(*best[1:])
            self._telemetry.clock_measured(self.venue_clock.offset, limit_ms)

    async def _sample(self) -> tuple[int, int, int, int, int]:
        """Round trip (ns), the venue's time (ms), monotonic times of request and reply, wall clock at the reply."""
        call = self._adapter.clock(self._plan)
        sent = 0

        def sign() -> SignedRequest:
            nonlocal sent
            sent = self._clock.monotonic()
            return self._sign(call)

        reply = await self._client.send(call, sign)
        received, wall = self._clock.monotonic(), self._clock.wall()
        return received - sent, self._adapter.clock_ms(reply), sent, received, wall

    def _sign(self, call: Call) -> SignedRequest:
        return self._adapter.sign(self._plan, call, self._credentials, self.now_ms())
