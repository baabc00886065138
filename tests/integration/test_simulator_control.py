import asyncio
from dataclasses import replace

import pytest
from websockets.exceptions import InvalidStatus

from services.simulator import DEFAULT_INSTRUMENTS, Simulator, SimulatorSettings, run
from tests.support.eventually import eventually
from tests.unit.simulator.client import START_NS, client, get, post, quick

pytestmark = pytest.mark.integration
LINEAR = "/v5/public/linear"
RECORDING = [(0, b'{"one":1}', False), (2_000_000, b"\x0a\x01a", True), (0, b'{"three":3}', False)]


async def test_every_product_listens_on_one_port_and_state_tells_of_all() -> None:
    async with Simulator(SimulatorSettings(rate=5.0)) as sim:
        _, state = await get(sim.control_base + "/state")
    assert {exchange: set(products) for exchange, products in state["exchanges"].items()} == {
        "bybit": {"spot", "linear", "inverse"},
        "mexc": {"spot", "futures"},
        "binance": {"spot", "usdm"},
    }
    listed = sum(len(one["symbols"]) for products in state["exchanges"].values() for one in products.values())
    assert listed == len(DEFAULT_INSTRUMENTS)


async def test_exchanges_can_be_left_out() -> None:
    async with Simulator(SimulatorSettings(exchanges=("mexc",))) as sim:
        assert (await get(sim.rest_base("mexc", "spot") + "/api/v3/ping"))[0] == 200
        assert (await get(sim.rest_base("bybit", "spot") + "/v5/market/time"))[0] == 404


async def test_the_book_over_http_is_the_engines() -> None:
    async with Simulator(quick("bybit", "linear", "BTCUSDT")) as sim:
        await post(sim.control_base + "/pause")
        status, body = await get(sim.control_base + "/book/bybit/linear/BTCUSDT?depth=7")
        assert (status, body) == (200, sim.book("bybit", "linear", "BTCUSDT", 7))
        assert len(body["bids"]) == 7
        assert (await get(sim.control_base + "/book/bybit/linear/NOPE"))[0] == 404
        assert (await get(sim.control_base + "/book/bybit/linear/BTCUSDT?depth=0"))[0] == 400
        assert (await get(sim.control_base + "/sent/bybit/nope"))[0] == 404


async def test_pause_is_quiet_when_it_answers_and_resume_goes_on() -> None:
    async with (
        Simulator(quick("bybit", "linear", "BTCUSDT")) as sim,
        client(sim.websocket_base("bybit", "linear") + LINEAR) as one,
    ):
        await one.send({"op": "subscribe", "args": ["orderbook.50.BTCUSDT", "tickers.BTCUSDT", "orderbook.1.BTCUSDT"]})
        await one.next()
        await post(sim.control_base + "/pause")
        _, before = await get(sim.control_base + "/sent/bybit/linear")
        received = await one.rest(0.5)
        _, after = await get(sim.control_base + "/sent/bybit/linear")
        assert before == after
        assert len(received) == sum(after["feeds"].values())
        _, state = await get(sim.control_base + "/state")
        assert (state["paused"], state["flushed"]) == (True, True)
        await post(sim.control_base + "/resume")
        assert (await one.next())["topic"]


async def test_a_burst_over_http_multiplies_the_traffic() -> None:
    async with Simulator(quick("binance", "spot", "BTCUSDT")) as sim:
        market = sim.market("binance", "spot", "BTCUSDT")
        assert await post(sim.control_base + "/burst", {"factor": 20, "seconds": 30}) == (200, {"markets": 1})
        assert await post(sim.control_base + "/burst", {"factor": 2, "seconds": 1, "symbol": "NOPE"}) == (
            200,
            {"markets": 0},
        )
        assert market.bursting(sim.clock())
        await eventually(lambda: market.events > 4000)
        assert (await post(sim.control_base + "/burst", {"factor": 0, "seconds": 30}))[0] == 400
        assert (await post(sim.control_base + "/burst", {"factor": 2}))[0] == 400


async def test_bursts_come_by_the_schedule() -> None:
    settings = replace(quick("binance", "spot", "BTCUSDT"), burst=5.0, burst_every=0.3, burst_for=30.0)
    async with Simulator(settings) as sim:
        market = sim.market("binance", "spot", "BTCUSDT")
        assert not market.bursting(sim.clock())
        await eventually(lambda: market.bursting(sim.clock()))
        assert market.burst_factor == 5.0


