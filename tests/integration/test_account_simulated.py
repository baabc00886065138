"""Accounts of simulated venues: every private stream of an account, each with its own journal, order and numbers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from services.ingest.account.main import AccountIngest
from services.ingest.account.telemetry import AccountTelemetry
from services.simulator import AccountSpec, Simulator, SimulatorSettings
from services.simulator.venues.mexc_spot_private import MOST_KEYS
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


class Running(NamedTuple):
    """An account's ingest at a simulated venue, and what it has put into its streams."""

    sim: Simulator
    ingest: AccountIngest
    raw: RawReader
    telemetry: Telemetry


@asynccontextmanager
async def running(directory: Path, exchange: str, products: tuple[str, ...], grants: int = 0) -> AsyncIterator[Running]:
    """Until the end of the block, and stopped then; ``grants``: listen keys of a first product that others have."""
    account = AccountSpec(exchange, "main", "simulated-key-01", "simulated-secret-01")
    telemetry, raw, stop = Telemetry(), RawReader(), asyncio.Event()
    async with Simulator(SimulatorSettings(accounts=(account,), exchanges=(exchange,))) as sim, MemoryBus() as bus:
        for _ in range(grants):
            sim.desk.keyring.grant(sim.desk.keyring.account(exchange, "main"), products[0], 2**63)
        endpoints = {
            product: AccountEndpoints(sim.websocket_base(exchange, product), sim.rest_base(exchange, product))
            for product in products
        }
        target = AccountTarget(exchange, "main", products, (), endpoints)
        keys = Credentials(account.key, account.secret)
        bound = AccountTelemetry(telemetry, exchange, "main")
        ingest = AccountIngest(target, keys, account_settings(directory), bus, SystemClock(), bound)
        reading = asyncio.create_task(raw.follow(await bus.subscribe(RAW, ["account.#"], limit=1_000_000)))
        task = asyncio.create_task(ingest.run(stop))
        try:
            yield Running(sim, ingest, raw, telemetry)
        finally:
            stop.set()
            await task
            await eventually(lambda: all(shown(raw.of(stream)[-1]) == "Disconnected" for stream in raw.streams))
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


@pytest.mark.parametrize(
    ("exchange", "products", "streams"),
    [
        ("bybit", ("spot", "linear", "inverse"), {"bybit.main"}),
        ("binance", ("spot", "usdm"), {"binance.main.spot", "binance.main.usdm"}),
        ("mexc", ("spot", "futures"), {"mexc.main.spot", "mexc.main.futures"}),
    ],
)
async def test_every_stream_of_an_account_is_reconciled_and_whole(
    tmp_path: Path, exchange: str, products: tuple[str, ...], streams: set[str]
) -> None:
    async with running(tmp_path, exchange, products) as one:
        await eventually(lambda: one.ingest.problem() is None and set(one.raw.streams) == streams)
        script = f"http://127.0.0.1:{one.sim.port}/control/accounts/{exchange}/main/script"
        await asyncio.to_thread(post_json, script, {"seed": 3, "events": 60, "rate": 100.0})
        await eventually(lambda: all(one.raw.data(stream) for stream in streams), "all streams have events")
    raw = one.raw
    raw.assert_complete()
    for stream in streams:
        words = [shown(each) for each in raw.of(stream)]
        assert words.index("Connected") < words.index("lists") < words.index("Authenticated") < words.index("catch_up")
    assert names(tmp_path) == {f"{stream}.journal" for stream in streams}
    assert one.telemetry.total("tidegate_journal_frames", {}) == 0


def has_lived(one: Running, lives: int) -> bool:
    """Whether MEXC's spot had so many connections."""
    return len(one.raw.epochs("mexc.main.spot")) == lives


def granted(sim: Simulator) -> int:
    """How many listen keys of MEXC's spot there are."""
    account = sim.desk.keyring.account("mexc", "main")
    return sum(1 for _ in sim.desk.keyring.granted(account, "spot", sim.desk.trading.clock()))


async def test_connections_that_end_give_their_listen_key_back(tmp_path: Path) -> None:
    """There are sixty for an hour: who loses the connection every minute would be locked out."""
    async with running(tmp_path, "mexc", ("spot",)) as one:
        for lives in range(1, 4):
            await eventually(partial(has_lived, one, lives))
            await eventually(lambda: one.ingest.problem() is None)
            await eventually(lambda: granted(one.sim) == 1)
            one.sim.inject({"kind": "disconnect", "exchange": "mexc", "account": "main", "code": 1006})


async def test_an_account_whose_listen_keys_are_all_taken_is_heard_all_the_same(tmp_path: Path) -> None:
    async with running(tmp_path, "mexc", ("spot",), grants=MOST_KEYS) as one:
        await eventually(lambda: one.ingest.problem() is None)
        one.sim.inject({"kind": "disconnect", "exchange": "mexc", "account": "main", "code": 1006})
        await eventually(partial(has_lived, one, 2))
        await eventually(lambda: one.ingest.problem() is None)
        assert granted(one.sim) == MOST_KEYS
