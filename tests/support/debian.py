"""Install a distribution package that the tests need, without starting or disturbing a service."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["MissingTool", "install"]

POLICY: Final = Path("/usr/sbin/policy-rc.d")


class MissingTool(RuntimeError):
    """A program is not installed and may not be installed from here; the text says how to."""


def install(package: str) -> None:
    """Install ``package`` on Debian or Ubuntu as root; say how elsewhere."""
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise MissingTool(f"{package} is not installed; install it first (Debian, Ubuntu: apt-get install {package})")
    with _alone(), _services_stay_down():
        if _apt("install", package):
            _must(_apt("update"), package)
            _must(_apt("install", package), package)


def _apt(*arguments: str) -> str:
    """Run apt-get; return what it said when it failed, else nothing."""
    done = subprocess.run(
        ["apt-get", "--yes", "--quiet", "--no-install-recommends", "--option=DPkg::Lock::Timeout=300", *arguments],
        env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 else f"apt-get {' '.join(arguments)} failed: {done.stdout[-500:]}{done.stderr}"


def _must(failure: str, package: str) -> None:
    if failure:
        raise MissingTool(f"{package} could not be installed: {failure}")


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time, for they would take each other's policy away."""
    directory = os.open(POLICY.parent, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)


@contextmanager
def _services_stay_down() -> Iterator[None]:
    """Forbid package scripts to start what they install, as policy-rc.d is for."""
    before = POLICY.read_bytes() if POLICY.exists() else None
    POLICY.write_text("#!/bin/sh\nexit 101\n")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        if before is None:
            POLICY.unlink()
        else:
            POLICY.write_bytes(before)
