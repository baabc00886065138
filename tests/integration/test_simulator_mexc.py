from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from services.simulator import Simulator
from tests.unit.simulator.books import SeededBook, ordered, truth
from tests.unit.simulator.client import client, get, quick

pytestmark = pytest.mark.integration
DEPTH = "spot@public.aggre.depth.v3.api.pb@10ms@BTCUSDT"


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """A reader of protobuf's wire format: field numbers with integers or bytes."""
    position = 0

    def varint() -> int:
        nonlocal position
        value = shift = 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while position < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            length = varint()
            yield key >> 3, data[position : position + length]
            position += length


def levels(body: list[tuple[int, Any]], number: int) -> list[list[str]]:
    return [[text.decode() for _, text in fields(one)] for key, one in body if key == number]


def take(book: SeededBook, frame: bytes) -> None:
    body = list(fields(dict(fields(frame))[313]))
    single = dict(body)
    book.take(int(single[4]), int(single[5]), None, levels(body, 2), levels(body, 1))


async def test_spot_deltas_on_a_rest_seed_rebuild_the_book_exactly() -> None:
    async with Simulator(quick("mexc", "spot", "BTCUSDT")) as sim:
        async with client(sim.websocket_base("mexc", "spot") + "/ws") as one:
            await one.send({"method": "SUBSCRIPTION", "params": [DEPTH], "id": 1})
            assert await one.next() == {"id": 1, "code": 0, "msg": DEPTH}
            early = [await one.next() for _ in range(5)]
            _, seed = await get(sim.rest_base("mexc", "spot") + "/api/v3/depth?symbol=BTCUSDT&limit=5000")
            book = SeededBook(seed["lastUpdateId"], seed["bids"], seed["asks"])
            for frame in early:
                take(book, frame)
            while book.deltas < 50:
                take(book, await one.next())
            await sim.pause()
            for frame in await one.rest():
                take(book, frame)
        expected = sim.book("mexc", "spot", "BTCUSDT", 5000)
    assert book.last_id == expected["sequence"]
    assert ordered(book.bids, book.asks, 5000) == truth(expected)


async def test_spot_quotes_at_ten_milliseconds_repeat_what_did_not_change() -> None:
    topic = "spot@public.aggre.bookTicker.v3.api.pb@10ms@BTCUSDT"
    async with Simulator(quick("mexc", "spot", "BTCUSDT")) as sim:
        await sim.pause(quiet=False)
        async with client(sim.websocket_base("mexc", "spot") + "/ws") as one:
            await one.send({"method": "SUBSCRIPTION", "params": [topic]})
            await one.next()
            bodies = [dict(fields(await one.next()))[315] for _ in range(20)]
    assert len(set(bodies)) == 1


async def test_spot_blocked_and_unknown_topics_are_answered_with_code_zero() -> None:
    async with (
        Simulator(quick("mexc", "spot", "BTCUSDT")) as sim,
        client(sim.websocket_base("mexc", "spot") + "/ws") as one,
    ):
        await one.send({"method": "SUBSCRIPTION", "params": ["spot@public.deals.v3.api.pb@BTCUSDT"]})
        reply = await one.next()
        assert reply["code"] == 0
        assert reply["msg"].startswith("Not Subscribed successfully! [")
        assert await one.rest(0.2) == []


async def test_spot_pings_by_protocol_and_closes_who_subscribes_to_nothing() -> None:
    settings = replace(quick("mexc", "spot", "BTCUSDT"), deadline_scale=0.01)
    async with Simulator(settings) as sim, client(sim.websocket_base("mexc", "spot") + "/ws") as one:
        assert await one.closed() == 1000


@pytest.mark.parametrize(
    ("path", "status", "keys"),
    [
        ("/api/v3/ping", 200, set()),
        ("/api/v3/time", 200, {"serverTime"}),
        ("/api/v3/depth?symbol=NOPE", 400, {"code", "msg"}),
        ("/api/v3/depth?symbol=BTCUSDT&limit=9999", 400, {"code", "msg"}),
        ("/api/v3/exchangeInfo", 200, {"timezone", "serverTime", "rateLimits", "exchangeFilters", "symbols"}),
        ("/api/v3/nothing", 404, {"code", "msg"}),
    ],
)
async def test_spot_rest(path: str, status: int, keys: set[str]) -> None:
    async with Simulator(quick("mexc", "spot", "BTCUSDT")) as sim:
        got, body = await get(sim.rest_base("mexc", "spot") + path)
    assert (got, set(body)) == (status, keys)


def take_push(book: SeededBook, frame: dict[str, Any]) -> None:
    data = frame["data"]
    assert data["end"] == data["version"]
    book.take(data["begin"], data["end"], None, data["bids"], data["asks"])


def normal(rows: list[list[Any]]) -> list[list[Any]]:
    return [[format(Decimal(price).normalize(), "f"), size, count] for price, size, count in rows]


