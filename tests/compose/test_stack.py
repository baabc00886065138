"""The containers, started for real on the simulated venues."""

import json
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from math import ceil
from typing import Any

import pytest

from shared.exchanges import EXCHANGES
from tests.compose.engine import NoEngine, base_images, engine, missing_images
from tests.compose.stack import Stack
from tests.ops.dashboard_rules import expressions
from tests.support.eventually import eventually_sync
from tests.support.paths import ROOT
from tests.support.processes import fetch_json
from tools.dashboards.promql import filled

pytestmark = [pytest.mark.compose, pytest.mark.timeout(0)]

STAGES = ("ingest", "normalizer")
UNTIL_THE_FIRST = ("Shed, ", "Gaps and ", "Broker connections", "annotation ")
"""Panels of what there is no series of before it happens."""


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    """Everything but what no image can be had of (Grafana has no stand-in), healthy."""
    try:
        with engine():
            yield from started()
    except NoEngine as error:
        pytest.skip(str(error))


def started() -> Iterator[Stack]:
    stack = Stack()
    images = stack.images()
    missing = missing_images(base_images() | {image for image in images.values() if image != "tidegate:local"})
    if missing & (base_images() | {images["rabbitmq"], images["prometheus"]}):
        raise NoEngine(f"these images can be neither pulled nor stood in for: {', '.join(sorted(missing))}")
    stack.services = [name for name in stack.services if images[name] not in missing]
    try:
        stack.compose("build", "--quiet")
        stack.up()
        yield stack
    finally:
        stack.close()


def test_every_service_is_healthy_and_the_passwords_were_made(stack: Stack) -> None:
    (once,) = stack.containers("credentials")

    assert set(stack.health().values()) == {"healthy"}
    assert stack.health().keys() >= {f"ingest-{exchange}" for exchange in EXCHANGES} | {"normalizer", "simulator"}
    assert (once["State"]["Status"], once["State"]["ExitCode"]) == ("exited", 0)


@pytest.mark.parametrize("exchange", sorted(EXCHANGES))
def test_canonical_messages_arrive(stack: Stack, exchange: str) -> None:
    messages = stack.tap(f"*.{exchange}.*", 20)

    assert len(messages) == 20
    assert {message["exchange"] for message in messages} == {exchange}
    assert all(message["ts_normalized"] >= message["ts_received"] for message in messages)


