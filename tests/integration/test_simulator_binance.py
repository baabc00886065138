from dataclasses import replace

import pytest

from services.simulator import UNICODE_INSTRUMENT, Simulator
from tests.unit.simulator.books import SeededBook, ordered, truth
from tests.unit.simulator.client import client, get, quick

pytestmark = pytest.mark.integration


async def rebuilt(sim: Simulator, url: str, rest: str) -> SeededBook:
    """A book seeded from REST and followed until the market stands still."""
    async with client(url) as one:
        frames = [await one.next() for _ in range(3)]
        _, seed = await get(rest)
        while len(frames) < 25:
            frames.append(await one.next())
        await sim.pause()
        frames += await one.rest()
    book = SeededBook(seed["lastUpdateId"], seed["bids"], seed["asks"])
    previous = None
    for frame in frames:
        data = frame["data"]
        if "pu" in data:
            assert previous is None or data["pu"] == previous
            previous = data["u"]
        book.take(data["U"], data["u"], data.get("pu"), data["b"], data["a"])
    return book


async def test_spot_deltas_continue_by_one_and_rebuild_the_book_exactly() -> None:
    async with Simulator(quick("binance", "spot", "BTCUSDT")) as sim:
        url = sim.websocket_base("binance", "spot") + "/stream?streams=btcusdt@depth@100ms"
        book = await rebuilt(sim, url, sim.rest_base("binance", "spot") + "/api/v3/depth?symbol=BTCUSDT&limit=5000")
        expected = sim.book("binance", "spot", "BTCUSDT", 5000)
    assert book.last_id == expected["sequence"]
    assert ordered(book.bids, book.asks, 5000) == truth(expected)


async def test_usdm_deltas_chain_by_pu_while_their_ids_skip_and_rebuild_the_book_exactly() -> None:
    async with Simulator(quick("binance", "usdm", "BTCUSDT")) as sim:
        url = sim.websocket_base("binance", "usdm") + "/public/stream?streams=btcusdt@depth@100ms"
        book = await rebuilt(sim, url, sim.rest_base("binance", "usdm") + "/fapi/v1/depth?symbol=BTCUSDT&limit=1000")
        expected = sim.book("binance", "usdm", "BTCUSDT", 1000)
    assert book.last_id == expected["sequence"]
    assert ordered(book.bids, book.asks, 1000) == truth(expected)


async def test_usdm_ids_are_not_consecutive() -> None:
    async with (
        Simulator(quick("binance", "usdm", "BTCUSDT")) as sim,
        client(sim.websocket_base("binance", "usdm") + "/public/ws/btcusdt@depth@100ms") as one,
    ):
        frames = [await one.next() for _ in range(10)]
    assert any(frame["U"] != frame["pu"] + 1 for frame in frames)
    assert [frame["pu"] for frame in frames[1:]] == [frame["u"] for frame in frames[:-1]]


async def test_unknown_streams_and_the_wrong_path_are_acknowledged_and_stay_silent() -> None:
    async with Simulator(quick("binance", "usdm", "BTCUSDT")) as sim:
        base = sim.websocket_base("binance", "usdm")
        async with client(base + "/public/stream") as one:
            await one.send({"method": "SUBSCRIBE", "params": ["btcusdt@markPrice@1s", "nope@trade"], "id": 1})
            assert await one.next() == {"result": None, "id": 1}
            assert await one.rest(1.3) == []
        async with client(base + "/market/stream") as one:
            await one.send({"method": "SUBSCRIBE", "params": ["btcusdt@markPrice@1s"], "id": 1})
            await one.next()
            assert (await one.next())["stream"] == "btcusdt@markPrice@1s"


async def test_raw_and_combined_subscribers_of_one_stream_get_the_same_data() -> None:
    async with Simulator(quick("binance", "spot", "BTCUSDT")) as sim:
        base = sim.websocket_base("binance", "spot")
        async with (
            client(base + "/ws/btcusdt@trade") as raw,
            client(base + "/stream?streams=btcusdt@trade") as combined,
        ):
            plain = [await raw.next() for _ in range(30)]
            wrapped = [await combined.next() for _ in range(30)]
    assert {frame["stream"] for frame in wrapped} == {"btcusdt@trade"}
    by_id = {frame["data"]["t"]: frame["data"] for frame in wrapped}
    common = [frame for frame in plain if frame["t"] in by_id]
    assert common
    assert all(by_id[frame["t"]] == frame for frame in common)


