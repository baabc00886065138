"""Grafana's dashboards and provisioning, and the rules that a dashboard keeps to, each planted against."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ops.dashboard_rules import expressions, panels, problems
from tests.ops.expressions import DESCRIBED, described, expanded, parse_all, unknown_names
from tests.support.paths import ROOT

pytestmark = pytest.mark.ops

GRAFANA = ROOT / "grafana"
FILES = sorted((GRAFANA / "dashboards").rglob("*.json"))
DASHBOARDS: dict[str, dict[str, Any]] = {file.stem: json.loads(file.read_text()) for file in FILES}
OVERVIEW = DASHBOARDS["overview"]
UIDS = [dashboard["uid"] for dashboard in DASHBOARDS.values()]
RULES = [
    rule
    for file in (GRAFANA / "prometheus/rules").glob("*.yml")
    for group in yaml.safe_load(file.read_text())["groups"]
    for rule in group["rules"]
]
RECORDED = {rule["record"]: rule["expr"] for rule in RULES if "record" in rule}
each_dashboard = pytest.mark.parametrize("name", DASHBOARDS)


def shown(name: str) -> set[str]:
    """Metrics of Tidegate's own that a dashboard reads, through recorded names too."""
    return {one for text in expressions(DASHBOARDS[name]).values() for one in described(expanded(text, RECORDED))}


def test_the_dashboards_are_those_that_an_engineer_looks_for() -> None:
    assert DASHBOARDS.keys() == {"overview", "ingest", "normalizers", "accounts", "runtime", "burst"}
    assert [one["title"] for one in DASHBOARDS.values()] == [f"Tidegate {name}" for name in DASHBOARDS]
    assert len(set(UIDS)) == len(UIDS)


@each_dashboard
def test_a_dashboard_keeps_to_the_rules(name: str) -> None:
    assert problems(DASHBOARDS[name], RECORDED, UIDS) == []


@each_dashboard
def test_promtool_understands_every_expression(name: str, promtool: Path, tmp_path: Path) -> None:
    found = expressions(DASHBOARDS[name])

    assert len(found) > 10
    assert parse_all(promtool, tmp_path, found) == ""


@each_dashboard
def test_a_dashboard_shows_what_the_catalogue_says_it_shows(name: str) -> None:
    assert {one.name for one in DESCRIBED.values() if one.shown == name} - shown(name) == set()


def test_every_metric_is_shown_somewhere_or_is_for_whoever_looks_closer() -> None:
    everywhere = {metric for name in DASHBOARDS for metric in shown(name)}

    assert {one.name for one in DESCRIBED.values() if one.shown not in {*DASHBOARDS, "debug"}} == set()
    assert {one.name for one in DESCRIBED.values() if one.shown == "debug"} & everywhere == set()


def test_the_burst_is_laid_out_on_one_time_axis() -> None:
    curves = [panel for panel in panels(DASHBOARDS["burst"]) if panel["type"] == "timeseries"]
    titles = " ".join(panel["title"] for panel in curves)

    assert {(panel["gridPos"]["x"], panel["gridPos"]["w"]) for panel in curves} == {(0, 24)}
    for quantity in ("q_wait", "batch_size", "net_write", "loop_lag", "norm_time", "CPU", "shed"):
        assert quantity in titles


def test_promtool_refuses_what_is_no_expression(promtool: Path, tmp_path: Path) -> None:
    assert "parse error" in parse_all(promtool, tmp_path, {"a panel": "sum(rate(up[$__rate_interval])"})


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


def last(dashboard: dict[str, Any], kind: str) -> dict[str, Any]:
    return [one for one in panels(dashboard) if one["type"] == kind][-1]


def lead(url: str) -> Callable[[dict[str, Any]], None]:
    def plant(dashboard: dict[str, Any]) -> None:
        first(dashboard)["links"] = [{"title": "Down", "url": url}]

    return plant


def text(dashboard: dict[str, Any]) -> None:
    panel = {"id": 999, "type": "text", "title": "Empty", "options": {"content": ""}}
    dashboard["panels"].append(panel | {"gridPos": {"x": 0, "y": 999, "w": 24, "h": 4}})


