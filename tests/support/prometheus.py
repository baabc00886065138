"""Prometheus' own tools for the tests of its configuration."""

import shutil
from pathlib import Path

from tests.support.debian import install

__all__ = ["ensure_prometheus"]


def ensure_prometheus() -> tuple[Path, Path]:
    """Return the paths of ``prometheus`` and ``promtool``, installing the distribution's package if need be."""
    if shutil.which("promtool") is None or shutil.which("prometheus") is None:
        install("prometheus")
    return Path(shutil.which("prometheus") or "prometheus"), Path(shutil.which("promtool") or "promtool")
