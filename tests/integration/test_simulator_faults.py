"""Each fault does what its line in the table says."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from itertools import pairwise

import aiohttp
import pytest
from websockets.exceptions import InvalidStatus

from services.simulator import FAULTS, Fault, FaultError, Simulator
from tests.support.eventually import eventually
from tests.unit.simulator.client import Client, client, get, post, quick

pytestmark = pytest.mark.integration

BOOK = "orderbook.50.BTCUSDT"
TRADES = "publicTrade.BTCUSDT"


@pytest.fixture
async def sim() -> AsyncIterator[Simulator]:
    async with Simulator(quick("bybit", "linear", "BTCUSDT", "ETHUSDT")) as simulator:
        yield simulator


@asynccontextmanager
async def subscribed(simulator: Simulator, *topics: str) -> AsyncIterator[Client]:
    async with client(simulator.websocket_base("bybit", "linear") + "/v5/public/linear") as one:
        await one.send({"op": "subscribe", "args": list(topics)})
        assert (await one.next())["success"] is True
        yield one


async def updates(one: Client, count: int) -> list[int]:
    return [(await one.next())["data"]["u"] for _ in range(count)]


def steps(numbers: list[int]) -> list[int]:
    return [after - before for before, after in pairwise(numbers)]


async def until_step(one: Client, numbers: list[int], wanted: int) -> list[int]:
    """These and the following sequence numbers until two that follow each other differ by this much."""
    while steps(numbers)[-1] != wanted:
        numbers += await updates(one, 1)
    return numbers


def contains(mark: bytes, frame: bytes) -> bool:
    return mark in frame


async def test_gap_leaves_deltas_out(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        numbers = await updates(one, 3)
        sim.inject({"kind": "gap", "symbol": "BTCUSDT", "count": 2})
        numbers = await until_step(one, numbers, 3)
        numbers += await updates(one, 5)
    assert sorted(steps(numbers)) == [1] * (len(numbers) - 2) + [3]


async def test_duplicate_sends_a_frame_twice(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        numbers = await updates(one, 3)
        sim.inject({"kind": "duplicate"})
        numbers = await until_step(one, numbers, 0)
        numbers += await updates(one, 5)
    assert steps(numbers).count(0) == 1


async def test_out_of_order_swaps_two_frames(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        numbers = await updates(one, 3)
        sim.inject({"kind": "out_of_order"})
        numbers = await until_step(one, numbers, -1)
        numbers += await updates(one, 5)
    assert sorted(numbers) == list(range(min(numbers), min(numbers) + len(numbers)))


async def test_malformed_cuts_a_frame_or_sends_something_else(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        await updates(one, 3)
        sim.inject({"kind": "malformed", "topic": BOOK})
        with pytest.raises(json.JSONDecodeError):
            await updates(one, 200)
        sim.inject({"kind": "malformed", "mode": "garbage"})
        frame = str(await one.raw())
        while not frame.startswith("<html>"):
            assert json.loads(frame)["topic"] == BOOK
            frame = str(await one.raw())


@pytest.mark.parametrize("value", ["NaN", "Infinity", ""])
async def test_nan_replaces_the_first_number(sim: Simulator, value: str) -> None:
    async with subscribed(sim, TRADES) as one:
        sim.inject({"kind": "nan", "value": value, "topic": TRADES})
        frame = await one.next()
    assert frame["data"][0]["v"] == value


async def test_wrong_type_replaces_the_first_number_by_an_object(sim: Simulator) -> None:
    async with subscribed(sim, TRADES) as one:
        sim.inject({"kind": "wrong_type", "topic": TRADES})
        frame = await one.next()
    assert isinstance(frame["data"][0]["v"], dict)


async def test_extra_fields_are_added_at_the_top_and_in_the_data(sim: Simulator) -> None:
    async with subscribed(sim, "tickers.BTCUSDT") as one:
        await one.next()
        sim.inject({"kind": "extra_fields", "feed": "ticker", "count": 50})
        frame = await one.until(lambda frame: "zzNew" in frame)
    assert "zzNew" in frame["data"]


async def test_unknown_event_and_unknown_symbol(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        await one.next()
        sim.inject({"kind": "unknown_event"})
        assert (await one.until(lambda frame: frame["topic"] != BOOK))["topic"].startswith("mystery.")
        sim.inject({"kind": "unknown_symbol"})
        frame = await one.until(lambda frame: frame["topic"] != BOOK)
    assert (frame["topic"], frame["data"]["s"]) == ("orderbook.50.QQQUSDT", "QQQUSDT")


async def test_huge_pads_a_frame_that_stays_valid(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        await one.next()
        sim.inject({"kind": "huge", "size_mib": 6})
        frame = await one.until(lambda frame: "zzPadding" in frame)
    assert len(frame["zzPadding"]) == 6 * 1024 * 1024


async def test_snapshot_midstream_starts_over_with_one(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        await updates(one, 3)
        assert sim.inject({"kind": "snapshot_midstream", "symbol": "BTCUSDT"}) == 1
        frame = await one.until(lambda frame: frame["type"] == "snapshot")
        assert frame["data"]["u"] == 1
        assert len(frame["data"]["b"]) == 50
        assert await updates(one, 3) == [2, 3, 4]


async def test_delta_before_snapshot(sim: Simulator) -> None:
    sim.inject({"kind": "delta_before_snapshot"})
    async with subscribed(sim, BOOK) as one:
        first, second = await one.next(), await one.next()
    assert (first["type"], second["type"]) == ("delta", "snapshot")
    assert first["data"]["u"] == second["data"]["u"]


async def test_data_before_ack(sim: Simulator) -> None:
    sim.inject({"kind": "data_before_ack"})
    async with client(sim.websocket_base("bybit", "linear") + "/v5/public/linear") as one:
        await one.send({"op": "subscribe", "args": [BOOK]})
        first, second = await one.next(), await one.next()
    assert (first.get("type"), second.get("success")) == ("snapshot", True)


async def test_no_first_frame_acknowledges_and_stays_silent_on_one_topic(sim: Simulator) -> None:
    sim.inject({"kind": "no_first_frame", "symbol": "BTCUSDT"})
    async with subscribed(sim, BOOK, "orderbook.50.ETHUSDT") as one:
        topics = {(await one.next())["topic"] for _ in range(30)}
    assert topics == {"orderbook.50.ETHUSDT"}


async def test_reject_topic_refuses_the_venues_way(sim: Simulator) -> None:
    sim.inject({"kind": "reject_topic", "symbol": "BTCUSDT"})
    async with client(sim.websocket_base("bybit", "linear") + "/v5/public/linear") as one:
        await one.send({"op": "subscribe", "args": [BOOK]})
        refusal = await one.next()
        assert (refusal["success"], refusal["ret_msg"]) == (False, f"error:handler not found,topic:{BOOK}")
        await one.send({"op": "subscribe", "args": [BOOK]})
        assert (await one.next())["success"] is True


async def test_slow_ack_waits(sim: Simulator) -> None:
    sim.inject({"kind": "slow_ack", "seconds": 0.5})
    async with client(sim.websocket_base("bybit", "linear") + "/v5/public/linear") as one:
        await one.send({"op": "subscribe", "args": [BOOK]})
        assert await one.rest(0.2) == []
        assert (await one.next())["success"] is True


@pytest.mark.parametrize("code", [1000, 1001, 1012, 1006])
async def test_disconnect_closes_with_the_code_or_resets(sim: Simulator, code: int) -> None:
    async with subscribed(sim, BOOK) as one:
        assert sim.inject({"kind": "disconnect", "code": code}) == 1
        assert await one.closed() == code
    _, state = await get(sim.control_base + "/state")
    assert state["exchanges"]["bybit"]["linear"]["connections_closed"] == {"disconnect": 1}


async def test_disconnect_can_be_narrowed_to_who_listens_to_a_symbol(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as bitcoin, subscribed(sim, "orderbook.50.ETHUSDT") as ether:
        assert sim.inject({"kind": "disconnect", "symbol": "ETHUSDT"}) == 1
        assert await ether.closed() == 1001
        await updates(bitcoin, 20)


async def test_half_close_says_nothing_and_answers_nothing(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        await one.next()
        assert sim.inject({"kind": "half_close"}) == 1
        await one.rest(0.3)
        await one.send({"op": "ping"})
        assert await one.rest(0.3) == []
        assert one.socket.close_code is None


async def test_silence_holds_data_back_but_answers_heartbeats_and_ends(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        await one.next()
        sim.inject({"kind": "silence", "seconds": 1.0})
        await one.rest(0.2)
        await one.send({"op": "ping"})
        assert (await one.next())["ret_msg"] == "pong"
        assert (await one.next())["topic"] == BOOK


async def test_unfinished_frame_never_becomes_a_message(sim: Simulator) -> None:
    async with subscribed(sim, BOOK) as one:
        await one.next()
        sim.inject({"kind": "unfinished_frame"})
        frames = await one.rest(0.4)
        assert all(frame["topic"] == BOOK for frame in frames)
        assert one.socket.close_code is None


async def test_accept_then_close_and_refuse(sim: Simulator) -> None:
    url = sim.websocket_base("bybit", "linear") + "/v5/public/linear"
    sim.inject({"kind": "accept_then_close", "code": 1013, "count": 2})
    for _ in range(2):
        async with client(url) as one:
            assert await one.closed() == 1013
    sim.inject({"kind": "refuse", "status": 503})
    with pytest.raises(InvalidStatus) as refused:
        async with client(url):
            pass
    assert refused.value.response.status_code == 503
    async with client(url) as one:
        await one.send({"op": "ping"})
        assert (await one.next())["ret_msg"] == "pong"


async def test_rest_errors_have_the_venues_form_and_end(sim: Simulator) -> None:
    url = sim.rest_base("bybit", "linear") + "/v5/market/time"
    sim.inject({"kind": "rest_error", "status": 403})
    sim.inject({"kind": "rest_error", "status": 429})
    assert await get(url) == (403, "403, access too frequent")
    status, body = await get(url)
    assert (status, body["retCode"]) == (429, 10006)
    assert (await get(url))[0] == 200


@pytest.mark.parametrize(
    ("exchange", "product", "path"),
    [
        ("binance", "spot", "/api/v3/depth?symbol=BTCUSDT&limit=5000"),
        ("binance", "usdm", "/fapi/v1/depth?symbol=BTCUSDT&limit=1000"),
        ("mexc", "spot", "/api/v3/depth?symbol=BTCUSDT&limit=5000"),
    ],
)
async def test_snapshots_come_late_or_stale(exchange: str, product: str, path: str) -> None:
    async with Simulator(quick(exchange, product, "BTCUSDT")) as simulator:
        market = simulator.market(exchange, product, "BTCUSDT")
        url = simulator.rest_base(exchange, product) + path
        then = market.book.update_id
        simulator.inject({"kind": "stale_snapshot", "count": 1})
        await eventually(lambda: market.book.update_id > then + 50)
        assert (await get(url))[1]["lastUpdateId"] <= then + 5 * 400
        assert (await get(url))[1]["lastUpdateId"] > then
        simulator.inject({"kind": "late_snapshot", "seconds": 0.5})
        waiting = asyncio.create_task(get(url))
        await eventually(lambda: simulator.hub.board.done.get("late_snapshot"))
        taken = market.book.update_id
        _, late = await waiting
        assert late["lastUpdateId"] <= taken < market.book.update_id


async def test_server_shutdown_gives_notice_where_the_venue_does() -> None:
    async with (
        Simulator(quick("binance", "usdm", "BTCUSDT")) as simulator,
        client(simulator.websocket_base("binance", "usdm") + "/public/ws") as one,
    ):
        await one.send({"method": "LIST_SUBSCRIPTIONS", "id": 1})
        await one.next()
        simulator.inject({"kind": "server_shutdown", "seconds": 0.2})
        assert (await one.next())["e"] == "serverShutdown"
        assert await one.closed() == 1001


async def test_protobuf_frames_can_be_struck_too() -> None:
    topic = "spot@public.aggre.depth.v3.api.pb@10ms@BTCUSDT"
    async with (
        Simulator(quick("mexc", "spot", "BTCUSDT")) as simulator,
        client(simulator.websocket_base("mexc", "spot") + "/ws") as one,
    ):
        await one.send({"method": "SUBSCRIPTION", "params": [topic]})
        await one.next()
        for kind, mark in (("nan", b"NaN"), ("unknown_symbol", b"QQQUSDT"), ("extra_fields", b"mystery")):
            simulator.inject({"kind": kind})
            assert mark in await one.until(partial(contains, mark))
        simulator.inject({"kind": "huge", "size_mib": 2})
        await one.until(lambda frame: len(frame) > 2 * 1024 * 1024)
        simulator.inject({"kind": "unknown_event"})
        await one.until(lambda frame: len(frame) < 80)


async def test_bare_numbers_become_bare_tokens() -> None:
    async with (
        Simulator(quick("mexc", "futures", "BTC_USDT")) as simulator,
        client(simulator.websocket_base("mexc", "futures") + "/edge") as one,
    ):
        await one.send({"method": "sub.deal", "param": {"symbol": "BTC_USDT"}})
        await one.next()
        simulator.inject({"kind": "nan"})
        assert '"p":NaN' in str(await one.raw())


async def test_faults_over_http_are_validated_counted_and_cleared(sim: Simulator) -> None:
    url = sim.control_base + "/faults"
    for wrong in ({"kind": "meteor"}, {"count": 1}, {"kind": "gap", "count": -1}, {"kind": "gap", "size": 1}, [1]):
        status, body = await post(url, wrong)
        assert status == 400
        assert body["error"]
    for wrong in (
        {"kind": "disconnect", "code": 999},
        {"kind": "rest_error", "status": 200},
        {"kind": "huge", "size_mib": 65},
    ):
        assert (await post(url, wrong))[0] == 400
    status, body = await post(url, {"kind": "gap", "count": 5})
    assert (status, body) == (200, {"struck": 0, "waiting": 1})
    _, listed = await get(url)
    assert set(listed) == set(FAULTS)
    async with aiohttp.ClientSession() as session, session.delete(url) as response:
        assert await response.json() == {"waiting": 0}


def test_a_fault_from_python_is_checked_as_well() -> None:
    with pytest.raises(FaultError, match="meteor"):
        Fault("meteor")
    with pytest.raises(FaultError, match="seconds"):
        Fault("silence", seconds=1e9)
    assert Fault("silence").seconds == 10.0
    assert Fault("gap").feed == "book"
