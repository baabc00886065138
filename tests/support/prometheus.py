"""Prometheus' own tools for the tests: promtool, and a server that scrapes with the repository's configuration."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from urllib.error import URLError
from urllib.parse import urlencode

import yaml
from msgspec import json

from services.cli.local_rabbit import free_ports
from tests.support.debian import install
from tests.support.eventually import eventually_sync
from tests.support.paths import ROOT
from tests.support.processes import fetch_json

__all__ = ["PrometheusServer", "Target", "ensure_prometheus"]

CONFIGURATION: Final = ROOT / "grafana/prometheus"


def ensure_prometheus() -> tuple[Path, Path]:
    """Return the paths of ``prometheus`` and ``promtool``, installing the distribution's package if need be."""
    if shutil.which("promtool") is None or shutil.which("prometheus") is None:
        install("prometheus")
    return Path(shutil.which("prometheus") or "prometheus"), Path(shutil.which("promtool") or "promtool")


class Target(NamedTuple):
    """One address, and the service that a name would have led to it."""

    service: str
    address: str


class PrometheusServer:
    """A Prometheus of its own on 127.0.0.1, with the repository's configuration and rules.

    What the configuration would find by name it finds in files, which :meth:`scrape` writes; it scrapes itself, too.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{port}"
        file = directory / "prometheus.yml"
        file.write_text(yaml.safe_dump(_configuration(directory)), encoding="utf-8")
        for job in ("account", "ingest", "normalizer", "rabbitmq", "rabbitmq-queues"):
            self.scrape(job, [])
        self.scrape("prometheus", [Target("prometheus", f"127.0.0.1:{port}")])
        self._command = [
            str(ensure_prometheus()[0]),
            f"--config.file={file}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        self._log = directory / "prometheus.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            eventually_sync(self._ready, "Prometheus is ready", within=60, interval=0.1)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=60)

    def scrape(self, job: str, targets: Sequence[Target]) -> None:
        """From now on a job has these targets and no others."""
        groups = [{"targets": [one.address], "labels": {"service": one.service}} for one in targets]
        unfinished = self._directory / f"{job}.unfinished"
        unfinished.write_bytes(json.encode(groups))
        unfinished.replace(self._directory / f"{job}.json")

    def query(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """Result of an instant query, at a Unix time or now."""
        return self._ask("query", {"query": expression} | ({} if at is None else {"time": at}))

    def query_range(self, expression: str, start: float, end: float, step: float = 5.0) -> list[dict[str, Any]]:
        """Result of a range query between two Unix times."""
        return self._ask("query_range", {"query": expression, "start": start, "end": end, "step": step})

    def healths(self) -> dict[tuple[str, str], list[str]]:
        """Health of every target, by job and service."""
        found: dict[tuple[str, str], list[str]] = {}
        for one in fetch_json(f"{self.url}/api/v1/targets?state=active")["data"]["activeTargets"]:
            found.setdefault((one["labels"]["job"], one["labels"]["service"]), []).append(one["health"])
        return found

    def rules(self) -> dict[str, dict[str, Any]]:
        """Every rule as Prometheus last evaluated it, by name."""
        groups = fetch_json(f"{self.url}/api/v1/rules")["data"]["groups"]
        return {rule["name"]: rule for group in groups for rule in group["rules"]}

    def _ask(self, what: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
        answer = fetch_json(f"{self.url}/api/v1/{what}?{urlencode(parameters)}")
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def _ready(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            raise RuntimeError(f"Prometheus ended with {self._process.returncode}:\n{self._log.read_text()[-4000:]}")
        try:
            return bool(fetch_json(f"{self.url}/api/v1/status/runtimeinfo")["status"] == "success")
        except (URLError, OSError):
            return False


def _configuration(directory: Path) -> dict[str, Any]:
    """The repository's, with a file of addresses for each job."""
    config: dict[str, Any] = yaml.safe_load((CONFIGURATION / "prometheus.yml").read_text(encoding="utf-8"))
    config["rule_files"] = [str(CONFIGURATION / file) for file in config["rule_files"]]
    for job in config["scrape_configs"]:
        for found_by_name in ("dns_sd_configs", "relabel_configs", "static_configs"):
            job.pop(found_by_name, None)
        job["file_sd_configs"] = [{"files": [str(directory / f"{job['job_name']}.json")]}]
    return config
