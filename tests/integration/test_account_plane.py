"""The whole account plane in one process, against the simulated venues: a consumer's view becomes the ledger.

Simulator, ingest and normalizer are the real ones on real sockets; only the bus is the in-process one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from services.ingest.account.main import AccountIngest
from services.ingest.account.telemetry import AccountTelemetry as IngestTelemetry
from services.normalizer.account.main import AccountNormalizer
from services.normalizer.account.telemetry import AccountTelemetry
from services.simulator import Simulator
from shared.accounts.base import AccountEndpoints, Credentials
from shared.bus.base import Subscriber
from shared.bus.memory import MemoryBus
from shared.clock import SystemClock
from shared.credentials import AccountTarget
from shared.exchanges.accounts import account_adapter
from shared.settings import Settings
from shared.telemetry.bundle import Telemetry
from shared.topology import ACCOUNT
from tests.support.eventually import eventually, eventually_async
from tests.unit.simulator.client import post
from tests.unit.simulator.private import SECRETS, do, fetch, key, ledger, with_accounts

pytestmark = pytest.mark.integration

SYMBOLS = {
    "bybit": ("BTC/USDT", "ETH/USDT:USDT", "BTC/USD:BTC"),
    "binance": ("BTC/USDT", "ETH/USDT:USDT"),
    "mexc": ("BTC/USDT", "ETH/USDT:USDT"),
}
Row = dict[str, Any]


def told(row: Row) -> tuple[str, Decimal, Decimal]:
    return row["order_id"], Decimal(row["price"]), Decimal(row["size"])


class Consumer:
    """Drops what it knows, keeps the last of everything, and notes what breaks a promise."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int, int, int]] = set()
        self.newest: dict[str, tuple[int, int, int]] = {}
        self.inversions: list[Row] = []
        self.fills: dict[tuple[str, str], Row] = {}
        self.told_twice: list[Row] = []
        self.orders: dict[tuple[str, str], Row] = {}
        self.balances: dict[tuple[str, str], Row] = {}
        self.positions: dict[tuple[str, str], Row] = {}
        self.statuses: dict[str, list[str]] = {}

    async def follow(self, subscriber: Subscriber) -> None:
        while True:
            for message in json.decode((await subscriber.receive()).body):
                self.take(message)

    def take(self, message: Row) -> None:
        stream, at = message["stream"], (message["epoch"], message["frame"], message["part"])
        if (stream, *at) in self.seen:
            return
        if at < self.newest.get(stream, (0, 0, 0)):
            self.inversions.append(message)
        self.seen.add((stream, *at))
        self.newest[stream] = at
        symbol, wallet = message["symbol"], stream.split(".")[2] if stream.count(".") == 2 else "unified"
        match message["feed"]:
            case "fill":
                if (symbol, message["execution_id"]) in self.fills:
                    self.told_twice.append(message)
                self.fills[symbol, message["execution_id"]] = message
            case "order":
                self.orders[symbol, message["order_id"]] = message
            case "balance":
                self.balances[wallet, message["asset"]] = message
            case "position":
                self.positions[symbol, message["leg"]] = message
            case "account_status":
                self.statuses.setdefault(stream, []).append(message["status"])

    def current(self, streams: int) -> bool:
        """All streams are reconciled."""
        return len(self.statuses) == streams and all(each[-1] == "reconciled" for each in self.statuses.values())

    def agrees(self, final: Any) -> bool:
        """Whether all that was told is all that happened."""
        assert {at: told(one) for at, one in self.fills.items()} == {
            (row["symbol"], row["execution_id"]): told(row) for row in final["executions"]
        }
        assert {at: (one["status"], Decimal(one["filled_size"])) for at, one in self.orders.items()} == {
            (row["symbol"], row["order_id"]): (row["status"], Decimal(row["filled_size"]))
            for row in final["orders"].values()
        }
        assert {at: Decimal(one["size"]) for at, one in self.positions.items() if one["side"]} == {
            (row["symbol"], row["leg"]): abs(Decimal(row["size"])) for row in final["positions"] if row["side"]
        }
        assert {
            at: Decimal(one["total"]) for at, one in self.balances.items() if one["total"] and Decimal(one["total"])
        } == {
            (wallet, asset): Decimal(row["total"])
            for wallet, assets in final["balances"].items()
            for asset, row in assets.items()
            if Decimal(row["total"])
        }
        return True


