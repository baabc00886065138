"""JSON Schemas of the custom resources in ``deploy/kubernetes``: the fields that are used, and no others.

Sources: the CRDs of KEDA 2.17 (``keda.sh_scaledobjects``, ``keda.sh_triggerauthentications``), the RabbitMQ cluster
operator 2.x (``rabbitmq.com_rabbitmqclusters``), the Prometheus operator (``podmonitors``, ``servicemonitors``), and
kustomize's ``kustomization`` v1beta1; of the triggers, KEDA's pages of the prometheus and rabbitmq scalers.
"""

from typing import Any, Final

__all__ = ["SCHEMAS"]

Json = dict[str, Any]

TEXT: Final[Json] = {"type": "string", "minLength": 1}
DURATION: Final[Json] = {"type": "string", "pattern": r"^(0|([0-9]+(ms|[smhd]))+)$"}
QUANTITY: Final[Json] = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?(m|[kMGT]i?)?$"}
NUMBER_TEXT: Final[Json] = {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}
TRUTH_TEXT: Final[Json] = {"enum": ["true", "false"]}
PORT_NAME: Final[Json] = {"type": "string", "pattern": r"^[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$"}


def thing(required: str, /, **properties: Json) -> Json:
    """An object with these properties only; the names in ``required`` must be there."""
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def several(item: Json) -> Json:
    """A list of at least one."""
    return {"type": "array", "items": item, "minItems": 1}


def resource(spec: Json) -> Json:
    """A resource with a name of its own."""
    return thing(
        "apiVersion kind metadata spec", apiVersion=TEXT, kind=TEXT, metadata=thing("name", name=TEXT), spec=spec
    )


def whole(minimum: int) -> Json:
    """An integer."""
    return {"type": "integer", "minimum": minimum}


TEXTS: Final[Json] = {"type": "object", "additionalProperties": TEXT}
SELECTOR: Final[Json] = thing("matchLabels", matchLabels=TEXTS)
RESOURCES: Final[Json] = thing("", cpu=QUANTITY, memory=QUANTITY)

VOLUME: Final[Json] = thing(
    "name secret",
    name=TEXT,
    secret=thing("secretName", secretName=TEXT, items=several(thing("key path", key=TEXT, path=TEXT))),
)
MOUNT: Final[Json] = thing("name mountPath", name=TEXT, mountPath=TEXT, readOnly={"type": "boolean"})
POD: Final[Json] = thing(
    "", containers=several(thing("name", name=TEXT, volumeMounts=several(MOUNT))), volumes=several(VOLUME)
)

RABBITMQ_CLUSTER: Final = resource(
    thing(
        "replicas",
        # Quorum queues want a majority.
        replicas={"enum": [1, 3, 5, 7]},
        image=TEXT,
        resources=thing("", requests=RESOURCES, limits=RESOURCES),
        persistence=thing("", storage=QUANTITY, storageClassName=TEXT),
        terminationGracePeriodSeconds=whole(0),
        affinity=thing(
            "",
            podAntiAffinity=thing(
                "",
                requiredDuringSchedulingIgnoredDuringExecution=several(
                    thing("topologyKey", topologyKey=TEXT, labelSelector=SELECTOR)
                ),
            ),
        ),
        rabbitmq=thing("", additionalConfig=TEXT, additionalPlugins=several(TEXT)),
        override=thing("", statefulSet=thing("spec", spec=thing("template", template=thing("spec", spec=POD)))),
    )
)