async def test_a_client_that_reads_nothing_is_cut_off_and_counted() -> None:
    settings = replace(quick("bybit", "linear", "BTCUSDT"), write_limit=64 * 1024)
    async with (
        Simulator(settings) as sim,
        client(sim.websocket_base("bybit", "linear") + LINEAR) as one,
    ):
        await one.send({"op": "subscribe", "args": ["orderbook.50.BTCUSDT"]})
        await one.next()
        one.socket.transport.pause_reading()
        sim.inject({"kind": "huge", "size_mib": 4, "count": 20})
        await eventually(lambda: not sim.hub.connections)
        one.socket.transport.resume_reading()
        _, state = await get(sim.control_base + "/state")
    linear = state["exchanges"]["bybit"]["linear"]
    assert (linear["dropped_for_slow_clients"], linear["connections_closed"]) == (1, {"slow_client": 1})


async def test_more_connections_than_allowed_are_refused() -> None:
    settings = replace(quick("bybit", "linear", "BTCUSDT"), connections=1)
    async with Simulator(settings) as sim:
        url = sim.websocket_base("bybit", "linear") + LINEAR
        async with client(url):
            with pytest.raises(InvalidStatus, match="403"):
                async with client(url):
                    pass


async def test_a_recording_is_played_to_every_subscriber_from_the_start() -> None:
    async with Simulator(quick("mexc", "spot", "BTCUSDT")) as sim:
        sim.play("mexc", "spot", RECORDING)
        for _ in range(2):
            async with client(sim.websocket_base("mexc", "spot") + "/ws") as one:
                await one.send({"method": "SUBSCRIPTION", "params": ["spot@whatever"], "id": 1})
                assert await one.next() == {"id": 1, "code": 0, "msg": "spot@whatever"}
                assert [await one.next() for _ in range(3)] == [{"one": 1}, b"\x0a\x01a", {"three": 3}]
                assert await one.rest(0.2) == []
        with pytest.raises(KeyError):
            sim.play("mexc", "nope", [])
        with pytest.raises(ValueError, match="speed"):
            sim.play("mexc", "spot", [], speed=-1)


async def test_a_long_recording_waits_for_a_slow_reader() -> None:
    settings = replace(quick("bybit", "linear", "BTCUSDT"), write_limit=256 * 1024)
    payload = b'"' + b"x" * 20_000 + b'"'
    async with Simulator(settings) as sim:
        sim.play("bybit", "linear", [(0, payload, False)] * 500, speed=0)
        async with client(sim.websocket_base("bybit", "linear") + LINEAR) as one:
            await one.send({"op": "subscribe", "args": ["tickers.BTCUSDT"]})
            await one.next()
            frames = [await one.raw() for _ in range(500)]
    assert len(frames) == 500


async def test_run_serves_until_told_to_stop() -> None:
    stop = asyncio.Event()
    serving = asyncio.create_task(run(quick("bybit", "spot", "BTCUSDT"), stop))
    await asyncio.sleep(0)
    stop.set()
    await asyncio.wait_for(serving, 60)
    assert serving.done()


async def test_a_failure_of_the_markets_is_not_kept_secret() -> None:
    broken = asyncio.Event()

    def clock() -> int:
        if broken.is_set():
            raise ArithmeticError("the clock stopped")
        return START_NS

    sim = Simulator(quick("bybit", "spot", "BTCUSDT"), clock)
    await sim.start()
    broken.set()
    await asyncio.wait_for(sim.serve(asyncio.Event()), 60)
    with pytest.raises(ArithmeticError, match="the clock stopped"):
        await sim.stop()


async def test_a_clients_protocol_ping_is_answered() -> None:
    async with (
        Simulator(quick("bybit", "linear", "BTCUSDT")) as sim,
        client(sim.websocket_base("bybit", "linear") + LINEAR) as one,
    ):
        answered = await one.socket.ping(b"now")
        assert await asyncio.wait_for(answered, 60) >= 0


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="rate"):
        SimulatorSettings(rate=0.0)
    with pytest.raises(ValueError, match="page_size"):
        SimulatorSettings(page_size=0)
    with pytest.raises(ValueError, match="burst_every"):
        SimulatorSettings(burst_every=-1.0)
