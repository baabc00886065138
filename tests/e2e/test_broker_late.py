"""Every stage waits for its broker: it says so, is not ready, counts it, ends when it is told to, and goes on."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from services.cli.local_rabbit import RabbitNode, free_ports
from tests.support.eventually import eventually_sync
from tests.support.processes import Stage, counter
from tests.support.rabbit import ensure_server

pytestmark = pytest.mark.e2e

STAGES: Final = (
    ("ingest", "bybit"),
    ("ingest", "bybit", "--account", "main"),
    ("normalizer",),
    ("normalizer", "--plane", "account"),
)
SETTINGS: Final = """
[account]
journal_directory = "{directory}/journal"
state_directory = "{directory}/state"

[ingest]
announce_interval_s = 0.5

[exchanges.bybit.products]
linear = {{symbols = ["BTC/USDT:USDT"]}}

[accounts.bybit.main]
products = ["linear"]

[simulator.accounts.bybit.main]
key = "a-key"
secret = "a-secret"
"""
WITHIN: Final = 90.0
AT_ONCE: Final = 15.0
"""A stage that waits for a broker ends much sooner, and has no reason to take longer however busy the machine is."""


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Settings for every stage, on a simulated venue that is there."""
    settings, port = tmp_path / "tidegate.toml", free_ports(1)[0]
    settings.write_text(SETTINGS.format(directory=tmp_path), encoding="utf-8")
    values = {
        "TIDEGATE_CONFIG": str(settings),
        "TIDEGATE_SIMULATOR__CONNECT": f"127.0.0.1:{port}",
        "TIDEGATE_ACCOUNT_BYBIT_MAIN_KEY": "a-key",
        "TIDEGATE_ACCOUNT_BYBIT_MAIN_SECRET": "a-secret",
    }
    with closing(Stage("simulator", "--port", str(port), environment=values)):
        yield values


def asked(stage: Stage) -> tuple[int, str]:
    """Status and body of ``/readyz``; 0 while nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{stage.port}/readyz", timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def waits(stage: Stage, where: str) -> bool:
    """Whether it lives, says why it is not ready, and has counted and told that it waits."""
    assert stage.running, stage.log()
    status, body = asked(stage)
    if status != 503 or where not in body:
        return False
    return counter(stage.metrics(), "tidegate_broker_refusals_total") >= 1 and "broker_unready" in stage.log()


def not_ready(stage: Stage) -> bool:
    """Whether it answers, and says so."""
    return asked(stage)[0] == 503


def started(stack: ExitStack, environment: Mapping[str, str], url: str) -> list[Stage]:
    values = {**environment, "AMQP_URL": url}
    return [stack.enter_context(closing(Stage(*arguments, environment=values))) for arguments in STAGES]


def test_a_broker_that_comes_later_is_waited_for(environment: dict[str, str]) -> None:
    ensure_server()
    with closing(RabbitNode()) as node, ExitStack() as stack:
        stages = started(stack, environment, node.url)
        for stage in stages:
            eventually_sync(partial(waits, stage, str(node.port)), f"{stage.name} waits", within=WITHIN)
        node.start()
        for stage in stages:
            stage.wait_ready(WITHIN)
        assert [stage.terminate(WITHIN) for stage in stages] == [0, 0, 0, 0]
        for stage in stages:
            assert "guest:guest" not in stage.log()


def test_whoever_waits_ends_at_once(environment: dict[str, str]) -> None:
    with ExitStack() as stack:
        port = free_ports(1)[0]
        stages = started(stack, environment, f"amqp://guest:guest@127.0.0.1:{port}/")
        for stage in stages:
            eventually_sync(partial(waits, stage, str(port)), f"{stage.name} waits", within=WITHIN)
            assert stage.terminate(AT_ONCE) == 0


def test_whoever_waits_for_one_that_never_answers_ends_at_once(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ExitStack() as stack:
        port = int(silent.getsockname()[1])
        stages = started(stack, environment, f"amqp://guest:guest@127.0.0.1:{port}/")
        for stage in stages:
            eventually_sync(partial(not_ready, stage), f"{stage.name} is there", within=WITHIN)
            assert stage.terminate(AT_ONCE) == 0
