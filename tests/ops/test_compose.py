"""The Compose files, from their YAML alone, and the rules they keep to, each planted against."""

import copy
import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from services.ingest import main as ingest
from services.normalizer import main as normalizer
from shared.exchanges import EXCHANGES
from shared.settings import load
from shared.telemetry.http import DRAIN_S
from tests.ops.compose_rules import problems, seconds
from tests.support.paths import ROOT

pytestmark = pytest.mark.ops

LIVE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SIMULATED: dict[str, Any] = yaml.safe_load((ROOT / "compose.sim.yml").read_text())
INGESTS = {f"ingest-{exchange}" for exchange in EXCHANGES}
STAGES = {*INGESTS, "normalizer"}
ACCOUNT_STAGES = {"ingest-bybit-main", "normalizer-account"}
"""Started by ``--profile accounts`` only: they need secrets."""


def has_compose() -> bool:
    docker = shutil.which("docker")
    if docker is None:
        return False
    return subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode == 0


def test_the_services_are_those_of_the_market_plane() -> None:
    plain = {name for name, service in LIVE["services"].items() if "profiles" not in service}

    assert plain == STAGES | {"credentials", "rabbitmq", "prometheus", "grafana"}
    assert LIVE["services"].keys() - plain == ACCOUNT_STAGES | {"consumer"}


def test_only_services_of_the_accounts_profile_need_secrets() -> None:
    needs = {name: service["secrets"] for name, service in LIVE["services"].items() if "secrets" in service}

    assert needs == {"ingest-bybit-main": ["bybit-main-key", "bybit-main-secret"]}
    assert {LIVE["services"][name]["profiles"][0] for name in ACCOUNT_STAGES} == {"accounts"}
    assert {one["file"].split("/")[1] for one in LIVE["secrets"].values()} == {"secrets"}
    assert "secrets/" in (ROOT / ".gitignore").read_text().splitlines()


def test_every_service_keeps_to_the_rules() -> None:
    simulator = {"services": {"simulator": SIMULATED["services"]["simulator"]}}

    assert problems(LIVE) == []
    assert problems(simulator) == []


PLANTED: list[tuple[str, str, dict[str, Any]]] = [
    ("normalizer", "there can be only one", {"container_name": "normalizer"}),
    ("normalizer", "only pages for people", {"ports": ["127.0.0.1:9100:9100"]}),
    ("grafana", "beyond the loopback", {"ports": ["3000:3000"]}),
    ("grafana", "beyond the loopback", {"ports": ["0.0.0.0:3000:3000"]}),
    ("rabbitmq", "no memory limit", {"deploy": {}}),
    ("rabbitmq", "unbounded logs", {"logging": {"driver": "json-file"}}),
    ("prometheus", "does not come back", {"restart": "on-failure"}),
    ("prometheus", "no complete health check", {"healthcheck": {"test": ["CMD", "true"], "interval": "5s"}}),
    ("ingest-mexc", "no complete health check", {"healthcheck": {"disable": True}}),
    ("ingest-mexc", "how long it may take to stop", {"stop_grace_period": None}),
    ("ingest-mexc", "no init", {"init": False}),
    ("ingest-mexc", "may write to its image", {"read_only": False}),
    ("ingest-mexc", "keeps capabilities", {"cap_add": ["NET_RAW"]}),
    ("ingest-mexc", "keeps capabilities", {"cap_drop": []}),
    ("ingest-mexc", "may gain privileges", {"security_opt": []}),
    ("ingest-mexc", "is privileged", {"privileged": True}),
    ("rabbitmq", "runs as root", {"user": "0:0"}),
    ("rabbitmq", "runs as root", {"user": ""}),
    ("prometheus", "whatever prom/prometheus is", {"image": "prom/prometheus"}),
    ("prometheus", "whatever prom/prometheus:latest is", {"image": "prom/prometheus:latest"}),
    ("rabbitmq", "RABBITMQ_DEFAULT_PASS is written out", {"environment": {"RABBITMQ_DEFAULT_PASS": "guest"}}),
    ("grafana", "GF_SECURITY_SECRET_KEY is written out", {"environment": {"GF_SECURITY_SECRET_KEY": "abc"}}),
    ("normalizer", "an address with a password", {"environment": {"AMQP_URL": "amqp://guest:guest@rabbitmq/"}}),
]


@pytest.mark.parametrize(("name", "said", "change"), PLANTED, ids=[f"{at}-{one[1]}" for at, one in enumerate(PLANTED)])
def test_each_rule_finds_what_it_is_for(name: str, said: str, change: dict[str, Any]) -> None:
    planted = copy.deepcopy(LIVE)
    service = planted["services"][name]
    service.update(change)
    for key in [key for key, value in change.items() if value is None]:
        del service[key]

    assert [problem for problem in problems(planted) if problem.startswith(f"{name}: ") and said in problem]


