from dataclasses import replace

import pytest

from services.simulator import Simulator
from tests.support.eventually import eventually
from tests.unit.simulator.books import BybitBook, ordered, truth
from tests.unit.simulator.client import client, get, quick

pytestmark = pytest.mark.integration
PATHS = {product: f"/v5/public/{product}" for product in ("spot", "linear", "inverse")}


@pytest.mark.parametrize(("product", "symbol"), [("spot", "BTCUSDT"), ("linear", "ETHUSDT"), ("inverse", "BTCUSD")])
async def test_snapshot_and_deltas_rebuild_the_book_exactly(product: str, symbol: str) -> None:
    async with Simulator(quick("bybit", product, symbol)) as sim:
        async with client(sim.websocket_base("bybit", product) + PATHS[product]) as one:
            topic = f"orderbook.50.{symbol}"
            await one.send({"op": "subscribe", "req_id": "1", "args": [topic]})
            assert (await one.next())["success"] is True
            book = BybitBook()
            while book.deltas < 60:
                book.take(await one.next())
            await sim.pause()
            for frame in await one.rest():
                book.take(frame)
        assert ordered(book.bids, book.asks, 50) == truth(sim.book("bybit", product, symbol))
        assert (len(book.bids), len(book.asks)) == (50, 50)


async def test_all_depths_and_late_subscribers_agree_on_the_sequence() -> None:
    async with Simulator(quick("bybit", "linear", "BTCUSDT")) as sim:
        url = sim.websocket_base("bybit", "linear") + PATHS["linear"]
        async with client(url) as early, client(url) as late:
            topics = [f"orderbook.{depth}.BTCUSDT" for depth in (1, 50, 200, 1000)]
            await early.send({"op": "subscribe", "args": topics})
            books = {topic: BybitBook() for topic in topics}
            await early.next()
            while min(books[topic].deltas for topic in topics[1:]) < 10:
                frame = await early.next()
                books[frame["topic"]].take(frame)
            await late.send({"op": "subscribe", "args": topics})
            await late.next()
            joined = {topic: BybitBook() for topic in topics}
            while min(joined[topic].deltas for topic in topics[1:]) < 5:
                frame = await late.next()
                joined[frame["topic"]].take(frame)
            await sim.pause()
            for one, held in ((early, books), (late, joined)):
                for frame in await one.rest():
                    held[frame["topic"]].take(frame)
        for depth in (1, 50, 200, 1000):
            topic = f"orderbook.{depth}.BTCUSDT"
            expected = truth(sim.book("bybit", "linear", "BTCUSDT", depth))
            assert ordered(books[topic].bids, books[topic].asks, depth) == expected
            assert ordered(joined[topic].bids, joined[topic].asks, depth) == expected
            assert joined[topic].update == books[topic].update


async def test_depth_one_has_snapshots_only_and_repeats_the_last_one() -> None:
    async with Simulator(quick("bybit", "spot", "BTCUSDT")) as sim:
        await sim.pause(quiet=False)
        async with client(sim.websocket_base("bybit", "spot") + PATHS["spot"]) as one:
            await one.send({"op": "subscribe", "args": ["orderbook.1.BTCUSDT"]})
            await one.next()
            first, again = await one.next(), await one.next()
            assert (first["type"], again["type"]) == ("snapshot", "snapshot")
            assert again["data"] == first["data"]
            assert again["ts"] - first["ts"] >= 3000


async def test_derivative_tickers_merge_into_what_rest_says() -> None:
    async with Simulator(quick("bybit", "linear", "BTCUSDT")) as sim:
        async with client(sim.websocket_base("bybit", "linear") + PATHS["linear"]) as one:
            await one.send({"op": "subscribe", "args": ["tickers.BTCUSDT"]})
            await one.next()
            merged: dict[str, str] = {}
            kinds = []
            for _ in range(20):
                frame = await one.next()
                kinds.append(frame["type"])
                merged.update(frame["data"])
            assert kinds == ["snapshot"] + ["delta"] * 19
            await sim.pause()
            for frame in await one.rest():
                merged.update(frame["data"])
        _, reply = await get(sim.rest_base("bybit", "linear") + "/v5/market/tickers?category=linear&symbol=BTCUSDT")
        assert merged == reply["result"]["list"][0]


async def test_a_dated_future_has_no_funding() -> None:
    async with Simulator(quick("bybit", "linear", "BTCUSDT-25JUN27")) as sim:
        async with client(sim.websocket_base("bybit", "linear") + PATHS["linear"]) as one:
            await one.send({"op": "subscribe", "args": ["tickers.BTCUSDT-25JUN27"]})
            await one.next()
            data = (await one.next())["data"]
        assert (data["fundingRate"], data["nextFundingTime"]) == ("", "")
        assert data["deliveryTime"] == "2027-06-25T08:00:00Z"


