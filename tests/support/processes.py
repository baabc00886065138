"""Tidegate's own processes, as a user starts them."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import json

from services.cli.local_rabbit import free_ports
from tests.support.eventually import eventually_sync
from tests.support.paths import ROOT

__all__ = ["Stage", "counter", "fetch_json", "post_json"]


class Stage:
    """One ``tidegate`` process with its log and, where it has one, its HTTP port."""

    def __init__(self, *arguments: str, environment: Mapping[str, str] | None = None, port: int | None = None) -> None:
        self.name = " ".join(arguments)
        self.port = port or free_ports(1)[0]
        with tempfile.NamedTemporaryFile("wb", prefix="tidegate-stage-", suffix=".log", delete=False) as log:
            self.log_path = Path(log.name)
            values = {
                **os.environ,
                "TIDEGATE_TELEMETRY__PORT": str(self.port),
                "PYTHONUNBUFFERED": "1",
                **(environment or {}),
            }
            command = [sys.executable, "-m", "services.cli", *arguments]
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=values, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self.process.poll() is None

    def log(self) -> str:
        """What it wrote so far."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def wait_ready(self, within: float = 60.0) -> None:
        """Until ``/readyz`` says so; fails with the log when the process ended."""

        def ready() -> bool:
            if not self.running:
                raise RuntimeError(f"{self.name} ended with {self.process.returncode}:\n{self.log()[-4000:]}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2) as reply:
                    return bool(reply.status == 200)
            except (urllib.error.URLError, OSError):
                return False

        eventually_sync(ready, f"{self.name} is ready", within=within)

    def metrics(self) -> str:
        """Its ``/metrics`` as text."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=60) as reply:
            return bytes(reply.read()).decode()

    def terminate(self, within: float = 60.0) -> int:
        """SIGTERM; its exit status."""
        if self.running:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=within)

    def close(self) -> None:
        """End it however it is, and remove its log."""
        if self.running:
            self.process.kill()
        self.process.wait(timeout=60)
        self.log_path.unlink(missing_ok=True)


def counter(text: str, name: str, **labels: str) -> int:
    """The sum of a metric's samples that have these labels."""
    total = 0.0
    for line in text.splitlines():
        found = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line)
        if found is None or found[1] != name:
            continue
        have = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or ""))
        if all(have.get(key) == value for key, value in labels.items()):
            total += float(found[3])
    return int(total)


def fetch_json(url: str) -> Any:
    """GET as JSON."""
    with urllib.request.urlopen(url, timeout=60) as reply:
        return json.decode(reply.read())


def post_json(url: str, body: object) -> Any:
    """POST JSON, answer as JSON."""
    request = urllib.request.Request(url, data=json.encode(body), headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.decode(reply.read())
