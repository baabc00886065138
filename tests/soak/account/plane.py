"""Both planes as processes: simulated venues, an ingest for each of four accounts, normalizers, a market in a burst."""

from pathlib import Path
from typing import Any, Final

from services.cli.guard import Guard
from services.cli.local_rabbit import RabbitNode, free_ports
from tests.soak.account.plan import ACCOUNTS
from tests.support.processes import Stage, fetch_json, post_json

__all__ = ["Plane"]

BASES: Final = ("BTC", "ETH", "SOL", "XRP", "DOGE")
SPOT: Final = tuple(f"{base}/USDT" for base in BASES)
CONTRACTS: Final = tuple(f"{base}/USDT:USDT" for base in BASES)
PRODUCTS: Final = {"bybit": ("spot", "linear", "inverse"), "binance": ("spot", "usdm"), "mexc": ("spot", "futures")}
FURTHER: Final = {"binance": ("BTC/USDT:USDT-270625",), "bybit": ("BTC/USD:BTC", "ETH/USD:ETH")}
"""Venues that answer by symbol are asked for those that are configured or known from the stream."""

SETTINGS: Final = """
[account]
journal_directory = "{directory}/journal"
state_directory = "{directory}/state"
reconcile_interval_s = 3.0
alive_interval_s = 3.0
lookback_s = 3600.0
refused_initial_s = 0.5
refused_cap_s = 2.0

[ingest]
reconnect_initial_s = 0.1
reconnect_cap_s = 1.0
announce_interval_s = 1.0

[exchanges.bybit.products]
linear = {{symbols = ["BTC/USDT:USDT", "ETH/USDT:USDT"]}}
"""
ACCOUNT: Final = """
[accounts.{exchange}.{account}]
products = {products}
symbols = {symbols}

[simulator.accounts.{exchange}.{account}]
key = "{key}"
secret = "{secret}"
"""
HEARTBEAT_S: Final = 5
READY_S: Final = 300.0
STOP_S: Final = 30.0
BURST: Final = 20.0
BURST_S: Final = 3_600.0
MARKET: Final = "bybit"


