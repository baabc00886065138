"""Ingest of one account: settings → wiring → run."""

import asyncio
import os
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from aiolimiter import AsyncLimiter
from msgspec import structs

from services.ingest.account.calling import Caller
from services.ingest.account.listing import AccountListing
from services.ingest.account.outlet import AccountOutlet
from services.ingest.account.stream import AccountHolder
from services.ingest.account.telemetry import AccountTelemetry
from services.ingest.account.venue import AccountVenue
from services.ingest.account.writer import JournalWriter
from services.ingest.control import Announcer, ResyncListener
from shared.accounts.base import AccountAdapter, AccountPlan, Credentials
from shared.backoff import Backoff
from shared.bus.base import Bus
from shared.clock import Clock
from shared.control import StreamInfo
from shared.credentials import AccountTarget
from shared.errors import BrokerError
from shared.exchanges.accounts import account_adapter
from shared.settings import Settings
from shared.telemetry.tasks import TaskSet
from shared.transport.http import RestClient

__all__ = ["AccountIngest", "journal_path", "stream_info"]

DRAIN_S: Final = 3.0
DRAIN_LOOK_S: Final = 0.05


def journal_path(directory: Path, stream: str) -> Path:
    """The file of a stream's journal."""
    return directory / f"{stream}.journal"


def stream_info(plan: AccountPlan) -> StreamInfo:
    """What the bus and normalizers call a private stream; its product names all that it carries."""
    return StreamInfo(plan.exchange, "+".join(plan.products), "account", plan.name)


