"""The Kubernetes manifests: valid by their schemas, and of one mind with the Compose file, the image and the code."""

import copy
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from shared.control import StreamInfo
from shared.exchanges import EXCHANGES, adapter
from shared.settings import load, targets
from shared.telemetry.bundle import Telemetry
from shared.telemetry.http import routes
from shared.topology import QueueLimits, raw_queue
from tests.ops.compose_rules import SECRET_VALUE, seconds
from tests.ops.expressions import unknown_labels, unknown_names
from tests.support.paths import ROOT
from tools.manifests import FOLDER, documents, problems

pytestmark = pytest.mark.ops

Json = dict[str, Any]

COMPOSE: Json = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
FOUND: dict[tuple[str, str], Json] = {
    (document["kind"], document.get("metadata", {}).get("name", "")): document for _, document in documents()
}
STAGES = [*(f"ingest-{exchange}" for exchange in EXCHANGES), "normalizer"]
SETTINGS = load(FOLDER / "tidegate.toml")
STREAMS = sum(target.streams for target in targets(SETTINGS))


def deployment(stage: str) -> Json:
    return FOUND["Deployment", stage]


def pod(stage: str) -> Json:
    spec: Json = deployment(stage)["spec"]["template"]["spec"]
    return spec


def container(stage: str) -> Json:
    (only,) = pod(stage)["containers"]
    return dict(only)


def test_every_document_keeps_to_its_schema() -> None:
    assert [(file, problem) for file, document in documents() for problem in problems(document)] == []
    assert len(FOUND) == sum(1 for _ in documents())


PLANTED: list[tuple[tuple[str, str], str, Any, str]] = [
    (("Deployment", "normalizer"), "spec.replica", 3, "replica"),
    (("Deployment", "normalizer"), "spec.strategy.rollingUpdate.maxSurge", [1], "maxSurge"),
    (("Deployment", "ingest-bybit"), "spec.replicas", "1", "replicas"),
    (("Deployment", "ingest-bybit"), "spec.selector", None, "selector"),
    (("Deployment", "ingest-mexc"), "spec.template.spec.containers.0.readinessProbe.httpGet.port", None, "port"),
    (("Deployment", "ingest-mexc"), "apiVersion", "extensions/v1beta1", "no schema"),
    (("Deployment", "ingest-mexc"), "spec.template.spec.containers.0.environment", [], "environment"),
    (("PodDisruptionBudget", "normalizer"), "spec.leastAvailable", 1, "leastAvailable"),
    (("NetworkPolicy", "stages"), "spec.egress.0.ports.0.port", {"number": 1}, "port"),
    (("Namespace", "tidegate"), "metadata.labels", ["restricted"], "labels"),
    (("ScaledObject", "normalizer"), "spec.maxReplicas", 8, "maxReplicas"),
    (("ScaledObject", "normalizer"), "spec.triggers.0.metadata.threshold", 5, "threshold"),
    (("ScaledObject", "normalizer"), "spec.triggers.1.metadata.query", None, "query"),
    (("ScaledObject", "normalizer"), "spec.triggers.2.metadata.protocol", "amqp", "protocol"),
    (("ScaledObject", "normalizer"), "spec.triggers.2.authenticationRef", None, "authenticationRef"),
    (("TriggerAuthentication", "broker-management"), "spec.secretTargetRef.0.key", None, "key"),
    (("RabbitmqCluster", "rabbitmq"), "spec.replicas", 2, "replicas"),
    (("RabbitmqCluster", "rabbitmq"), "spec.rabbitmq.config", "a = b", "config"),
    (("PodMonitor", "tidegate"), "spec.podMetricsEndpoints.0.interval", "5 s", "interval"),
    (("ServiceMonitor", "rabbitmq"), "spec.endpoints", [], "endpoints"),
    (("Kustomization", ""), "resource", [], "resource"),
]


def planted(document: Json, path: str, value: Any) -> Json:
    """The document with another value at a path, or without what is there for None."""
    changed: Json = copy.deepcopy(document)
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = changed
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return changed