class Plane:
    """Everything but the broker; all methods block."""

    def __init__(self, node: RabbitNode, directory: Path) -> None:
        port = free_ports(1)[0]
        settings = directory / "soak.toml"
        text = SETTINGS.format(directory=directory)
        self._environment = {
            "AMQP_URL": node.url,
            "TIDEGATE_CONFIG": str(settings),
            "TIDEGATE_SIMULATOR__CONNECT": f"127.0.0.1:{port}",
            "TIDEGATE_BROKER__HEARTBEAT_S": str(HEARTBEAT_S),
            "TIDEGATE_TELEMETRY__LOG_LEVEL": "WARNING",
        }
        for exchange, account in ACCOUNTS:
            symbols = [*SPOT, *CONTRACTS, *FURTHER.get(exchange, ())]
            key, secret = f"key-of-{exchange}-{account}", f"secret-of-{exchange}-{account}"
            products = list(PRODUCTS[exchange])
            text += ACCOUNT.format(
                exchange=exchange, account=account, products=products, symbols=symbols, key=key, secret=secret
            )
            name = f"TIDEGATE_ACCOUNT_{exchange}_{account}".upper()
            self._environment |= {f"{name}_KEY": key, f"{name}_SECRET": secret}
        settings.write_text(text, encoding="utf-8")
        self._control = f"http://127.0.0.1:{port}/control"
        self._guard = Guard()
        self._ended: list[Stage] = []
        self.simulator = self._stage("simulator", "--port", str(port))
        self.ingests: list[Stage] = []
        self._before = 0
        self.normalizer = self._stage("normalizer", "--plane", "account")
        self.market: list[Stage] = []

    def start(self) -> None:
        """Everything; returns when all accounts are reconciled and the market is in its burst."""
        self.ingests = [self._ingest(number) for number in range(len(ACCOUNTS))]
        self.market = [self._stage("normalizer"), self._stage("ingest", MARKET)]
        for stage in (*self.market, self.normalizer, *self.ingests):
            stage.wait_ready(READY_S)
        self._before = self._happenings()
        post_json(f"{self._control}/burst", {"factor": BURST, "seconds": BURST_S, "exchange": MARKET})

    def kill_ingest(self, number: int, url: str | None = None) -> None:
        """``kill -9``, and another one at once; ``url``: its way to the broker."""
        self._kill(self.ingests[number])
        self.ingests[number] = self._ingest(number, url)

    def kill_normalizer(self, url: str | None = None) -> None:
        """``kill -9`` of the account plane's, and another one at once."""
        self._kill(self.normalizer)
        self.normalizer = self._stage("normalizer", "--plane", "account", url=url)

    def play(self, number: int, events: int, rate: float, seed: int) -> None:
        """Let so much happen to an account; what it already does goes on first."""
        if not fetch_json(f"{self._account(number)}/script")["running"]:
            body = {"events": events, "rate": rate, "seed": seed, "products": PRODUCTS[ACCOUNTS[number][0]]}
            post_json(f"{self._account(number)}/script", body)

    def happened(self) -> int:
        """How much happened to all accounts since all processes were there."""
        return self._happenings() - self._before

    def playing(self) -> bool:
        """Whether any account still does something."""
        return any(fetch_json(f"{self._account(number)}/script")["running"] for number in range(len(ACCOUNTS)))

    def fault(self, kind: str, number: int, **fields: object) -> None:
        """Something goes wrong at the venue."""
        exchange, account = ACCOUNTS[number]
        post_json(f"{self._control}/faults", {"kind": kind, "exchange": exchange, "account": account, **fields})

    def set_clock(self, number: int, offset_ms: int) -> None:
        """The clock of an account's venue is so far ahead of everybody's."""
        post_json(
            f"{self._control}/faults",
            {"kind": "clock_offset", "exchange": ACCOUNTS[number][0], "offset_ms": offset_ms},
        )

    def stand_still(self) -> None:
        """The markets do; returns when the last changes have left."""
        post_json(f"{self._control}/pause", {})

    def ledgers(self) -> list[dict[str, Any]]:
        """What really happened, account by account."""
        return [fetch_json(f"{self._account(number)}/ledger") for number in range(len(ACCOUNTS))]

    def died(self) -> list[str]:
        """What ended without having been told to, with the end of its log."""
        return [
            f"{one.name} ended with {one.process.returncode}:\n{one.log()[-2000:]}"
            for one in self._stages()
            if not one.running
        ]

    def stop(self) -> list[str]:
        """SIGTERM for everything; what did not end with 0."""
        statuses = [(stage.name, stage.terminate(STOP_S)) for stage in self._stages() if stage.running]
        return [f"{name} ended with {status} when it was told to" for name, status in statuses if status]

    def close(self, logs: Path | None = None) -> None:
        """End what is left of it; ``logs``: where to keep what the processes wrote."""
        for stage in (*self._stages(), *self._ended):
            if logs is not None:
                logs.mkdir(parents=True, exist_ok=True)
                name = f"{stage.name.replace(' ', '-')}-{stage.process.pid}.log"
                (logs / name).write_text(stage.log(), encoding="utf-8")
            stage.close()
        self._guard.close()

    def _happenings(self) -> int:
        return sum(int(row["happenings"]) for row in fetch_json(f"{self._control}/accounts"))

    def _account(self, number: int) -> str:
        exchange, account = ACCOUNTS[number]
        return f"{self._control}/accounts/{exchange}/{account}"

    def _stages(self) -> tuple[Stage, ...]:
        return (*self.ingests, self.normalizer, *self.market, self.simulator)

    def _kill(self, stage: Stage) -> None:
        stage.process.kill()
        stage.process.wait()
        self._ended.append(stage)

    def _ingest(self, number: int, url: str | None = None) -> Stage:
        exchange, account = ACCOUNTS[number]
        return self._stage("ingest", exchange, "--account", account, url=url)

    def _stage(self, *arguments: str, url: str | None = None) -> Stage:
        environment = self._environment if url is None else {**self._environment, "AMQP_URL": url}
        stage = Stage(*arguments, environment=environment)
        self._guard.process(stage.process.pid)
        return stage