async def test_trades_are_all_there_once_and_the_ledger_knows_them() -> None:
    async with Simulator(quick("bybit", "linear", "BTCUSDT")) as sim:
        async with client(sim.websocket_base("bybit", "linear") + PATHS["linear"]) as one:
            await one.send({"op": "subscribe", "args": ["publicTrade.BTCUSDT"]})
            await one.next()
            ids: list[str] = []
            while len(ids) < 100:
                ids += [row["i"] for row in (await one.next())["data"]]
            await sim.pause()
            ids += [row["i"] for frame in await one.rest() for row in frame["data"]]
            _, ledger = await get(sim.control_base + "/sent/bybit/linear")
            _, newest = await get(sim.control_base + "/sent/bybit/linear?newest=7")
            assert (await get(sim.control_base + "/sent/bybit/linear?newest=20001"))[0] == 400
        assert ids == ledger["trade_ids"]["publicTrade.BTCUSDT"]
        assert newest["trade_ids"]["publicTrade.BTCUSDT"] == ids[-7:]
        assert ledger["trades"] == {"publicTrade.BTCUSDT": {"symbol": "BTCUSDT", "sent": len(ids)}}
        assert len(set(ids)) == len(ids)
        (connection,) = ledger["connections"]
        assert connection["sent"]["publicTrade.BTCUSDT"] == ledger["feeds"]["trade"]


async def test_liquidations_name_the_side_of_the_position() -> None:
    async with Simulator(quick("bybit", "linear", "BTCUSDT")) as sim:
        async with client(sim.websocket_base("bybit", "linear") + PATHS["linear"]) as one:
            await one.send({"op": "subscribe", "args": ["allLiquidation.BTCUSDT"]})
            await one.next()
            sim.burst(20, 5)
            frame = await one.next()
            market = sim.market("bybit", "linear", "BTCUSDT")
        position = "Sell" if market.flow.cascade_buys else "Buy"
        assert [row["S"] for row in frame["data"]].count(position) >= len(frame["data"]) / 2
        assert set(frame["data"][0]) == {"T", "s", "S", "v", "p"}


async def test_instruments_come_in_pages_for_contracts_and_at_once_for_spot() -> None:
    settings = replace(quick("bybit", "linear"), page_size=4)
    async with Simulator(settings) as sim:
        base = sim.rest_base("bybit", "linear") + "/v5/market/instruments-info?category=linear"
        _, first = await get(base + "&limit=1000")
        _, second = await get(base + "&cursor=" + first["result"]["nextPageCursor"])
    assert len(first["result"]["list"]) == 4
    assert second["result"]["nextPageCursor"] == ""
    rows = {row["symbol"]: row for row in first["result"]["list"] + second["result"]["list"]}
    assert len(rows) == 6
    assert rows["BTCUSDT"]["contractType"] == "LinearPerpetual"
    assert rows["BTCUSDT"]["deliveryTime"] == "0"
    dated = rows["BTCUSDT-25JUN27"]
    assert (dated["contractType"], dated["deliveryTime"]) == ("LinearFutures", "1813910400000")


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("/v5/market/instruments-info?category=nope", 10001),
        ("/v5/market/instruments-info?category=linear&symbol=NOPE", 10001),
        ("/v5/market/orderbook?category=linear", 10001),
        ("/v5/market/orderbook?category=linear&symbol=BTCUSDT&limit=5000", 10001),
        ("/v5/market/tickers?category=linear", 0),
        ("/v5/market/time", 0),
    ],
)
async def test_rest_answers_in_the_venues_envelope(query: str, code: int) -> None:
    async with Simulator(quick("bybit", "linear", "BTCUSDT")) as sim:
        status, body = await get(sim.rest_base("bybit", "linear") + query)
    assert (status, body["retCode"]) == (200, code)
    assert {"retCode", "retMsg", "result", "retExtInfo", "time"} == set(body)


async def test_unsubscribing_stops_a_topic_and_a_closed_client_leaves_nothing() -> None:
    async with Simulator(quick("bybit", "linear", "BTCUSDT")) as sim:
        market = sim.market("bybit", "linear", "BTCUSDT")
        async with client(sim.websocket_base("bybit", "linear") + PATHS["linear"]) as one:
            args = ["orderbook.50.BTCUSDT", "publicTrade.BTCUSDT"]
            await one.send({"op": "subscribe", "args": args})
            await one.until(lambda frame: frame.get("topic") == args[1])
            await one.send({"op": "unsubscribe", "args": args[:1]})
            await one.until(lambda frame: frame.get("op") == "unsubscribe")
            assert market.book.watches == []
            assert {(await one.next())["topic"] for _ in range(5)} == {args[1]}
        await eventually(lambda: not sim.hub.connections)
        assert market.trade_taps == []


async def test_a_client_that_does_not_ping_and_subscribes_to_nothing_is_cut_off() -> None:
    settings = replace(quick("bybit", "linear", "BTCUSDT"), deadline_scale=0.01)
    async with Simulator(settings) as sim, client(sim.websocket_base("bybit", "linear") + PATHS["linear"]) as one:
        assert await one.closed() == 1006
