"""What ``tidegate --help`` says."""

import subprocess
import sys

from services.cli.benching import NAMES
from services.cli.main import COMMANDS
from tests.support.paths import ROOT


def test_it_lists_every_command_and_every_benchmark() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "services.cli", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    words = done.stdout.replace(",", " ").split()
    assert set(COMMANDS) <= set(words)
    assert COMMANDS["bench"].help == f"benchmarks: {', '.join(NAMES)}"
