"""The private side of Bybit as a client sees it: login, topics, messages, signed lists."""

from collections.abc import AsyncIterator
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from services.simulator import Simulator
from tests.unit.simulator.client import SECOND_NS, START_NS, client
from tests.unit.simulator.private import (
    bybit,
    bybit_stream,
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

PATH = "/v5/private"
LINEAR = {"product": "linear", "symbol": "BTCUSDT"}


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(with_accounts("bybit", "BTCUSDT", "ETHUSDT", "BTCUSD")) as simulator:
        yield simulator


def url(sim: Simulator) -> str:
    return sim.websocket_base("bybit", "linear") + PATH


async def test_a_login_is_accepted_with_the_right_signature_only(sim: Simulator) -> None:
    expires = now_ms(sim) + 3000
    signed = sign("bybit", f"GET/realtime{expires}")
    async with client(url(sim)) as one:
        for args in (
            [key("bybit"), expires, "0" * 64],
            ["somebody-else", expires, signed],
            [key("bybit"), now_ms(sim) - 1, sign("bybit", f"GET/realtime{now_ms(sim) - 1}")],
            [key("bybit"), expires // 1000, sign("bybit", f"GET/realtime{expires // 1000}")],
            [key("bybit"), expires * 1000, sign("bybit", f"GET/realtime{expires * 1000}")],
            [key("bybit"), expires],
        ):
            await one.send({"op": "auth", "args": args})
            refused = await one.next()
            assert (refused["op"], refused["success"], refused["ret_msg"]) == ("auth", False, "Params Error")
        await one.send({"req_id": "7", "op": "auth", "args": [key("bybit"), expires, signed]})
        accepted = await one.next()
    connection = accepted.pop("conn_id")
    assert accepted == {"req_id": "7", "success": True, "ret_msg": "", "op": "auth"}
    assert connection


async def test_topics_want_a_login_and_come_once(sim: Simulator) -> None:
    async with client(url(sim)) as one:
        await one.send({"op": "subscribe", "args": ["order"]})
        assert (await one.next())["ret_msg"] == "error:topic:order needs auth first"
        await one.send({"op": "subscribe", "args": ["orderbook.50.BTCUSDT"]})
        assert (await one.next())["ret_msg"] == "error:handler not found,topic:orderbook.50.BTCUSDT"
    async with bybit_stream(sim, "order", "wallet") as one:
        for again in ("order", "order.linear"):
            await one.send({"op": "subscribe", "args": [again]})
            assert (await one.next())["ret_msg"] == f"error:already subscribed,topic:{again}"
        await one.send({"op": "subscribe", "args": ["position.spot"]})
        assert (await one.next())["ret_msg"] == "error:handler not found,topic:position.spot"
        await one.send({"req_id": "p", "op": "ping"})
        pong = await one.next()
        assert (pong["req_id"], pong["op"]) == ("p", "pong")
        assert pong["args"][0].isdecimal()
        await one.socket.send("{no json")
        assert (await one.next())["ret_msg"] == "Failed to decode incoming data:{no json"
        await one.send({"op": "dance"})
        assert (await one.next())["ret_msg"] == "error:invalid op"


async def test_an_order_its_fills_and_its_end_come_in_order(sim: Simulator) -> None:
    async with bybit_stream(sim, "order", "execution", "execution.fast", "position", "wallet") as one:
        price = passive(sim, "bybit", "linear", "BTCUSDT")
        order = await do(sim, "bybit", "orders", **LINEAR, side="buy", size="0.009", price=price, client_id="kite-1")
        await do(sim, "bybit", "fill", order_id=order["order_id"], size="0.004")
        await do(sim, "bybit", "cancel", order_id=order["order_id"])
        frames = await one.rest()
    topics = [frame["topic"] for frame in frames]
    assert topics == [
        *("order", "position", "wallet"),
        *("order", "execution.fast", "execution", "position", "wallet"),
        *("order", "position", "wallet"),
    ]
    placed, filled, ended = (frame["data"][0] for frame in frames if frame["topic"] == "order")
    assert [one["orderStatus"] for one in (placed, filled, ended)] == ["New", "PartiallyFilled", "Cancelled"]
    assert {one["orderId"] for one in (placed, filled, ended)} == {order["order_id"]}
    assert (placed["category"], placed["orderLinkId"], placed["price"], placed["avgPrice"]) == (
        "linear",
        "kite-1",
        price,
        "",
    )
    assert (ended["cumExecQty"], ended["leavesQty"], ended["cancelType"]) == ("0.004", "0.000", "CancelByUser")
    execution = next(frame["data"][0] for frame in frames if frame["topic"] == "execution")
    fast = next(frame for frame in frames if frame["topic"] == "execution.fast")
    assert "id" not in fast
    assert fast["data"][0]["execId"] == execution["execId"]
    assert fast["data"][0]["orderLinkId"] == ""
    assert (execution["execQty"], execution["leavesQty"], execution["isMaker"], execution["execType"]) == (
        "0.004",
        "0.005",
        True,
        "Trade",
    )
    assert Decimal(execution["execFee"]) == (Decimal(execution["execValue"]) * Decimal("0.0002")).quantize(
        Decimal("1e-8")
    )
    position = [frame["data"][0] for frame in frames if frame["topic"] == "position"]
    assert [(one["side"], one["size"]) for one in position] == [("", "0"), ("Buy", "0.004"), ("Buy", "0.004")]
    coin = [frame["data"][0]["coin"][0] for frame in frames if frame["topic"] == "wallet"]
    assert {one["availableToWithdraw"] for one in coin} == {""}
    assert Decimal(coin[0]["totalOrderIM"]) > 0 == Decimal(coin[2]["totalOrderIM"])
    assert Decimal(coin[2]["walletBalance"]) == 1_000_000 - Decimal(execution["execFee"])


async def test_categorised_topics_carry_their_own_category_under_their_own_name(sim: Simulator) -> None:
    async with bybit_stream(sim, "order.spot", "execution.linear") as one:
        for product in ("linear", "spot"):
            price = passive(sim, "bybit", product, "BTCUSDT")
            order = await do(
                sim, "bybit", "orders", product=product, symbol="BTCUSDT", side="buy", size="0.003", price=price
            )
            await do(sim, "bybit", "fill", order_id=order["order_id"])
        frames = await one.rest()
    assert [(frame["topic"], frame["data"][0]["category"]) for frame in frames] == [
        ("execution.linear", "linear"),
        ("order.spot", "spot"),
        ("order.spot", "spot"),
    ]


async def test_a_spot_buy_pays_its_fee_in_the_coin_it_got(sim: Simulator) -> None:
    async with bybit_stream(sim, "execution", "wallet") as one:
        await do(sim, "bybit", "orders", product="spot", symbol="ETHUSDT", side="buy", size="0.1")
        frames = await one.rest()
    executions = [frame["data"][0] for frame in frames if frame["topic"] == "execution"]
    assert {one["feeCurrency"] for one in executions} == {"ETH"}
    got = sum(Decimal(one["execQty"]) - Decimal(one["execFee"]) for one in executions)
    ether = [coin for frame in frames if frame["topic"] == "wallet" for coin in frame["data"][0]["coin"]]
    assert Decimal([one for one in ether if one["coin"] == "ETH"][-1]["walletBalance"]) == 200 + got


async def test_funding_comes_as_an_execution_that_is_no_trade(sim: Simulator) -> None:
    await do(sim, "bybit", "orders", **LINEAR, side="buy", size="0.01")
    async with bybit_stream(sim, "execution", "wallet") as one:
        assert await do(sim, "bybit", "funding", product="linear") == {"positions": 1}
        execution, wallet = [(await one.next())["data"][0] for _ in range(2)]
    assert (execution["execType"], execution["execQty"], execution["side"]) == ("Funding", "0.010", "Buy")
    before = Decimal((await ledger(sim, "bybit"))["transfers"][0]["amount"])
    fees = sum(Decimal(one["fee"]) for one in (await ledger(sim, "bybit"))["executions"])
    assert Decimal(wallet["coin"][0]["walletBalance"]) == before - fees - Decimal(execution["execFee"])


async def test_liquidation_and_adl_say_what_they_are(sim: Simulator) -> None:
    await do(sim, "bybit", "orders", **LINEAR, side="sell", size="0.02")
    async with bybit_stream(sim, "order", "execution", "position") as one:
        await do(sim, "bybit", "deleverage", **LINEAR, size="0.005")
        await do(sim, "bybit", "liquidate", **LINEAR)
        frames = await one.rest()
    executions = [frame["data"][0] for frame in frames if frame["topic"] == "execution"]
    assert executions[0]["execType"] == "AdlTrade"
    assert {one["execType"] for one in executions[1:]} == {"BustTrade"}
    assert {one["side"] for one in executions} == {"Buy"}
    assert sum(Decimal(one["execQty"]) for one in executions) == Decimal("0.02")
    assert [frame["data"][0]["side"] for frame in frames if frame["topic"] == "position"][-1] == ""
    orders = [frame["data"][0] for frame in frames if frame["topic"] == "order"]
    assert [one["createType"] for one in orders][:2] == ["CreateByAdl_PassThrough", "CreateByLiq"]


async def test_an_amended_order_keeps_its_id_and_a_post_only_one_that_takes_is_rejected(sim: Simulator) -> None:
    async with bybit_stream(sim, "order") as one:
        price = passive(sim, "bybit", "linear", "BTCUSDT", ticks=5)
        order = await do(sim, "bybit", "orders", **LINEAR, side="buy", size="0.01", price=price)
        lower = passive(sim, "bybit", "linear", "BTCUSDT", ticks=9)
        await do(sim, "bybit", "amend", order_id=order["order_id"], price=lower, size="0.02")
        taking = passive(sim, "bybit", "linear", "BTCUSDT", buy=False)
        await do(sim, "bybit", "orders", **LINEAR, side="buy", size="0.01", price=taking, tif="post_only")
        placed, amended, rejected = [(await one.next())["data"][0] for _ in range(3)]
    assert placed["orderId"] == amended["orderId"] == order["order_id"]
    assert (amended["price"], amended["qty"], amended["orderStatus"]) == (lower, "0.020", "New")
    assert (rejected["orderStatus"], rejected["rejectReason"], rejected["timeInForce"]) == (
        "Rejected",
        "EC_PostOnlyWillTakeLiquidity",
        "PostOnly",
    )


async def test_signed_requests_are_checked_for_key_time_and_signature(sim: Simulator) -> None:
    path = "/v5/order/realtime"
    query: dict[str, Any] = {"category": "linear", "symbol": "BTCUSDT"}
    assert (await bybit(sim, path, **query)).body["retCode"] == 0
    assert (await bybit(sim, path, shift_ms=-5100, **query)).body["retCode"] == 10002
    assert (await bybit(sim, path, shift_ms=1500, **query)).body["retCode"] == 10002
    assert (await bybit(sim, path, name="nobody", **query)).body["retCode"] == 10003
    stamp = str(now_ms(sim))
    headers = {"X-BAPI-API-KEY": key("bybit"), "X-BAPI-TIMESTAMP": stamp, "X-BAPI-SIGN": "00"}
    wrong = await fetch("GET", f"{sim.rest_base('bybit', 'spot')}{path}?category=spot", headers)
    assert wrong.body["retCode"] == 10004
    assert (await fetch("GET", f"{sim.rest_base('bybit', 'spot')}{path}")).body["retCode"] == 10001


async def test_lists_page_by_cursor_newest_first_without_holes(sim: Simulator) -> None:
    for number in range(23):
        price = passive(sim, "bybit", "linear", "BTCUSDT", ticks=number)
        order = await do(sim, "bybit", "orders", **LINEAR, side="buy", size="0.002", price=price)
        if number % 2:
            await do(sim, "bybit", "cancel", order_id=order["order_id"])
    for _ in range(12):
        await do(sim, "bybit", "orders", **LINEAR, side="sell", size="0.001")
    told = await ledger(sim, "bybit")
    lists: list[tuple[str, str, dict[str, Any]]] = [
        ("/v5/order/realtime", "orderId", {"symbol": "BTCUSDT"}),
        ("/v5/order/realtime", "orderId", {"settleCoin": "USDT", "openOnly": "1"}),
        ("/v5/order/history", "orderId", {}),
        ("/v5/execution/list", "execId", {}),
    ]
    for path, row_id, query in lists:
        rows, cursor, pages = [], "", 0
        while pages == 0 or cursor:
            more: dict[str, Any] = {"cursor": cursor} if cursor else {}
            result = (await bybit(sim, path, category="linear", limit=5, **query, **more)).body["result"]
            rows += result["list"]
            cursor, pages = result["nextPageCursor"], pages + 1
            assert len(result["list"]) <= 5
        times = [int(one.get("createdTime") or one["execTime"]) for one in rows]
        assert all(newer >= older for newer, older in pairwise(times))
        if path == "/v5/execution/list":
            wanted = {one["execution_id"] for one in told["executions"]}
        else:
            is_open = path.endswith("realtime") and "openOnly" not in query
            wanted = {
                one["order_id"]
                for one in told["orders"].values()
                if (one["status"] in ("new", "partially_filled")) is is_open
            }
        assert {one[row_id] for one in rows} == wanted
        assert len(rows) == len(wanted)
        assert pages > 1


async def test_a_page_that_new_rows_push_back_repeats_nothing(sim: Simulator) -> None:
    for _ in range(6):
        await do(sim, "bybit", "orders", **LINEAR, side="buy", size="0.001")
    first = (await bybit(sim, "/v5/execution/list", category="linear", limit=3)).body["result"]
    await do(sim, "bybit", "orders", **LINEAR, side="buy", size="0.001")
    cursor = first["nextPageCursor"]
    assert "%" in cursor
    second = (await bybit(sim, "/v5/execution/list", category="linear", limit=3, cursor=cursor)).body["result"]
    ids = [one["execId"] for page in (first, second) for one in page["list"]]
    assert len(set(ids)) == 6


async def test_lists_refuse_what_the_venue_refuses(sim: Simulator) -> None:
    week_ms = 7 * 86_400_000
    refused: list[tuple[str, dict[str, Any]]] = [
        ("/v5/order/realtime", {"category": "linear"}),
        ("/v5/order/realtime", {"category": "linear", "symbol": "BTCUSDT", "limit": 51}),
        ("/v5/order/history", {"category": "moon"}),
        ("/v5/execution/list", {"category": "linear", "limit": 101}),
        ("/v5/execution/list", {"category": "linear", "startTime": 0, "endTime": week_ms + 1}),
        ("/v5/execution/list", {"category": "linear", "cursor": "page%3Anone"}),
        ("/v5/position/list", {"category": "linear"}),
        ("/v5/position/list", {"category": "spot"}),
        ("/v5/position/list", {"category": "linear", "symbol": "NOPEUSDT"}),
        ("/v5/account/wallet-balance", {"accountType": "SPOT"}),
    ]
    for path, query in refused:
        answer = await bybit(sim, path, **query)
        assert (answer.status, answer.body["retCode"]) == (200, 10001), (path, query)


async def test_positions_and_wallet_say_what_the_ledger_says(sim: Simulator) -> None:
    await do(sim, "bybit", "orders", **LINEAR, side="sell", size="0.01")
    await do(sim, "bybit", "orders", product="inverse", symbol="BTCUSD", side="buy", size="300")
    told = await ledger(sim, "bybit")
    (linear,) = (await bybit(sim, "/v5/position/list", category="linear", settleCoin="USDT")).body["result"]["list"]
    (flat,) = (await bybit(sim, "/v5/position/list", category="linear", symbol="ETHUSDT")).body["result"]["list"]
    (inverse,) = (await bybit(sim, "/v5/position/list", category="inverse")).body["result"]["list"]
    assert (linear["side"], linear["size"], flat["side"], flat["size"]) == ("Sell", "0.010", "", "0")
    entries = {one["native_symbol"]: one["entry_price"] for one in told["positions"]}
    assert (linear["avgPrice"], inverse["avgPrice"]) == (entries["BTCUSDT"], entries["BTCUSD"])
    (wallet,) = (await bybit(sim, "/v5/account/wallet-balance", accountType="UNIFIED")).body["result"]["list"]
    held = {one["coin"]: one for one in wallet["coin"]}
    for asset, row in told["balances"]["unified"].items():
        assert held[asset]["walletBalance"] == row["total"]
        assert held[asset]["totalPositionIM"] == row["position_margin"]
    only = (await bybit(sim, "/v5/account/wallet-balance", accountType="UNIFIED", coin="BTC")).body["result"]["list"]
    assert [one["coin"] for one in only[0]["coin"]] == ["BTC"]


async def test_any_base_serves_all_categories(sim: Simulator) -> None:
    base = sim.rest_base("bybit", "spot")
    for category, symbols in (("spot", 2), ("linear", 2), ("inverse", 1)):
        answer = await fetch("GET", f"{base}/v5/market/instruments-info?category={category}")
        assert len(answer.body["result"]["list"]) == symbols
    async with client(sim.websocket_base("bybit", "inverse") + PATH) as one:
        await one.send({"op": "ping"})
        assert (await one.next())["op"] == "pong"


async def test_more_than_fifty_requests_a_second_are_too_many() -> None:
    times = [START_NS]
    async with Simulator(with_accounts("bybit", "BTCUSDT", rest_limit_scale=0.1), lambda: times[-1]) as sim:
        answers = [await bybit(sim, "/v5/execution/list", category="spot") for _ in range(6)]
        assert [one.body["retCode"] for one in answers] == [0] * 5 + [10006]
        assert [one.headers["X-Bapi-Limit-Status"] for one in answers] == ["4", "3", "2", "1", "0", "0"]
        assert answers[0].headers["X-Bapi-Limit"] == "5"
        other = await bybit(sim, "/v5/account/wallet-balance", accountType="UNIFIED")
        assert other.body["retCode"] == 0
        times.append(START_NS + SECOND_NS)
        assert (await bybit(sim, "/v5/execution/list", category="spot")).body["retCode"] == 0


async def test_accounts_do_not_see_each_other() -> None:
    async with (
        Simulator(with_accounts("bybit", "BTCUSDT", names=("main", "second"))) as sim,
        bybit_stream(sim, "order", "execution") as mine,
        bybit_stream(sim, "order", "execution", name="second") as theirs,
    ):
        instrument = sim.market("bybit", "linear", "BTCUSDT").instrument
        between = instrument.price(instrument.start_tick)
        order = await do(sim, "bybit", "orders", **LINEAR, side="buy", size="0.003", price=between)
        assert order["status"] == "new"
        await do(sim, "bybit", "orders", "second", **LINEAR, side="sell", size="0.003")
        one, other = await mine.rest(), await theirs.rest()
        orders = [{frame["data"][0]["orderId"] for frame in frames} for frames in (one, other)]
        assert orders[0] == {order["order_id"]}
        assert not orders[0] & orders[1]
        trades = [
            [frame["data"][0]["execQty"] for frame in frames if frame["topic"] == "execution"]
            for frames in (one, other)
        ]
        assert trades == [["0.003"], ["0.003"]]
        assert (await bybit(sim, "/v5/order/history", name="second", category="linear")).body["result"]["list"]
