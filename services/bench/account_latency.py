"""What ``bench account`` measures then: from a private frame's arrival to its messages at a consumer.

The journal, two hops over the broker and the state's commit are between. Everything is a process of its own; beside the
account stands a market plane on the same broker and machine, at rest and in a burst by turns.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final, NamedTuple

from msgspec import json

from services.bench.measuring.processes import ROOT, BenchError, Process
from services.cli.local_rabbit import RabbitNode, free_ports
from shared.accounts.messages import Fill, Order, decode_account_messages
from shared.errors import BrokerError
from shared.topology import ACCOUNT

__all__ = ["Round", "latency"]

SETTINGS: Final = """
[account]
journal_directory = "{directory}/journal"
state_directory = "{directory}/state"

[exchanges.bybit.products]
linear = {{symbols = ["BTC/USDT:USDT", "ETH/USDT:USDT"]}}

[accounts.bybit.main]
products = ["linear"]
symbols = ["BTC/USDT:USDT"]

[simulator.accounts.bybit.main]
key = "bench-account"
secret = "bench-account-secret"
"""
LIFETIME_S: Final = 3_600.0
SETTLE_S: Final = 3.0
"""After the market's rate has changed."""

LEAST: Final = 20
PERCENT: Final = 100


class Round(NamedTuple):
    """Milliseconds of the frames that came in one round, at rest and in a burst."""

    quiet_p50: float
    quiet_p99: float
    burst_p50: float
    burst_p99: float
    frames: int


def latency(node: RabbitNode, rounds: int, seconds: float, rate: float, burst: float) -> list[Round]:
    """``rate`` things happen to the account in a second; raises BenchError, BrokerError."""
    with tempfile.TemporaryDirectory(prefix="tidegate-bench-") as directory, ExitStack() as stack:
        port = _start(node, Path(directory), stack)
        return asyncio.run(_rounds(node, port, rounds, seconds, rate, burst))


def _start(node: RabbitNode, directory: Path, stack: ExitStack) -> int:
    """Every process; the port of the simulated venue."""
    port, *ports = free_ports(6)
    settings = directory / "bench.toml"
    settings.write_text(SETTINGS.format(directory=directory), encoding="utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TIDEGATE_")},
        "AMQP_URL": node.url,
        "TIDEGATE_CONFIG": str(settings),
        "TIDEGATE_SIMULATOR__CONNECT": f"127.0.0.1:{port}",
        "TIDEGATE_ACCOUNT_BYBIT_MAIN_KEY": "bench-account",
        "TIDEGATE_ACCOUNT_BYBIT_MAIN_SECRET": "bench-account-secret",
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(directory),
    }
    stages = (
        ("simulator", "--port", str(port)),
        ("normalizer", "--plane", "account"),
        ("ingest", "bybit", "--account", "main"),
        ("normalizer",),
        ("ingest", "bybit"),
    )
    started = [
        (stack.enter_context(_stage(arguments, environment, own)), own)
        for arguments, own in zip(stages, ports, strict=True)
    ]
    for process, own in started[1:]:
        process.wait_ready(own)
    return port


def _stage(arguments: Sequence[str], environment: Mapping[str, str], port: int) -> Process:
    own = {**environment, "TIDEGATE_TELEMETRY__PORT": str(port)}
    return Process(" ".join(arguments).replace(" ", "-"), ("services.cli", *arguments), own, LIFETIME_S)


class _Watch:
    """How old messages were when they came (ns); one sample for each frame and feed."""

    def __init__(self) -> None:
        self.samples: list[int] = []

    def take(self, body: bytes, now: int) -> None:
        """A body, and when it came (ns)."""
        for message in decode_account_messages(body):
            if isinstance(message, Fill | Order) and message.source == "stream":
                self.samples.append(now - message.ts_received)


async def _rounds(node: RabbitNode, port: int, rounds: int, seconds: float, rate: float, burst: float) -> list[Round]:
    from shared.bus.rabbit import RabbitBus

    async with RabbitBus(node.url, "bench account consumer") as bus:
        subscriber = await bus.subscribe(ACCOUNT, ["fill.#", "order.#"], limit=1_000_000)
        watch = _Watch()

        async def follow() -> None:
            with suppress(BrokerError):
                while True:
                    body = (await subscriber.receive()).body
                    watch.take(body, time.time_ns())

        following = asyncio.create_task(follow(), name="consumer")
        try:
            await _play(port, watch, seconds, rate, 0)
            found = []
            for number in range(1, rounds + 1):
                quiet = await _play(port, watch, seconds, rate, number)
                await _post(port, "burst", {"factor": burst, "seconds": seconds + 2 * SETTLE_S})
                loud = await _play(port, watch, seconds, rate, number)
                await asyncio.sleep(2 * SETTLE_S)
                found.append(Round(*_points(quiet), *_points(loud), len(quiet) + len(loud)))
            return found
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


async def _play(port: int, watch: _Watch, seconds: float, rate: float, seed: int) -> list[int]:
    """Let the account trade for so long; how old its messages were."""
    await asyncio.sleep(SETTLE_S)
    watch.samples = []
    script = "accounts/bybit/main/script"
    body = {"events": 200_000, "rate": rate, "seed": seed, "products": ["linear"], "symbols": ["BTCUSDT"]}
    await _post(port, script, body)
    await asyncio.sleep(seconds)
    await asyncio.to_thread(_ask, port, "DELETE", script)
    await asyncio.sleep(SETTLE_S)
    if len(watch.samples) < LEAST:
        raise BenchError(f"only {len(watch.samples)} private messages came in {seconds:g} s")
    return watch.samples


def _points(samples: Sequence[int]) -> tuple[float, float]:
    """The median and the 99th percentile in ms."""
    return round(median(samples) / 1e6, 3), round(quantiles(samples, n=PERCENT)[-1] / 1e6, 3)


async def _post(port: int, path: str, body: Mapping[str, Any]) -> None:
    await asyncio.to_thread(_ask, port, "POST", path, json.encode(body))


def _ask(port: int, method: str, path: str, body: bytes | None = None) -> None:
    """One request of the simulator's control; raises BenchError where it is refused."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, f"/control/{path}", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        if reply.status >= HTTPStatus.BAD_REQUEST:
            raise BenchError(f"{method} {path} was answered with {reply.status}: {reply.read()[:200]!r}")
    finally:
        connection.close()