@pytest.mark.parametrize(("key", "path", "value", "word"), PLANTED, ids=[f"{each[0][0]}-{each[1]}" for each in PLANTED])
def test_a_planted_mistake_is_found(key: tuple[str, str], path: str, value: Any, word: str) -> None:
    found = problems(planted(FOUND[key], path, value))
    assert found
    assert any(key[0] in problem and word in problem for problem in found), found


def test_the_kustomization_has_every_file() -> None:
    kustomization = FOUND["Kustomization", ""]
    others = {path.name for path in FOLDER.iterdir()} - {"kustomization.yaml"}
    assert {*kustomization["resources"], *kustomization["configMapGenerator"][0]["files"]} == others


def test_there_is_a_stage_for_every_exchange_and_none_besides() -> None:
    assert {name for kind, name in FOUND if kind == "Deployment"} == set(STAGES)


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_what_compose_starts(stage: str) -> None:
    service, found = COMPOSE[stage], container(stage)
    assert found["args"] == service["command"]
    assert found["image"] == service["image"]
    assert {one["name"]: one["value"] for one in found["env"]} == service["environment"]
    assert found["ports"] == [
        {"name": "metrics", "containerPort": int(service["environment"]["TIDEGATE_TELEMETRY__PORT"])}
    ]
    assert pod(stage)["terminationGracePeriodSeconds"] >= seconds(service["stop_grace_period"])
    limit, allowed = (int(re.match(r"\d+", one)[0]) for one in memory(stage))  # type: ignore[index]  # both begin with digits
    assert limit >= allowed


def memory(stage: str) -> tuple[str, str]:
    return (
        container(stage)["resources"]["limits"]["memory"],
        COMPOSE[stage]["deploy"]["resources"]["limits"]["memory"],
    )


@pytest.mark.parametrize("stage", STAGES)
def test_the_files_that_a_stage_reads_are_mounted(stage: str) -> None:
    environment = {one["name"]: one["value"] for one in container(stage)["env"]}
    mounts = {one["mountPath"]: one for one in container(stage)["volumeMounts"]}
    volumes = {one["name"]: one for one in pod(stage)["volumes"]}
    folder, _, file = environment["AMQP_URL_FILE"].rpartition("/")
    secret = volumes[mounts[folder]["name"]]["secret"]
    assert [item["path"] for item in secret["items"]] == [file]
    assert secret["secretName"] == f"tidegate-{stage.partition('-')[0]}"
    settings = mounts[environment["TIDEGATE_CONFIG"]]
    assert settings["subPath"] == "tidegate.toml"
    generator = FOUND["Kustomization", ""]["configMapGenerator"][0]["name"]
    assert volumes[settings["name"]]["configMap"]["name"] == generator


@pytest.mark.parametrize("stage", STAGES)
def test_probes_ask_for_what_is_served(stage: str) -> None:
    telemetry = Telemetry()
    served = {path for path, _ in routes(telemetry.registry, telemetry.health)}
    found = container(stage)
    probes = {name: found[name]["httpGet"] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
    assert {probe["path"] for probe in probes.values()} <= served
    assert {probe["port"] for probe in probes.values()} == {"metrics"}
    assert probes["readinessProbe"]["path"] == "/readyz"
    assert probes["livenessProbe"]["path"] == "/livez"


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_may_do_nothing_that_it_does_not_need(stage: str) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    user = re.search(r"^USER (\d+):(\d+)$", dockerfile, re.MULTILINE)
    assert user
    security = pod(stage)["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"]) == (int(user[1]), int(user[2]))
    assert security["runAsNonRoot"]
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    own = container(stage)["securityContext"]
    assert own == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not pod(stage)["automountServiceAccountToken"]


def test_an_exchange_has_one_ingest_at_a_time() -> None:
    for stage in STAGES[:-1]:
        spec = deployment(stage)["spec"]
        assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})