class AccountIngest:
    """All private streams of one account. The bus is opened here: a broker that is away is no reason not to listen."""

    def __init__(
        self,
        target: AccountTarget,
        credentials: Credentials,
        settings: Settings,
        bus: Bus,
        clock: Clock,
        telemetry: AccountTelemetry,
    ) -> None:
        self.name = f"{target.exchange}.{target.account}@{os.getpid()}"
        self._target = target
        self._credentials = credentials
        self._settings = settings
        self._bus = bus
        self._clock = clock
        self._telemetry = telemetry
        self._adapter: AccountAdapter = account_adapter(target.exchange)
        self._tasks = TaskSet(self._crashed)
        self._plans = [
            structs.replace(plan, recv_window_ms=settings.account.recv_window_ms) for plan in self._planned(())
        ]
        self._unlisted = {plan.name for plan in self._plans}
        self._symbols_unknown = set(target.symbols)
        self._journals: dict[str, JournalWriter] = {}
        self._holders: dict[str, AccountHolder] = {}
        self._listening: list[asyncio.Task[object]] = []
        self._broker_problem: str | None = "not connected yet"

    async def run(self, stop: asyncio.Event) -> None:
        """Hold every stream until ``stop``; then what is on disk has a few seconds to leave, the rest stays there."""
        async with AsyncExitStack() as stack:
            writing = [self._start_journal(plan) for plan in self._plans]
            for plan in self._plans:
                client = await stack.enter_async_context(
                    RestClient(self._adapter.limits(plan), observe=self._telemetry.rest)
                )
                self._listening.append(self._tasks.spawn(self._listen(plan, client), "private_stream"))
            publishing = self._tasks.spawn(self._publish(stack), "private_publishing")
            try:
                await self._tasks.first(stop.wait())
            finally:
                for task in self._listening:
                    task.cancel()
                await asyncio.gather(*self._listening, return_exceptions=True)
                await self._drain(writing)
                publishing.cancel()
                await self._tasks.close()

    def problem(self) -> str | None:
        """What keeps this account from being known; None when every stream is reconciled."""
        if len(self._holders) < len(self._plans):
            broken = [str(journal.problem) for journal in self._journals.values() if journal.problem is not None]
            return "; ".join(broken) or "instrument lists are being loaded"
        problems = [problem for holder in self._holders.values() if (problem := holder.problem()) is not None]
        return "; ".join(problems) or None

    def broker_problem(self) -> str | None:
        """Why nothing can be published at the moment; None when all is well."""
        return self._broker_problem

    # Listening

    def _start_journal(self, plan: AccountPlan) -> "asyncio.Task[object]":
        account, stream = self._settings.account, self._telemetry.stream(plan.name)
        path = journal_path(account.journal_directory, plan.name)
        journal = JournalWriter(path, plan.name, account.journal_max_bytes, self._clock, stream)
        self._journals[plan.name] = journal
        return self._tasks.spawn(journal.run(), "journal")

    async def _listen(self, plan: AccountPlan, client: RestClient) -> None:
        """Load the plan's instrument lists, then hold its stream and keep the lists fresh."""
        stream, interval_s = self._telemetry.stream(plan.name), self._settings.ingest.instrument_refresh_s
        listing = AccountListing(self._adapter, plan, client, self._clock, stream.request_failed)
        await listing.refresh(0)
        plan = self._with_symbols(plan, listing)
        limits = self._adapter.limits(plan)
        venue = AccountVenue(
            self._adapter,
            plan,
            self._credentials,
            Caller(self._adapter, plan, client, self._credentials, self._clock, stream),
            listing,
            AsyncLimiter(limits.connections_per_interval, limits.connection_interval_s),
            AsyncLimiter(1, 1 / limits.requests_per_second),
        )
        holder = AccountHolder(venue, self._journals[plan.name], self._settings, self._clock, stream)
        self._holders[plan.name] = holder
        self._listening.append(self._tasks.spawn(holder.hold(), "private_stream"))
        while True:
            await asyncio.sleep(interval_s)
            await listing.refresh(interval_s / 2)
            holder.tell_instruments()

    def _with_symbols(self, plan: AccountPlan, listing: AccountListing) -> AccountPlan:
        """The plan with the native symbols that the settings name."""
        native = listing.native(self._target.symbols)
        self._symbols_unknown -= native.keys()
        self._unlisted.discard(plan.name)
        if not self._unlisted:
            for symbol in sorted(self._symbols_unknown):
                self._telemetry.events.symbol_unknown(symbol)
        found = next(each for each in self._planned(tuple(native.values())) if each.name == plan.name)
        return structs.replace(found, recv_window_ms=plan.recv_window_ms)

    def _planned(self, symbols: Sequence[str]) -> Sequence[AccountPlan]:
        target = self._target
        return self._adapter.plan(target.account, target.products, symbols, target.endpoints)

    # Publishing

    async def _publish(self, stack: AsyncExitStack) -> None:
        """Reach the bus, however long that takes; then publish what the journals hold and will hold."""
        await self._reach(stack)
        infos = [stream_info(plan) for plan in self._plans]
        for info in infos:
            outlet = AccountOutlet(
                info,
                await self._bus.publisher(),
                self._journals[info.stream],
                self._settings.account.publish_deadline_s,
                self._clock,
                self._telemetry.stream(info.stream),
            )
            self._tasks.spawn(outlet.run(), "private_outlet")
        interval_s = self._settings.ingest.announce_interval_s
        self._tasks.spawn(Announcer(self.name, lambda: infos, self._bus).run(interval_s), "announcements")
        self._tasks.spawn(ResyncListener(self._target.exchange, self._holders, self._bus).run(), "resync_requests")

    async def _reach(self, stack: AsyncExitStack) -> None:
        """Open the bus and declare the queues; a broker that is away or has others of that name is tried again."""
        backoff, is_open = Backoff(0.5, 5.0), False
        while True:
            try:
                if not is_open:
                    await stack.enter_async_context(self._bus)
                    is_open = True
                for plan in self._plans:
                    await self._bus.declare(stream_info(plan))
            except BrokerError as error:
                self._broker_problem = str(error)
                pause_s = backoff.next(random.random())
                self._telemetry.telemetry.events.broker_unready(str(error), pause_s)
                await asyncio.sleep(pause_s)
            else:
                self._broker_problem = None
                return

    async def _drain(self, writing: Sequence["asyncio.Task[object]"]) -> None:
        """Let out what can leave in time; then the journals are closed with the rest in them."""
        loop = asyncio.get_running_loop()
        until = loop.time() + DRAIN_S
        while self._broker_problem is None and loop.time() < until:
            if all(journal.empty for journal in self._journals.values()):
                break
            await asyncio.sleep(DRAIN_LOOK_S)
        for journal in self._journals.values():
            journal.close()
        await asyncio.wait(writing, timeout=DRAIN_S)

    def _crashed(self, name: str, error: BaseException) -> None:
        self._telemetry.telemetry.events.task_crashed(name, error)