def settings_in(directory: Path) -> Settings:
    account = {
        "journal_directory": directory / "journal",
        "state_directory": directory / "state",
        "reconcile_interval_s": 2.0,
        "alive_interval_s": 0.5,
        "lookback_s": 5.0,
    }
    ingest = {"reconnect_initial_s": 0.05, "reconnect_cap_s": 0.2, "announce_interval_s": 0.2}
    return Settings.model_validate({"account": account, "ingest": ingest})


@asynccontextmanager
async def ingesting(sim: Simulator, exchange: str, bus: MemoryBus, settings: Settings) -> AsyncIterator[int]:
    """The account ``main``; gives how many streams it has."""
    products = account_adapter(exchange).products
    endpoints = {
        product: AccountEndpoints(sim.websocket_base(exchange, product), sim.rest_base(exchange, product))
        for product in products
    }
    target = AccountTarget(exchange, "main", tuple(products), SYMBOLS[exchange], endpoints)
    keys = Credentials(key(exchange), SECRETS[exchange])
    ingest = AccountIngest(target, keys, settings, bus, SystemClock(), IngestTelemetry(Telemetry(), exchange, "main"))
    stop = asyncio.Event()
    task = asyncio.create_task(ingest.run(stop))
    try:
        yield 1 if exchange == "bybit" else len(products)
    finally:
        stop.set()
        await task


@asynccontextmanager
async def normalizing(bus: MemoryBus, settings: Settings) -> AsyncIterator[Telemetry]:
    telemetry, stop = Telemetry(), asyncio.Event()
    normalizer = AccountNormalizer(settings, bus, SystemClock(), AccountTelemetry(telemetry))
    task = asyncio.create_task(normalizer.run(stop))
    try:
        yield telemetry
    finally:
        stop.set()
        await task
        assert telemetry.total("tidegate_task_crashes_total", {}) == 0


@asynccontextmanager
async def consuming(bus: MemoryBus) -> AsyncIterator[Consumer]:
    consumer, subscriber = Consumer(), await bus.subscribe(ACCOUNT, ["#"], limit=1_000_000)
    task = asyncio.create_task(consumer.follow(subscriber))
    try:
        yield consumer
    finally:
        task.cancel()


async def trade(sim: Simulator, exchange: str, seed: int, events: int) -> None:
    """Random activity, to its end."""
    await do(sim, exchange, "script", events=events, rate=200.0, seed=seed)

    async def ended() -> bool:
        return not (await fetch("GET", f"{sim.control_base}/accounts/{exchange}/main/script")).body["running"]

    await eventually_async(ended, within=60.0)


async def fault(sim: Simulator, kind: str, **more: object) -> None:
    status, answer = await post(f"{sim.control_base}/faults", {"kind": kind, "account": "main", **more})
    assert status == 200, answer


@pytest.mark.parametrize("exchange", SYMBOLS)
async def test_what_a_consumer_is_told_is_what_happened(exchange: str, tmp_path: Path) -> None:
    """Messages come twice and out of order, sockets are dropped between order and fill, the normalizer is replaced."""
    settings = settings_in(tmp_path)
    async with AsyncExitStack() as stack:
        sim = await stack.enter_async_context(Simulator(with_accounts(exchange)))
        bus = await stack.enter_async_context(MemoryBus())
        consumer = await stack.enter_async_context(consuming(bus))
        streams = await stack.enter_async_context(ingesting(sim, exchange, bus, settings))
        async with normalizing(bus, settings):
            await eventually(lambda: consumer.current(streams), "the account is reconciled", within=60)
            await fault(sim, "duplicate", count=10)
            await trade(sim, exchange, 7, 60)
            await fault(sim, "drop_socket")
            await trade(sim, exchange, 8, 60)
        async with normalizing(bus, settings) as telemetry:
            await fault(sim, "reorder", count=5, seconds=0.2)
            await trade(sim, exchange, 9, 60)
            final = await ledger(sim, exchange)
            await eventually(lambda: consumer.agrees(final), within=60)
            await eventually(lambda: consumer.current(streams), "the account is reconciled", within=60)
            assert telemetry.total("tidegate_frames_rejected_total", {}) == 0
            assert telemetry.total("tidegate_frames_lost_total", {}) == 0
    assert (consumer.inversions, consumer.told_twice) == ([], [])
    assert len(final["executions"]) > 20
