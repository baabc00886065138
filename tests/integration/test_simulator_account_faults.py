"""Each fault on accounts does what its line in the table says."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from decimal import Decimal
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from services.simulator import FaultError, Simulator, select
from tests.support.eventually import eventually
from tests.unit.simulator.client import Client, Decoded, client, get, post
from tests.unit.simulator.private import (
    by_query,
    bybit,
    bybit_stream,
    do,
    fetch,
    key,
    ledger,
    now_ms,
    passive,
    sign,
    spec,
    with_accounts,
)

pytestmark = pytest.mark.integration

LINEAR = {"product": "linear", "symbol": "BTCUSDT"}
ORDERS = "/v5/order/history"


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(with_accounts("bybit", "BTCUSDT", "ETHUSDT", names=("main", "second"))) as simulator:
        yield simulator


def told(frames: list[Decoded]) -> list[str]:
    """Topics, and of orders their status."""
    return [
        f"order {frame['data'][0]['orderStatus']}" if frame["topic"] == "order" else frame["topic"] for frame in frames
    ]


async def resting(sim: Simulator, name: str = "main", ticks: int = 0) -> str:
    price = passive(sim, "bybit", "linear", "BTCUSDT", ticks=ticks)
    order = await do(sim, "bybit", "orders", name, **LINEAR, side="buy", size="0.01", price=price)
    return str(order["order_id"])


async def everything(one: Client) -> list[Decoded]:
    """What comes until the connection is reset."""
    frames: list[Decoded] = []

    async def read() -> None:
        while True:
            frames.append(await one.next())

    with pytest.raises(ConnectionClosedError):
        await read()
    return frames


async def test_a_dropped_socket_has_told_of_the_order_and_not_of_its_fill(sim: Simulator) -> None:
    async with bybit_stream(sim, "order", "execution") as one:
        order = await resting(sim)
        sim.inject({"kind": "drop_socket", "exchange": "bybit", "account": "main"})
        await do(sim, "bybit", "fill", order_id=order)
        frames = await everything(one)
    assert told(frames) == ["order New", "order Filled"]
    assert [one["order_id"] for one in (await ledger(sim, "bybit"))["executions"]] == [order]
    assert (await bybit(sim, "/v5/execution/list", category="linear")).body["result"]["list"][0]["orderId"] == order
    _, state = await get(sim.control_base + "/state")
    assert state["exchanges"]["bybit"]["linear"]["connections_closed"] == {"drop_socket": 1}
    assert state["faults_done"] == {"drop_socket": 1}


async def test_a_fault_on_one_account_leaves_the_others_and_the_market_alone(sim: Simulator) -> None:
    async with bybit_stream(sim, "order", "execution", name="second") as one:
        sim.inject({"kind": "drop_socket", "account": "main"})
        sim.inject({"kind": "duplicate", "account": "main"})
        sim.inject({"kind": "duplicate"})
        await do(sim, "bybit", "fill", "second", order_id=await resting(sim, "second"))
        assert told(await one.rest()) == ["order New", "order Filled", "execution"]
        assert len(sim.hub.board) == 3


async def test_duplicates_and_lost_and_held_back_messages_of_an_account(sim: Simulator) -> None:
    async with bybit_stream(sim, "order", "execution") as one:
        sim.inject({"kind": "duplicate", "account": "main", "feed": "fill"})
        sim.inject({"kind": "gap", "account": "*", "feed": "order"})
        order = await resting(sim)
        await do(sim, "bybit", "fill", order_id=order, size="0.004")
        assert told(await one.rest(0.2)) == ["order PartiallyFilled", "execution", "execution"]
        sim.inject({"kind": "out_of_order", "account": "main", "topic": "execution"})
        await do(sim, "bybit", "fill", order_id=order, size="0.001")
        await do(sim, "bybit", "fill", order_id=order, size="0.002")
        frames = await one.rest(0.2)
    fills = [frame["data"][0]["execQty"] for frame in frames if frame["topic"] == "execution"]
    assert fills == ["0.002", "0.001"]


async def test_reorder_lets_an_order_follow_its_fill(sim: Simulator) -> None:
    async with bybit_stream(sim, "order", "execution") as one:
        sim.inject({"kind": "reorder", "account": "main", "count": 2, "seconds": 30})
        await do(sim, "bybit", "fill", order_id=await resting(sim))
        assert told([await one.next() for _ in range(3)]) == ["execution", "order New", "order Filled"]


async def test_a_held_back_order_leaves_after_its_seconds_where_no_fill_comes(sim: Simulator) -> None:
    async with bybit_stream(sim, "order", "execution") as one:
        sim.inject({"kind": "reorder", "account": "main", "seconds": 0.2})
        began = time.monotonic()
        await resting(sim)
        assert told([await one.next()]) == ["order New"]
        assert time.monotonic() - began >= 0.2


async def test_reorder_and_drop_on_a_venue_that_tells_order_and_fill_in_one() -> None:
    async with Simulator(with_accounts("binance", "BTCUSDT")) as sim:
        granted = await fetch(
            "POST", sim.rest_base("binance", "usdm") + "/fapi/v1/listenKey", {"X-MBX-APIKEY": key("binance")}
        )
        url = f"{sim.websocket_base('binance', 'usdm')}/private/ws/{granted.body['listenKey']}"
        async with client(url) as one:
            sim.inject({"kind": "reorder", "seconds": 30})
            price = passive(sim, "binance", "usdm", "BTCUSDT")
            order = await do(
                sim, "binance", "orders", product="usdm", symbol="BTCUSDT", side="buy", size="0.01", price=price
            )
            await do(sim, "binance", "fill", order_id=order["order_id"], size="0.004")
            frames = [await one.next() for _ in range(4)]
            assert [frame["e"] for frame in frames] == [
                "TRADE_LITE",
                "ORDER_TRADE_UPDATE",
                "ACCOUNT_UPDATE",
                "ORDER_TRADE_UPDATE",
            ]
            assert (frames[1]["o"]["x"], frames[3]["o"]["x"]) == ("NEW", "TRADE")
            sim.inject({"kind": "drop_socket", "product": "usdm"})
            await do(sim, "binance", "fill", order_id=order["order_id"])
            assert await everything(one) == []


async def test_malformed_and_strange_messages_of_an_account(sim: Simulator) -> None:
    async with bybit_stream(sim, "order") as one:
        sim.inject({"kind": "unknown_event", "account": "main"})
        await resting(sim)
        assert (await one.next())["topic"] == "mystery."
        sim.inject({"kind": "extra_fields", "account": "main"})
        await resting(sim)
        assert "zzNew" in await one.next()
        sim.inject({"kind": "malformed", "account": "main", "mode": "garbage"})
        await resting(sim)
        assert str(await one.raw()).startswith("<html>")
        sim.inject({"kind": "wrong_type", "account": "main"})
        await resting(sim)
        assert any(isinstance(value, dict) for value in (await one.next())["data"][0].values())


async def test_refuse_auth_refuses_logins_and_signed_requests_of_one_account(sim: Simulator) -> None:
    sim.inject({"kind": "refuse_auth", "exchange": "bybit", "account": "main", "count": 2})
    async with client(sim.websocket_base("bybit", "linear") + "/v5/private") as one:
        for wanted in (False, True):
            expires = now_ms(sim) + 5000
            args = [key("bybit"), expires, sign("bybit", f"GET/realtime{expires}")]
            await one.send({"op": "auth", "args": args})
            assert (await one.next())["success"] is wanted
            code = (await bybit(sim, ORDERS, category="linear")).body["retCode"]
            assert code == (0 if wanted else 10003)
    async with bybit_stream(sim, "order", name="second") as other:
        await other.send({"op": "ping"})
        assert (await other.next())["op"] == "pong"


async def test_expire_key_ends_the_streams_that_live_by_it() -> None:
    settings = with_accounts("binance", "BTCUSDT")
    async with Simulator(settings) as sim:
        granted = await fetch(
            "POST", sim.rest_base("binance", "usdm") + "/fapi/v1/listenKey", {"X-MBX-APIKEY": key("binance")}
        )
        key_text = granted.body["listenKey"]
        stamp = now_ms(sim)
        signed = sign("binance", f"apiKey={key('binance')}&timestamp={stamp}")
        params = {"apiKey": key("binance"), "timestamp": stamp, "signature": signed}
        async with (
            client(f"{sim.websocket_base('binance', 'usdm')}/private/ws/{key_text}") as futures,
            client(sim.websocket_base("binance", "spot") + "/ws-api/v3") as spot,
        ):
            await spot.send({"id": 1, "method": "userDataStream.subscribe.signature", "params": params})
            assert (await spot.next())["status"] == 200
            assert sim.inject({"kind": "expire_key", "product": "usdm", "account": "main"}) == 1
            expired = await futures.next()
            assert (expired["e"], expired["listenKey"]) == ("listenKeyExpired", key_text)
            assert sim.inject({"kind": "expire_key", "product": "spot"}) == 1
            assert (await spot.next())["event"]["e"] == "eventStreamTerminated"
            for product in ("spot", "usdm"):
                await do(sim, "binance", "transfer", product=product, asset="USDT", amount="1")
            assert await spot.rest(0.2) == await futures.rest(0.2) == []


async def test_expire_key_closes_a_spot_stream_of_mexc() -> None:
    async with Simulator(with_accounts("mexc", "BTCUSDT")) as sim:
        granted = await by_query(sim, ("mexc", "spot"), "/api/v3/userDataStream", {}, "POST")
        url = f"{sim.websocket_base('mexc', 'spot')}/ws?listenKey={granted.body['listenKey']}"
        async with client(url) as one:
            assert sim.inject({"kind": "expire_key"}) == 1
            assert await one.closed() == 1000
        async with client(url) as again:
            assert await again.raw() == "Invalid listen key"


async def test_rest_errors_of_an_account_leave_public_requests_alone(sim: Simulator) -> None:
    sim.inject({"kind": "rest_error", "account": "*", "status": 500, "topic": ORDERS})
    sim.inject({"kind": "rest_error", "account": "main", "status": 429})
    assert (await get(sim.rest_base("bybit", "linear") + "/v5/market/time"))[0] == 200
    assert (await bybit(sim, "/v5/execution/list", category="linear")).status == 429
    assert (await bybit(sim, "/v5/execution/list", category="linear")).status == 200
    assert (await bybit(sim, ORDERS, name="second", category="linear")).status == 500
    sim.inject({"kind": "rest_error", "status": 503})
    assert (await bybit(sim, ORDERS, category="linear")).status == 200
    assert (await get(sim.rest_base("bybit", "linear") + "/v5/market/time"))[0] == 503


async def test_a_slow_answer_is_made_at_once_and_delivered_late(sim: Simulator) -> None:
    sim.inject({"kind": "rest_slow", "account": "main", "seconds": 0.3})
    began = time.monotonic()
    slow = asyncio.create_task(bybit(sim, "/v5/order/realtime", category="linear", symbol="BTCUSDT"))
    await eventually(lambda: not len(sim.hub.board))
    await resting(sim)
    assert (await slow).body["result"]["list"] == []
    assert time.monotonic() - began >= 0.3


async def test_a_lagging_answer_tells_what_was_so_before(sim: Simulator) -> None:
    await do(sim, "bybit", "fill", order_id=await resting(sim), size="0.004")
    lists: list[tuple[str, dict[str, Any]]] = [
        ("/v5/order/realtime", {"symbol": "BTCUSDT"}),
        ("/v5/execution/list", {}),
        ("/v5/position/list", {"settleCoin": "USDT"}),
    ]
    for path, query in lists:
        sim.inject({"kind": "rest_lag", "account": "main", "seconds": 3600})
        assert (await bybit(sim, path, category="linear", **query)).body["result"]["list"] == []
        assert len((await bybit(sim, path, category="linear", **query)).body["result"]["list"]) == 1


async def test_a_clock_that_is_off_shows_in_times_and_in_what_is_refused(sim: Simulator) -> None:
    assert sim.inject({"kind": "clock_offset", "exchange": "bybit", "offset_ms": -20_000}) == 1
    _, public = await get(sim.rest_base("bybit", "linear") + "/v5/market/time")
    assert abs(public["time"] - (now_ms(sim) - 20_000)) < 5000
    assert (await bybit(sim, ORDERS, category="linear")).body["retCode"] == 10002
    assert (await bybit(sim, ORDERS, shift_ms=-20_000, category="linear")).body["retCode"] == 0
    sim.inject({"kind": "clock_offset", "offset_ms": 0})
    assert (await bybit(sim, ORDERS, category="linear")).body["retCode"] == 0


async def test_times_of_an_account_never_go_back_with_the_clock(sim: Simulator) -> None:
    sim.inject({"kind": "clock_offset", "exchange": "bybit", "offset_ms": 30_000})
    ahead = sim.desk.trading.time("bybit")
    first = await resting(sim)
    sim.inject({"kind": "clock_offset", "exchange": "bybit", "offset_ms": 0})
    second = await resting(sim)
    orders = (await ledger(sim, "bybit"))["orders"]
    assert orders[second]["ts_updated"] >= orders[first]["ts_updated"] >= ahead // 10**6 * 10**6


async def test_connections_of_an_account_can_be_cut_and_refused(sim: Simulator) -> None:
    async with bybit_stream(sim, "order") as mine, bybit_stream(sim, "order", name="second") as theirs:
        assert sim.inject({"kind": "disconnect", "account": "main", "code": 1012}) == 1
        assert await mine.closed() == 1012
        assert sim.inject({"kind": "disconnect", "code": 1001}) == 0
        assert sim.inject({"kind": "silence", "account": "*", "seconds": 60, "topic": "order"}) == 1
        await resting(sim, "second")
        assert await theirs.rest(0.2) == []
    sim.inject({"kind": "refuse", "account": "*", "status": 503})
    async with client(sim.websocket_base("bybit", "linear") + "/v5/public/linear"):
        pass
    with pytest.raises(InvalidStatus, match="503"):
        async with client(sim.websocket_base("bybit", "linear") + "/v5/private"):
            pass
    sim.inject({"kind": "accept_then_close", "account": "*", "code": 1013})
    async with client(sim.websocket_base("bybit", "linear") + "/v5/private") as one:
        assert await one.closed() == 1013


async def test_a_topic_of_an_account_can_be_refused(sim: Simulator) -> None:
    async with bybit_stream(sim, "order") as one:
        sim.inject({"kind": "reject_topic", "account": "main", "topic": "execution"})
        await one.send({"op": "subscribe", "args": ["execution"]})
        assert (await one.next())["success"] is False
        await one.send({"op": "subscribe", "args": ["execution"]})
        assert (await one.next())["success"] is True


async def test_faults_that_make_no_sense_are_refused(sim: Simulator) -> None:
    for fault in (
        {"kind": "clock_offset", "offset_ms": 10**9},
        {"kind": "rest_lag", "account": 7},
        {"kind": "clock_offset", "offset_ms": "soon"},
    ):
        with pytest.raises(FaultError):
            sim.inject(fault)
        assert (await post(sim.control_base + "/faults", fault))[0] == 400


async def test_a_busy_account_survives_every_fault_with_its_books_balanced() -> None:
    """Faults change what is heard, never what happened: two runs of one script, one of them under fire, are equal."""
    endings = []
    for under_fire in (False, True):
        settings = with_accounts("bybit", "BTCUSDT", "ETHUSDT")
        async with Simulator(settings) as sim:
            for market in sim.hub.markets():
                market.paused = True
            if under_fire:
                for kind in ("duplicate", "reorder", "out_of_order", "gap", "malformed"):
                    sim.inject({"kind": kind, "account": "main", "count": 40, "seconds": 0.05, "feed": ""})
            async with bybit_stream(sim, "order", "execution", "wallet", "position"):
                await do(sim, "bybit", "script", events=200, rate=2000, seed=5)
                await eventually(_ended(sim))
                endings.append(neutral(await ledger(sim, "bybit")))
    assert endings[0] == endings[1]


def _ended(sim: Simulator) -> Callable[[], bool]:
    return lambda: not any(script.running for script in sim.desk.scripts.values())


def neutral(one: Decoded) -> Decoded:
    """A ledger without times and ids."""
    named = {order_id: number for number, order_id in enumerate(one["orders"])}
    plain = {"ts", "ts_created", "ts_updated", "execution_id", "order_id", "client_order_id", "n"}
    orders = [{name: value for name, value in row.items() if name not in plain} for row in one["orders"].values()]
    executions = [
        {**{name: value for name, value in row.items() if name not in plain}, "order": named[row["order_id"]]}
        for row in one["executions"]
    ]
    return orders, executions, one["balances"], one["positions"]


def test_private_accounts_can_be_configured_from_the_start() -> None:
    settings = with_accounts("mexc", "BTCUSDT")
    assert settings.accounts == (spec("mexc"),)
    assert "glue" not in repr(settings)
    assert {one.exchange for one in select(exchange="mexc")} == {"mexc"}
    assert Decimal(settings.accounts[0].balances["USDT"]) > 0
