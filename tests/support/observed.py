"""The market plane as processes, seen by a real Prometheus, and a minute in which nearly everything happens to it."""

import signal
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from services.cli.local_rabbit import RabbitNode, free_ports
from shared.exchanges import EXCHANGES
from tests.support.eventually import eventually_sync
from tests.support.processes import Stage, counter, post_json
from tests.support.prometheus import PrometheusServer, Target

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Event", "ObservedPlane", "play"]

MINUTE_S: Final = 60.0
SETTLE_S: Final = 12.0
"""Until everything that happened was scraped and judged."""
DROPPED: Final = "rabbitmq_global_messages_dead_lettered_maxlen_total"


class Event(NamedTuple):
    """Something that was done to the plane, at a Unix time."""

    at: float
    what: str


class ObservedPlane:
    """Simulator, an ingest per exchange, two normalizers, an account, and a Prometheus that scrapes it all.

    Bounds are small, so that a broker that stands still for some seconds is enough to reach them.
    """

    def __init__(self, node: RabbitNode, directory: Path) -> None:
        self.node = node
        port = free_ports(1)[0]
        self._control = f"http://127.0.0.1:{port}/control"
        self._environment = {
            "AMQP_URL": node.url,
            "TIDEGATE_CONFIG": str(_settings(directory)),
            "TIDEGATE_SIMULATOR__CONNECT": f"127.0.0.1:{port}",
            "TIDEGATE_INGEST__RECONNECT_CAP_S": "2",
            "TIDEGATE_INGEST__FIRST_FRAME_TIMEOUT_S": "5",
            "TIDEGATE_INGEST__BUFFER_FRAMES": "400",
            "TIDEGATE_BROKER__PUBLISH_DEADLINE_S": "1",
            "TIDEGATE_NORMALIZER__BATCH_ENVELOPES": "16",
            "TIDEGATE_NORMALIZER__PREFETCH_ENVELOPES": "32",
            "TIDEGATE_QUEUES__RAW_MESSAGES": "40",
        }
        self._dismissed: list[Stage] = []
        self.simulator = self._stage("simulator", "--port", str(port))
        self.normalizers = [self._stage("normalizer") for _ in range(2)]
        self.ingests = {name: self._stage("ingest", name) for name in sorted(EXCHANGES)}
        self.accounts = {
            "ingest-bybit-main": self._stage("ingest", "bybit", "--account", "main"),
            "normalizer-account": self._stage("normalizer", "--plane", "account"),
        }
        self.prometheus = PrometheusServer(directory)
        broker = [Target("rabbitmq", f"127.0.0.1:{node.prometheus_port}")]
        ingests = [Target(f"ingest-{name}", f"127.0.0.1:{one.port}") for name, one in self.ingests.items()]
        accounts = [Target(name, f"127.0.0.1:{one.port}") for name, one in self.accounts.items()]
        jobs = {"rabbitmq": broker, "rabbitmq-queues": broker, "ingest": ingests, "account": accounts}
        for job, targets in jobs.items():
            self.prometheus.scrape(job, targets)
        self._discover()

    def __enter__(self) -> Self:
        try:
            for stage in (*self.normalizers, *self.ingests.values(), *self.accounts.values()):
                stage.wait_ready(within=90.0)
            post_json(
                f"{self._control}/accounts/bybit/main/script", {"events": 100_000, "rate": 5, "products": ["linear"]}
            )
            self.prometheus.__enter__()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.prometheus.__exit__()
        for stage in self.stages:
            stage.close()

    @property
    def stages(self) -> list[Stage]:
        """Every process of Tidegate."""
        market = [self.simulator, *self.normalizers, *self._dismissed, *self.ingests.values()]
        return [*market, *self.accounts.values()]

    def fault(self, kind: str, **fields: object) -> None:
        """Let the simulated venues misbehave."""
        post_json(f"{self._control}/faults", {"kind": kind, **fields})

    def burst(self, factor: float, seconds: float) -> None:
        """Multiply the rate of all markets for a while."""
        post_json(f"{self._control}/burst", {"factor": factor, "seconds": seconds})

    def another_normalizer(self) -> None:
        """Start one more, which is found."""
        self.normalizers.append(self._stage("normalizer"))
        self._discover()

    def dismiss_normalizer(self) -> None:
        """Send the oldest away, which is forgotten."""
        stage = self.normalizers.pop(0)
        self._dismissed.append(stage)
        stage.terminate()
        self._discover()

    def freeze_normalizers(self, seconds: float) -> None:
        """Take the processor from all of them, so long and until the broker's queues run over."""
        running, dropped = [stage.process for stage in self.normalizers], self._dropped()
        for process in running:
            process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
            # Not for so long that the broker gives them up for want of heartbeats.
            eventually_sync(lambda: self._dropped() > dropped, "the broker drops envelopes", within=15, interval=0.5)
        finally:
            for process in running:
                process.send_signal(signal.SIGCONT)

    def _dropped(self) -> int:
        """Messages that the broker gave up because a queue ran over."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.node.prometheus_port}/metrics", timeout=10) as reply:
            return counter(reply.read().decode(), DROPPED, dead_letter_strategy="disabled")

    def _stage(self, *arguments: str) -> Stage:
        return Stage(*arguments, environment=self._environment)

    def _discover(self) -> None:
        found = [Target("normalizer", f"127.0.0.1:{stage.port}") for stage in self.normalizers]
        self.prometheus.scrape("normalizer", found)


def _settings(directory: Path) -> Path:
    """A file with one account of the simulated Bybit."""
    for name in ("key", "secret"):
        (directory / name).write_text(f"sim-{name}\n", encoding="utf-8")
    file = directory / "tidegate.toml"
    file.write_text(
        f"""
        [account]
        journal_directory = "{directory / "journal"}"
        state_directory = "{directory / "state"}"
        reconcile_interval_s = 5
        [accounts.bybit.main]
        products = ["linear"]
        key_file = "{directory / "key"}"
        secret_file = "{directory / "secret"}"
        [simulator.accounts.bybit.main]
        key = "sim-key"
        secret = "sim-secret"
        """,
        encoding="utf-8",
    )
    return file


def play(plane: ObservedPlane, seconds: float) -> list[Event]:
    """Do everything to the plane within so many seconds; what was done, and when."""
    node = plane.node
    scale = seconds / MINUTE_S
    plan: list[tuple[float, str, Callable[[], object]]] = [
        (8, "burst", lambda: plane.burst(20.0, 10 * scale)),
        (20, "gaps", lambda: _gaps(plane)),
        (22, "bad frames", lambda: plane.fault("malformed", exchange="mexc", product="futures", count=3)),
        (24, "a venue disconnects", lambda: _disconnect(plane)),
        (26, "a normalizer more", plane.another_normalizer),
        (30, "normalizers frozen", lambda: plane.freeze_normalizers(8.0)),
        (44, "burst into an alarm", lambda: plane.burst(20.0, 10 * scale)),
        (44, "broker alarm", lambda: node.memory_alarm(on=True)),
        (47, "alarm over", lambda: _alarm_over(plane)),
        (50, "a normalizer less", plane.dismiss_normalizer),
        (53, "broker killed", lambda: _restart(node)),
    ]
    started = time.time()
    events = []
    for due, what, act in plan:
        time.sleep(max(0.0, started + due * scale - time.time()))
        events.append(Event(time.time(), what))
        act()
    time.sleep(max(0.0, started + seconds - time.time()) + SETTLE_S)
    return events


def _restart(node: RabbitNode) -> None:
    node.kill()
    node.start()


def _alarm_over(plane: ObservedPlane) -> None:
    """The alarm ends when it has done what it was raised for, however fast the machine."""

    def buffers_overflowed() -> bool:
        texts = [one.metrics() for one in plane.ingests.values()]
        return all(
            any(counter(text, f"tidegate_frames_{kind}_total") for text in texts) for kind in ("conflated", "shed")
        )

    try:
        eventually_sync(buffers_overflowed, "ingest gives up frames while the broker takes none", within=60)
    finally:
        plane.node.memory_alarm(on=False)


def _gaps(plane: ObservedPlane) -> None:
    plane.fault("gap", exchange="bybit", product="linear", symbol="BTCUSDT", feed="book")
    plane.fault("gap", exchange="mexc", product="spot", symbol="BTCUSDT", feed="book")
    plane.fault("duplicate", exchange="bybit", product="spot", feed="trade", count=3)
    # The snapshot that mends this gap is refused at first.
    plane.fault("rest_error", exchange="binance", product="usdm", status=500)
    plane.fault("gap", exchange="binance", product="usdm", symbol="BTCUSDT", feed="book")


def _disconnect(plane: ObservedPlane) -> None:
    """A connection ends; of the topics that are asked for again one is refused and one stays silent."""
    plane.fault("reject_topic", exchange="bybit", product="inverse")
    plane.fault("no_first_frame", exchange="bybit", product="linear")
    plane.fault("disconnect", exchange="bybit", code=1001)