def test_a_stage_has_time_to_drain_before_it_is_killed() -> None:
    longest = max(ingest.DRAIN_S, normalizer.DRAIN_S) + DRAIN_S

    assert {name for name in STAGES if seconds(LIVE["services"][name]["stop_grace_period"]) <= longest} == set()


def test_stages_wait_for_a_broker_that_answers_and_for_their_passwords() -> None:
    for name in STAGES:
        needs = LIVE["services"][name]["depends_on"]
        assert needs["rabbitmq"]["condition"] == "service_healthy"
        assert needs["credentials"]["condition"] == "service_completed_successfully"


def test_a_role_sees_its_own_password_and_only_what_makes_them_may_write() -> None:
    mounts = {
        name: [mount for mount in service.get("volumes", []) if mount.startswith("credentials-")]
        for name, service in LIVE["services"].items()
    }
    made = mounts.pop("credentials")
    roles = dict.fromkeys(INGESTS, "ingest") | {
        "normalizer": "normalizer",
        "consumer": "consumer",
        "ingest-bybit-main": "ingest-account",
        "normalizer-account": "normalizer-account",
    }
    seen = {name: [f"credentials-{role}:/var/lib/tidegate/credentials:ro"] for name, role in roles.items()}

    assert {name: found for name, found in mounts.items() if found} == seen | {
        "rabbitmq": ["credentials-broker:/var/lib/tidegate/broker:ro"]
    }
    assert sorted(made) == sorted(
        f"{name}:/var/lib/tidegate/credentials/{name.removeprefix('credentials-')}"
        for name in LIVE["volumes"]
        if name.startswith("credentials-")
    )
    assert LIVE["services"]["credentials"]["network_mode"] == "none"


def test_everything_that_is_mounted_from_the_repository_is_there() -> None:
    mounts = [volume for service in LIVE["services"].values() for volume in service.get("volumes", [])]
    sources = {mount.split(":")[0] for mount in mounts}

    assert [one for one in sources if one.startswith(".") and not (ROOT / one).exists()] == []
    assert {one for one in sources if not one.startswith(".")} == LIVE["volumes"].keys()


def test_nobody_has_to_log_in_to_look_and_nobody_can_log_in_to_change() -> None:
    environment = LIVE["services"]["grafana"]["environment"]

    assert environment["GF_AUTH_ANONYMOUS_ORG_ROLE"] == "Viewer"
    assert environment["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"] == "true"
    assert environment["GF_ANALYTICS_REPORTING_ENABLED"] == "false"


def test_every_ingest_goes_to_the_simulator_and_where_it_listens() -> None:
    simulator = SIMULATED["services"]["simulator"]
    port = simulator["command"][simulator["command"].index("--port") + 1]
    sent = {name: one for name, one in SIMULATED["services"].items() if name != "simulator"}

    assert sent.keys() == INGESTS
    for service in sent.values():
        assert service["environment"] == {"TIDEGATE_SIMULATOR__CONNECT": f"simulator:{port}"}
        assert service["depends_on"] == {"simulator": {"condition": "service_healthy"}}


def test_stages_start_with_the_settings_that_the_files_give_them(monkeypatch: pytest.MonkeyPatch) -> None:
    values = LIVE["services"]["ingest-bybit"]["environment"] | SIMULATED["services"]["ingest-bybit"]["environment"]
    mounted = {"TIDEGATE_CONFIG": str(ROOT / "tidegate.toml")}
    for name, value in (values | mounted).items():
        if name != "AMQP_URL_FILE":
            monkeypatch.setenv(name, value)

    settings = load()

    assert settings.telemetry.host == "0.0.0.0"
    assert settings.simulator.connect == "simulator:9400"


def test_the_example_of_the_environment_is_right_and_holds_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line for line in (ROOT / ".env.example").read_text().splitlines() if line and not line.startswith("#")]
    values = dict(line.split("=", 1) for line in lines)
    ports = dict(re.findall(r"\$\{(\w+_PORT):-(\d+)\}", (ROOT / "docker-compose.yml").read_text()))
    before = load()
    for name, value in values.items():
        monkeypatch.setenv(name, value)

    assert {name: value for name, value in values.items() if name.endswith("_PORT")} == ports
    assert load() == before


@pytest.mark.skipif(not has_compose(), reason="docker compose is not installed")
@pytest.mark.parametrize("files", ["docker-compose.yml", "docker-compose.yml compose.sim.yml"], ids=["live", "sim"])
def test_compose_accepts_the_files(files: str) -> None:
    command = ["docker", "compose", *(f"--file={file}" for file in files.split()), "config", "-q"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
