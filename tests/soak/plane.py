"""The market plane as processes: simulator, one ingest for each exchange with sixteen streams in all, normalizers."""

import urllib.request
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from services.cli.guard import Guard
from services.cli.local_rabbit import RabbitNode, free_ports
from tests.soak.checker.books import DEPTH, Levels
from tests.support.eventually import eventually_sync
from tests.support.processes import Stage, counter, fetch_json, post_json

__all__ = ["STREAMS", "Ledger", "Plane"]

EXCHANGES: Final = ("bybit", "mexc", "binance")
SETTINGS: Final = """
[exchanges.bybit.products]
spot = {streams = 3}
linear = {streams = 3}
inverse = {streams = 1, symbols = ["BTC/USD:BTC", "ETH/USD:ETH"]}

[exchanges.mexc.products]
spot = {streams = 2}
futures = {streams = 2}

[exchanges.binance.products]
spot = {streams = 3}
usdm = {streams = 1}
"""
STREAMS: Final = 16
"""Binance's USD-M has one more: what it sends publicly and the market's data come over two paths."""
READY_S: Final = 60.0
STOP_S: Final = 30.0
NEWEST: Final = 2_000
"""Trade ids of a topic that are asked for at a time: more than leave between two looks."""


class Plane:
    """Everything but the broker; all methods block."""

    def __init__(self, node: RabbitNode, directory: Path, rate: float, heartbeat_s: int) -> None:
        port = free_ports(1)[0]
        settings = directory / "soak.toml"
        settings.write_text(SETTINGS, encoding="utf-8")
        self._environment = {
            "AMQP_URL": node.url,
            "TIDEGATE_CONFIG": str(settings),
            "TIDEGATE_SIMULATOR__CONNECT": f"127.0.0.1:{port}",
            "TIDEGATE_BROKER__HEARTBEAT_S": str(heartbeat_s),
            "TIDEGATE_TELEMETRY__LOG_LEVEL": "WARNING",
        }
        self._control = f"http://127.0.0.1:{port}/control"
        arguments = "simulator", "--port", str(port), "--rate", str(rate)
        self._guard = Guard()
        self.simulator = self._stage(*arguments)
        self.normalizers: list[Stage] = []
        self.ended: list[Stage] = []
        """Normalizers that were killed or stopped."""
        self.ingests: list[Stage] = []

    def start(self) -> None:
        """One normalizer, and every ingest; returns when all streams are held and consumed."""
        self.add()
        self.ingests = [self._stage("ingest", name) for name in EXCHANGES]
        for stage in (*self.normalizers, *self.ingests):
            stage.wait_ready(READY_S)
        eventually_sync(lambda: self.owned() == STREAMS, f"{STREAMS} streams are owned", within=READY_S)

    def ready(self) -> bool:
        """Whether every normalizer says that it is."""
        return all(_ready(stage) for stage in self.normalizers)

    def add(self, count: int = 1) -> None:
        """More normalizers; they are not waited for."""
        self.normalizers += [self._stage("normalizer") for _ in range(count)]

    def _stage(self, *arguments: str) -> Stage:
        stage = Stage(*arguments, environment=self._environment)
        self._guard.process(stage.process.pid)
        return stage

    def take_away(self, stage: Stage) -> None:
        """It is no longer one of those that live."""
        self.normalizers.remove(stage)
        self.ended.append(stage)

    def owned(self) -> int:
        """Streams that the living normalizers say they own."""
        return sum(counter(text, "tidegate_streams_owned") for text in map(_metrics, self.normalizers))

    def died(self) -> list[str]:
        """What ended without having been told to, with the end of its log."""
        stages = (self.simulator, *self.ingests, *self.normalizers)
        return [
            f"{one.name} ended with {one.process.returncode}:\n{one.log()[-2000:]}" for one in stages if not one.running
        ]

    def burst(self, factor: float, seconds: float) -> None:
        """So many times the rate for a while."""
        post_json(f"{self._control}/burst", {"factor": factor, "seconds": seconds})

    def pause(self) -> None:
        """The markets stand still; returns when the last changes have left."""
        post_json(f"{self._control}/pause", {})

    def state(self) -> Any:
        """The simulator's counts."""
        return fetch_json(f"{self._control}/state")

    def sent(self, exchange: str, product: str) -> Any:
        """What the simulator sent of a product."""
        return fetch_json(f"{self._control}/sent/{exchange}/{product}?newest={NEWEST}")

    def book(self, product: str, symbol: str) -> Levels:
        """The venue's own book of an instrument; ``product`` as ``bybit.linear``."""
        where = product.replace(".", "/")
        book = fetch_json(f"{self._control}/book/{where}/{symbol}?depth={DEPTH}")
        return _side(book["bids"]), _side(book["asks"])

    def stop(self) -> list[str]:
        """SIGTERM for everything, normalizers first; what did not end with 0."""
        stages = (*self.normalizers, *self.ingests, self.simulator)
        statuses = [(stage.name, stage.terminate(STOP_S)) for stage in stages if stage.running]
        return [f"{name} ended with {status} when it was told to" for name, status in statuses if status]

    def close(self, logs: Path | None = None) -> None:
        """End what is left of it; ``logs``: where to keep what the processes wrote."""
        for stage in (*self.normalizers, *self.ingests, self.simulator, *self.ended):
            if logs is not None:
                logs.mkdir(parents=True, exist_ok=True)
                name = f"{stage.name.replace(' ', '-')}-{stage.process.pid}.log"
                (logs / name).write_text(stage.log(), encoding="utf-8")
            stage.close()
        self._guard.close()


class Ledger:
    """Every trade that the simulator sent, put together from looks at its newest ones.

    ``state`` gives the simulator's counts, ``product`` what it sent of an exchange and product.
    """

    def __init__(self, state: Callable[[], Any], product: Callable[[str, str], Any]) -> None:
        self._state = state
        self._product = product
        self.trades: dict[tuple[str, str], list[str]] = {}
        self._known: dict[tuple[str, str], int] = {}
        self.frames = 0

    def look(self) -> None:
        """Take up what was sent since the last time; raises ValueError where that was too long ago."""
        state = self._state()
        self.frames = sum(
            sum(one["sent"].values()) for products in state["exchanges"].values() for one in products.values()
        )
        for exchange, products in state["exchanges"].items():
            for product in products:
                self._take(f"{exchange}.{product}", self._product(exchange, product))

    def _take(self, product: str, sent: Any) -> None:
        for topic, log in sent["trades"].items():
            ids, known = sent["trade_ids"][topic], self._known.get((product, topic), 0)
            fresh = log["sent"] - known
            if fresh > len(ids):
                raise ValueError(f"{product} {topic}: {fresh} trades were sent, only the newest {len(ids)} are known")
            self._known[product, topic] = log["sent"]
            self.trades.setdefault((product, log["symbol"]), []).extend(ids[len(ids) - fresh :])

    @property
    def instruments(self) -> Sequence[tuple[str, str]]:
        """(product, native symbol) of everything that traded: each of them has a book, too."""
        return list(self.trades)


def _ready(stage: Stage) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{stage.port}/readyz", timeout=2) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def _metrics(stage: Stage) -> str:
    try:
        return stage.metrics()
    except OSError:
        return ""


def _side(levels: Sequence[Sequence[str]]) -> list[tuple[Decimal, Decimal]]:
    return [(Decimal(price), Decimal(size)) for price, size in levels]
