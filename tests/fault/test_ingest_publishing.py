"""A bus that is slow, fails or hangs costs frames, by policy and counted; it never costs order, or the socket."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from services.ingest.outlet import Outlet, Permits
from services.ingest.telemetry import IngestTelemetry
from shared.bus.memory import MemoryBus
from shared.circuit import Circuit, CircuitState
from shared.control import StreamInfo
from shared.envelope import Disconnected, RestReply, Shed
from shared.errors import PublishFailed
from shared.exchanges.base import Feed, FrameClass, Overflow, Route
from shared.settings import BrokerSettings, Settings
from shared.telemetry.bundle import Telemetry
from shared.topology import RAW
from tests.support.eventually import eventually
from tests.support.ingesting import RawReader, assert_conserved, fast, flow, outlet
from tests.support.publishers import FaultyPublisher

pytestmark = [pytest.mark.integration, pytest.mark.fault]

QUOTE = Route(FrameClass.DATA, Feed.QUOTE, "BTCUSDT", Overflow.CONFLATE)
TRADE = Route(FrameClass.DATA, Feed.TRADE, "BTCUSDT", Overflow.SHED)
BOOK = Route(FrameClass.DATA, Feed.BOOK, "BTCUSDT", Overflow.RESYNC)


def settings(deadline_s: float = 5.0, **changes: Any) -> Settings:
    """Nothing here is an overload, however slow the machine, but for what a test says."""
    made = fast(**{"overload_wait_ms": 60_000, "overload_after_ms": 60_000, **changes})
    return made.model_copy(update={"broker": BrokerSettings(publish_deadline_s=deadline_s)})


@dataclass
class Line:
    """Some outlets that share a publisher and permits."""

    outlets: list[Outlet]
    publisher: FaultyPublisher
    permits: Permits
    telemetry: Telemetry
    bus: MemoryBus
    raw: RawReader = field(default_factory=RawReader)

    @property
    def outlet(self) -> Outlet:
        return self.outlets[0]

    async def drain(self, deadline_s: float = 5.0) -> dict[str, int]:
        """Let everything out; the terms of the conservation law, which must hold then."""
        await asyncio.gather(*(one.drain(deadline_s) for one in self.outlets))
        return assert_conserved(self.telemetry)

    def waiting(self, unit: str = "frames") -> int:
        """What is in the buffers, as ingest reports it several times a second."""
        for each in self.outlets:
            each.report()
        return int(self.telemetry.total(f"tidegate_buffer_{unit}", {}))

    def shed(self, **labels: str) -> int:
        return int(self.telemetry.total("tidegate_frames_shed_total", labels))

    def circuit(self, state: str) -> bool:
        return self.telemetry.total("tidegate_circuit_state", {"circuit": "bybit", "state": state}) == 1


@asynccontextmanager
async def line(chosen: Settings | None = None, streams: int = 1, **circuit: int) -> AsyncIterator[Line]:
    chosen = chosen or settings()
    telemetry = Telemetry()
    bound = IngestTelemetry(telemetry, "bybit", chosen.ingest.permits)
    permits = Permits(chosen.ingest.permits, Circuit(**{"threshold": 3, "reset_ns": 200_000_000, **circuit}))
    async with MemoryBus() as bus:
        infos = [StreamInfo("bybit", "linear", "market", f"bybit.linear.{number}") for number in range(streams)]
        for info in infos:
            await bus.declare(info)
        publisher = FaultyPublisher(await bus.publisher())
        made = [outlet(info, publisher, bound, chosen, permits) for info in infos]
        one = Line(made, publisher, permits, telemetry, bus)
        reading = asyncio.create_task(one.raw.follow(await bus.subscribe(RAW, ["#"], limit=1_000_000)))
        publishing = [asyncio.create_task(each.run()) for each in made]
        for each in made:
            each.begin(1, "ws://venue")
        try:
            yield one
        finally:
            publisher.up()
            for task in (reading, *publishing):
                task.cancel()
            await asyncio.gather(reading, *publishing, return_exceptions=True)


async def put(out: Outlet, count: int, route: Route = TRADE, first: int = 0, size: int = 10) -> None:
    """Frames off a socket, which never waits; the loop gets a turn now and then as between two reads."""
    for number in range(first, first + count):
        out.put(str(number).zfill(size).encode(), route, binary=False)
        if number % 50 == 0:
            await asyncio.sleep(0)


async def test_frames_leave_in_order_and_in_batches_that_grow_with_load() -> None:
    async with line() as one:
        await put(one.outlet, 1, TRADE)
        await eventually(lambda: len(one.raw.data()) == 1, "an idle stream publishes at once")
        one.publisher.gate.clear()
        await put(one.outlet, 5000, TRADE, first=1)
        one.publisher.gate.set()
        terms = await one.drain()
        await eventually(lambda: len(one.raw.data()) == 5001, "everything is there")
    assert [int(data) for data in one.raw.data()] == list(range(5001))
    assert one.raw.largest == 200
    assert terms == {"received": 5002, "published": 5002, "conflated": 0, "shed": 0, "in_flight": 0}
    one.raw.assert_complete()


async def test_no_more_than_the_permits_are_in_flight_and_streams_keep_their_order() -> None:
    async with line(settings(permits=4, batch_frames=10), streams=3) as one:
        one.publisher.delay = 0.002
        await asyncio.gather(*(put(each, 1000) for each in one.outlets))
        assert (await one.drain(10.0))["published"] == 3003
        assert one.publisher.most_under_way == 4
        assert one.telemetry.total("tidegate_permits_in_use", {}) == 0
        await eventually(lambda: len(one.raw.data()) == 3000, "everything is there")
    one.raw.assert_complete()
    for stream in one.raw.streams:
        assert [int(data) for data in one.raw.data(stream)] == list(range(1000))


async def test_while_the_bus_hangs_reading_goes_on_and_the_buffer_gives_up_by_policy() -> None:
    chosen = settings(permits=1, buffer_frames=100, batch_frames=10)
    async with line(chosen) as one:
        one.publisher.gate.clear()
        await put(one.outlet, 1)
        await eventually(lambda: one.publisher.under_way == 1, "a publish hangs")
        await put(one.outlet, 200, QUOTE, first=1000)  # these make way for their newest
        await put(one.outlet, 50, BOOK, first=2000)
        assert one.publisher.calls == 1
        await put(one.outlet, 90, TRADE, first=3000)  # and these push out the oldest that are left
        assert 90 <= one.waiting() <= 100
        one.publisher.up()
        terms = await one.drain()
        await eventually(lambda: one.raw.marks(Shed), "the loss is told in the stream")
    assert terms["conflated"] == 199
    assert terms["shed"] == one.shed(reason="overflow") == 41
    assert one.shed(feed="quote") == 1
    assert one.shed(feed="book") == 40
    told = {(item.feed, item.reason): item.count for mark in one.raw.marks(Shed) for item in mark.items}
    assert told == {("quote", "overflow"): 1, ("book", "overflow"): 40}
    kept = [int(data) for data in one.raw.data()]
    assert kept == [0, *range(2040, 2050), *range(3000, 3090)]
    one.raw.assert_complete()  # what is shed has no number: a hole means loss behind ingest


async def test_frames_that_waited_too_long_are_shed() -> None:
    async with line(settings(permits=1, buffer_max_age_s=0.2)) as one:
        one.publisher.gate.clear()
        await put(one.outlet, 1)
        await eventually(lambda: one.publisher.under_way == 1, "a publish hangs")
        await put(one.outlet, 7, first=100)
        loop = asyncio.get_running_loop()
        end = loop.time() + 0.3
        await eventually(lambda: loop.time() > end, "they get old")
        await put(one.outlet, 1, first=200)
        one.publisher.up()
        await one.drain()
        await eventually(lambda: len(one.raw.data()) == 2, "what is fresh arrives")
    assert [int(data) for data in one.raw.data()] == [0, 200]
    assert one.shed(reason="expired") == 7


async def test_a_publish_without_confirm_ends_at_its_deadline_and_its_frames_are_a_counted_hole() -> None:
    async with line(settings(deadline_s=0.2)) as one:
        await put(one.outlet, 1)
        await eventually(lambda: flow(one.telemetry)["published"] == 2, "the first is out")
        one.publisher.gate.clear()
        await put(one.outlet, 1, first=1)
        await eventually(lambda: one.shed(reason="publish_failed") == 1, "it is given up")
        one.publisher.up()
        await put(one.outlet, 1, first=2)
        terms = await one.drain()
    assert (terms["published"], terms["shed"]) == (3, 1)
    assert one.telemetry.total("tidegate_publish_failures_total", {"reason": "timeout"}) == 1


async def test_a_publisher_that_ignores_its_deadline_is_cut_off_all_the_same() -> None:
    async with line(settings(deadline_s=0.1, permits=1)) as one:
        one.publisher.rude = True
        one.publisher.gate.clear()
        await put(one.outlet, 1)
        await eventually(lambda: one.shed(reason="publish_failed") > 0, "it is given up")
        one.publisher.up()
        await put(one.outlet, 1, first=1)
        await eventually(lambda: flow(one.telemetry)["published"] > 0, "its permit was given back")
        await one.drain()


async def test_the_circuit_opens_sheds_at_once_probes_once_and_closes() -> None:
    async with line(streams=3, reset_ns=300_000_000) as one:
        await eventually(lambda: flow(one.telemetry)["published"] == 3, "the first marks are out")
        one.publisher.down()
        assert one.circuit("closed")
        for number in range(3):
            calls = one.publisher.calls
            await put(one.outlets[number], 1)
            await eventually(lambda before=calls: one.publisher.calls > before, "it is tried")  # type: ignore[misc]
        await eventually(lambda: one.permits.circuit.state is CircuitState.OPEN, "three failures in a row open it")
        assert one.circuit("open")
        calls = one.publisher.calls
        await asyncio.gather(*(put(each, 100, first=10) for each in one.outlets))
        await eventually(lambda: one.shed(reason="circuit_open") > 0, "market frames are shed at once")
        # The bus hangs when it is probed, and the probe stays alone.
        one.publisher.up()
        one.publisher.gate.clear()
        loop = asyncio.get_running_loop()

        async def feed() -> None:
            number = 1000
            while True:
                for each in one.outlets:
                    await put(each, 1, first=number)
                number += 1
                await asyncio.sleep(0.005)

        feeding = asyncio.create_task(feed())
        await eventually(lambda: one.publisher.calls == calls + 1, "it is probed")
        assert one.circuit("half_open")
        end = loop.time() + 0.5
        await eventually(lambda: loop.time() > end, "the probe hangs for a while")
        assert one.publisher.calls == calls + 1
        one.publisher.up()
        await eventually(lambda: one.circuit("closed"), "the probe worked")
        await eventually(lambda: all(one.raw.data(stream) for stream in one.raw.streams), "it flows")
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
        terms = await one.drain()
    assert one.telemetry.total("tidegate_circuit_transitions_total", {"state": "half_open"}) == 1
    assert terms["shed"] == one.shed(reason="circuit_open") + one.shed(reason="publish_failed")
    one.raw.assert_in_order()
    told = sum(item.count for mark in one.raw.marks(Shed) for item in mark.items)
    assert told <= one.shed(reason="circuit_open")  # a mark in an envelope that failed is part of the hole


async def test_a_body_that_no_bus_takes_is_no_reason_to_open_the_circuit() -> None:
    async with line() as one:
        for number in range(5):
            one.publisher.failing = PublishFailed("refused", "too large")
            await put(one.outlet, 1, first=number)
            await eventually(lambda before=number: one.shed() > before, "it is counted")  # type: ignore[misc]
        assert one.permits.circuit.state is CircuitState.CLOSED
        one.publisher.up()
        await put(one.outlet, 1, first=10)
        assert (await one.drain())["published"] == 1


async def test_a_defect_in_a_publisher_is_counted_like_a_failure_and_surfaces() -> None:
    async with line() as one:
        one.publisher.failing = LookupError("a defect")
        await put(one.outlet, 1)
        await eventually(lambda: one.shed(reason="publish_failed") > 0, "its frames are counted")
        assert one.telemetry.total("tidegate_task_crashes_total", {"task": "publish"}) == 1
        assert one.telemetry.total("tidegate_publish_failures_total", {"reason": "defect"}) == 1
        one.publisher.up()
        await put(one.outlet, 1, first=1)
        await one.drain()


async def test_a_drain_lets_everything_out_with_the_last_mark_last() -> None:
    async with line() as one:
        one.publisher.delay = 0.05
        await put(one.outlet, 3000)
        one.outlet.put_mark(Disconnected("stopped"))
        terms = await one.drain()
        await eventually(lambda: len(one.raw.data()) == 3000, "everything is there")
    assert terms["published"] == terms["received"] == 3002
    assert one.raw.marks(object)[-1] == Disconnected("stopped")
    assert one.raw.only()[-1].number == 3001
    one.raw.assert_complete()


async def test_what_cannot_leave_before_the_drains_deadline_is_counted() -> None:
    async with line(settings(permits=2, batch_frames=10)) as one:
        one.publisher.gate.clear()
        await put(one.outlet, 100)
        await eventually(lambda: one.publisher.under_way == 2, "two envelopes hang")
        terms = await one.drain(0.2)
        assert terms["published"] == 0
        assert terms["shed"] == one.shed(reason="shutdown") == 101
        await eventually(lambda: one.permits.in_use == 0, "permits were given back")


async def test_rest_replies_are_bounded_too() -> None:
    """They are never given up for newer frames: without a bound they would fill the memory while a broker is away."""
    async with line(settings(permits=1, buffer_bytes=100_000)) as one:
        one.publisher.gate.clear()
        await put(one.outlet, 1)
        await eventually(lambda: one.publisher.under_way == 1, "a publish hangs")
        for _ in range(50):
            one.outlet.put_reply(RestReply("http://venue/list", 200, b"x" * 20_000))
        assert 80_000 <= one.waiting("bytes") <= 100_000
        one.publisher.up()
        await eventually(lambda: one.raw.marks(Shed), "what was refused is told")
        terms = await one.drain()
    assert len(one.raw.replies()) == 4
    assert terms["shed"] == one.shed(reason="overflow") == 46
    assert sum(item.count for mark in one.raw.marks(Shed) for item in mark.items) == 46
    one.raw.assert_complete()
