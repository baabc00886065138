"""Ingest of one exchange: settings → wiring → run."""

import asyncio
import logging
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack

from aiolimiter import AsyncLimiter

from services.ingest.control import Announcer, ResyncListener
from services.ingest.listing import Listing, resolve
from services.ingest.outlet import Outlet, OutletSettings, Permits
from services.ingest.stream import StreamHolder
from services.ingest.telemetry import IngestTelemetry
from services.ingest.venue import Venue
from shared.batching import BatchPolicy
from shared.bus.base import Bus
from shared.circuit import Circuit
from shared.clock import Clock
from shared.control import StreamInfo
from shared.errors import SettingsError
from shared.exchanges import adapter
from shared.exchanges.base import Adapter, StreamPlan
from shared.settings import IngestSettings, Settings, Target
from shared.telemetry.tasks import TaskSet
from shared.transport.http import RestClient

__all__ = ["Ingest"]

log = logging.getLogger(__name__)

DRAIN_S = 3.0


class Ingest:
    """All streams of one exchange (its products share permits, circuit and publisher)."""

    def __init__(
        self,
        exchange: str,
        targets: Sequence[Target],
        settings: Settings,
        bus: Bus,
        clock: Clock,
        telemetry: IngestTelemetry,
    ) -> None:
        self.exchange = exchange
        self.name = f"{exchange}@{os.getpid()}"
        self._targets = targets
        self._settings = settings
        self._bus = bus
        self._clock = clock
        self._telemetry = telemetry
        self._adapter: Adapter = adapter(exchange)
        self.holders: list[StreamHolder] = []
        self.ready = asyncio.Event()

    async def run(self, stop: asyncio.Event) -> None:
        """Hold every stream until ``stop``, then let the buffers out.

        Raises SettingsError when no wanted symbol of a product is listed, BrokerError when the bus can't be set up.
        """
        ingest = self._settings.ingest
        circuit = Circuit(ingest.circuit_failures, int(ingest.circuit_reset_s * 1e9))
        permits = Permits(ingest.permits, circuit)
        async with AsyncExitStack() as stack:
            tasks = TaskSet(self._telemetry.telemetry.events.task_crashed)
            outlets = []
            for target in self._targets:
                outlets += await self._open(target, permits, stack)
            announcer = Announcer(self.name, [self._info(holder.plan) for holder in self.holders], self._bus)
            listener = ResyncListener(self.exchange, {holder.plan.name: holder for holder in self.holders}, self._bus)
            tasks.spawn(announcer.run(ingest.announce_interval_s), "announcements")
            tasks.spawn(listener.run(), "resync requests")
            for outlet in outlets:
                tasks.spawn(outlet.run(), "outlet")
            holding = [tasks.spawn(holder.hold(), "stream") for holder in self.holders]
            self.ready.set()
            try:
                await tasks.first(stop.wait())
            finally:
                for task in holding:
                    task.cancel()
                await asyncio.gather(*holding, return_exceptions=True)
                await asyncio.gather(*(outlet.drain(DRAIN_S) for outlet in outlets))
                await tasks.close()

    def problem(self) -> str | None:
        """What keeps this ingest from being ready; None when every stream has its connection."""
        if not self.ready.is_set():
            return "instrument lists are being loaded"
        down = [holder.plan.name for holder in self.holders if not holder.connected]
        return f"not connected: {', '.join(down)}" if down else None

    async def _open(self, target: Target, permits: Permits, stack: AsyncExitStack) -> list[Outlet]:
        limits = self._adapter.limits(target.product)
        client = await stack.enter_async_context(RestClient(limits, observe=self._telemetry.rest))
        listing = Listing(
            self._adapter, target.product, target.endpoints, client, self._clock, self._telemetry.request_failed
        )
        await listing.refresh(0)
        instruments, problems = resolve(target.symbols, listing.instruments)
        names = {instrument.native_symbol: instrument.symbol for instrument in instruments}
        self._telemetry.instruments(target.product, len(listing.instruments), problems, names)
        if not instruments:
            path = f"exchanges.{target.exchange}.products.{target.product}.symbols"
            raise SettingsError([(path, f"{symbol} {problem}") for symbol, problem in problems])
        plans = self._adapter.plan(target.product, instruments, target.feeds, target.endpoints, target.streams)
        connects = AsyncLimiter(limits.connections_per_interval, limits.connection_interval_s)
        venue = Venue(self._adapter, listing, client, connects)
        publisher = await self._bus.publisher()
        outlets = []
        for plan in plans:
            info = self._info(plan)
            await self._bus.declare(info)
            stream = self._telemetry.stream(plan.name)
            outlet = Outlet(info, publisher, permits, _outlet_settings(self._settings), self._clock, stream)
            holder = StreamHolder(venue, plan, outlet, self._settings.ingest, self._clock, stream)
            self.holders.append(holder)
            outlets.append(outlet)
        return outlets

    @staticmethod
    def _info(plan: StreamPlan) -> StreamInfo:
        return StreamInfo(plan.exchange, plan.product, "market", plan.name)


def _outlet_settings(settings: Settings) -> OutletSettings:
    ingest: IngestSettings = settings.ingest
    policy = BatchPolicy(ingest.batch_frames, ingest.batch_bytes, ingest.batch_window_us * 1_000)
    return OutletSettings(
        policy,
        ingest.buffer_frames,
        ingest.buffer_bytes,
        int(ingest.buffer_max_age_s * 1e9),
        settings.broker.publish_deadline_s,
    )