def test_normalizers_are_scaled_within_the_streams() -> None:
    spec = FOUND["ScaledObject", "normalizer"]["spec"]
    assert spec["scaleTargetRef"]["name"] == "normalizer"
    assert "replicas" not in deployment("normalizer")["spec"]
    assert 2 <= spec["minReplicaCount"] <= spec["maxReplicaCount"] <= STREAMS


def test_the_settings_hold_every_exchange_with_all_its_products() -> None:
    assert {target.exchange for target in targets(SETTINGS)} == set(EXCHANGES)
    for exchange in EXCHANGES:
        products = {target.product for target in targets(SETTINGS, exchange)}
        assert products == set(adapter(exchange).products)


def triggers(kind: str) -> Iterator[Json]:
    for trigger in FOUND["ScaledObject", "normalizer"]["spec"]["triggers"]:
        if trigger["type"] == kind:
            yield trigger["metadata"]


def test_what_is_scaled_by_is_measured() -> None:
    queries = [metadata["query"] for metadata in triggers("prometheus")]
    assert len(queries) == 2
    for query in queries:
        assert (unknown_names(query, ()), list(unknown_labels(query))) == ([], [])


def test_the_backlog_is_that_of_the_raw_market_queues() -> None:
    (metadata,) = triggers("rabbitmq")
    pattern = re.compile(metadata["queueName"])
    market = raw_queue(StreamInfo("bybit", "linear", "market", "bybit.linear.0"), QueueLimits())
    account = raw_queue(StreamInfo("bybit", "linear", "account", "bybit.main"), QueueLimits())
    assert pattern.search(market.name)
    assert not pattern.search(account.name)
    assert not pattern.search("quarantine.market")


def test_no_secret_is_written_out() -> None:
    assert [key for key in FOUND if key[0] == "Secret"] == []
    texts = [path.read_text() for path in FOLDER.iterdir()]
    assert [text for text in texts if SECRET_VALUE.search(text)] == []


def test_the_broker_is_compose_s() -> None:
    cluster = FOUND["RabbitmqCluster", "rabbitmq"]
    assert cluster["metadata"]["name"] == "rabbitmq"  # the host in the addresses that first_start.py makes
    assert cluster["spec"]["image"] == COMPOSE["rabbitmq"]["image"]
    config = cluster["spec"]["rabbitmq"]["additionalConfig"]
    (mount,) = cluster["spec"]["override"]["statefulSet"]["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert f"load_definitions = {mount['mountPath']}/definitions.json" in config
    assert "queue_leader_locator = balanced" in config


def allowed_ports(policy: str) -> set[int | str]:
    rules = FOUND["NetworkPolicy", policy]["spec"]["egress"]
    return {port["port"] for rule in rules for port in rule["ports"]}


def test_every_venue_can_be_reached() -> None:
    wanted = set()
    for exchange in EXCHANGES:
        for endpoints in adapter(exchange).products.values():
            wanted |= {urlsplit(url).port or 443 for url in (endpoints.websocket, endpoints.rest)}
    assert allowed_ports("venues") == wanted
    assert allowed_ports("stages") == {5672}


def test_the_labels_are_those_that_rules_go_by() -> None:
    """``job`` and ``service`` in grafana/prometheus come from Compose's names, here from the pods' labels."""
    (endpoint,) = FOUND["PodMonitor", "tidegate"]["spec"]["podMetricsEndpoints"]
    assert FOUND["PodMonitor", "tidegate"]["spec"]["jobLabel"] == "app.kubernetes.io/component"
    (relabeling,) = endpoint["relabelings"]
    assert relabeling["targetLabel"] == "service"
    assert relabeling["sourceLabels"] == ["__meta_kubernetes_pod_label_app_kubernetes_io_instance"]
    for stage in STAGES:
        labels = deployment(stage)["spec"]["template"]["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == stage
        assert labels["app.kubernetes.io/component"] == stage.partition("-")[0]
        selector = FOUND["PodMonitor", "tidegate"]["spec"]["selector"]["matchLabels"]
        assert selector.items() <= labels.items()
