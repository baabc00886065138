"""The proxy, the feeder and the reading of metrics that the journey stands on."""

import asyncio
from math import inf
from pathlib import Path

import pytest

from services.bench.burst import build
from services.bench.feeder import Feeder
from services.bench.journey_report import picture, table, targets
from services.bench.journey_result import DesignReport, DesignResult, Distribution, Second
from services.bench.proxy import DelayProxy
from services.bench.scrape import Look
from shared.transport.websocket import WebSocketStream
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

RTT_S = 0.1


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


async def ended(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


async def test_the_proxy_passes_every_byte_on_no_sooner_than_a_round_trip() -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    sent = bytes(range(256)) * 20_000
    loop = asyncio.get_running_loop()
    async with server, DelayProxy("127.0.0.1", port, RTT_S) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        began = loop.time()
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
        assert loop.time() - began >= RTT_S
        writer.write(sent)
        writer.write_eof()
        assert await reader.read() == sent
        writer.close()
        await writer.wait_closed()


async def test_the_proxy_ends_a_connection_whose_target_is_gone() -> None:
    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    async with DelayProxy("127.0.0.1", port, 0.0) as proxy:
        reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
        assert await ended(reader)
        writer.close()


async def test_the_feeder_sends_the_whole_burst_to_a_websocket(tmp_path: Path) -> None:
    build(tmp_path / "burst", 500)
    feeder = Feeder()
    server = await asyncio.start_server(feeder.accept, "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v5/public/linear"
    taken: list[bytes] = []
    async with server, WebSocketStream(url, max_size=1 << 20, open_timeout_s=10.0, ping_interval_s=None) as stream:
        stream.listen(lambda data, _: taken.append(data))
        await stream.send('{"op":"subscribe","args":["publicTrade.BTCUSDT"],"req_id":"1"}')
        await eventually(lambda: len(taken) == 1, "the answer to the subscription")
        report = await feeder.send(tmp_path / "burst", 5_000.0)
        await eventually(lambda: len(taken) == 501, "the burst")
    assert (report.offered, report.skipped) == (500, 0)
    assert b'"success":true' in taken[0]
    assert all(frame.startswith(b'{"topic":') for frame in taken[1:])


async def test_frames_that_nobody_is_there_for_are_skipped(tmp_path: Path) -> None:
    build(tmp_path / "burst", 100)
    report = await Feeder().send(tmp_path / "burst", 5_000.0)
    assert (report.offered, report.skipped) == (100, 100)


def look(counts: dict[float, float]) -> Look:
    buckets = [({"le": "+Inf" if bound == inf else str(bound), "stage": "ingest"}, n) for bound, n in counts.items()]
    return Look({"wait_seconds_bucket": buckets})


def test_quantiles_are_those_of_what_happened_between_two_looks() -> None:
    before = look({0.001: 1_000, 0.01: 1_000, inf: 1_000})
    after = look({0.001: 1_050, 0.01: 1_100, inf: 1_100})
    found = after.quantiles(before, "wait_seconds", stage="ingest")
    assert found is not None
    assert (found.p50, found.p99) == pytest.approx((1_000.0, 9_820.0))
    assert after.share_within(before, "wait_seconds", 0.001, stage="ingest") == 0.5
    assert after.quantiles(after, "wait_seconds", stage="ingest") is None
    assert after.quantiles(before, "wait_seconds", stage="normalizer") is None


def result(shed: int, q_wait_p99: float) -> DesignResult:
    timeline = [Second(0, 10, 10, 0, 120.0, 180.0), Second(1, 5, 0, 10, None, None)]
    report = DesignReport(
        20,
        20 - shed,
        0,
        Distribution(10.0, q_wait_p99),
        5.0,
        Distribution(50.0, 900.0),
        1e5,
        20,
        60.0,
        1.0,
        timeline,
        [],
    )
    return DesignResult("4 tidegate", 20, shed, report)


def test_targets_say_what_was_met_and_what_was_not() -> None:
    assert "MISSED" not in targets(result(0, 900.0), 20_000.0)
    missed = targets(result(10, 1_100.0), 20_000.0)
    assert missed.count("MISSED") == 2
    assert "50.0%" in table([result(10, 1_100.0)])


def test_the_picture_is_drawn_or_it_is_said_why_not(tmp_path: Path) -> None:
    path = tmp_path / "journey.png"
    said = picture([result(0, 900.0)], path, 20_000.0, 2.0)
    assert said.startswith("written: " if path.exists() else "not written: ")
