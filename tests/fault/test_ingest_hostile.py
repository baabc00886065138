"""Venues that do what no document says, against a whole ingest: nothing ends it, nothing is lost in silence."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from msgspec import json

from services.ingest.main import Ingest
from services.ingest.telemetry import IngestTelemetry
from shared.bus.rabbit import RabbitBus
from shared.clock import SystemClock
from shared.envelope import MAX_FRAME_BYTES, Disconnected, FrameKind
from shared.exchanges import adapter
from shared.exchanges.base import Endpoints, Feed
from shared.instruments import InstrumentTable
from shared.normalizing import StreamNormalizer
from shared.settings import Target
from shared.telemetry.bundle import Telemetry
from shared.topology import RAW
from shared.transport.http import MAX_REPLY
from tests.support.eventually import eventually
from tests.support.ingesting import RawReader, Running, assert_conserved, fast, running
from tests.support.venue_server import Conversation, Reply, VenueServer, acknowledge, trade

pytestmark = pytest.mark.fault

LIST = "/v5/market/instruments-info"
STREAM = "bybit.linear.0"


def listed(*symbols: str, padding: int = 0) -> bytes:
    """Bybit's linear instruments; ``padding`` more bytes in a field that nobody reads."""
    rows = [
        {
            "symbol": symbol,
            "contractType": "LinearPerpetual",
            "status": "Trading",
            "baseCoin": symbol.removesuffix("USDT"),
            "quoteCoin": "USDT",
            "settleCoin": "USDT",
            "deliveryTime": "0",
            "priceFilter": {"tickSize": "0.1"},
            "lotSizeFilter": {"qtyStep": "0.001"},
        }
        for symbol in symbols
    ]
    result = {"category": "linear", "list": rows, "nextPageCursor": ""}
    return json.encode({"retCode": 0, "retMsg": "OK", "result": result, "padding": "x" * padding})


def target(venue: VenueServer) -> Target:
    feeds = frozenset({Feed.TRADE})
    return Target("bybit", "linear", Endpoints(venue.websocket, venue.rest), ("BTC/USDT:USDT",), feeds, 1)


@asynccontextmanager
async def ingest_of(venue: VenueServer, **changes: float) -> AsyncIterator[Running]:
    async with running("bybit", [target(venue)], fast(**changes)) as one:
        yield one


async def trades(one: Conversation) -> None:
    await acknowledge(one)
    await one.send(trade())
    await one.until_gone()


def normalized(reader: RawReader) -> list[str]:
    """The feed of each message and the code of each rejection that a normalizer makes of a stream."""
    venue = adapter("bybit")
    stream = StreamNormalizer(venue, "linear", STREAM, InstrumentTable())
    found: list[str] = []
    for one in reader.of(STREAM):
        output = stream.frame(one.epoch, one.number, one.frame, one.frame.ts_received).output
        found += [message.feed for message in output.messages if message.feed != "stream_status"]
        found += [rejection.code for rejection in output.rejections]
    return found


async def test_binary_where_text_is_due_is_read_alike_and_garbage_in_it_is_rejected() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade(number=1).encode())
        await one.send(bytes(range(256)))
        await one.send(b"\x0a\x00")
        await one.send(trade(number=2))
        await one.until_gone()

    async with VenueServer(script, {LIST: [Reply(listed("BTCUSDT"))]}) as venue, ingest_of(venue) as one:
        await eventually(lambda: len(one.raw.data(STREAM)) == 4, "all four frames")
        kinds = [
            each.frame.kind for each in one.raw.of(STREAM) if each.frame.kind in {FrameKind.TEXT, FrameKind.BINARY}
        ]
        assert kinds == [FrameKind.BINARY, FrameKind.BINARY, FrameKind.BINARY, FrameKind.TEXT]
        assert venue.attempts == 1
        assert normalized(one.raw) == ["trade", "invalid_json", "invalid_json", "trade"]
    one.raw.assert_complete()


async def test_a_list_that_takes_ten_seconds_holds_up_its_product_and_is_waited_for() -> None:
    replies = {LIST: [Reply(listed("BTCUSDT"), delay=10.0)]}
    async with VenueServer(trades, replies) as venue, ingest_of(venue) as one:
        assert one.ingest.problem() == "instrument lists are being loaded"
        await eventually(lambda: one.raw.data(STREAM), "data comes in the end", within=60)
        assert one.count("rest_requests_total", outcome="ok") == 1
        assert len(venue.requests) == 1


