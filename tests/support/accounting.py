"""Ingest of an account under test: real sockets, a real journal, the in-process bus, and a reader of what comes out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.ingest.account.main import AccountIngest
from services.ingest.account.telemetry import AccountTelemetry
from shared.account_settings import AccountSection
from shared.accounts.base import AccountEndpoints, Credentials
from shared.bus.base import Bus
from shared.bus.memory import MemoryBus
from shared.clock import Clock, SystemClock
from shared.control import StreamInfo
from shared.credentials import AccountTarget
from shared.envelope import FrameKind, Reconciliation, decode_mark, decode_reconciliation
from shared.settings import IngestSettings, Settings
from shared.telemetry.bundle import Telemetry
from shared.topology import RAW
from tests.support.eventually import eventually
from tests.support.ingesting import Numbered, RawReader
from tests.support.private_bybit import KEY, SECRET, PrivateBybit

__all__ = ["STREAM", "AccountRunning", "account_running", "account_settings", "shown"]

STREAM = StreamInfo("bybit", "linear", "account", "bybit.main")


def account_settings(directory: Path, **changes: Any) -> Settings:
    """Settings with short times; ``changes`` to those of accounts."""
    short: dict[str, Any] = {
        "journal_directory": directory,
        "reconcile_interval_s": 60.0,
        "hold_s": 5.0,
        "alive_interval_s": 60.0,
        "publish_deadline_s": 2.0,
        "refused_initial_s": 0.2,
        "refused_cap_s": 1.0,
    }
    ingest = IngestSettings(open_timeout_s=2.0, reconnect_initial_s=0.05, reconnect_cap_s=0.2, announce_interval_s=0.2)
    return Settings(account=AccountSection(**(short | changes)), ingest=ingest)


def shown(numbered: Numbered) -> str:
    """A frame in a word: the mark's name, ``lists``, ``catch_up``, or the execution that it tells of."""
    frame = numbered.frame
    if frame.kind == FrameKind.MARK:
        return type(decode_mark(frame.data)).__name__
    if frame.kind == FrameKind.REST:
        return "lists"
    if frame.kind == FrameKind.CATCH_UP:
        return "catch_up"
    return frame.data.decode(errors="replace")


@dataclass
class AccountRunning:
    """An account's ingest that runs."""

    ingest: AccountIngest
    telemetry: Telemetry
    bus: Bus
    stopping: asyncio.Event
    task: "asyncio.Task[None]"
    raw: RawReader = field(default_factory=RawReader)

    def words(self) -> list[str]:
        """Everything that came out, in order."""
        return [shown(one) for one in self.raw.only()]

    def texts(self) -> list[str]:
        """What the venue pushed, in the order in which it came out."""
        return [one.frame.data.decode() for one in self.raw.only() if one.frame.kind == FrameKind.TEXT]

    def reconciliations(self) -> list[Reconciliation]:
        """What was caught up with."""
        return [
            decode_reconciliation(one.frame.data) for one in self.raw.only() if one.frame.kind == FrameKind.CATCH_UP
        ]

    async def reconciled(self, times: int = 1) -> None:
        """Until so many reconciliations came out."""
        await eventually(lambda: len(self.reconciliations()) >= times, f"{times} reconciliations came out")

    def count(self, name: str, **labels: str) -> float:
        """A metric's sum."""
        return self.telemetry.total(f"tidegate_{name}", labels)

    async def stop(self) -> None:
        """As SIGTERM does."""
        self.stopping.set()
        await self.task


@asynccontextmanager
async def account_running(
    venue: PrivateBybit,
    settings: Settings,
    clock: Clock | None = None,
    own_bus: MemoryBus | None = None,
    credentials: Credentials | None = None,
) -> AsyncIterator[AccountRunning]:
    """The account ``main`` of a venue, over an in-process bus."""
    telemetry, stopping = Telemetry(), asyncio.Event()
    endpoints = {"linear": AccountEndpoints(venue.websocket, venue.rest)}
    target = AccountTarget("bybit", "main", ("linear",), ("SOL/USDT:USDT",), endpoints)
    async with own_bus or MemoryBus() as bus:
        bound = AccountTelemetry(telemetry, "bybit", "main")
        keys = credentials or Credentials(KEY, SECRET)
        ingest = AccountIngest(target, keys, settings, bus, clock or SystemClock(), bound)
        subscriber = await bus.subscribe(RAW, ["#"], limit=1_000_000)
        task = asyncio.create_task(ingest.run(stopping))
        one = AccountRunning(ingest, telemetry, bus, stopping, task)
        reading = asyncio.create_task(one.raw.follow(subscriber))
        try:
            yield one
            if not task.done():
                await one.stop()
        finally:
            stopping.set()
            await asyncio.gather(task, return_exceptions=True)
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
