"""The private side of MEXC as a client sees it: listen keys and protobuf on spot, login and filters on futures."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import pytest

from services.simulator import Simulator
from tests.unit.simulator.client import SECOND_NS, START_NS, Client, client
from tests.unit.simulator.private import (
    Reply,
    by_query,
    do,
    fetch,
    futures,
    key,
    ledger,
    now_ms,
    passive,
    sign,
    spot_frame,
    with_accounts,
)

pytestmark = pytest.mark.integration

KEYS = "/api/v3/userDataStream"
ORDERS, DEALS, ACCOUNT = (f"spot@private.{one}.v3.api.pb" for one in ("orders", "deals", "account"))
SPOT = {"product": "spot", "symbol": "BTCUSDT"}
FUTURES = {"product": "futures", "symbol": "BTC_USDT"}


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(with_accounts("mexc", "BTCUSDT", "ETHUSDT", "BTC_USDT", "ETH_USDT")) as simulator:
        yield simulator


async def spot(sim: Simulator, path: str, method: str = "GET", **query: object) -> Reply:
    return await by_query(sim, ("mexc", "spot"), path, query, method)


@asynccontextmanager
async def spot_stream(sim: Simulator, *channels: str) -> AsyncIterator[Client]:
    granted = (await spot(sim, KEYS, "POST")).body["listenKey"]
    async with client(f"{sim.websocket_base('mexc', 'spot')}/ws?listenKey={granted}") as one:
        await one.send({"method": "SUBSCRIPTION", "params": list(channels), "id": 3})
        assert await one.next() == {"id": 3, "code": 0, "msg": ",".join(channels)}
        yield one


async def login(sim: Simulator, one: Client, **more: object) -> Any:
    stamp = str(now_ms(sim))
    param = {"apiKey": key("mexc"), "reqTime": stamp, "signature": sign("mexc", key("mexc") + stamp)}
    await one.send({"method": "login", "param": param, **more})
    return await one.next()


@asynccontextmanager
async def futures_stream(sim: Simulator) -> AsyncIterator[Client]:
    async with client(sim.websocket_base("mexc", "futures") + "/edge") as one:
        assert (await login(sim, one))["channel"] == "rs.login"
        yield one


async def test_a_spot_order_and_its_fill_come_as_protobuf_with_the_money_they_move(sim: Simulator) -> None:
    async with spot_stream(sim, ORDERS, DEALS, ACCOUNT) as one:
        price = passive(sim, "mexc", "spot", "BTCUSDT", buy=False)
        order = await do(sim, "mexc", "orders", **SPOT, side="sell", size="0.02", price=price, client_id="sail-4")
        await do(sim, "mexc", "fill", order_id=order["order_id"], size="0.015")
        await do(sim, "mexc", "cancel", order_id=order["order_id"])
        frames = [spot_frame(frame) for frame in await one.rest()]
    names = {ORDERS: "order", DEALS: "deal", ACCOUNT: "account"}
    assert [names[frame.channel] for frame in frames] == [
        *("order", "account"),
        *("order", "deal", "account", "account"),
        *("order", "account"),
    ]
    placed, filled, ended = (frame.body for frame in frames if frame.channel == ORDERS)
    assert [one["status"] for one in (placed, filled, ended)] == [1, 3, 5]
    assert (placed["id"], placed["clientId"], placed["orderType"], placed["tradeType"]) == (
        order["order_id"],
        "sail-4",
        1,
        2,
    )
    assert "isMaker" not in placed
    assert (filled["cumulativeQuantity"], filled["lastDealQuantity"], filled["isMaker"]) == (
        "0.01500000",
        "0.01500000",
        1,
    )
    (deal,) = (frame.body for frame in frames if frame.channel == DEALS)
    assert (deal["orderId"], deal["tradeType"], deal["feeAmount"], deal["feeCurrency"]) == (
        order["order_id"],
        2,
        "0",
        "USDT",
    )
    assert {frame.symbol for frame in frames} == {"BTCUSDT", ""}
    money = [frame.body for frame in frames if frame.channel == ACCOUNT]
    assert [(one["vcoinName"], one["type"]) for one in money] == [
        ("BTC", "ENTRUST_PLACE"),
        ("BTC", "ENTRUST"),
        ("USDT", "ENTRUST"),
        ("BTC", "ENTRUST_CANCEL"),
    ]
    assert (money[0]["balanceAmount"], money[0]["frozenAmount"], money[0]["balanceAmountChange"]) == (
        "19.98",
        "0.02",
        "-0.02",
    )
    assert (money[3]["balanceAmount"], money[3]["frozenAmount"]) == ("19.985", "0")


async def test_a_takers_fee_is_a_message_of_its_own(sim: Simulator) -> None:
    async with spot_stream(sim, ACCOUNT) as one:
        await do(sim, "mexc", "orders", **SPOT, side="buy", size="0.0001")
        frames = [spot_frame(frame) for frame in await one.rest()]
    bought, paid, fee = (frame.body for frame in frames)
    assert [(one["vcoinName"], one["type"]) for one in (bought, paid, fee)] == [
        ("BTC", "ENTRUST"),
        ("USDT", "ENTRUST"),
        ("USDT", "TRADE_FEE"),
    ]
    assert Decimal(fee["balanceAmount"]) == Decimal(paid["balanceAmount"]) + Decimal(fee["balanceAmountChange"])
    assert Decimal(fee["balanceAmountChange"]) < 0


async def test_listen_keys_live_an_hour_unless_renewed() -> None:
    times = [START_NS]
    async with Simulator(with_accounts("mexc", "BTCUSDT"), lambda: times[-1]) as sim:
        kept, lost = [(await spot(sim, KEYS, "POST")).body["listenKey"] for _ in range(2)]
        assert (await spot(sim, KEYS)).body == {"listenKey": [kept, lost]}
        times.append(START_NS + 3000 * SECOND_NS)
        assert (await spot(sim, KEYS, "PUT", listenKey=kept)).body == {"listenKey": kept}
        times.append(START_NS + 3601 * SECOND_NS)
        assert (await spot(sim, KEYS)).body == {"listenKey": [kept]}
        assert (await spot(sim, KEYS, "PUT", listenKey=lost)).status == 400
        async with client(f"{sim.websocket_base('mexc', 'spot')}/ws?listenKey={lost}") as one:
            assert await one.raw() == "Invalid listen key"
            assert await one.closed() == 1000
        async with client(f"{sim.websocket_base('mexc', 'spot')}/ws?listenKey={kept}") as one:
            assert (await spot(sim, KEYS, "DELETE", listenKey=kept)).status == 200
            times.append(START_NS + 3602 * SECOND_NS)
            assert await one.closed() == 1000


async def test_a_listen_key_serves_five_connections_and_an_account_has_sixty_keys(sim: Simulator) -> None:
    granted = (await spot(sim, KEYS, "POST")).body["listenKey"]
    url = f"{sim.websocket_base('mexc', 'spot')}/ws?listenKey={granted}"
    async with client(url), client(url), client(url), client(url), client(url), client(url) as sixth:
        assert await sixth.raw() == "Invalid listen key"
    for _ in range(59):
        assert (await spot(sim, KEYS, "POST")).status == 200
    assert (await spot(sim, KEYS, "POST")).status == 400


async def test_private_channels_are_blocked_without_a_key(sim: Simulator) -> None:
    async with client(sim.websocket_base("mexc", "spot") + "/ws") as one:
        await one.send({"method": "SUBSCRIPTION", "params": [ORDERS]})
        assert "Not Subscribed successfully" in (await one.next())["msg"]


async def test_spot_requests_are_checked_for_key_time_and_signature(sim: Simulator) -> None:
    base = sim.rest_base("mexc", "spot")
    stamp = now_ms(sim)
    for text, name, code in (
        (f"timestamp={stamp}", "nobody", 10072),
        (f"timestamp={stamp - 6000}", key("mexc"), 700003),
        (f"timestamp={stamp + 1500}", key("mexc"), 700003),
        (f"timestamp={stamp}&recvWindow=60001", key("mexc"), 700003),
        (f"timestamp={stamp}&note=a%2fb", key("mexc"), 700002),
        ("recvWindow=5000", key("mexc"), 700004),
    ):
        url = f"{base}/api/v3/account?{text}&signature={sign('mexc', text)}"
        answer = await fetch("GET", url, {"X-MEXC-APIKEY": name})
        assert (answer.status, answer.body["code"]) == (400, code), text
    text, named = f"timestamp={stamp}&recvWindow=6000&note=a%2Fb", {"X-MEXC-APIKEY": key("mexc")}
    url = f"{base}/api/v3/account?{text}&signature="
    assert (await fetch("GET", url + sign("mexc", text), named)).status == 200
    assert (await fetch("GET", url + "0" * 64, named)).body["code"] == 700002
    body = f"timestamp={stamp}"
    posted = await fetch("POST", base + KEYS, named, f"{body}&signature={sign('mexc', body)}")
    assert posted.status == 200


async def test_spot_lists_are_newest_first_and_bounded(sim: Simulator) -> None:
    for number in range(4):
        price = passive(sim, "mexc", "spot", "BTCUSDT", ticks=number)
        await do(sim, "mexc", "orders", **SPOT, side="buy", size="0.001", price=price)
    for _ in range(3):
        await do(sim, "mexc", "orders", product="spot", symbol="ETHUSDT", side="sell", size="0.001")
    told = await ledger(sim, "mexc")
    rows = (await spot(sim, "/api/v3/openOrders", symbol="BTCUSDT,ETHUSDT")).body
    resting = [one["order_id"] for one in told["orders"].values() if one["status"] == "new"]
    assert [one["orderId"] for one in rows] == resting[::-1]
    assert {one["status"] for one in rows} == {"NEW"}
    assert [one["orderId"] for one in (await spot(sim, "/api/v3/allOrders", symbol="BTCUSDT", limit=2)).body] == [
        resting[3],
        resting[2],
    ]
    trades = (await spot(sim, "/api/v3/myTrades", symbol="ETHUSDT")).body
    executed = [one["execution_id"] for one in told["executions"]]
    assert [one["id"] for one in trades] == executed[::-1]
    first = trades[-1]
    assert (first["isBuyer"], first["isMaker"], first["commissionAsset"]) == (False, False, "USDT")
    one_order = (await spot(sim, "/api/v3/order", symbol="ETHUSDT", orderId=first["orderId"])).body
    assert (one_order["status"], one_order["type"], one_order["executedQty"]) == ("FILLED", "MARKET", "0.00100")
    balances = {one["asset"]: one for one in (await spot(sim, "/api/v3/account")).body["balances"]}
    for asset, row in told["balances"]["spot"].items():
        assert (balances[asset]["free"], balances[asset]["locked"]) == (row["available"], row["locked"])
    for path, query in (
        ("/api/v3/openOrders", {}),
        ("/api/v3/openOrders", {"symbol": "A,B,C,D,E,F"}),
        ("/api/v3/order", {"symbol": "BTCUSDT"}),
        ("/api/v3/order", {"symbol": "BTCUSDT", "orderId": "none"}),
        ("/api/v3/allOrders", {"symbol": "BTCUSDT", "startTime": 0, "endTime": 8 * 86_400_000}),
        ("/api/v3/myTrades", {"symbol": "BTCUSDT", "limit": 101}),
        ("/api/v3/myTrades", {"symbol": "BTCUSDT", "startTime": "now"}),
    ):
        assert (await spot(sim, path, **query)).status == 400, (path, query)


async def test_a_spot_weight_over_the_limit_is_refused() -> None:
    async with Simulator(with_accounts("mexc", "BTCUSDT", rest_limit_scale=0.05), lambda: START_NS) as sim:
        answers = [await spot(sim, "/api/v3/account") for _ in range(3)]
    assert [one.status for one in answers] == [200, 200, 429]
    assert answers[2].headers["Retry-After"] == "10"


async def test_a_futures_login_is_checked_and_can_keep_quiet(sim: Simulator) -> None:
    async with client(sim.websocket_base("mexc", "futures") + "/edge") as one:
        stamp = str(now_ms(sim))
        for param in (
            {"apiKey": key("mexc"), "reqTime": stamp, "signature": "0" * 64},
            {"apiKey": "nobody", "reqTime": stamp, "signature": sign("mexc", "nobody" + stamp)},
            {"apiKey": key("mexc"), "reqTime": stamp[:10], "signature": sign("mexc", key("mexc") + stamp[:10])},
        ):
            await one.send({"method": "login", "param": param})
            assert (await one.next())["channel"] == "rs.error"
        await one.send({"method": "personal.filter", "param": {"filters": []}})
        assert (await one.next())["channel"] == "rs.error"
        accepted = await login(sim, one, subscribe=False)
        assert (accepted["channel"], accepted["data"]) == ("rs.login", "success")
        await do(sim, "mexc", "orders", **FUTURES, side="buy", size="3")
        assert await one.rest(0.2) == []
        await one.send({"method": "personal.filter", "param": {"filters": [{"filter": "moon"}]}})
        assert (await one.next())["channel"] == "rs.error"
        chosen = [{"filter": "order.deal", "rules": ["ETH_USDT"]}, {"filter": "asset"}]
        await one.send({"method": "personal.filter", "param": {"filters": chosen}})
        assert (await one.next())["channel"] == "rs.personal.filter"
        await do(sim, "mexc", "orders", **FUTURES, side="buy", size="3")
        await do(sim, "mexc", "orders", product="futures", symbol="ETH_USDT", side="buy", size="3")
        frames = await one.rest()
    deals = [frame for frame in frames if frame["channel"] == "push.personal.order.deal"]
    assert {frame["data"]["symbol"] for frame in deals} == {"ETH_USDT"}
    assert {frame["channel"] for frame in frames} == {"push.personal.order.deal", "push.personal.asset"}


async def test_futures_messages_are_bare_numbers_in_contracts_with_growing_versions(sim: Simulator) -> None:
    async with futures_stream(sim) as one:
        price = passive(sim, "mexc", "futures", "BTC_USDT")
        order = await do(sim, "mexc", "orders", **FUTURES, side="buy", size="100", price=price, leg="long")
        await do(sim, "mexc", "fill", order_id=order["order_id"], size="40")
        await do(sim, "mexc", "fill", order_id=order["order_id"])
        closing = await do(sim, "mexc", "orders", **FUTURES, side="sell", size="100", leg="long")
        frames = await one.rest()
    channels = [frame["channel"].removeprefix("push.personal.") for frame in frames]
    assert channels[:6] == ["order", "asset", "order.deal", "order", "position", "asset"]
    mine = [
        frame["data"]
        for frame in frames
        if frame["channel"] == "push.personal.order" and frame["data"]["orderId"] == order["order_id"]
    ]
    assert [(one["version"], one["state"], one["dealVol"]) for one in mine] == [(1, 2, 0), (2, 2, 40), (3, 3, 100)]
    assert {one["side"] for one in mine} == {1}
    deals = [frame["data"] for frame in frames if frame["channel"] == "push.personal.order.deal"]
    assert [(one["vol"], one["isTaker"], one["side"]) for one in deals[:2]] == [(40, False, 1), (60, False, 1)]
    assert {one["orderId"] for one in deals} == {int(order["order_id"]), int(closing["order_id"])}
    assert Decimal(str(deals[0]["price"])) == Decimal(price)
    positions = [frame["data"] for frame in frames if frame["channel"] == "push.personal.position"]
    assert [one["holdVol"] for one in positions][:2] == [40, 100]
    assert (positions[-1]["holdVol"], positions[-1]["state"], positions[-1]["closeVol"]) == (0, 3, 100)
    assert len({one["positionId"] for one in positions}) == 1
    assert order["size"] == "0.01"


async def test_a_closed_leg_that_opens_again_is_another_position(sim: Simulator) -> None:
    async with futures_stream(sim) as one:
        for side in ("sell", "buy", "sell"):
            await do(sim, "mexc", "orders", **FUTURES, side=side, size="5", leg="short")
        frames = await one.rest()
    ids = [frame["data"]["positionId"] for frame in frames if frame["channel"] == "push.personal.position"]
    assert len(set(ids)) == 2


async def test_futures_lists_go_by_pages(sim: Simulator) -> None:
    for number in range(7):
        price = passive(sim, "mexc", "futures", "BTC_USDT", ticks=number)
        order = await do(sim, "mexc", "orders", **FUTURES, side="buy", size="10", price=price, leg="long")
        if number > 4:
            await do(sim, "mexc", "cancel", order_id=order["order_id"])
    for _ in range(3):
        await do(sim, "mexc", "orders", **FUTURES, side="sell", size="10", leg="short")
    await do(sim, "mexc", "funding")
    told = await ledger(sim, "mexc")
    orders = told["orders"].values()
    resting = [one["order_id"] for one in orders if one["status"] == "new"][::-1]
    ended = [one["order_id"] for one in orders if one["status"] in ("canceled", "filled")][::-1]
    pages = [(await futures(sim, "order/list/open_orders", page_num=n, page_size=2)).body["data"] for n in (1, 2, 3, 4)]
    assert [[one["orderId"] for one in page] for page in pages] == [resting[:2], resting[2:4], resting[4:], []]
    only = (await futures(sim, "order/list/open_orders/ETH_USDT")).body
    assert only == {"success": True, "code": 0, "data": []}
    history = (await futures(sim, "order/list/history_orders", symbol="BTC_USDT", page_size=100)).body["data"]
    assert [one["orderId"] for one in history] == ended
    canceled = (await futures(sim, "order/list/history_orders", states="4")).body["data"]
    assert {one["state"] for one in canceled} == {4}
    deals = (await futures(sim, "order/list/order_deals", symbol="BTC_USDT")).body["data"]
    assert [str(one["id"]) for one in deals] == [one["execution_id"] for one in told["executions"]][::-1]
    of_one = (await futures(sim, f"order/deal_details/{ended[0]}")).body["data"]
    assert {str(one["orderId"]) for one in of_one} == {ended[0]}
    assert (await futures(sim, f"order/get/{ended[0]}")).body["data"]["state"] == 3
    (position,) = (await futures(sim, "position/open_positions", symbol="BTC_USDT")).body["data"]
    assert (position["positionType"], position["holdVol"]) == (2, 30)
    (record,) = (await futures(sim, "position/funding_records")).body["data"]["resultList"]
    assert Decimal(str(record["funding"])) == -Decimal(told["fundings"][0]["amount"])
    assets = {one["currency"]: one for one in (await futures(sim, "account/assets")).body["data"]}
    for asset, row in told["balances"]["futures"].items():
        assert Decimal(str(assets[asset]["cashBalance"])) == Decimal(row["total"])
        assert Decimal(str(assets[asset]["availableBalance"])) == Decimal(row["available"])
    assert (await futures(sim, "account/asset/BTC")).body["data"]["currency"] == "BTC"


async def test_futures_requests_are_refused_in_the_body(sim: Simulator) -> None:
    refused: list[tuple[str, dict[str, object], int]] = [
        ("order/list/order_deals", {}, 600),
        ("order/list/open_orders", {"page_size": 101}, 600),
        ("order/list/history_orders", {"start_time": 0, "end_time": 91 * 86_400_000}, 600),
        ("order/get/none", {}, 2009),
        ("account/asset/NONE", {}, 1000),
        ("dance/floor", {}, 404),
    ]
    for path, query, code in refused:
        answer = await futures(sim, path, **query)
        assert (answer.status, answer.body["success"], answer.body["code"]) == (200, False, code), path
    url = sim.rest_base("mexc", "futures") + "/api/v1/private/account/assets"
    stamp = str(now_ms(sim))
    for named, signed, at, code in (
        ("nobody", sign("mexc", "nobody" + stamp), stamp, 401),
        (key("mexc"), "0" * 64, stamp, 602),
        (key("mexc"), sign("mexc", key("mexc") + "1"), "1", 513),
    ):
        headers = {"ApiKey": named, "Request-Time": at, "Signature": signed}
        assert (await fetch("GET", url, headers)).body["code"] == code


async def test_more_than_twenty_calls_in_two_seconds_are_too_many() -> None:
    async with Simulator(with_accounts("mexc", "BTC_USDT", rest_limit_scale=0.1), lambda: START_NS) as sim:
        answers = [(await futures(sim, "account/assets")).body["code"] for _ in range(3)]
    assert answers == [0, 0, 510]
