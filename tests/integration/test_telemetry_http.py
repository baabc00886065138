"""The endpoints over real HTTP."""

import asyncio
import errno
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families as parse_text

from shared.telemetry.events import Events
from shared.telemetry.http import Health, routes, serve
from shared.telemetry.metrics import Metrics, catalogue, process_registry
from shared.telemetry.stages import IngestMetrics, NormalizerMetrics, StreamMetrics
from tests.support.prometheus import ensure_prometheus

pytestmark = pytest.mark.integration

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(process_registry())


@pytest.fixture
def health() -> Health:
    return Health()


@pytest.fixture
async def port(metrics: Metrics, health: Health) -> AsyncIterator[int]:
    async with serve(routes(metrics.registry, health), "127.0.0.1", 0) as port:
        yield port


@pytest.fixture
async def client(port: int) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client:
        yield client


def exercise(metrics: Metrics) -> None:
    """A few values, among them a label with everything that must be escaped."""
    IngestMetrics(metrics, "bybit").received(3, 700)
    StreamMetrics(metrics, "bybit", "bybit.linear.0").buffer(1, 200)
    normalizer = NormalizerMetrics(metrics, "bybit")
    normalizer.normalize(30_000)
    normalizer.messages("trade", '币安"人生\\\n/USDT', 2)
    Events(metrics).circuit_changed("bybit", "CLOSED", 0)


async def test_metrics_as_text(client: aiohttp.ClientSession, metrics: Metrics) -> None:
    exercise(metrics)
    async with client.get("/metrics") as answer:
        assert answer.status == 200
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        families = {family.name: family for family in parse_text(await answer.text())}
    names = {entry.name.removesuffix("_total") for entry in catalogue()}
    assert names <= set(families)
    (sample,) = families["tidegate_instrument_messages"].samples
    assert (sample.labels["symbol"], sample.value) == ('币安"人生\\\n/USDT', 2)
    assert "process_cpu_seconds" in families


async def test_there_is_one_format_whatever_is_asked_for(client: aiohttp.ClientSession, metrics: Metrics) -> None:
    exercise(metrics)
    async with client.get("/metrics", headers={"accept": OPENMETRICS}) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        families = {family.name for family in parse_text(await answer.text())}
    assert "tidegate_normalize_seconds" in families


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_compression(client: aiohttp.ClientSession, metrics: Metrics, encoding: str) -> None:
    async with client.get("/metrics", headers={"accept-encoding": encoding}) as answer:
        assert answer.headers.get("content-encoding", "identity") == encoding
        assert "tidegate_build_info{" in await answer.text()


async def test_promtool_has_nothing_to_say(client: aiohttp.ClientSession, metrics: Metrics) -> None:
    exercise(metrics)
    _, promtool = ensure_prometheus()
    async with client.get("/metrics") as answer:
        scrape = await answer.read()
    # Names of process_* and python_* are the client library's own.
    own = b"".join(line for line in scrape.splitlines(keepends=True) if b"tidegate_" in line)
    process = await asyncio.create_subprocess_exec(
        promtool, "check", "metrics", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output, _ = await process.communicate(own)
    assert (process.returncode, output.decode()) == (0, "")


async def test_livez_needs_nothing(client: aiohttp.ClientSession, health: Health) -> None:
    health.add("broker", lambda: "gone")
    async with client.get("/livez") as answer:
        assert (answer.status, await answer.json()) == (200, {"ok": True})


async def test_readyz(client: aiohttp.ClientSession, health: Health) -> None:
    async with client.get("/readyz") as answer:
        assert (answer.status, await answer.json()) == (200, {"ok": True, "checks": {}, "failing": {}})
    problems: dict[str, str | None] = {"broker": None, "streams": None}
    health.add("broker", lambda: problems["broker"])
    health.add("streams", lambda: problems["streams"])
    async with client.get("/readyz") as answer:
        body = {"ok": True, "checks": {"broker": "ok", "streams": "ok"}, "failing": {}}
        assert (answer.status, await answer.json()) == (200, body)
    problems["broker"] = "no connection"
    async with client.get("/readyz") as answer:
        body = {
            "ok": False,
            "checks": {"broker": "failing", "streams": "ok"},
            "failing": {"broker": "no connection"},
        }
        assert (answer.status, await answer.json()) == (503, body)
        assert answer.headers["cache-control"] == "no-store"


async def test_a_check_that_raises_is_failing(client: aiohttp.ClientSession, health: Health) -> None:
    health.add("broken", lambda: str(1 // 0))
    async with client.get("/readyz") as answer:
        assert answer.status == 503
        assert (await answer.json())["failing"] == {"broken": "ZeroDivisionError: integer division or modulo by zero"}


def test_a_check_has_one_name(health: Health) -> None:
    health.add("broker", lambda: None)
    with pytest.raises(ValueError, match="'broker' was registered before"):
        health.add("broker", lambda: None)


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz"])
async def test_head_and_other_methods(client: aiohttp.ClientSession, path: str) -> None:
    async with client.head(path) as answer:
        assert answer.status == 200
        assert int(answer.headers["content-length"]) > 0
        assert await answer.read() == b""
    async with client.post(path, data=b"x") as answer:
        assert answer.status == 405
        assert answer.headers["allow"] == "GET, HEAD"


async def test_other_paths(client: aiohttp.ClientSession) -> None:
    async with client.get("/") as answer:
        assert answer.status == 404


async def test_an_address_that_is_taken_is_an_error(port: int, metrics: Metrics, health: Health) -> None:
    with pytest.raises(OSError) as raised:  # noqa: PT011 - the number is what tells
        async with serve(routes(metrics.registry, health), "127.0.0.1", port):
            pass
    assert raised.value.errno == errno.EADDRINUSE


async def test_leaving_the_block_closes_the_port_with_a_client_still_connected(
    metrics: Metrics, health: Health
) -> None:
    async with serve(routes(metrics.registry, health), "127.0.0.1", 0) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    writer.close()
    with suppress(ConnectionError):
        await writer.wait_closed()


async def test_signals_stay_with_the_process(metrics: Metrics, health: Health) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    async with serve(routes(metrics.registry, health), "127.0.0.1", 0):
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


async def test_a_host_name_is_resolved(metrics: Metrics, health: Health) -> None:
    async with (
        serve(routes(metrics.registry, health), "localhost", 0) as port,
        aiohttp.ClientSession() as client,
        client.get(f"http://localhost:{port}/livez") as answer,
    ):
        assert answer.status == 200


async def test_probe_as_the_container_runs_it(port: int, health: Health) -> None:
    problems: list[str] = []
    health.add("broker", lambda: problems[0] if problems else None)
    assert await probe(port) == (0, "")
    problems.append("no connection")
    status, output = await probe(port)
    assert status == 1
    assert '"failing": {"broker": "no connection"}' in output


async def probe(port: int) -> tuple[int | None, str]:
    url = f"http://127.0.0.1:{port}/readyz"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "shared.telemetry.probe", url, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    output, _ = await process.communicate()
    return process.returncode, output.decode()
