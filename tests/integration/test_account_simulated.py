"""Accounts of simulated venues: every private stream of an account, each with its own journal, order and numbers."""

import asyncio
from pathlib import Path

import pytest

from services.ingest.account.main import AccountIngest
from services.ingest.account.telemetry import AccountTelemetry
from services.simulator import AccountSpec, Simulator, SimulatorSettings
from shared.accounts.base import AccountEndpoints, Credentials
from shared.bus.memory import MemoryBus
from shared.clock import SystemClock
from shared.credentials import AccountTarget
from shared.telemetry.bundle import Telemetry
from shared.topology import RAW
from tests.support.accounting import account_settings, shown
from tests.support.eventually import eventually
from tests.support.ingesting import RawReader
from tests.support.processes import post_json

pytestmark = pytest.mark.integration


def names(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


@pytest.mark.parametrize(
    ("exchange", "products", "streams"),
    [
        ("bybit", ("spot", "linear"), {"bybit.main"}),
        ("binance", ("spot", "usdm"), {"binance.main.spot", "binance.main.usdm"}),
    ],
)
async def test_every_stream_of_an_account_is_reconciled_and_whole(
    tmp_path: Path, exchange: str, products: tuple[str, ...], streams: set[str]
) -> None:
    account = AccountSpec(exchange, "main", "simulated-key-01", "simulated-secret-01")
    telemetry, raw, stop = Telemetry(), RawReader(), asyncio.Event()
    async with Simulator(SimulatorSettings(accounts=(account,), exchanges=(exchange,))) as sim, MemoryBus() as bus:
        endpoints = {
            product: AccountEndpoints(sim.websocket_base(exchange, product), sim.rest_base(exchange, product))
            for product in products
        }
        target = AccountTarget(exchange, "main", products, (), endpoints)
        keys = Credentials(account.key, account.secret)
        bound = AccountTelemetry(telemetry, exchange, "main")
        ingest = AccountIngest(target, keys, account_settings(tmp_path), bus, SystemClock(), bound)
        reading = asyncio.create_task(raw.follow(await bus.subscribe(RAW, ["account.#"], limit=1_000_000)))
        task = asyncio.create_task(ingest.run(stop))
        try:
            await eventually(lambda: ingest.problem() is None and set(raw.streams) == streams)
            script = f"http://127.0.0.1:{sim.port}/control/accounts/{exchange}/main/script"
            await asyncio.to_thread(post_json, script, {"seed": 3, "events": 60, "rate": 100.0})
            await eventually(lambda: all(raw.data(stream) for stream in streams), "all streams have events")
        finally:
            stop.set()
            await task
            await eventually(lambda: all(shown(raw.of(stream)[-1]) == "Disconnected" for stream in streams))
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
    raw.assert_complete()
    for stream in streams:
        words = [shown(one) for one in raw.of(stream)]
        assert words.index("Connected") < words.index("lists") < words.index("Authenticated") < words.index("catch_up")
    assert names(tmp_path) == {f"{stream}.journal" for stream in streams}
    assert telemetry.total("tidegate_journal_frames", {}) == 0