FIXED = {"type": "prometheus", "uid": "tidegate-prometheus"}
EVERYTHING = "${__url_time_range}&${__all_variables}"
PLANTED: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("no uid", lambda it: it.pop("uid")),
    ("editable on the page", lambda it: it.update(editable=True)),
    ("no description", lambda it: it.pop("description")),
    ("the crosshair is not shared", lambda it: it.update(graphTooltip=0)),
    ("annotation Breaker transitions: data source", lambda it: it["annotations"]["list"][0].update(datasource=FIXED)),
    ("no variable exchange", without("exchange")),
    ("no variable product", without("product")),
    ("no variable datasource", without("datasource")),
    ("variable exchange: data source", lambda it: it["templating"]["list"][1].update(datasource=FIXED)),
    ("variable product: several or all cannot", lambda it: it["templating"]["list"][2].update(multi=False)),
    (
        "variable symbol: its values come from no metric",
        lambda it: it["templating"]["list"][3].update(query={"query": "label_values(tidegate_symbols, symbol)"}),
    ),
    ("is used 2 times", same_ids),
    ("is the title of 2 panels", lambda it: first(it).update(title="Shed")),
    ("lies over", over_each_other),
    ("lies beyond the page", lambda it: first(it)["gridPos"].update(x=20, w=5)),
    ("no title", lambda it: first(it).update(title="")),
    ("does not say what is normal", lambda it: first(it).update(description="Health of the exchanges.")),
    ("no unit", lambda it: first(it)["fieldConfig"]["defaults"].pop("unit")),
    ("no text", text),
    ("no query", lambda it: first(it).update(targets=[])),
    ("Exchanges: data source", lambda it: first(it).update(datasource=FIXED)),
    ("query A: data source", lambda it: first(it)["targets"][0].update(datasource=FIXED)),
    ("query A is there twice", twice),
    ("no threshold tells good from bad", lambda it: first(it)["fieldConfig"]["defaults"].pop("thresholds")),
    ("no legend", lambda it: last(it, "timeseries")["options"]["legend"].update(showLegend=False)),
    ("its series have no name", lambda it: last(it, "timeseries")["targets"][0].update(legendFormat="__auto")),
    ("no label venue for its name", lambda it: first(it)["targets"][0].update(legendFormat="{{venue}}")),
    ("link to the other dashboards is missing", lambda it: it.update(links=[])),
    ("loses variables or time", lambda it: it["links"][0].update(includeVars=False)),
    ("loses variables or time", lambda it: it["links"][0].update(keepTime=False)),
    ("leads nowhere", lead(f"/d/tidegate-nothing?{EVERYTHING}")),
    ("loses the time", lead("/d/tidegate-burst?${__all_variables}")),
    ("loses symbol", lead("/d/tidegate-burst?${__url_time_range}&${datasource:queryparam}&${exchange:queryparam}")),
    ("tidegate_frames_total is no metric", expression("rate(tidegate_frames_total[$__rate_interval])")),
    ("tidegate_rest_seconds is no metric", expression("sum(tidegate_rest_seconds)")),
    ("rabbitmq_queue_depth is no metric", expression("max(rabbitmq_queue_depth)")),
    ("process_cpu_total is no metric", expression("rate(process_cpu_total[$__rate_interval])")),
    ("exchange:tidegate_health:min is no metric", expression("exchange:tidegate_health:min")),
    ("has no label symbol", expression('sum(rate(tidegate_frames_received_total{symbol="A"}[$__rate_interval]))')),
    ("does not obey $exchange", expression('sum(rate(tidegate_gaps_total{symbol=~"$symbol"}[$__rate_interval]))')),
    ("does not obey $exchange", expression('max(tidegate_circuit_failures{circuit="bybit"})')),
    ("does not obey $product", expression('max(tidegate_stream_up{exchange=~"$exchange"})')),
    ("does not obey $symbol", expression('sum(rate(tidegate_gaps_total{exchange=~"$exchange"}[$__rate_interval]))')),
    ("is a counter and needs rate", expression("sum(tidegate_frames_received_total)")),
    ("is a counter and needs rate", expression("sum(tidegate_queue_wait_seconds_count)")),
    ("is a counter and needs rate", expression("max(process_cpu_seconds_total)")),
    ("rate over 5m", expression('rate(tidegate_frames_received_total{exchange=~"[a-z]+"}[5m])')),
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

    assert [problem for problem in problems(dashboard, RECORDED, UIDS) if said in problem]


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
