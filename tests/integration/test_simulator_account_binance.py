"""The private side of Binance as a client sees it: the WebSocket API on spot, listen keys on USD-M, signed REST."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest

from services.simulator import Simulator
from tests.unit.simulator.client import SECOND_NS, START_NS, Client, Decoded, client
from tests.unit.simulator.private import (
    Reply,
    by_query,
    do,
    fetch,
    key,
    ledger,
    now_ms,
    passive,
    sign,
    with_accounts,
)

pytestmark = pytest.mark.integration

SPOT = {"product": "spot", "symbol": "BTCUSDT"}
USDM = {"product": "usdm", "symbol": "BTCUSDT"}
LISTEN = "/fapi/v1/listenKey"


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(with_accounts("binance", "BTCUSDT", "ETHUSDT")) as simulator:
        yield simulator


async def spot(sim: Simulator, path: str, **query: object) -> Reply:
    return await by_query(sim, ("binance", "spot"), path, query)


async def usdm(sim: Simulator, path: str, **query: object) -> Reply:
    return await by_query(sim, ("binance", "usdm"), path, query)


async def call(one: Client, method: str, params: object = None, number: object = 1) -> Decoded:
    await one.send({"id": number, "method": method, **({"params": params} if params is not None else {})})
    return await one.next()


def signed(sim: Simulator, **more: object) -> dict[str, object]:
    given = {"apiKey": key("binance"), "timestamp": now_ms(sim), **more}
    text = "&".join(f"{name}={given[name]}" for name in sorted(given))
    return {**given, "signature": sign("binance", text)}


@asynccontextmanager
async def spot_stream(sim: Simulator) -> AsyncIterator[Client]:
    async with client(sim.websocket_base("binance", "spot") + "/ws-api/v3") as one:
        answer = await call(one, "userDataStream.subscribe.signature", signed(sim))
        assert (answer["status"], answer["result"]) == (200, {"subscriptionId": 0})
        yield one


async def listen_key(sim: Simulator, method: str = "POST") -> Reply:
    return await fetch(method, sim.rest_base("binance", "usdm") + LISTEN, {"X-MBX-APIKEY": key("binance")})


@asynccontextmanager
async def usdm_stream(sim: Simulator, query: str = "") -> AsyncIterator[Client]:
    granted = (await listen_key(sim)).body["listenKey"]
    async with client(f"{sim.websocket_base('binance', 'usdm')}/private/ws?listenKey={granted}{query}") as one:
        yield one


async def test_a_spot_order_its_fill_and_its_cancel_are_execution_reports(sim: Simulator) -> None:
    async with spot_stream(sim) as one:
        price = passive(sim, "binance", "spot", "BTCUSDT")
        order = await do(sim, "binance", "orders", **SPOT, side="buy", size="0.01", price=price, client_id="gull-2")
        await do(sim, "binance", "fill", order_id=order["order_id"], size="0.004")
        await do(sim, "binance", "cancel", order_id=order["order_id"], cancel_id="gull-3")
        frames = await one.rest()
    assert {frame["subscriptionId"] for frame in frames} == {0}
    events = [frame["event"] for frame in frames]
    assert [event["e"] for event in events] == ["executionReport", "outboundAccountPosition"] * 3
    placed, filled, ended = events[::2]
    assert [(one["x"], one["X"]) for one in (placed, filled, ended)] == [
        ("NEW", "NEW"),
        ("TRADE", "PARTIALLY_FILLED"),
        ("CANCELED", "CANCELED"),
    ]
    assert (placed["c"], placed["C"], placed["t"], placed["N"], placed["q"]) == ("gull-2", "", -1, None, "0.01000000")
    assert (filled["l"], filled["z"], filled["m"], filled["N"]) == ("0.00400000", "0.00400000", True, "BTC")
    assert (ended["c"], ended["C"], ended["z"], ended["l"], ended["t"]) == (
        "gull-3",
        "gull-2",
        "0.00400000",
        "0.00000000",
        -1,
    )
    assert {str(one["i"]) for one in (placed, filled, ended)} == {order["order_id"]}
    serials = [one["I"] for one in (placed, filled, ended)]
    assert serials == sorted(set(serials))
    told = await ledger(sim, "binance")
    last = {row["a"]: (row["f"], row["l"]) for event in events[1::2] for row in event["B"]}
    for asset, (free, locked) in last.items():
        row = told["balances"]["spot"][asset]
        assert (Decimal(free), Decimal(locked)) == (Decimal(row["available"]), Decimal(row["locked"]))


async def test_a_spot_deposit_is_a_change_and_then_the_balance(sim: Simulator) -> None:
    async with spot_stream(sim) as one:
        await do(sim, "binance", "transfer", product="spot", asset="USDT", amount="-12.5")
        change, balance = [(await one.next())["event"] for _ in range(2)]
    assert (change["e"], change["a"], change["d"]) == ("balanceUpdate", "USDT", "-12.50000000")
    assert (balance["e"], balance["B"]) == (
        "outboundAccountPosition",
        [{"a": "USDT", "f": "999987.50000000", "l": "0.00000000"}],
    )


async def test_spot_orders_that_must_not_take_or_cannot_wait_end_at_once(sim: Simulator) -> None:
    async with spot_stream(sim) as one:
        taking = passive(sim, "binance", "spot", "BTCUSDT", buy=False)
        await do(sim, "binance", "orders", **SPOT, side="buy", size="0.01", price=taking, tif="post_only")
        short = passive(sim, "binance", "spot", "BTCUSDT")
        await do(sim, "binance", "orders", **SPOT, side="buy", size="0.01", price=short, tif="ioc")
        await do(sim, "binance", "orders", **SPOT, side="buy", size="8", price=taking, tif="fok")
        frames = [frame["event"] for frame in await one.rest()]
    reports = [(one["o"], one["f"], one["x"], one["X"]) for one in frames if one["e"] == "executionReport"]
    assert reports == [
        ("LIMIT_MAKER", "GTC", "REJECTED", "REJECTED"),
        ("LIMIT", "IOC", "NEW", "NEW"),
        ("LIMIT", "IOC", "EXPIRED", "EXPIRED"),
        ("LIMIT", "FOK", "NEW", "NEW"),
        ("LIMIT", "FOK", "EXPIRED", "EXPIRED"),
    ]
    assert [one.get("eR") for one in frames if one["e"] == "executionReport"][2] == "INSUFFICIENT_LIQUIDITY"


async def test_an_order_gives_way_to_its_own_accounts_and_says_so(sim: Simulator) -> None:
    async with spot_stream(sim) as one:
        instrument = sim.market("binance", "spot", "BTCUSDT").instrument
        between = instrument.price(instrument.start_tick)
        await do(sim, "binance", "orders", **SPOT, side="buy", size="0.01", price=between)
        await do(sim, "binance", "orders", **SPOT, side="sell", size="0.02")
        frames = [frame["event"] for frame in await one.rest()]
    reports = [(one["S"], one["x"], one["X"]) for one in frames if one["e"] == "executionReport"]
    assert reports[:3] == [
        ("BUY", "NEW", "NEW"),
        ("BUY", "TRADE_PREVENTION", "EXPIRED_IN_MATCH"),
        ("SELL", "NEW", "NEW"),
    ]
    assert {one[0] for one in reports[3:]} == {"SELL"}


async def test_the_websocket_api_refuses_what_is_not_signed_right(sim: Simulator) -> None:
    subscribe = "userDataStream.subscribe.signature"
    async with client(sim.websocket_base("binance", "spot") + "/ws-api/v3") as one:
        good = signed(sim)
        refused: list[tuple[str, dict[str, Any], int, int]] = [
            (subscribe, {**good, "signature": "0" * 64}, 400, -1022),
            (subscribe, {**good, "apiKey": "nobody"}, 401, -2015),
            (subscribe, {"apiKey": key("binance"), "signature": "00"}, 400, -1102),
            (subscribe, signed(sim, timestamp=now_ms(sim) - 6000), 400, -1021),
            (subscribe, signed(sim, timestamp=now_ms(sim) + 3000), 400, -1021),
            (subscribe, signed(sim, recvWindow=60001), 400, -1131),
            ("userDataStream.subscribe", {}, 401, -2014),
            ("userDataStream.start", {"apiKey": key("binance")}, 404, -1000),
            ("session.logon", good, 400, -4056),
            ("userDataStream.unsubscribe", {}, 400, -2036),
        ]
        for method, params, status, code in refused:
            answer = await call(one, method, params, "x")
            assert (answer["id"], answer["status"], answer["error"]["code"]) == ("x", status, code), method
        await one.socket.send("{broken")
        assert (await one.next())["error"]["code"] == -1135
        assert (await call(one, "ping"))["result"] == {}
        assert (await call(one, "time"))["result"]["serverTime"] > 0
        assert (await call(one, subscribe, signed(sim, recvWindow=3000)))["result"] == {"subscriptionId": 0}
        assert (await call(one, "session.subscriptions"))["result"] == [{"subscriptionId": 0}]
        assert (await call(one, subscribe, signed(sim)))["error"]["code"] == -2035
        assert (await call(one, "userDataStream.unsubscribe"))["result"] == {}
        await do(sim, "binance", "orders", **SPOT, side="buy", size="0.01")
        assert await one.rest(0.2) == []
        assert (await call(one, subscribe, signed(sim)))["result"] == {"subscriptionId": 1}
        assert (await call(one, "session.subscriptions"))["result"] == [{"subscriptionId": 1}]


async def test_spot_lists_are_oldest_first_and_go_on_by_id(sim: Simulator) -> None:
    for number in range(5):
        price = passive(sim, "binance", "spot", "ETHUSDT", ticks=number)
        await do(sim, "binance", "orders", product="spot", symbol="ETHUSDT", side="buy", size="0.01", price=price)
        await do(sim, "binance", "orders", **SPOT, side="sell", size="0.001")
    told = await ledger(sim, "binance")
    executed = [one["execution_id"] for one in told["executions"]]
    resting = [int(one["order_id"]) for one in told["orders"].values() if one["status"] == "new"]
    assert [one["orderId"] for one in (await spot(sim, "/api/v3/openOrders")).body] == resting
    assert (await spot(sim, "/api/v3/openOrders", symbol="BTCUSDT")).body == []
    after = (await spot(sim, "/api/v3/allOrders", symbol="ETHUSDT", orderId=resting[2], limit=2)).body
    assert [one["orderId"] for one in after] == resting[2:4]
    newest = (await spot(sim, "/api/v3/allOrders", symbol="ETHUSDT", limit=2)).body
    assert [one["orderId"] for one in newest] == resting[3:]
    pages, first = [], int(executed[0])
    while True:
        page = (await spot(sim, "/api/v3/myTrades", symbol="BTCUSDT", fromId=first, limit=2)).body
        pages += page
        if len(page) < 2:
            break
        first = page[-1]["id"] + 1
    assert [str(one["id"]) for one in pages] == executed
    began = int(pages[0]["time"])
    windowed = (await spot(sim, "/api/v3/myTrades", symbol="BTCUSDT", startTime=began, limit=3)).body
    assert [str(one["id"]) for one in windowed] == executed[:3]
    one_order = (await spot(sim, "/api/v3/order", symbol="BTCUSDT", orderId=pages[0]["orderId"])).body
    assert (one_order["status"], one_order["type"], one_order["price"]) == ("FILLED", "MARKET", "0.00000000")
    held = {one["asset"]: one for one in (await spot(sim, "/api/v3/account", omitZeroBalances="true")).body["balances"]}
    for asset, row in told["balances"]["spot"].items():
        assert (Decimal(held[asset]["free"]), Decimal(held[asset]["locked"])) == (
            Decimal(row["available"]),
            Decimal(row["locked"]),
        )


async def test_spot_lists_refuse_what_the_venue_refuses(sim: Simulator) -> None:
    refused: list[tuple[str, dict[str, object], int]] = [
        ("/api/v3/allOrders", {}, -1102),
        ("/api/v3/allOrders", {"symbol": "BTCUSDT", "startTime": 0, "endTime": 86_400_001}, -1127),
        ("/api/v3/myTrades", {"symbol": "BTCUSDT", "fromId": 1, "startTime": 1}, -1128),
        ("/api/v3/myTrades", {"symbol": "BTCUSDT", "limit": "many"}, -1100),
        ("/api/v3/order", {"symbol": "BTCUSDT"}, -1102),
        ("/api/v3/order", {"symbol": "BTCUSDT", "orderId": 5}, -2013),
    ]
    for path, query, code in refused:
        answer = await spot(sim, path, **query)
        assert (answer.status, answer.body["code"]) == (400, code), path
    base, stamp = sim.rest_base("binance", "spot"), now_ms(sim)
    for text, named, status, code in (
        (f"timestamp={stamp}", "nobody", 401, -2015),
        (f"timestamp={stamp - 5500}", key("binance"), 400, -1021),
        (f"timestamp={stamp + 1500}", key("binance"), 400, -1021),
        ("recvWindow=5000", key("binance"), 400, -1102),
    ):
        url = f"{base}/api/v3/account?{text}&signature={sign('binance', text)}"
        answer = await fetch("GET", url, {"X-MBX-APIKEY": named})
        assert (answer.status, answer.body["code"]) == (status, code), text
    wrong = await fetch(
        "GET", f"{base}/api/v3/account?timestamp={stamp}&signature=00", {"X-MBX-APIKEY": key("binance")}
    )
    assert wrong.body["code"] == -1022


async def test_weights_are_counted_by_the_minute_and_bounded() -> None:
    async with Simulator(with_accounts("binance", "BTCUSDT", rest_limit_scale=0.02), lambda: START_NS) as sim:
        answers = [await spot(sim, "/api/v3/openOrders") for _ in range(2)]
        assert [one.status for one in answers] == [200, 429]
        assert [one.headers["X-MBX-USED-WEIGHT-1M"] for one in answers] == ["80", "160"]
        assert answers[1].headers["Retry-After"] == "60"
        assert answers[1].body["code"] == -1003


async def test_a_usdm_order_and_its_fills_move_position_and_wallet(sim: Simulator) -> None:
    async with usdm_stream(sim) as one:
        price = passive(sim, "binance", "usdm", "BTCUSDT")
        order = await do(sim, "binance", "orders", **USDM, side="buy", size="0.01", price=price)
        await do(sim, "binance", "fill", order_id=order["order_id"])
        frames = await one.rest()
    assert [frame["e"] for frame in frames] == [
        "ORDER_TRADE_UPDATE",
        "TRADE_LITE",
        "ACCOUNT_UPDATE",
        "ORDER_TRADE_UPDATE",
    ]
    placed, lite, account, filled = frames
    assert (placed["o"]["x"], placed["o"]["X"], placed["o"]["t"], placed["st"]) == ("NEW", "NEW", 0, 1)
    assert "N" not in placed["o"]
    assert (filled["o"]["x"], filled["o"]["X"], filled["o"]["l"], filled["o"]["N"]) == (
        "TRADE",
        "FILLED",
        "0.010",
        "USDT",
    )
    assert (lite["t"], lite["l"], lite["m"]) == (filled["o"]["t"], "0.010", True)
    assert account["a"]["m"] == "ORDER"
    (position,) = account["a"]["P"]
    assert (position["s"], position["pa"], position["ps"]) == ("BTCUSDT", "0.010", "BOTH")
    assert Decimal(position["ep"]) == Decimal(price)
    (balance,) = account["a"]["B"]
    assert (balance["a"], balance["bc"]) == ("USDT", "0")
    assert Decimal(balance["wb"]) == 1_000_000 - Decimal(filled["o"]["n"])


async def test_usdm_amendments_funding_and_forced_orders_have_their_own_words(sim: Simulator) -> None:
    async with usdm_stream(sim, "&events=ORDER_TRADE_UPDATE/ACCOUNT_UPDATE") as one:
        far = passive(sim, "binance", "usdm", "ETHUSDT", ticks=50)
        order = await do(sim, "binance", "orders", product="usdm", symbol="ETHUSDT", side="buy", size="1", price=far)
        await do(sim, "binance", "amend", order_id=order["order_id"], size="0.5")
        await do(sim, "binance", "orders", **USDM, side="sell", size="0.01")
        await do(sim, "binance", "funding")
        await do(sim, "binance", "transfer", product="usdm", asset="USDT", amount="75")
        await do(sim, "binance", "deleverage", **USDM, size="0.004")
        await do(sim, "binance", "liquidate", **USDM)
        frames = await one.rest()
    assert {frame["e"] for frame in frames} == {"ORDER_TRADE_UPDATE", "ACCOUNT_UPDATE"}
    orders = [frame["o"] for frame in frames if frame["e"] == "ORDER_TRADE_UPDATE"]
    assert [(one["x"], one["q"]) for one in orders[:2]] == [("NEW", "1.000"), ("AMENDMENT", "0.500")]
    forced = [one for one in orders if one["c"].startswith(("adl_autoclose", "autoclose-"))]
    assert (forced[0]["c"], forced[0]["x"]) == ("adl_autoclose", "TRADE")
    assert {one["x"] for one in forced[1:]} == {"CALCULATED"}
    assert sum(Decimal(one["l"]) for one in forced) == Decimal("0.01")
    reasons = [frame["a"]["m"] for frame in frames if frame["e"] == "ACCOUNT_UPDATE"]
    assert [one for one in reasons if one != "ORDER"] == ["FUNDING_FEE", "DEPOSIT"]
    funding = next(
        frame["a"] for frame in frames if frame["e"] == "ACCOUNT_UPDATE" and frame["a"]["m"] == "FUNDING_FEE"
    )
    assert funding["P"] == []
    (paid,) = (await ledger(sim, "binance"))["fundings"]
    assert Decimal(funding["B"][0]["bc"]) == -Decimal(paid["amount"])
    (income,) = (await usdm(sim, "/fapi/v1/income", incomeType="FUNDING_FEE")).body
    assert Decimal(income["income"]) == -Decimal(paid["amount"])


async def test_usdm_listen_keys_are_one_an_account_and_end_after_an_hour() -> None:
    times = [START_NS]
    async with Simulator(with_accounts("binance", "BTCUSDT"), lambda: times[-1]) as sim:
        granted = (await listen_key(sim)).body["listenKey"]
        assert (await listen_key(sim)).body == {"listenKey": granted}
        async with client(f"{sim.websocket_base('binance', 'usdm')}/private/stream?listenKey={granted}") as one:
            await do(sim, "binance", "transfer", product="usdm", asset="USDT", amount="1")
            frame = await one.next()
            assert (frame["stream"], frame["data"]["e"]) == (granted, "ACCOUNT_UPDATE")
            times.append(START_NS + 3601 * SECOND_NS)
            frame = await one.until(lambda frame: frame["data"]["e"] == "listenKeyExpired")
            assert frame["data"]["listenKey"] == granted
            assert (await listen_key(sim, "PUT")).body["code"] == -1125
            await do(sim, "binance", "transfer", product="usdm", asset="USDT", amount="1")
            assert await one.rest(0.2) == []
        renewed = (await listen_key(sim)).body["listenKey"]
        assert renewed != granted
        assert (await listen_key(sim, "DELETE")).body == {}
        assert (await listen_key(sim, "PUT")).body["code"] == -1125
    no_key = {"X-MBX-APIKEY": "nobody"}
    async with Simulator(with_accounts("binance", "BTCUSDT")) as sim:
        assert (await fetch("POST", sim.rest_base("binance", "usdm") + LISTEN, no_key)).body["code"] == -2015


async def test_usdm_keys_that_nobody_granted_are_accepted_and_silent(sim: Simulator) -> None:
    async with client(sim.websocket_base("binance", "usdm") + "/private/ws/neverheardof") as one:
        await do(sim, "binance", "orders", **USDM, side="buy", size="0.01")
        assert await one.rest(0.2) == []
        granted = (await listen_key(sim)).body["listenKey"]
        await one.send({"method": "SUBSCRIBE", "params": [granted], "id": 4})
        assert await one.next() == {"result": None, "id": 4}
        await do(sim, "binance", "orders", **USDM, side="buy", size="0.01")
        assert (await one.next())["e"] == "ORDER_TRADE_UPDATE"
    async with client(sim.websocket_base("binance", "usdm") + f"/ws/{granted}") as old_path:
        await do(sim, "binance", "orders", **USDM, side="buy", size="0.01")
        assert await old_path.rest(0.2) == []


async def test_usdm_lists_say_what_the_ledger_says(sim: Simulator) -> None:
    for number in range(3):
        price = passive(sim, "binance", "usdm", "BTCUSDT", buy=False, ticks=number)
        await do(sim, "binance", "orders", **USDM, side="sell", size="0.004", price=price, tif="post_only")
    for _ in range(3):
        await do(sim, "binance", "orders", product="usdm", symbol="ETHUSDT", side="buy", size="0.05")
    told = await ledger(sim, "binance")
    executed = [one["execution_id"] for one in told["executions"]]
    rows = (await usdm(sim, "/fapi/v1/openOrders")).body
    assert [(str(one["orderId"]), one["timeInForce"]) for one in rows] == [
        (one["order_id"], "GTX") for one in told["orders"].values() if one["status"] == "new"
    ]
    assert (await usdm(sim, "/fapi/v1/openAlgoOrders")).body == []
    assert len((await usdm(sim, "/fapi/v1/allOrders", symbol="ETHUSDT")).body) == 3
    trades = (await usdm(sim, "/fapi/v1/userTrades", symbol="ETHUSDT", fromId=int(executed[1]))).body
    assert [str(one["id"]) for one in trades] == executed[1:]
    since = (await usdm(sim, "/fapi/v1/userTrades", symbol="ETHUSDT", startTime=now_ms(sim) - 60_000)).body
    assert [str(one["id"]) for one in since] == executed
    risks = (await usdm(sim, "/fapi/v3/positionRisk")).body
    assert {one["symbol"]: one["positionAmt"] for one in risks} == {"ETHUSDT": "0.150"}
    (only,) = (await usdm(sim, "/fapi/v3/positionRisk", symbol="ETHUSDT")).body
    (held,) = (one for one in told["positions"] if one["native_symbol"] == "ETHUSDT")
    assert only["entryPrice"] == held["entry_price"]
    balances = {one["asset"]: one for one in (await usdm(sim, "/fapi/v3/balance")).body}
    for asset, row in told["balances"]["usdm"].items():
        assert Decimal(balances[asset]["balance"]) == Decimal(row["total"])
        assert Decimal(balances[asset]["availableBalance"]) == Decimal(row["available"])
    account = (await usdm(sim, "/fapi/v3/account")).body
    assert Decimal(account["totalWalletBalance"]) == Decimal(told["balances"]["usdm"]["USDT"]["total"])
    assert [one["symbol"] for one in account["positions"]] == ["ETHUSDT"]
    refused: list[tuple[str, dict[str, object], int]] = [
        ("/fapi/v1/userTrades", {}, -1102),
        ("/fapi/v1/userTrades", {"symbol": "ETHUSDT", "fromId": 1, "startTime": 1}, -1128),
        ("/fapi/v1/allOrders", {"symbol": "ETHUSDT", "startTime": 0, "endTime": 8 * 86_400_000}, -1127),
        ("/fapi/v1/order", {"symbol": "ETHUSDT", "orderId": 1}, -2013),
    ]
    for path, query, code in refused:
        assert (await usdm(sim, path, **query)).body["code"] == code, path
