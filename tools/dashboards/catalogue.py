"""Every dashboard, and the file that Grafana reads it from."""

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import json

from tools.dashboards.accounts import ACCOUNTS
from tools.dashboards.burst import BURST
from tools.dashboards.ingest import INGEST
from tools.dashboards.normalizers import NORMALIZERS
from tools.dashboards.overview import OVERVIEW
from tools.dashboards.page import Dashboard
from tools.dashboards.runtime import RUNTIME

__all__ = ["DASHBOARDS", "documents"]

DASHBOARDS: Final = (OVERVIEW, INGEST, NORMALIZERS, ACCOUNTS, RUNTIME, BURST)
DIRECTORY: Final = "grafana/dashboards/Tidegate"


def documents() -> dict[str, Callable[[], str]]:
    """What makes each file, by its path in the repository."""
    return {f"{DIRECTORY}/{one.name}.json": partial(_rendered, one) for one in DASHBOARDS}


def _rendered(dashboard: Dashboard) -> str:
    return json.format(json.encode(dashboard.json()), indent=2).decode() + "\n"
