"""The command line in processes of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping

from tests.support.paths import ROOT

__all__ = ["command", "environment", "finished"]


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "services.cli", *arguments]


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's, without what would reach a broker or settings that happen to be around."""
    return {name: value for name, value in os.environ.items() if name != "AMQP_URL"} | dict(more or {})


def finished(
    *arguments: str, data: bytes = b"", more: Mapping[str, str] | None = None, within: float = 60.0
) -> subprocess.CompletedProcess[bytes]:
    """Run to the end."""
    return subprocess.run(
        command(*arguments),
        input=data,
        capture_output=True,
        cwd=ROOT,
        env=environment(more),
        timeout=within,
        check=False,
    )