async def test_aggregated_trades_cover_the_trades() -> None:
    async with Simulator(quick("binance", "spot", "BTCUSDT")) as sim:
        url = sim.websocket_base("binance", "spot") + "/stream?streams=btcusdt@trade/btcusdt@aggTrade"
        async with client(url) as one:
            frames = [(await one.next())["data"] for _ in range(100)]
            await sim.pause()
            frames += [frame["data"] for frame in await one.rest()]
    trades = {frame["t"]: frame for frame in frames if frame["e"] == "trade"}
    groups = [frame for frame in frames if frame["e"] == "aggTrade"]
    covered = [number for group in groups for number in range(group["f"], group["l"] + 1)]
    assert covered == sorted(trades)
    assert [group["a"] for group in groups] == list(range(groups[0]["a"], groups[0]["a"] + len(groups)))
    assert all(trades[group["f"]]["p"] == group["p"] and trades[group["f"]]["m"] == group["m"] for group in groups)


async def test_forced_orders_carry_the_side_of_the_order_and_come_once_a_second_at_most() -> None:
    async with (
        Simulator(quick("binance", "usdm", "BTCUSDT")) as sim,
        client(sim.websocket_base("binance", "usdm") + "/market/ws/btcusdt@forceOrder") as one,
    ):
        sim.burst(20, 10)
        first, second = await one.next(), await one.next()
    assert {first["o"]["S"], second["o"]["S"]} <= {"BUY", "SELL"}
    assert second["E"] - first["E"] >= 900


async def test_mark_prices_of_all_markets_come_as_one_array_with_empty_funding_for_dated_contracts() -> None:
    async with (
        Simulator(quick("binance", "usdm")) as sim,
        client(sim.websocket_base("binance", "usdm") + "/market/ws/!markPrice@arr@1s") as one,
    ):
        rows = {row["s"]: row for row in await one.next()}
    assert len(rows) == 6
    assert (rows["BTCUSDT_270625"]["r"], rows["BTCUSDT_270625"]["T"]) == ("", 0)
    assert rows["BTCUSDT"]["r"] != ""


async def test_a_symbol_that_is_no_ascii_works_everywhere() -> None:
    settings = replace(quick("binance", "spot", "BTCUSDT"), instruments=(UNICODE_INSTRUMENT,))
    symbol = UNICODE_INSTRUMENT.native_symbol
    async with Simulator(settings) as sim:
        async with client(sim.websocket_base("binance", "spot") + "/ws") as one:
            await one.send({"method": "SUBSCRIBE", "params": [f"{symbol}@trade"], "id": 1})
            await one.next()
            assert (await one.next())["s"] == symbol
        _, info = await get(sim.rest_base("binance", "spot") + "/api/v3/exchangeInfo")
        status, book = await get(sim.rest_base("binance", "spot") + f"/api/v3/depth?symbol={symbol}")
    assert info["symbols"][0]["symbol"] == symbol
    assert (status, len(book["bids"]) > 0) == (200, True)


CASES: list[tuple[str, str, int, int | None]] = [
    ("spot", '/api/v3/exchangeInfo?symbols=["BTCUSDT"]', 200, None),
    ("spot", "/api/v3/exchangeInfo?symbol=NOPE", 400, -1121),
    ("spot", "/api/v3/exchangeInfo?symbols=x", 400, -1100),
    ("spot", "/api/v3/depth", 400, -1102),
    ("spot", "/api/v3/depth?symbol=NOPE", 400, -1121),
    ("spot", "/api/v3/depth?symbol=BTCUSDT&limit=x", 400, -1100),
    ("spot", "/api/v3/time", 200, None),
    ("usdm", "/fapi/v1/exchangeInfo", 200, None),
    ("usdm", "/fapi/v1/depth?symbol=BTCUSDT&limit=7", 400, -4021),
    ("usdm", "/fapi/v1/openInterest?symbol=BTCUSDT", 200, None),
    ("usdm", "/fapi/v1/openInterest", 400, -1102),
    ("usdm", "/fapi/v1/premiumIndex?symbol=BTCUSDT", 200, None),
    ("usdm", "/fapi/v1/premiumIndex?symbol=NOPE", 400, -1121),
    ("usdm", "/fapi/v1/nothing", 404, -5000),
]


@pytest.mark.parametrize(("product", "path", "status", "code"), CASES)
async def test_rest_answers_and_refuses_with_the_venues_codes(
    product: str, path: str, status: int, code: int | None
) -> None:
    async with Simulator(quick("binance", product, "BTCUSDT")) as sim:
        got, body = await get(sim.rest_base("binance", product) + path)
    assert got == status
    assert body.get("code") == code


async def test_protocol_pings_keep_a_client_that_answers_and_the_day_ends_with_a_notice() -> None:
    settings = replace(quick("binance", "spot", "BTCUSDT"), deadline_scale=0.01, connection_age=1.5)
    async with (
        Simulator(settings) as sim,
        client(sim.websocket_base("binance", "spot") + "/stream") as one,
    ):
        notice = await one.next()
        assert await one.closed() == 1001
    assert notice["stream"] == "!serverShutdown"
