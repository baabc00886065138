"""The containers of the Compose files on the simulated venues, as a user starts them."""

import json
import os
from typing import Any, Final
from urllib.parse import quote

from services.cli.local_rabbit import free_ports
from tests.compose.engine import docker
from tests.support.eventually import eventually_sync
from tests.support.processes import fetch_json

__all__ = ["Stack"]

READY_S: Final = 240


class Stack:
    """One project of its own, so that one that runs already is left alone; its pages are on free ports."""

    def __init__(self) -> None:
        ports = free_ports(3)
        self.rabbitmq, self.prometheus, grafana = (f"http://127.0.0.1:{port}" for port in ports)
        names = ("RABBITMQ_UI_PORT", "PROMETHEUS_PORT", "GRAFANA_PORT")
        os.environ |= {name: str(port) for name, port in zip(names, ports, strict=True)}
        self.grafana = grafana
        self.project = f"tidegate-test-{os.getpid()}"
        self.services: list[str] = self.compose("config", "--services").split()

    def compose(self, *arguments: str) -> str:
        """Standard output of a docker compose command."""
        files = ("-f", "docker-compose.yml", "-f", "compose.sim.yml")
        return docker("compose", "--project-name", self.project, *files, *arguments)

    def images(self) -> dict[str, str]:
        """Image by service."""
        config = json.loads(self.compose("config", "--format", "json"))
        return {name: service["image"] for name, service in config["services"].items()}

    def up(self, *options: str) -> None:
        """Start what is not running and wait until it is healthy."""
        self.compose("up", "--detach", "--wait", "--wait-timeout", str(READY_S), *options, *self.services)

    def containers(self, service: str) -> list[dict[str, Any]]:
        """What the engine knows about a service's containers."""
        identifiers = self.compose("ps", "--all", "--quiet", service).split()
        inspected: list[dict[str, Any]] = json.loads(docker("inspect", *identifiers)) if identifiers else []
        return inspected

    def health(self) -> dict[str, str]:
        """Of every service that stays: ``healthy`` when all its containers are, else what is different."""
        states: dict[str, str] = {}
        for service in self.staying():
            found = {one["State"].get("Health", {}).get("Status", "none") for one in self.containers(service)}
            states[service] = found.pop() if len(found) == 1 else f"{sorted(found)}"
        return states

    def staying(self) -> list[str]:
        """Services that do not end by themselves."""
        return [name for name in self.services if name != "credentials"]

    def wait_healthy(self) -> None:
        """Until every service is."""

        def healthy() -> bool:
            assert {name: state for name, state in self.health().items() if state != "healthy"} == {}
            return True

        eventually_sync(healthy, "every service is healthy", within=READY_S, interval=1.0)

    def tap(self, pattern: str, count: int) -> list[dict[str, Any]]:
        """So many canonical messages, as somebody gets them who may read market data and nothing else."""
        lines = self.compose("run", "--rm", "-T", "consumer", "tap", pattern, "--json", "--count", str(count))
        return [json.loads(line) for line in lines.splitlines()]

    def query(self, expression: str) -> dict[tuple[str, ...], float]:
        """A PromQL answer: value by the values of the labels, sorted by the labels' names."""
        answer = fetch_json(f"{self.prometheus}/api/v1/query?query={quote(expression)}")
        return {
            tuple(value for _, value in sorted(one["metric"].items()) if _ != "__name__"): float(one["value"][1])
            for one in answer["data"]["result"]
        }

    def close(self) -> None:
        """Remove everything."""
        self.compose("down", "--volumes", "--timeout", "10")
