"""What every service of a Compose file keeps to; each rule gives what is wrong in words, from the YAML alone."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["problems", "seconds"]

Json = dict[str, Any]

PAGES: Final = {"rabbitmq", "prometheus", "grafana"}
"""The services with a page for people; nothing else is reached from the host."""

OWN_IMAGE: Final = "tidegate:local"
"""Its Dockerfile names the user, which a test of the Dockerfile looks after."""

SECRET_NAME: Final = re.compile(r"PASS|SECRET|TOKEN|COOKIE|CREDENTIAL|_KEY\b", re.IGNORECASE)
SECRET_VALUE: Final = re.compile(r"://[^/\s:@]+:[^/\s@]+@")


def problems(compose: Json) -> list[str]:
    """Everything that is wrong with the services of a file."""
    return [
        f"{name}: {problem}"
        for name, service in compose["services"].items()
        for rule in RULES
        for problem in rule(name, service)
    ]


def seconds(text: str) -> float:
    """A duration as Compose writes it: ``1m30s``."""
    units = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", text))


def _once(service: Json) -> bool:
    """Whether the service does its work and ends."""
    return service.get("restart") == "no"


def _scalable(name: str, service: Json) -> Iterator[str]:
    if "container_name" in service:
        yield "has a container name, so that there can be only one"
    for port in service.get("ports", []):
        if name not in PAGES:
            yield f"publishes {port}; only pages for people are reached from the host"
        elif not re.fullmatch(r"127\.0\.0\.1:[^:]+(:-\d+\})?:\d+", str(port)):
            yield f"publishes {port} beyond the loopback address"


def _bounded(_name: str, service: Json) -> Iterator[str]:
    if not service.get("deploy", {}).get("resources", {}).get("limits", {}).get("memory"):
        yield "has no memory limit"
    logging = service.get("logging", {})
    if logging.get("driver") != "json-file" or not {"max-size", "max-file"} <= logging.get("options", {}).keys():
        yield "has unbounded logs"


def _lives(_name: str, service: Json) -> Iterator[str]:
    if _once(service):
        return
    if service.get("restart") != "unless-stopped":
        yield "does not come back by itself"
    check = service.get("healthcheck", {})
    if not check.get("test") or not {"interval", "timeout", "retries", "start_period"} <= check.keys():
        yield "has no complete health check"
    if "stop_grace_period" not in service:
        yield "is not told how long it may take to stop"


def _confined(_name: str, service: Json) -> Iterator[str]:
    if service.get("init") is not True:
        yield "has no init to reap and to pass signals on"
    if service.get("read_only") is not True:
        yield "may write to its image"
    if service.get("cap_drop") != ["ALL"] or service.get("cap_add"):
        yield "keeps capabilities"
    if "no-new-privileges:true" not in service.get("security_opt", []):
        yield "may gain privileges"
    if service.get("privileged"):
        yield "is privileged"
    user = str(service.get("user", ""))
    if user.partition(":")[0] in {"0", "root"} or (not user and service.get("image") != OWN_IMAGE):
        yield "runs as root"


def _pinned(_name: str, service: Json) -> Iterator[str]:
    image = service.get("image", "")
    if not re.search(r":[\w.-]+$", image) or image.endswith(":latest"):
        yield f"takes whatever {image or 'image'} is at the moment"


def _secretless(_name: str, service: Json) -> Iterator[str]:
    environment = service.get("environment") or {}
    for variable, value in environment.items():
        literal = bool(value) and not str(value).startswith(("/", "${"))
        if SECRET_NAME.search(variable) and literal and str(value).lower() not in {"true", "false"}:
            yield f"{variable} is written out"
    texts = [*map(str, environment.values()), *map(str, service.get("command") or [])]
    yield from ("an address with a password is written out" for text in texts if SECRET_VALUE.search(text))


RULES: Final[list[Callable[[str, Json], Iterator[str]]]] = [
    _scalable,
    _bounded,
    _lives,
    _confined,
    _pinned,
    _secretless,
]
