"""An account normalizer on a bus, fed by hand with frames as Bybit's."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from services.normalizer.account.main import AccountNormalizer
from services.normalizer.account.telemetry import AccountTelemetry
from shared.bus.base import Bus
from shared.clock import SystemClock
from shared.control import StreamInfo
from shared.envelope import (
    Authenticated,
    Connected,
    Envelope,
    Frame,
    FrameKind,
    Mark,
    Reconciliation,
    RestReply,
    encode_envelope,
    encode_mark,
    encode_reconciliation,
    encode_reply,
)
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from tests.unit.exchanges.bybit.account.frames import REST, TS, execution, message, page
from tests.unit.exchanges.bybit.frames import listing
from tests.unit.normalizer.plane import AT, PATIENCE, Plane

__all__ = [
    "MAIN",
    "SECOND",
    "account_settings",
    "accounts_running",
    "begin",
    "caught_up",
    "envelope_of",
    "fills",
    "mark",
    "pushed",
]

MAIN = StreamInfo("bybit", "linear+spot", "account", "bybit.main")
SECOND = StreamInfo("bybit", "linear+spot", "account", "bybit.second")


def account_settings(directory: Path) -> Settings:
    return Settings.model_validate({"account": {"state_directory": directory, "publish_deadline_s": 2.0}})


def mark(of: Mark) -> Frame:
    return Frame(FrameKind.MARK, AT, encode_mark(of))


def pushed(data: bytes) -> Frame:
    return Frame(FrameKind.TEXT, AT, data)


def begin() -> list[Frame]:
    """Connected, instruments, logged in."""
    contract = {"settleCoin": "USDT", "contractType": "LinearPerpetual", "deliveryTime": "0"}
    listed = listing(
        "linear", {"symbol": "SOLUSDT", "status": "Trading", "baseCoin": "SOL", "quoteCoin": "USDT"} | contract
    )
    reply = RestReply(f"{REST}/v5/market/instruments-info?category=linear", 200, listed)
    return [mark(Connected("wss://venue")), Frame(FrameKind.REST, AT, encode_reply(reply)), mark(Authenticated())]


def caught_up(since_ms: int, until_ms: int) -> Frame:
    """A reconciliation that finds nothing."""
    replies = [
        RestReply(f"{REST}/v5/order/realtime?category=linear&settleCoin=USDT&openOnly=0", 200, page("linear")),
        RestReply(f"{REST}/v5/execution/list?category=linear", 200, page("linear")),
    ]
    return Frame(FrameKind.CATCH_UP, AT, encode_reconciliation(Reconciliation(since_ms, until_ms, replies)))


def fills(*identities: object) -> list[Frame]:
    """A frame for each execution."""
    return [
        pushed(message("execution.linear", execution(execId=f"e-{each}", execTime=str(TS + index))))
        for index, each in enumerate(identities)
    ]


def envelope_of(first: int, frames: Sequence[Frame], stream: StreamInfo = MAIN, epoch: int = 1) -> bytes:
    return encode_envelope(
        Envelope(1, stream.exchange, stream.product, stream.plane, stream.stream, epoch, first, frames)
    )


@asynccontextmanager
async def accounts_running(bus: Bus, directory: Path) -> AsyncIterator[Plane]:
    """An account normalizer on an open bus; at the end it is stopped, and has to end in order."""
    telemetry = Telemetry()
    normalizer = AccountNormalizer(account_settings(directory), bus, SystemClock(), AccountTelemetry(telemetry))
    plane = Plane(bus, normalizer, telemetry, await bus.publisher())
    task = asyncio.create_task(normalizer.run(plane.stop))
    announcing = asyncio.create_task(plane.announce())
    try:
        yield plane
    finally:
        announcing.cancel()
        plane.stop.set()
        async with asyncio.timeout(PATIENCE):
            await task
        assert telemetry.total("tidegate_task_crashes_total", {"task": "normalizer"}) == 0
