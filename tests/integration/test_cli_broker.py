"""The commands that speak to a broker."""

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import aio_pika
import pytest
from msgspec import json

from services.cli.local_rabbit import RabbitNode, free_ports
from shared.bus.rabbit import RabbitBus
from shared.capture import read
from shared.envelope import decode_envelope
from shared.topology import CONTROL, MARKET, RAW, raw_key, resync_key
from tests.support.eventually import eventually, eventually_async, eventually_sync
from tests.support.paths import ROOT
from tests.support.processes import Stage
from tests.unit.cli.processes import command, environment, finished
from tests.unit.normalizer.plane import LINEAR, SPOT, connected, envelope, messages, running, text, trades_of

pytestmark = pytest.mark.integration

DEADLINE = 30.0
PASSWORD = "opensesame%40cave"


@pytest.fixture
async def bus(rabbit_url: str) -> AsyncIterator[RabbitBus]:
    async with RabbitBus(rabbit_url, "test") as bus:
        yield bus


async def run(*arguments: str, url: str, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    return await asyncio.to_thread(finished, *arguments, more={"AMQP_URL": url, **(more or {})})


async def test_tap_prints_what_is_asked_for(bus: RabbitBus, rabbit_url: str) -> None:
    async with running(bus) as plane:
        await plane.consume(LINEAR, SPOT)
        tapping = asyncio.create_task(run("tap", "trade.bybit.BTC/USDT:USDT", "--json", "--count", "3", url=rabbit_url))
        number = 0
        while not tapping.done():
            await plane.send(envelope(number, trades_of(number)))
            await plane.send(envelope(number, trades_of(number), SPOT), stream=SPOT)
            number += 1
            await asyncio.wait({tapping}, timeout=0.1)
        done = tapping.result()
    assert (done.returncode, done.stderr) == (0, b"")
    found = [json.decode(line) for line in done.stdout.splitlines()]
    assert len(found) == 3
    assert {(each["feed"], each["symbol"]) for each in found} == {("trade", "BTC/USDT:USDT")}


async def test_tap_for_people_and_bodies_that_are_no_messages(bus: RabbitBus, rabbit_url: str) -> None:
    publisher = await bus.publisher()
    tapping = asyncio.create_task(run("tap", "trade.#", "--count", "1", url=rabbit_url))
    good = (b'[{"feed":"trade","exchange":"bybit","symbol":"BTC/USDT","native_symbol":"BTCUSDT","ts_exchange":null,'
            b'"ts_received":1,"ts_normalized":2,"stream":"s","epoch":1,"frame":2,"part":0,"trade_id":"7","price":"1.5",'
            b'"size":"2","side":"buy"}]')  # fmt: skip
    while not tapping.done():
        await publisher.publish(MARKET, "trade.bybit.x", b"garbage", deadline_s=DEADLINE)
        await publisher.publish(MARKET, "trade.bybit.x", good, deadline_s=DEADLINE)
        await asyncio.wait({tapping}, timeout=0.1)
    done = tapping.result()
    assert done.returncode == 0
    assert done.stdout == b"00:00:00.000 trade.bybit.x side=buy size=2 price=1.5\n"
    assert b"a message of trade.bybit.x was not understood" in done.stderr or done.stderr == b""


async def test_record_and_replay_over_the_broker(bus: RabbitBus, rabbit_url: str, tmp_path: Path) -> None:
    path = tmp_path / "raw.capture"
    publisher = await bus.publisher()
    await bus.declare(LINEAR)
    bodies = [envelope(0, [connected(), text(b"garbage")]), *(envelope(2 + at, trades_of(at)) for at in range(100))]
    recording = await asyncio.create_subprocess_exec(
        *command("record", str(path)), cwd=ROOT, env=environment({"AMQP_URL": rabbit_url}), stderr=subprocess.PIPE
    )
    await eventually(path.exists, "the recorder began", within=60)
    probe = envelope(999, trades_of("probe"), SPOT)
    await bus.declare(SPOT)

    async def subscribed() -> bool:
        await publisher.publish(RAW, raw_key(SPOT), probe, deadline_s=DEADLINE)
        return path.stat().st_size > len(probe)

    await eventually_async(subscribed, "the recorder records", within=60, interval=0.3)
    await publisher.publish_batch(RAW, [(raw_key(LINEAR), body) for body in bodies], deadline_s=DEADLINE)
    recording.send_signal(signal.SIGTERM)
    _, told = await recording.communicate()
    assert recording.returncode == 0
    with path.open("rb") as file:
        recorded = [body for body in read(file) if decode_envelope(body).stream == LINEAR.stream]
    assert recorded == bodies
    assert b"envelopes in" in told

    market = await bus.subscribe(MARKET, ["trade.bybit.BTC/USDT:USDT"])
    control = await bus.subscribe(CONTROL, [resync_key("bybit")])
    done = await run("replay", str(path), "--broker", url=rabbit_url)
    assert (done.returncode, done.stdout) == (3, b"")
    assert [message["trade_id"] for message in await messages(market, 100)] == [str(at) for at in range(100)]
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await control.receive()


async def there(url: str) -> set[str]:
    """The AMQP exchanges and queues of the topology that are there."""
    found = set()
    async with await aio_pika.connect(url) as connection:
        for kind, name in (("exchange", MARKET), ("exchange", RAW), ("queue", "raw.market.mexc.spot.0")):
            channel = await connection.channel()
            with suppress(aio_pika.exceptions.ChannelNotFoundEntity):
                await getattr(channel, f"get_{kind}")(name, ensure=True)
                found.add(name)
    return found


async def test_check_looks_and_declares_only_when_asked(rabbit_url: str) -> None:
    done = await run("check", url=rabbit_url)
    lines = done.stdout.decode().splitlines()
    assert (done.returncode, done.stderr) == (0, b"")
    assert any(line.startswith("ok    broker: amqp://127.0.0.1:") for line in lines)
    assert any(line.startswith("ok    bybit.linear: 5 symbols, wss://stream.bybit.com") for line in lines)
    assert lines[-1] == "none  topology: nothing is there yet: who starts declares what it needs, or --declare"
    assert await there(rabbit_url) == set()

    done = await run("check", "--declare", url=rabbit_url)
    assert (done.returncode, done.stderr) == (0, b"")
    assert await there(rabbit_url) == {MARKET, RAW, "raw.market.mexc.spot.0"}

    done = await run("check", url=rabbit_url)
    assert done.returncode == 0
    *_, last = done.stdout.decode().splitlines()
    assert last == "ok    topology: 18 AMQP exchanges and queues are as they should be"


async def test_check_names_what_is_missing(bus: RabbitBus, rabbit_url: str) -> None:
    await bus.declare(LINEAR)
    done = await run("check", url=rabbit_url)
    lines = [line for line in done.stdout.decode().splitlines() if "topology" in line]
    assert done.returncode == 0
    assert lines[0] == "ok    topology: 9 AMQP exchanges and queues are as they should be"
    assert "none  topology: queue raw.market.mexc.spot.0 is missing: who needs it declares it, or --declare" in lines
    assert len(lines) == 10


def test_check_of_a_broker_that_is_down() -> None:
    port = free_ports(1)[0]
    done = finished("check", more={"AMQP_URL": f"amqp://user:{PASSWORD}@127.0.0.1:{port}/vhost"})
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.decode().splitlines() if line.startswith("FAIL")]
    assert line.startswith(f"FAIL  broker: amqp://127.0.0.1:{port}/vhost: ")
    silent(done)


