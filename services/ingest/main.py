"""Ingest of one exchange: settings → wiring → run."""

import asyncio
import os
import random
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final
from urllib.parse import urlsplit

from aiolimiter import AsyncLimiter

from services.ingest.control import Announcer, Lister, ResyncListener
from services.ingest.listing import Listing, resolve
from services.ingest.outlet import Outlet, OutletSettings, Permits
from services.ingest.stream import StreamHolder
from services.ingest.telemetry import IngestTelemetry
from services.ingest.venue import Venue
from shared.backoff import Backoff
from shared.batching import BatchPolicy
from shared.bus.base import Bus, Publisher
from shared.circuit import Circuit
from shared.clock import Clock
from shared.control import StreamInfo
from shared.errors import BrokerError, BrokerUnavailable, SettingsError
from shared.exchanges import adapter
from shared.exchanges.base import Adapter, StreamPlan
from shared.settings import IngestSettings, Settings, Target
from shared.telemetry.tasks import TaskSet
from shared.transport.http import RestClient

__all__ = ["Ingest"]

DRAIN_S: Final = 3.0
REPORT_S: Final = 0.25
LIST_SPACING_S: Final = 1.0
"""Between the streams of a product that get a new list, which may be megabytes and is a pause for whoever reads it."""


class Ingest:
    """All streams of one exchange (its products share permits and circuit)."""

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
        self._permits = Permits(
            settings.ingest.permits,
            Circuit(settings.ingest.circuit_failures, int(settings.ingest.circuit_reset_s * 1e9)),
        )
        self._tasks = TaskSet(self._crashed)
        self._lister = Lister(exchange, bus)
        self._connects: dict[str, AsyncLimiter] = {}
        self._feeding: list[asyncio.Task[object]] = []
        self._outlets: list[Outlet] = []
        self.streams: dict[str, StreamHolder] = {}
        self.ready = asyncio.Event()
        telemetry.queue_limits(settings.queues.raw_messages, settings.queues.raw_bytes)

    async def run(self, stop: asyncio.Event) -> None:
        """Hold every stream until ``stop``, then let the buffers out.

        A product starts when its instrument list is there, whatever becomes of the others. Raises SettingsError when
        no wanted symbol of a product is listed, TopologyMismatch where the broker has another queue of a stream's name.
        """
        tasks, interval_s = self._tasks, self._settings.ingest.announce_interval_s
        async with AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(self._client(target)) for target in self._targets]
            pairs = zip(self._targets, clients, strict=True)
            opening = [tasks.spawn(self._open(target, client), "opening") for target, client in pairs]
            self._feeding += opening
            tasks.spawn(self._opened(opening), "opening")
            tasks.spawn(Announcer(self.name, self._infos, self._bus).run(interval_s), "announcements")
            tasks.spawn(self._lister.run(), "instrument_lists")
            listener = ResyncListener(self.exchange, self.streams, self._bus, self._lister)
            tasks.spawn(listener.run(), "resync_requests")
            tasks.spawn(self._report(), "reports")
            try:
                await tasks.first(stop.wait())
            finally:
                for task in self._feeding:
                    task.cancel()
                await asyncio.gather(*self._feeding, return_exceptions=True)
                await asyncio.gather(*(outlet.drain(DRAIN_S) for outlet in self._outlets))
                await tasks.close()

    def problem(self) -> str | None:
        """What keeps this ingest from being ready; None when every stream has its connection."""
        if not self.ready.is_set():
            return "instrument lists are being loaded"
        down = [name for name, holder in self.streams.items() if not holder.connected]
        return f"not connected: {', '.join(down)}" if down else None

    def _client(self, target: Target) -> RestClient:
        return RestClient(self._adapter.limits(target.product), observe=self._telemetry.rest)

    def _connects_to(self, target: Target) -> AsyncLimiter:
        """How fast connections may be made to a host: venues count them by address, whatever product they are for."""
        host = urlsplit(target.endpoints.websocket).netloc
        if host not in self._connects:
            limits = self._adapter.limits(target.product)
            self._connects[host] = AsyncLimiter(limits.connections_per_interval, limits.connection_interval_s)
        return self._connects[host]

    def _feed(self, work: Coroutine[Any, Any, object], name: str) -> None:
        """Start what ends before the buffers are let out."""
        self._feeding.append(self._tasks.spawn(work, name))

    async def _opened(self, opening: Sequence[asyncio.Task[object]]) -> None:
        found = await asyncio.gather(*opening)
        mistakes = [mistake for mistakes in found if isinstance(mistakes, list) for mistake in mistakes]
        if mistakes:
            raise SettingsError(mistakes)
        self.ready.set()

    async def _open(self, target: Target, client: RestClient) -> list[tuple[str, str]]:
        """Start a product's streams; the mistakes in the settings that leave it without any."""
        listing = Listing(
            self._adapter, target.product, target.endpoints, client, self._clock, self._telemetry.request_failed
        )
        await listing.refresh(0)
        instruments, problems = resolve(target.symbols, listing.instruments)
        names = {instrument.native_symbol: instrument.symbol for instrument in instruments}
        self._telemetry.instruments(target.product, len(listing.instruments), problems, names)
        path = f"exchanges.{target.exchange}.products.{target.product}"
        if not instruments:
            return [(f"{path}.symbols", f"{symbol} {problem}") for symbol, problem in problems]
        plans = self._adapter.plan(target.product, instruments, target.feeds, target.endpoints, target.streams)
        if not plans:
            return [(f"{path}.feeds", "leave nothing to subscribe to")]
        self._lister.add(target.product, lambda: listing.instruments)
        venue = Venue(self._adapter, listing, client, self._connects_to(target))
        publisher = await self._bus.publisher()
        holders = [await self._start(venue, plan, publisher) for plan in plans]
        self._feed(self._keep_fresh(target.product, listing, holders), "instruments")
        return []

    async def _start(self, venue: Venue, plan: StreamPlan, publisher: Publisher) -> StreamHolder:
        info = _info(plan)
        await self._declare(info)
        stream = self._telemetry.stream(plan.name)
        outlet = Outlet(info, publisher, self._permits, _outlet_settings(self._settings), self._clock, stream)
        holder = StreamHolder(venue, plan, outlet, self._settings.ingest, self._clock, stream)
        self._outlets.append(outlet)
        self._tasks.spawn(outlet.run(), "outlet")
        self.streams[plan.name] = holder
        self._feed(holder.hold(), "stream")
        return holder

    async def _declare(self, info: StreamInfo) -> None:
        """Declare a stream's queue; a broker that went away since the start comes back."""
        backoff = Backoff(0.5, 5.0)
        while True:
            try:
                return await self._bus.declare(info)
            except BrokerUnavailable as error:
                pause_s = backoff.next(random.random())
                self._telemetry.telemetry.events.broker_unready(str(error), pause_s)
                await asyncio.sleep(pause_s)

    async def _keep_fresh(self, product: str, listing: Listing, holders: Sequence[StreamHolder]) -> None:
        """What is listed later must become known sometime, also where nobody asks."""
        interval_s = self._settings.ingest.instrument_refresh_s
        while True:
            await asyncio.sleep(interval_s)
            if await listing.refresh(interval_s / 2):
                self._telemetry.instruments_loaded(product, len(listing.instruments))
                self._lister.tell(product)
                for holder in holders:
                    holder.inject_instruments()
                    await asyncio.sleep(LIST_SPACING_S)

    async def _report(self) -> None:
        """An outlet that waits for a permit reports nothing by itself."""
        while True:
            await asyncio.sleep(REPORT_S)
            for outlet in self._outlets:
                outlet.report()

    def _infos(self) -> list[StreamInfo]:
        return [_info(holder.plan) for holder in self.streams.values()]

    def _crashed(self, name: str, error: BaseException) -> None:
        if not isinstance(error, SettingsError | BrokerError):
            self._telemetry.telemetry.events.task_crashed(name, error)


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
        int(ingest.overload_wait_ms * 1e6),
        int(ingest.overload_after_ms * 1e6),
        settings.broker.publish_deadline_s,
    )
