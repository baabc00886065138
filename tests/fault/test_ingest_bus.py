"""The whole of ingest while its bus is slow, hangs or fails: sockets are read on, and every frame is accounted for."""

import asyncio
import gc

import pytest

from services.simulator import Simulator, SimulatorSettings, select
from shared.envelope import Disconnected, Shed
from shared.exchanges import adapter
from shared.exchanges.base import Endpoints
from shared.settings import BrokerSettings, Settings, Target
from tests.support.eventually import eventually
from tests.support.ingesting import Running, ShiftedClock, assert_conserved, fast, flow, held, running
from tests.support.plans import TRADES, QuickBybit, bybit
from tests.support.publishers import FaultyBus
from tests.support.venue_server import Conversation, VenueServer, acknowledge, trade

pytestmark = [pytest.mark.integration, pytest.mark.fault]


def settings() -> Settings:
    made = fast(
        idle_timeout_s=5.0,
        first_frame_timeout_s=30.0,
        ping_interval_s=0.5,
        permits=2,
        batch_frames=20,
        buffer_frames=300,
        circuit_reset_s=0.3,
    )
    return made.model_copy(update={"broker": BrokerSettings(publish_deadline_s=0.5)})


def targets(sim: Simulator) -> list[Target]:
    return [
        Target(
            "bybit",
            product,
            Endpoints(sim.websocket_base("bybit", product), sim.rest_base("bybit", product)),
            ("*",),
            adapter("bybit").feeds(product),
            1,
        )
        for product in ("linear", "spot")
    ]


class Fault:
    """Sets the publishers of raw frames and undoes it."""

    def __init__(self, bus: FaultyBus, kind: str) -> None:
        self._bus = bus
        self._kind = kind

    def start(self) -> None:
        for publisher in self._bus.publishers:
            if self._kind == "hangs":
                publisher.gate.clear()
            elif self._kind == "is slow":
                publisher.delay = 0.3
            else:
                publisher.down()

    def end(self) -> None:
        for publisher in self._bus.publishers:
            publisher.up()


@pytest.mark.parametrize("kind", ["is slow", "hangs", "fails"])
async def test_a_faulty_bus_costs_no_socket_and_no_frame_uncounted(kind: str) -> None:
    bus = FaultyBus()
    fault = Fault(bus, kind)
    instruments = tuple(select("BTCUSDT", "ETHUSDT", exchange="bybit"))
    async with Simulator(SimulatorSettings(instruments=instruments, rate=100.0, exchanges=("bybit",))) as sim:
        async with running("bybit", targets(sim), settings(), own_bus=bus) as one:
            await one.connected()
            await eventually(lambda: len(one.raw.only()) > 200, "it flows")
            fault.start()
            sim.burst(10, seconds=3)
            given_up = {"is slow": lost, "hangs": lost, "fails": shed_by_circuit}[kind]
            await eventually(lambda: given_up(one) > 100, "frames are given up")
            received = flow(one.telemetry)["received"]
            await eventually(lambda: flow(one.telemetry)["received"] > received + 500, "sockets are read on")
            assert one.count("buffer_frames") <= 2 * 300
            assert one.count("reconnects_total") == 0
            fault.end()
            seen = len(one.raw.data())
            await eventually(lambda: len(one.raw.data()) > seen + 300, "it flows again")
            assert one.telemetry.total("tidegate_circuit_state", {"circuit": "bybit", "state": "closed"}) == 1
            await one.stop()
            terms = assert_conserved(one.telemetry)
        one.raw.assert_in_order()
        assert one.count("reconnects_total") == one.count("reconnects_total", reason="stopped") == 2
        assert len(one.raw.marks(Disconnected)) == 2
        assert terms["shed"] > 0
        assert one.raw.marks(Shed)


def lost(one: Running) -> int:
    return one.count("frames_shed_total") + one.count("frames_conflated_total")


def shed_by_circuit(one: Running) -> int:
    return one.count("frames_shed_total", reason="circuit_open")


async def test_tasks_survive_the_garbage_collector() -> None:
    """The loop itself holds tasks by weak references only."""

    async def script(one: Conversation) -> None:
        await acknowledge(one)
        number = 0
        while True:
            number += 1
            await one.send(trade(number=number))
            message = await one.receive()
            assert message["op"] == "ping"
            gc.collect()

    async with (
        VenueServer(script) as venue,
        held(bybit(venue.websocket, TRADES), fast(idle_timeout_s=5.0), QuickBybit(), ShiftedClock()) as stream,
    ):
        await eventually(lambda: len(stream.raw.data()) >= 15, "heartbeats and data go on")
        assert venue.attempts == 1
        assert not stream.task.done()
    stream.raw.assert_complete()


async def test_a_stop_while_the_bus_hangs_ends_in_time_and_counts_what_is_left() -> None:
    bus = FaultyBus()
    instruments = tuple(select("BTCUSDT", exchange="bybit"))
    async with (
        Simulator(SimulatorSettings(instruments=instruments, rate=100.0, exchanges=("bybit",))) as sim,
        running("bybit", targets(sim), settings(), own_bus=bus) as one,
    ):
        await eventually(lambda: len(one.raw.only()) > 100, "it flows")
        for publisher in bus.publishers:
            publisher.rude = True
            publisher.gate.clear()
        await eventually(lambda: sum(each.under_way for each in bus.publishers) == 2, "publishes hang")
        async with asyncio.timeout(60):
            await one.stop()
        terms = assert_conserved(one.telemetry)
        assert terms["shed"] > 0