def test_check_of_a_password_that_is_wrong(rabbit_node: RabbitNode) -> None:
    parts = urlsplit(rabbit_node.url)
    done = finished("check", more={"AMQP_URL": f"amqp://guest:{PASSWORD}@{parts.hostname}:{parts.port}/"})
    assert done.returncode == 1
    assert b"FAIL  broker: " in done.stdout
    silent(done)


@pytest.mark.parametrize("name", ["tap", "record x", "-v tap", "-v check", "replay --broker x"])
def test_no_command_prints_the_password(name: str) -> None:
    url = f"amqp://user:{PASSWORD}@127.0.0.1:{free_ports(1)[0]}/"
    done = finished(*name.split(), more={"AMQP_URL": url, "TIDEGATE_TELEMETRY__PORT": "0"})
    assert done.returncode == 1
    silent(done)


def test_a_stage_that_waits_for_its_broker_does_not_print_the_password() -> None:
    url = f"amqp://user:{PASSWORD}@127.0.0.1:{free_ports(1)[0]}/"
    stage = Stage("normalizer", environment={"AMQP_URL": url})
    try:
        eventually_sync(lambda: "broker_unready" in stage.log(), "it says what it waits for", within=60)
        assert stage.terminate() == 0
        assert "opensesame" not in stage.log()
    finally:
        stage.close()


