"""Every expression of every dashboard and rule, asked of a real Prometheus that scraped the real services."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from services.cli.local_rabbit import RabbitNode
from tests.ops.dashboard_rules import expressions
from tests.ops.expressions import names
from tests.support.eventually import eventually_sync
from tests.support.observed import Event, ObservedPlane, play
from tests.support.paths import ROOT
from tests.support.prometheus import ensure_prometheus
from tools.dashboards.promql import filled
from tools.pictures.drawing import draw

pytestmark = pytest.mark.e2e

SECONDS: Final = 48.0
FILES: Final = sorted((ROOT / "grafana/dashboards").rglob("*.json"))

REFUSED: Final = "the venue refuses the account, or a file is broken"
ALLOWED: Final[dict[str, str]] = {
    "accounts: Refused, or journal broken A": REFUSED,
    "runtime: Tasks crashed A": "a task that crashes is a defect",
}
"""What returns nothing as long as all is well, and what would have to happen."""

UNSEEN: Final[dict[str, str]] = {"tidegate_account_failures_total": REFUSED}
"""Metrics of rules that have no series as long as all is well, and what would have to happen."""


class Seen:
    """What is left of the minute: the Prometheus that saw it, and when it was."""

    def __init__(self, plane: ObservedPlane, start: float, end: float, events: list[Event]) -> None:
        self.plane = plane
        self.prometheus = plane.prometheus
        self.start, self.end = start, end
        self.events = events

    def answers(self, expression: str) -> list[dict[str, Any]]:
        """What an expression gave at any time of the minute, without the zero that panels fall back to."""
        asked = filled(expression, "60s").replace(" or vector(0)", "")
        return self.prometheus.query_range(asked, self.start, self.end)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    ensure_prometheus()
    with RabbitNode(prometheus=True) as node, ObservedPlane(node, tmp_path_factory.mktemp("prometheus")) as plane:
        start = time.time()
        events = play(plane, SECONDS)
        yield Seen(plane, start, time.time(), events)


def asked() -> dict[str, str]:
    """Every expression of the dashboards, by where it stands."""
    return {
        f"{file.stem}: {place}": expression
        for file in FILES
        for place, expression in expressions(json.loads(file.read_text())).items()
    }


def test_every_expression_returns_data_but_for_what_must_not_happen(seen: Seen) -> None:
    silent = {place for place, expression in asked().items() if not seen.answers(expression)}

    assert sorted(silent - ALLOWED.keys()) == []
    assert sorted(ALLOWED.keys() - silent) == [], "these return data, or are gone: take them off the list"


def test_every_rule_is_evaluated_and_reads_what_there_is(seen: Seen) -> None:
    rules = seen.prometheus.rules()
    metrics = {name for rule in rules.values() for name in names(rule["query"])}

    assert len(rules) > 15
    assert [name for name, rule in rules.items() if rule["health"] != "ok"] == []
    assert sorted(name for name in metrics if not seen.answers(name)) == sorted(UNSEEN)


def test_what_happened_was_told_and_what_did_not_happen_was_not(seen: Seen) -> None:
    firing = seen.answers('max by (alertname, service) (ALERTS{alertname=~"Tidegate.*", alertstate="firing"})')
    fired = {one["metric"]["alertname"] for one in firing}
    missed = {one["metric"]["service"] for one in firing if one["metric"]["alertname"] == "TidegateTargetMissing"}

    assert fired >= {"TidegateFramesShed", "TidegateFramesLost", "TidegateFramesRejected"}
    assert fired & {"TidegateConservationBroken", "TidegateStreamOwnedTwice", "TidegateStreamsMissing"} == set()
    assert missed <= {"rabbitmq"}, "nobody is missed but the broker that was killed, should it take long to start"


def test_a_normalizer_that_was_sent_away_is_forgotten(seen: Seen) -> None:
    def only_those_that_run() -> bool:
        assert seen.prometheus.healths()["normalizer", "normalizer"] == ["up"] * len(seen.plane.normalizers)
        return True

    eventually_sync(only_those_that_run, "only normalizers that run are scraped", within=60, interval=0.5)


def test_the_burst_can_be_drawn(seen: Seen, tmp_path: Path) -> None:
    dashboard = json.loads((ROOT / "grafana/dashboards/Tidegate/burst.json").read_text())
    picture = tmp_path / "burst.png"
    drawn = draw(dashboard, seen.prometheus, (seen.start, seen.end), seen.events, picture)

    assert picture.read_bytes().startswith(b"\x89PNG")
    assert drawn.panels > 5
    assert drawn.curves >= drawn.panels
