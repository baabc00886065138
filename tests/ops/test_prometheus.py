"""Prometheus: configuration, rules and their tests; every alert is proven to fire and proven to be silent."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ops.expressions import unknown_labels, unknown_names
from tests.support.paths import ROOT

pytestmark = pytest.mark.ops

DIRECTORY = ROOT / "grafana/prometheus"
CONFIG = yaml.safe_load((DIRECTORY / "prometheus.yml").read_text())
RULES: list[dict[str, Any]] = [
    rule
    for file in sorted((DIRECTORY / "rules").glob("*.yml"))
    for group in yaml.safe_load(file.read_text())["groups"]
    for rule in group["rules"]
]
ALERTS = [rule for rule in RULES if "alert" in rule]
RECORDED = {rule["record"] for rule in RULES if "record" in rule}
RULE_TESTS = sorted((DIRECTORY / "tests").glob("*.yml"))
TESTS = [one for file in RULE_TESTS for one in yaml.safe_load(file.read_text())["tests"]]
RUNBOOKS = dict(
    re.findall(r"^## (\w+)\n(.+?)(?=^## |\Z)", (ROOT / "docs/runbooks.md").read_text(), re.MULTILINE | re.DOTALL)
)
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]


def promtool_says(promtool: Path, *arguments: str | Path) -> str:
    done = subprocess.run([promtool, *arguments], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_configuration_is_valid(promtool: Path) -> None:
    assert promtool_says(promtool, "check", "config", DIRECTORY / "prometheus.yml") == ""


def test_the_rules_do_what_their_tests_say(promtool: Path) -> None:
    assert len(RULE_TESTS) >= 2
    assert promtool_says(promtool, "test", "rules", *RULE_TESTS) == ""


def test_a_rule_that_changed_its_meaning_fails_its_tests(promtool: Path, tmp_path: Path) -> None:
    for part in ("rules", "tests"):
        (tmp_path / part).mkdir()
        for file in (DIRECTORY / part).glob("*.yml"):
            (tmp_path / part / file.name).write_text(file.read_text())
    presence = tmp_path / "rules/presence.yml"
    presence.write_text(presence.read_text().replace('or absent(up{service="ingest-mexc"})', ""))

    assert "ingest-mexc" in promtool_says(promtool, "test", "rules", tmp_path / "tests/presence.yml")


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_is_proven_both_ways_and_says_what_to_do(rule: dict[str, Any]) -> None:
    tested = [one for test in TESTS for one in test.get("alert_rule_test", []) if one["alertname"] == rule["alert"]]

    assert [one for one in tested if one.get("exp_alerts")], "no test in which it fires"
    assert [one for one in tested if one.get("exp_alerts") == []], "no test in which it is silent"
    assert re.fullmatch(r"Tidegate[A-Z]\w+", rule["alert"])
    assert rule["labels"]["severity"] in {"warning", "critical"}
    assert rule["annotations"].keys() == {"summary", "description", "dashboard_url", "runbook_url"}


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_does_not_come_and_go(rule: dict[str, Any]) -> None:
    """It looks at minutes of events, or at a state that has to last, and is told for a while after that is over."""
    minutes = [int(minute) for minute in re.findall(r"increase\([^\[\]]+\[(\d+)m\]\)", rule["expr"])]

    assert ("for" in rule and "keep_firing_for" in rule) or min(minutes, default=0) >= 5


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_leads_to_a_dashboard_and_to_its_page_in_the_runbooks(rule: dict[str, Any]) -> None:
    dashboard = re.fullmatch(
        r"http://127\.0\.0\.1:3000/d/tidegate-(\w+)(\?var-exchange=.+)?", rule["annotations"]["dashboard_url"]
    )
    section = RUNBOOKS.get(rule["alert"])

    assert dashboard is not None
    assert (ROOT / f"grafana/dashboards/Tidegate/{dashboard[1]}.json").is_file()
    assert rule["annotations"]["runbook_url"] == f"docs/runbooks.md#{rule['alert'].lower()}"
    assert section is not None, "there is no such section"
    assert re.findall(r"^\*\*(.+?)\.\*\*", section, re.MULTILINE) == ["It means", "Look at", "Do"]


def test_the_runbooks_tell_of_alerts_that_there_are_in_the_order_of_the_alphabet() -> None:
    assert list(RUNBOOKS) == sorted(rule["alert"] for rule in ALERTS)


def test_what_an_engineer_must_hear_of_has_an_alert() -> None:
    assert {rule["alert"].removeprefix("Tidegate") for rule in ALERTS} >= {
        "StreamStalled",
        "FramesShed",
        "SequenceGaps",
        "QueueWaitHigh",
        "NormalizersSaturated",
        "CircuitOpen",
        "EventLoopBlocked",
        "AccountNotReconciled",
        "AccountJournalGrowing",
        "QuarantineGrowing",
        "TargetMissing",
        "BrokerAlarm",
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_reads_metrics_that_there_are(rule: dict[str, Any]) -> None:
    assert unknown_names(rule["expr"], RECORDED) == []
    assert unknown_labels(rule["expr"]) == []


def test_recorded_names_tell_level_metric_and_operation() -> None:
    assert RECORDED
    assert [name for name in RECORDED if not re.fullmatch(r"[a-z_]+:tidegate_\w+:[a-z0-9]+", name)] == []


def hosts(job: dict[str, Any]) -> set[str]:
    """Names that a job asks for."""
    found = {name for one in job.get("dns_sd_configs", []) for name in one["names"]}
    return found | {target.rsplit(":", 1)[0] for one in job.get("static_configs", []) for target in one["targets"]}


def stays(service: dict[str, Any]) -> bool:
    """Whether it serves something, unlike what runs once for somebody."""
    return not service["healthcheck"].get("disable")


def test_every_stage_is_scraped_and_nothing_that_is_not_there() -> None:
    scraped = {host for job in CONFIG["scrape_configs"] for host in hosts(job)} - {"localhost"}
    stages = {name for name, one in COMPOSE.items() if "AMQP_URL_FILE" in (one.get("environment") or {}) and stays(one)}

    assert stages >= {"ingest-bybit", "ingest-mexc", "ingest-binance", "normalizer", "normalizer-account"}
    assert scraped == stages | {"rabbitmq"}


def test_what_may_be_scaled_is_found_by_name_on_the_port_of_its_telemetry() -> None:
    found = [one for job in CONFIG["scrape_configs"] for one in job.get("dns_sd_configs", [])]

    assert found
    for one in found:
        assert (one["type"], one["refresh_interval"]) == ("A", "5s")
        for name in one["names"]:
            assert COMPOSE[name]["environment"]["TIDEGATE_TELEMETRY__PORT"] == str(one["port"])


def test_each_service_is_missed_by_name() -> None:
    (missing,) = [rule for rule in ALERTS if rule["alert"] == "TidegateTargetMissing"]
    scraped = {host for job in CONFIG["scrape_configs"] for host in hosts(job)} - {"localhost"}
    always = {name for name in scraped if "profiles" not in COMPOSE[name]}

    assert set(re.findall(r'absent\(up\{service="([\w-]+)"\}\)', missing["expr"])) == always