async def test_futures_merged_depth_on_a_rest_seed_rebuilds_the_book_exactly() -> None:
    async with Simulator(quick("mexc", "futures", "BTC_USDT")) as sim:
        async with client(sim.websocket_base("mexc", "futures") + "/edge") as one:
            await one.send({"method": "sub.depth", "param": {"symbol": "BTC_USDT"}})
            assert (await one.next())["channel"] == "rs.sub.depth"
            early = [await one.next() for _ in range(3)]
            _, reply = await get(sim.rest_base("mexc", "futures") + "/api/v1/contract/depth/BTC_USDT?limit=1000")
            seed = reply["data"]
            book = SeededBook(seed["version"], normal(seed["bids"]), normal(seed["asks"]))
            frames = early
            while len(frames) < 40:
                frames.append(await one.next())
            await sim.pause()
            frames += await one.rest()
        for frame in frames:
            data = frame["data"]
            data["bids"], data["asks"] = normal(data["bids"]), normal(data["asks"])
            take_push(book, frame)
        expected = sim.book("mexc", "futures", "BTC_USDT", 1000)
    assert book.last_id == expected["sequence"]
    assert ordered(book.bids, book.asks, 1000) == truth(expected)


async def test_futures_round_prices_come_with_an_exponent_and_as_bare_numbers() -> None:
    async with (
        Simulator(quick("mexc", "futures", "BTC_USDT")) as sim,
        client(sim.websocket_base("mexc", "futures") + "/edge") as one,
    ):
        await one.send({"method": "sub.depth.full", "param": {"symbol": "BTC_USDT", "limit": 50}})
        await one.send({"method": "sub.depth", "param": {"symbol": "BTC_USDT"}})
        texts = [str(await one.raw()) for _ in range(60)]
    assert any("E+4," in text for text in texts)
    assert not any('["' in text for text in texts)


async def test_futures_uncompressed_depth_has_one_version_a_frame() -> None:
    async with (
        Simulator(quick("mexc", "futures", "ETH_USDT")) as sim,
        client(sim.websocket_base("mexc", "futures") + "/edge") as one,
    ):
        await one.send({"method": "sub.depth", "param": {"symbol": "ETH_USDT", "compress": False}})
        await one.next()
        versions = [(await one.next())["data"]["version"] for _ in range(50)]
    assert versions == list(range(versions[0], versions[0] + 50))


async def test_futures_deals_are_arrays_or_single_as_asked() -> None:
    async with Simulator(quick("mexc", "futures", "BTC_USDT")) as sim:
        url = sim.websocket_base("mexc", "futures") + "/edge"
        async with client(url) as merged, client(url) as single:
            await merged.send({"method": "sub.deal", "param": {"symbol": "BTC_USDT"}})
            await single.send({"method": "sub.deal", "param": {"symbol": "BTC_USDT", "compress": False}})
            many = (await merged.until(lambda frame: frame["channel"] == "push.deal"))["data"]
            one = (await single.until(lambda frame: frame["channel"] == "push.deal"))["data"]
    assert set(many[0]) == set(one) == {"p", "v", "T", "O", "M", "t", "i", "cts"}


async def test_futures_closes_who_does_not_ping_with_its_notice() -> None:
    settings = replace(quick("mexc", "futures", "BTC_USDT"), deadline_scale=0.01)
    async with Simulator(settings) as sim, client(sim.websocket_base("mexc", "futures") + "/edge") as one:
        notice = await one.until(lambda frame: frame["channel"] == "rs.error")
        assert "no response" in notice["data"]
        assert await one.closed() == 1000


async def test_futures_unknown_contract_and_unknown_method() -> None:
    async with (
        Simulator(quick("mexc", "futures", "BTC_USDT")) as sim,
        client(sim.websocket_base("mexc", "futures") + "/edge") as one,
    ):
        await one.send({"method": "sub.nothing", "param": {"symbol": "BTC_USDT"}})
        await one.send({"method": "sub.deal", "param": {"symbol": "NOPE_USDT"}})
        reply = await one.next()
    assert (reply["channel"], reply["data"]) == ("rs.error", "Contract [NOPE_USDT] not exists")


@pytest.mark.parametrize(
    ("path", "success"),
    [
        ("detail", True),
        ("detail?symbol=BTC_USDT", True),
        ("detail?symbol=NOPE", False),
        ("funding_rate/BTC_USDT", True),
        ("funding_rate/NOPE", False),
        ("depth/BTC_USDT", True),
        ("depth/BTC_USDT?limit=0", False),
        ("ticker", True),
        ("ping", True),
    ],
)
async def test_futures_rest_says_success_in_its_envelope(path: str, *, success: bool) -> None:
    async with Simulator(quick("mexc", "futures", "BTC_USDT")) as sim:
        status, body = await get(sim.rest_base("mexc", "futures") + "/api/v1/contract/" + path)
    assert (status, body["success"]) == (200, success)
    assert set(body) == ({"success", "code", "data"} if success else {"success", "code", "message"})


async def test_futures_contract_sizes_are_listed() -> None:
    async with Simulator(quick("mexc", "futures")) as sim:
        _, body = await get(sim.rest_base("mexc", "futures") + "/api/v1/contract/detail")
    assert {row["symbol"]: row["contractSize"] for row in body["data"]}["BTC_USDT"] == Decimal("0.0001")