PROMETHEUS_TRIGGER: Final = thing(
    "type metadata",
    type={"const": "prometheus"},
    name=TEXT,
    metricType={"enum": ["AverageValue", "Value"]},
    metadata=thing(
        "serverAddress query threshold",
        serverAddress={"type": "string", "pattern": "^https?://"},
        query=TEXT,
        threshold=NUMBER_TEXT,
        activationThreshold=NUMBER_TEXT,
    ),
)
RABBITMQ_TRIGGER: Final = thing(
    "type metadata authenticationRef",
    type={"const": "rabbitmq"},
    name=TEXT,
    metricType={"enum": ["AverageValue", "Value"]},
    metadata=thing(
        "queueName mode value",
        # Patterns of queues, and messages that are not acknowledged, are the management API's alone.
        protocol={"const": "http"},
        mode={"enum": ["QueueLength", "MessageRate"]},
        queueName=TEXT,
        useRegex=TRUTH_TEXT,
        operation={"enum": ["sum", "max", "avg"]},
        excludeUnacknowledged=TRUTH_TEXT,
        value=NUMBER_TEXT,
    ),
    authenticationRef=thing("name", name=TEXT),
)
TRIGGER: Final[Json] = {
    "if": {"properties": {"type": {"const": "rabbitmq"}}},
    "then": RABBITMQ_TRIGGER,
    "else": PROMETHEUS_TRIGGER,
}
POLICIES: Final = thing(
    "policies",
    stabilizationWindowSeconds={"type": "integer", "minimum": 0, "maximum": 3600},
    policies=several(
        thing(
            "type value periodSeconds",
            type={"enum": ["Pods", "Percent"]},
            value=whole(1),
            periodSeconds={"type": "integer", "minimum": 1, "maximum": 1800},
        )
    ),
)
SCALED_OBJECT: Final = resource(
    thing(
        "scaleTargetRef triggers",
        scaleTargetRef=thing("name", apiVersion=TEXT, kind=TEXT, name=TEXT),
        pollingInterval=whole(1),
        minReplicaCount=whole(0),
        maxReplicaCount=whole(1),
        advanced=thing(
            "",
            horizontalPodAutoscalerConfig=thing("", behavior=thing("", scaleUp=POLICIES, scaleDown=POLICIES)),
        ),
        triggers=several(TRIGGER),
    )
)
TRIGGER_AUTHENTICATION: Final = resource(
    thing("secretTargetRef", secretTargetRef=several(thing("parameter name key", parameter=TEXT, name=TEXT, key=TEXT)))
)

ENDPOINT: Final = thing(
    "port",
    port=PORT_NAME,
    path={"type": "string", "pattern": "^/"},
    params={"type": "object", "additionalProperties": several(TEXT)},
    interval=DURATION,
    scrapeTimeout=DURATION,
    relabelings=several(thing("targetLabel", sourceLabels=several(TEXT), targetLabel=TEXT, replacement=TEXT)),
)
POD_MONITOR: Final = resource(
    thing("selector podMetricsEndpoints", jobLabel=TEXT, selector=SELECTOR, podMetricsEndpoints=several(ENDPOINT))
)
SERVICE_MONITOR: Final = resource(
    thing("selector endpoints", jobLabel=TEXT, selector=SELECTOR, endpoints=several(ENDPOINT))
)

KUSTOMIZATION: Final = thing(
    "apiVersion kind resources",
    apiVersion=TEXT,
    kind=TEXT,
    namespace=TEXT,
    resources=several(TEXT),
    configMapGenerator=several(thing("name files", name=TEXT, files=several(TEXT))),
    images=several(thing("name", name=TEXT, newName=TEXT, newTag=TEXT)),
)

SCHEMAS: Final[dict[tuple[str, str], Json]] = {
    ("rabbitmq.com/v1beta1", "RabbitmqCluster"): RABBITMQ_CLUSTER,
    ("keda.sh/v1alpha1", "ScaledObject"): SCALED_OBJECT,
    ("keda.sh/v1alpha1", "TriggerAuthentication"): TRIGGER_AUTHENTICATION,
    ("monitoring.coreos.com/v1", "PodMonitor"): POD_MONITOR,
    ("monitoring.coreos.com/v1", "ServiceMonitor"): SERVICE_MONITOR,
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"): KUSTOMIZATION,
}
"""By apiVersion and kind."""
