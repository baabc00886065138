"""``tidegate record`` beside streams that have run for a while, and what a replay makes of it."""

import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from msgspec import json

from services.cli.local_rabbit import free_ports
from tests.support.eventually import eventually_sync
from tests.support.processes import Stage, counter
from tests.unit.cli.processes import finished

pytestmark = pytest.mark.e2e

EXCHANGES = ("bybit", "mexc")
INSTRUMENTS = 22


@pytest.fixture
def environment(rabbit_url: str) -> Mapping[str, str]:
    port = free_ports(1)[0]
    return {
        "AMQP_URL": rabbit_url,
        "TIDEGATE_SIMULATOR__PORT": str(port),
        "TIDEGATE_SIMULATOR__CONNECT": f"127.0.0.1:{port}",
    }


@pytest.fixture
def plane(environment: Mapping[str, str]) -> Iterator[list[Stage]]:
    """Simulated venues, and an ingest for each that has passed all its snapshots on."""
    stages = [Stage("simulator", environment=environment)]
    try:
        stages += [Stage("ingest", name, environment=environment) for name in EXCHANGES]
        for stage in stages[1:]:
            stage.wait_ready(within=90)
            eventually_sync(
                lambda stage=stage: counter(stage.metrics(), "tidegate_frames_published_total") > 1_000,  # type: ignore[misc]
                "frames flow",
                within=90,
            )
        yield stages
    finally:
        for stage in stages:
            stage.close()


@pytest.mark.usefixtures("plane")
def test_a_recording_that_begins_late_has_books_and_lists(environment: Mapping[str, str], tmp_path: Path) -> None:
    path = tmp_path / "late.capture"
    done = finished("record", str(path), "--seconds", "12", more=environment, within=90)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr.decode().endswith(f" envelopes in {path}\n")

    played = finished("replay", str(path), within=90)
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for line in played.stdout.splitlines():
        message = json.decode(line)
        found[message["feed"]].add((message["exchange"], message["symbol"]))
    assert len(found["book_snapshot"]) == INSTRUMENTS
    assert found["book_delta"] <= found["book_snapshot"]
    assert played.stderr.decode().splitlines()[-1].startswith("tidegate: ")

    lists = []
    for product, place in (("spot", "api/v3/exchangeInfo"), ("futures", "api/v1/contract/detail")):
        url = f"http://{environment['TIDEGATE_SIMULATOR__CONNECT']}/mexc/{product}/{place}"
        with urllib.request.urlopen(url, timeout=60) as reply:
            (tmp_path / product).write_bytes(reply.read())
        lists += ["--instruments", f"mexc.{product}={tmp_path / product}"]
    listed = finished("replay", str(path), *lists, within=90)
    assert listed.returncode == 0, listed.stderr.decode()[-2000:]
    assert listed.stderr.decode().endswith(f" {len(listed.stdout.splitlines())} messages, 0 rejected\n")
    assert len(listed.stdout.splitlines()) > len(played.stdout.splitlines())

    done = finished("replay", str(path), "--instruments", str(tmp_path / "spot"), within=90)
    assert done.returncode == 2
    assert b"tidegate: --instruments: " in done.stderr