def silent(done: subprocess.CompletedProcess[bytes]) -> None:
    said = done.stdout + done.stderr
    assert b"opensesame" not in said
    assert said


async def test_check_names_a_queue_of_other_arguments(bus: RabbitBus, rabbit_url: str) -> None:
    async with await aio_pika.connect(rabbit_url) as connection:
        channel = await connection.channel()
        await channel.declare_queue("raw.market.mexc.spot.0", durable=True, arguments={"x-max-length": 5})
    done = await run("check", url=rabbit_url)
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.decode().splitlines() if line.startswith("FAIL")]
    assert line.startswith("FAIL  topology: queue raw.market.mexc.spot.0 exists with ")
    limits = {"TIDEGATE_QUEUES__QUARANTINE_MESSAGES": "7"}
    done = await run("check", url=rabbit_url, more=limits)
    assert done.returncode == 1
    assert b"quarantine.market exists with x-max-length = 10000, ours was 7" in done.stdout


def test_check_tells_every_mistake_of_the_settings_at_once(tmp_path: Path) -> None:
    file = tmp_path / "tidegate.toml"
    file.write_text(
        '[broker]\nurl = "http://user:opensesame@x"\nnonsense = 1\n[ingest]\npermits = 0\n'
        "[telemetry]\nlog_level = 'LOUD'\n[exchanges.kraken]\n"
    )
    done = finished("--config", str(file), "check", more={"TIDEGATE_NORMALIZER__BATCH_ENVELOPES": "many"})
    assert (done.returncode, done.stdout) == (2, b"")
    lines = done.stderr.decode().splitlines()
    for path in (
        "broker.url",
        "broker.nonsense",
        "ingest.permits",
        "telemetry.log_level",
        "normalizer.batch_envelopes",
    ):
        assert [line for line in lines if line.startswith(f"tidegate: {path}: ")], path
    assert all(line.startswith("tidegate: ") for line in lines)
    silent(done)


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "cannot be read"), ("[broker", "is no TOML"), ("[exchanges.kraken]", "exchanges.kraken: ")],
)
def test_a_settings_file_that_is_none(tmp_path: Path, content: str | None, problem: str) -> None:
    file = tmp_path / "tidegate.toml"
    if content is not None:
        file.write_text(content)
    done = finished("--config", str(file), "check", "--no-broker")
    assert (done.returncode, done.stdout) == (2, b"")
    assert problem in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_check_without_a_broker_and_with_nothing_to_do(tmp_path: Path) -> None:
    assert finished("check", "--no-broker").returncode == 0
    file = tmp_path / "tidegate.toml"
    file.write_text("[exchanges.bybit]\nenabled = false\n")
    done = finished("--config", str(file), "check", "--no-broker")
    assert (done.returncode, done.stdout) == (1, b"FAIL  exchanges: nothing is enabled\n")


def test_a_log_level_that_is_chosen_is_kept(tmp_path: Path) -> None:
    more = {"TIDEGATE_TELEMETRY__LOG_LEVEL": "ERROR"}
    done = finished("run", "--seconds", "1.2", "--exchange", "bybit", "--json", more=more)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("tap", "--count", "0"), "--count: must be at least 1"),
        (("record", "x", "--seconds", "0"), "--seconds: must be a positive number"),
        (("ingest", "kraken"), "exchange: 'kraken' is none"),
        (("simulator", "--rate", "-1"), "--rate: must be a positive number"),
        (("simulator", "--port", "99999"), "--port: must be 0 (any) to 65535"),
        (("up", "--burst", "0"), "--burst: must be a positive number"),
        (("up", "--port", "65300"), "--port: must leave room"),
        (("up", "--port", "9300"), "--port: 9300 leads to 9400, where the simulator listens"),
    ],
)
def test_unusable_arguments(arguments: tuple[str, ...], line: str) -> None:
    done = finished(*arguments)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"tidegate: {line}")
    assert done.stderr.count(b"\n") == 1
