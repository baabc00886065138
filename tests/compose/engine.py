"""A container engine: the one that is there, else one from the laboratory beside the repository."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.paths import ROOT, SHARED

__all__ = ["NoEngine", "base_images", "docker", "engine", "missing_images"]

LABORATORY: Final = SHARED / "compose-lab/lab"
"""Makes an engine and stand-ins for base images where no image registry can be reached."""


class NoEngine(RuntimeError):
    """There is no engine and none can be had; the text says why."""


def docker(*arguments: str) -> str:
    """Standard output of a docker command; raises RuntimeError with everything it said when it fails."""
    done = subprocess.run(["docker", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"docker {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


@contextmanager
def engine() -> Iterator[None]:
    """An engine with Compose, stopped afterwards if it was started here; raises NoEngine."""
    if _answers():
        yield
        return
    _laboratory("up")
    try:
        yield
    finally:
        _laboratory("down")


def missing_images(wanted: set[str]) -> set[str]:
    """Get these images; return those that can't be had."""
    return {image for image in wanted if not (_present(image) or _pulled(image) or _stood_in(image))}


def base_images() -> set[str]:
    """What the Dockerfile builds on."""
    return set(re.findall(r"^FROM (\S+:\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE))


def _answers() -> bool:
    if shutil.which("docker") is None:
        return False
    try:
        docker("info")
        docker("compose", "version")
    except RuntimeError:
        return False
    return True


def _laboratory(*arguments: str) -> None:
    if not LABORATORY.is_file():
        raise NoEngine(f"no Docker engine with Compose answers, and {_beside(LABORATORY)} is not here to make one")
    if os.geteuid() != 0:
        raise NoEngine("no Docker engine with Compose answers, and making one takes root")
    done = subprocess.run([LABORATORY, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoEngine(f"{_beside(LABORATORY)} {' '.join(arguments)} failed: {done.stdout}{done.stderr}")


def _beside(path: Path) -> str:
    return f"../shared/{path.relative_to(SHARED)}"


def _present(image: str) -> bool:
    try:
        docker("image", "inspect", image)
    except RuntimeError:
        return False
    return True


def _pulled(image: str) -> bool:
    try:
        docker("pull", "--quiet", image)
    except RuntimeError:
        return False
    return True


def _stood_in(image: str) -> bool:
    try:
        _laboratory("image", image)
    except NoEngine:
        return False
    return _present(image)
