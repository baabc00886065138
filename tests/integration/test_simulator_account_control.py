"""The control API of accounts."""

from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from services.simulator import Simulator
from tests.support.eventually import eventually_async
from tests.unit.simulator.accounts.offices import audited
from tests.unit.simulator.client import get, post
from tests.unit.simulator.private import STILL, bybit_stream, do, fetch, ledger, with_accounts

pytestmark = pytest.mark.integration

MEXC = {"spot": "spot", "futures": "futures"}


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(with_accounts("mexc", "BTCUSDT", "BTC_USDT", rate=STILL)) as simulator:
        yield simulator


async def test_accounts_are_made_and_listed_without_their_secrets(sim: Simulator) -> None:
    url = sim.control_base + "/accounts"
    new = {"exchange": "mexc", "name": "second", "key": "a key", "secret": "a secret", "balances": {"USDT": "12.5"}}
    assert await post(url, new) == (200, {"exchange": "mexc", "name": "second", "wallets": ["spot", "futures"]})
    assert (await post(url, new))[0] == 409
    assert (await post(url, {**new, "name": "third", "key": "other", "exchange": "bybit"}))[0] == 409
    assert (await post(url, {**new, "exchange": "moon"}))[0] == 409
    assert (await post(url, {"exchange": "mexc"}))[0] == 400
    assert (await post(url, {**new, "colour": "red"}))[0] == 400
    status, rows = await get(url)
    assert (status, [(one["name"], one["connections"], one["open_orders"]) for one in rows]) == (
        200,
        [("main", 0, 0), ("second", 0, 0)],
    )
    assert "secret" not in str(rows)
    told = await ledger(sim, "mexc", "second")
    assert told["balances"]["futures"] == {
        "USDT": {"total": "12.5", "available": "12.5", "locked": "0", "order_margin": "0", "position_margin": "0"}
    }


async def test_what_cannot_be_done_is_said_and_changes_nothing(sim: Simulator) -> None:
    base = sim.control_base + "/accounts/mexc/main"
    before = await ledger(sim, "mexc")
    wrong = [
        ("orders", {"product": "spot", "symbol": "NOPE", "side": "buy", "size": "1"}, 409),
        ("orders", {"product": "spot", "symbol": "BTCUSDT", "side": "buy", "size": "0.000000001"}, 409),
        ("orders", {"product": "spot", "symbol": "BTCUSDT", "side": "buy", "size": "x"}, 409),
        ("orders", {"product": "spot", "symbol": "BTCUSDT", "side": "dance", "size": "1"}, 400),
        ("cancel", {"order_id": "none"}, 409),
        ("amend", {"order_id": "none"}, 409),
        ("fill", {"order_id": "none"}, 409),
        ("liquidate", {"product": "futures", "symbol": "BTC_USDT", "leg": "long"}, 409),
        ("deleverage", {"product": "futures", "symbol": "BTC_USDT", "leg": "long"}, 409),
        ("transfer", {"product": "spot", "asset": "USDT", "amount": "lots"}, 400),
        ("transfer", {"product": "spot", "asset": "USDT", "amount": "-99999999"}, 409),
        ("script", {"events": 0}, 400),
    ]
    for what, body, status in wrong:
        answer = await post(f"{base}/{what}", body)
        assert (answer[0], "error" in answer[1]) == (status, True), (what, body)
    assert (await get(sim.control_base + "/accounts/mexc/nobody/ledger"))[0] == 409
    assert (await get(f"{base}/events?limit=0"))[0] == 400
    assert await ledger(sim, "mexc") == before


async def test_a_script_over_http_ends_with_a_ledger_that_balances(sim: Simulator) -> None:
    assert (await get(sim.control_base + "/accounts/mexc/main/script"))[1] == {"running": False}
    started = await do(sim, "mexc", "script", events=400, rate=1000, seed=3, settle=True)
    assert started["running"] is True

    async def ended() -> bool:
        return not (await get(sim.control_base + "/accounts/mexc/main/script"))[1]["running"]

    await eventually_async(ended)
    _, state = await get(sim.control_base + "/accounts/mexc/main/script")
    told = await ledger(sim, "mexc")
    assert state["happened"] >= 400
    assert told["happenings"] == state["happened"] + 12
    audited(told, MEXC)
    assert not {one["status"] for one in told["orders"].values()} & {"new", "partially_filled"}
    _, page = await get(sim.control_base + f"/accounts/mexc/main/events?since={told['happenings'] - 1}")
    assert [one["n"] for one in page] == [told["happenings"] - 1]


async def test_a_script_can_be_stopped_over_http(sim: Simulator) -> None:
    await do(sim, "mexc", "script", events=100_000, rate=1)
    url = sim.control_base + "/accounts/mexc/main/script"
    assert (await post(url, {"events": 1}))[0] == 409
    assert (await fetch("DELETE", url)).body == {"running": False}
    assert (await get(url))[1]["running"] is False


async def test_a_stream_hears_everything_that_the_ledger_has() -> None:
    async with Simulator(with_accounts("bybit", "BTCUSDT", "ETHUSDT", rate=20.0)) as sim:
        async with bybit_stream(sim, "order", "execution") as one:
            await do(sim, "bybit", "script", events=300, rate=500, seed=9)

            async def ended() -> bool:
                return not (await get(sim.control_base + "/accounts/bybit/main/script"))[1]["running"]

            await eventually_async(ended)
            await post(sim.control_base + "/pause")
            frames = await one.rest()
        told = await ledger(sim, "bybit")
        _, state = await get(sim.control_base + "/state")
    rows = [row for frame in frames if frame["topic"] == "execution" for row in frame["data"]]
    heard = [row["execId"] for row in rows if row["execType"] != "Funding"]
    assert heard == [row["execution_id"] for row in told["executions"]]
    last = {row["orderId"]: row for frame in frames if frame["topic"] == "order" for row in frame["data"]}
    assert set(last) == set(told["orders"])
    for order_id, row in last.items():
        assert Decimal(row["cumExecQty"]) == Decimal(told["orders"][order_id]["filled_size_native"])
    sent = {feed for product in state["exchanges"]["bybit"].values() for feed in product["sent"]}
    assert {"order", "fill"} <= sent