def targets(stack: Stack) -> dict[tuple[str, str], list[str]]:
    """Health of what Prometheus scrapes, by job and service."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in fetch_json(f"{stack.prometheus}/api/v1/targets?state=active")["data"]["activeTargets"]:
        found.setdefault((one["labels"]["job"], one["labels"]["service"]), []).append(one["health"])
    return found


def test_prometheus_sees_every_target_up(stack: Stack) -> None:
    expected = {("ingest", f"ingest-{exchange}"): ["up"] for exchange in EXCHANGES} | {
        ("normalizer", "normalizer"): ["up"],
        ("prometheus", "prometheus"): ["up"],
        ("rabbitmq", "rabbitmq"): ["up"],
        ("rabbitmq-queues", "rabbitmq"): ["up"],
    }

    def all_up() -> bool:
        assert targets(stack) == expected
        return True

    eventually_sync(all_up, "every target is up", within=60, interval=1.0)


def accounted_for(stack: Stack) -> bool:
    """Whether every stage knew of every frame at some scrape of the last half minute."""
    settled = "min_over_time(abs(stage_exchange:tidegate_frames_unaccounted:sum)[30s:5s])"
    assert stack.query(settled) == {(exchange, stage): 0.0 for exchange in EXCHANGES for stage in STAGES}
    return True


def test_rules_are_evaluated_and_find_every_exchange_live_and_every_frame_accounted_for(stack: Stack) -> None:
    groups = fetch_json(f"{stack.prometheus}/api/v1/rules")["data"]["groups"]

    def live() -> bool:
        assert stack.query("exchange:tidegate_stream_health:min") == {(exchange,): 2.0 for exchange in EXCHANGES}
        return accounted_for(stack)

    rules = {rule["name"]: rule["health"] for group in groups for rule in group["rules"]}
    assert rules.keys() >= {"TidegateTargetMissing", "TidegateFramesShed"}
    assert [name for name, health in rules.items() if health == "err"] == []
    eventually_sync(live, "every exchange is live", within=60, interval=1.0)
    assert stack.query('ALERTS{alertname=~"Tidegate.*", alertstate="firing"}') == {}


def test_every_panel_of_the_overview_is_answered(stack: Stack) -> None:
    overview = json.loads((ROOT / "grafana/dashboards/Tidegate/overview.json").read_text())

    def answered() -> bool:
        silent = [place for place, expression in expressions(overview).items() if not stack.query(filled(expression))]
        assert [place for place in silent if not place.startswith(UNTIL_THE_FIRST)] == []
        return True

    eventually_sync(answered, "every panel has data", within=60, interval=2.0)


def test_nothing_runs_as_root_or_writes_to_its_image(stack: Stack) -> None:
    for service in stack.staying():
        for container in stack.containers(service):
            assert container["HostConfig"]["ReadonlyRootfs"] is True, service
            assert container["HostConfig"]["CapDrop"] == ["ALL"], service
        assert stack.compose("exec", "-T", service, "id", "-u").strip() not in {"", "0"}, service
        with pytest.raises(RuntimeError, match="Read-only file system"):
            stack.compose("exec", "-T", service, "touch", "/written")


def test_only_pages_for_people_are_reached_and_only_from_this_machine(stack: Stack) -> None:
    containers = [one for service in stack.staying() for one in stack.containers(service)]
    bound = {port: places for one in containers for port, places in one["HostConfig"]["PortBindings"].items()}

    assert bound.keys() <= {"3000/tcp", "9090/tcp", "15672/tcp"}
    assert {place["HostIp"] for places in bound.values() for place in places} == {"127.0.0.1"}


def who(stack: Stack, user: str, password: str) -> Any:
    """Whom RabbitMQ takes these for; None for nobody."""
    token = b64encode(f"{user}:{password}".encode()).decode()
    request = urllib.request.Request(f"{stack.rabbitmq}/api/whoami", headers={"Authorization": f"Basic {token}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.loads(reply.read())
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 401:
            return None
        raise


def test_the_broker_knows_the_passwords_that_were_made_and_no_default_one(stack: Stack) -> None:
    file = "/var/lib/tidegate/credentials/broker/operator-password"
    password = stack.compose("run", "--rm", "-T", "--entrypoint", "cat", "credentials", file).strip()

    assert who(stack, "operator", password)["tags"] == ["monitoring"]
    assert who(stack, "guest", "guest") is None
    with pytest.raises(RuntimeError, match="Permission denied"):
        stack.compose("exec", "-T", "rabbitmq", "cat", "/var/lib/tidegate/broker/operator-password")
    for service, own in (("normalizer", 1), ("rabbitmq", 0)):
        seen = stack.compose("exec", "-T", service, "find", "/var/lib/tidegate", "-name", "amqp-url").split()
        assert len(seen) == own, service


def test_a_consumer_of_market_data_is_refused_accounts(stack: Stack) -> None:
    with pytest.raises(RuntimeError, match="refused for user 'consumer'"):
        stack.compose("run", "--rm", "-T", "consumer", "tap", "--account", "fill.#", "--count", "1")


def test_stages_outlive_a_restart_of_the_broker(stack: Stack) -> None:
    stack.compose("restart", "rabbitmq")

    stack.wait_healthy()
    assert len(stack.tap("trade.#", 5)) == 5
    assert {one["RestartCount"] for service in stack.staying() for one in stack.containers(service)} == {0}
    eventually_sync(lambda: accounted_for(stack), "every frame is accounted for", within=60, interval=1.0)


def scale(stack: Stack, count: int) -> None:
    """So many normalizers; until all of them, and no others, are scraped and every stream has its one owner."""
    options = ("--detach", "--no-recreate", "--no-deps", "--scale", f"normalizer={count}")
    stack.compose("up", *options, "normalizer")

    def shared_out() -> bool:
        assert targets(stack)["normalizer", "normalizer"] == ["up"] * count
        owners = stack.query("sum by (stream) (tidegate_stream_owned)")
        assert set(owners.values()) == {1.0}
        assert set(stack.query("tidegate_members > 0").values()) == {float(count)}
        assert stack.query("max(sum by (instance) (tidegate_streams_owned))") == {(): ceil(len(owners) / count)}
        return True

    eventually_sync(shared_out, f"{count} normalizers are scraped and share the streams", within=120, interval=1.0)


def test_prometheus_finds_four_normalizers_and_forgets_three_without_an_alert(stack: Stack) -> None:
    scale(stack, 4)
    scale(stack, 1)

    missed = 'max_over_time(ALERTS{alertname="TidegateTargetMissing", alertstate="firing"}[5m])'
    assert {labels for labels in stack.query(missed) if "normalizer" in labels} == set()


def test_a_stage_that_is_told_to_stop_drains_and_ends_well(stack: Stack) -> None:
    stack.compose("stop", "ingest-bybit", "normalizer")

    ended = [one["State"] for name in ("ingest-bybit", "normalizer") for one in stack.containers(name)]
    assert len(ended) == 2
    assert {(state["Status"], state["ExitCode"], state["OOMKilled"]) for state in ended} == {("exited", 0, False)}
