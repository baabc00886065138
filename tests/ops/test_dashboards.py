"""Grafana's dashboards and provisioning, and the rules that a dashboard keeps to, each planted against."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ops.dashboard_rules import expressions, panels, problems
from tests.ops.expressions import DESCRIBED, names, parse_all, unknown_names
from tests.support.paths import ROOT

pytestmark = pytest.mark.ops

GRAFANA = ROOT / "grafana"
FILES = sorted((GRAFANA / "dashboards").rglob("*.json"))
OVERVIEW: dict[str, Any] = json.loads((GRAFANA / "dashboards/Tidegate/overview.json").read_text())
RECORDED = {
    rule["record"]
    for file in (GRAFANA / "prometheus/rules").glob("*.yml")
    for group in yaml.safe_load(file.read_text())["groups"]
    for rule in group["rules"]
    if "record" in rule
}
each_dashboard = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


@each_dashboard
def test_a_dashboard_keeps_to_the_rules(file: Path) -> None:
    assert problems(json.loads(file.read_text()), RECORDED) == []


@each_dashboard
def test_promtool_understands_every_expression(file: Path, promtool: Path, tmp_path: Path) -> None:
    found = expressions(json.loads(file.read_text()))

    assert len(found) > 10
    assert parse_all(promtool, tmp_path, found) == ""


@each_dashboard
def test_a_dashboard_shows_what_the_catalogue_says_it_shows(file: Path) -> None:
    recorded = "\n".join(recording_expressions())
    text = "\n".join(expressions(json.loads(file.read_text())).values())
    shown = {one.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count") for one in names(text + recorded)}

    assert {one.name for one in DESCRIBED.values() if one.shown == file.stem} - shown == set()


def recording_expressions() -> list[str]:
    return [
        rule["expr"]
        for file in (GRAFANA / "prometheus/rules").glob("*.yml")
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
        if "record" in rule
    ]


def test_titles_within_a_dashboard_differ() -> None:
    titles = [panel["title"] for panel in panels(OVERVIEW)]

    assert len(titles) == len(set(titles)) > 15


def test_promtool_refuses_what_is_no_expression(promtool: Path, tmp_path: Path) -> None:
    assert "parse error" in parse_all(promtool, tmp_path, {"a panel": "sum(rate(up[$__rate_interval])"})


def test_uids_differ() -> None:
    uids = [json.loads(file.read_text())["uid"] for file in FILES]

    assert len(uids) == len(set(uids))


def first(dashboard: dict[str, Any]) -> dict[str, Any]:
    return panels(dashboard)[0]


def expression(text: str) -> Callable[[dict[str, Any]], None]:
    def plant(dashboard: dict[str, Any]) -> None:
        first(dashboard)["targets"][0]["expr"] = text

    return plant


def over_each_other(dashboard: dict[str, Any]) -> None:
    one, other, *_ = panels(dashboard)
    other["gridPos"] = one["gridPos"]


def same_ids(dashboard: dict[str, Any]) -> None:
    one, other, *_ = panels(dashboard)
    other["id"] = one["id"]


def twice(dashboard: dict[str, Any]) -> None:
    first(dashboard)["targets"].append(first(dashboard)["targets"][0])


def without(name: str) -> Callable[[dict[str, Any]], None]:
    def plant(dashboard: dict[str, Any]) -> None:
        variables = dashboard["templating"]["list"]
        variables[:] = [one for one in variables if one["name"] != name]

    return plant


FIXED = {"type": "prometheus", "uid": "tidegate-prometheus"}
PLANTED: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("no uid", lambda it: it.pop("uid")),
    ("editable on the page", lambda it: it.update(editable=True)),
    ("annotation Breaker transitions: data source", lambda it: it["annotations"]["list"][0].update(datasource=FIXED)),
    ("no variable exchange", without("exchange")),
    ("no variable datasource", without("datasource")),
    ("variable exchange: data source", lambda it: it["templating"]["list"][1].update(datasource=FIXED)),
    ("is used 2 times", same_ids),
    ("lies over", over_each_other),
    ("no title", lambda it: first(it).update(title="")),
    ("does not say what is normal", lambda it: first(it).update(description="Health of the exchanges.")),
    ("no unit", lambda it: first(it)["fieldConfig"]["defaults"].pop("unit")),
    ("no query", lambda it: first(it).update(targets=[])),
    ("Exchanges: data source", lambda it: first(it).update(datasource=FIXED)),
    ("query A: data source", lambda it: first(it)["targets"][0].update(datasource=FIXED)),
    ("query A is there twice", twice),
    ("tidegate_frames_total is no metric", expression("rate(tidegate_frames_total[$__rate_interval])")),
    ("tidegate_rest_seconds is no metric", expression("sum(tidegate_rest_seconds)")),
    ("exchange:tidegate_health:min is no metric", expression("exchange:tidegate_health:min")),
    ("has no label symbol", expression('sum(rate(tidegate_frames_received_total{symbol="A"}[$__rate_interval]))')),
    ("is a counter and needs rate", expression("sum(tidegate_frames_received_total)")),
    ("is a counter and needs rate", expression("sum(tidegate_queue_wait_seconds_count)")),
    ("rate over 5m", expression("rate(tidegate_frames_received_total[5m])")),
    ("increase over 1h", expression("increase(tidegate_frames_received_total[1h])")),
    (
        "not summed by le",
        expression(
            "histogram_quantile(0.9, sum by (exchange) (rate(tidegate_queue_wait_seconds_bucket[$__rate_interval])))"
        ),
    ),
]


@pytest.mark.parametrize(("said", "plant"), PLANTED, ids=[f"{at}-{said}" for at, (said, _) in enumerate(PLANTED)])
def test_each_rule_finds_what_it_is_for(said: str, plant: Callable[[dict[str, Any]], object]) -> None:
    dashboard = copy.deepcopy(OVERVIEW)
    plant(dashboard)

    assert [problem for problem in problems(dashboard, RECORDED) if said in problem]


def test_a_name_that_only_looks_like_one_is_not_taken_for_a_metric() -> None:
    assert unknown_names('up{job="tidegate"} + count(ALERTS{alertname=~"Tidegate.*"})', RECORDED) == []


def test_the_data_source_of_the_dashboards_is_provisioned() -> None:
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/prometheus.yml").read_text())["datasources"]
    scrape = yaml.safe_load((GRAFANA / "prometheus/prometheus.yml").read_text())["global"]["scrape_interval"]
    variable = OVERVIEW["templating"]["list"][0]

    assert source["uid"] == variable["current"]["value"]
    assert source["editable"] is False
    assert source["jsonData"]["timeInterval"] == scrape


def test_grafana_finds_dashboards_and_home_where_they_are_mounted() -> None:
    grafana = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["grafana"]
    (provider,) = yaml.safe_load((GRAFANA / "provisioning/dashboards/tidegate.yml").read_text())["providers"]
    mounts = dict(volume.split(":")[1::-1] for volume in grafana["volumes"])
    home = grafana["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    path = provider["options"]["path"]

    assert mounts[path] == "./grafana/dashboards"
    assert (ROOT / home.replace(path, mounts[path])).is_file()
    assert provider["allowUiUpdates"] is False
    assert provider["disableDeletion"] is True