@pytest.mark.parametrize("status", [500, 502, 503])
async def test_errors_of_the_rest_side_are_counted_and_tried_again(status: int) -> None:
    replies = {LIST: [Reply(status=status, body=b"<html>no</html>"), Reply(status=status), Reply(listed("BTCUSDT"))]}
    async with VenueServer(trades, replies) as venue, ingest_of(venue) as one:
        await eventually(lambda: one.raw.data(STREAM), "data comes in the end", within=60)
        assert one.count("rest_requests_total", outcome=f"status_{status}") == 2


async def test_a_list_of_ten_megabytes_travels_and_one_that_could_not_is_refused_where_it_comes_in() -> None:
    large, huge = listed("BTCUSDT", padding=10_000_000), listed("BTCUSDT", padding=MAX_REPLY)
    replies = {LIST: [Reply(huge), Reply(large)]}
    async with VenueServer(trades, replies) as venue, ingest_of(venue) as one:
        await eventually(lambda: one.raw.data(STREAM), "data comes in the end", within=60)
        assert [reply.body for reply in one.raw.replies(STREAM)] == [large]
        assert one.count("rest_requests_total", outcome="status_200") == 1
    one.raw.assert_complete()


async def test_a_frame_of_33_mib_ends_its_connection_and_nothing_else() -> None:
    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade(number=one.number))
        if one.number == 1:
            await one.send(trade(padding=33 * 1024 * 1024))
        await one.until_gone()

    async with VenueServer(script, {LIST: [Reply(listed("BTCUSDT"))]}) as venue, ingest_of(venue) as one:
        await eventually(lambda: len(one.raw.data(STREAM)) == 2, "the next connection brings data", within=60)
        (ended,) = one.raw.marks(Disconnected, STREAM)
        assert (ended.reason, ended.code) == ("too_large", 1009)
        assert one.count("reconnects_total", reason="too_large") == 1
    one.raw.assert_complete()


async def test_the_largest_frame_that_is_taken_gets_over_the_broker(rabbit_url: str) -> None:
    largest = trade(padding=MAX_FRAME_BYTES - len(trade(padding=1)) + 1)
    assert len(largest) == MAX_FRAME_BYTES

    async def script(one: Conversation) -> None:
        await acknowledge(one)
        await one.send(trade(number=1))
        await one.send(largest)
        await one.send(trade(number=2))
        await one.until_gone()

    settings, telemetry, reader, stop = fast(idle_timeout_s=30.0), Telemetry(), RawReader(), asyncio.Event()
    async with VenueServer(script, {LIST: [Reply(listed("BTCUSDT"))]}) as venue, RabbitBus(rabbit_url, "test") as bus:
        reading = asyncio.create_task(reader.follow(await bus.subscribe(RAW, ["#"])))
        bound = IngestTelemetry(telemetry, "bybit", settings.ingest.permits)
        ingest = Ingest("bybit", [target(venue)], settings, bus, SystemClock(), bound)
        task = asyncio.create_task(ingest.run(stop))
        await eventually(lambda: len(reader.data(STREAM)) == 3, "all three", within=60)
        stop.set()
        await task
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    assert reader.data(STREAM)[1] == largest.encode()
    assert_conserved(telemetry)
    assert telemetry.total("tidegate_frames_shed_total", {}) == 0


async def test_a_venue_that_hangs_up_at_once_for_long_is_left_in_peace_and_nothing_grows() -> None:
    async def script(one: Conversation) -> None:
        await one.close(1013 if one.number % 2 else 1000)

    changes = {"reconnect_initial_s": 0.005, "reconnect_cap_s": 0.02}
    async with VenueServer(script, {LIST: [Reply(listed("BTCUSDT"))]}) as venue, ingest_of(venue, **changes) as one:
        await eventually(lambda: venue.attempts > 30, "it keeps trying", within=60)
        tasks = len(asyncio.all_tasks())
        await eventually(lambda: venue.attempts > 200, "and goes on trying", within=60)
        assert len(asyncio.all_tasks()) <= tasks + 8
        assert one.count("buffer_frames") < 50
        assert one.raw.data(STREAM) == []
        assert one.count("reconnects_total", reason="closed") >= 200
