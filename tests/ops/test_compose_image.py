"""The image, from its Dockerfile alone, and what its build is given."""

import fnmatch
import re

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.ops

TEXT = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
LINES = [line for line in TEXT.splitlines() if line and not line.startswith("#")]
STAGES = re.split(r"^FROM ", TEXT, flags=re.MULTILINE)[1:]


def instructions(word: str) -> list[str]:
    return [line.removeprefix(word).strip() for line in LINES if line.startswith(f"{word} ")]


def test_what_builds_is_not_what_is_shipped() -> None:
    builder, shipped = STAGES

    assert " AS builder" in builder
    assert "pip install" not in shipped
    assert "COPY --from=builder" in shipped
    assert [line for line in instructions("FROM") if not re.match(r"[\w./-]+:[\w.-]+", line)] == []


def test_dependencies_are_those_of_the_lock() -> None:
    installs = [part for line in instructions("RUN") for part in line.split("&&") if "pip install" in part]

    assert [one for one in installs if "--require-hashes" not in one and "--no-deps" not in one] == []
    assert any("--require-hashes --requirement requirements.lock" in one for one in installs)
    assert any("--no-build-isolation" in one for one in installs)


def test_nothing_of_it_runs_as_root() -> None:
    (user,) = instructions("USER")

    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    assert "USER" in STAGES[1]


def test_signals_reach_python_and_crashes_are_told() -> None:
    assert instructions("ENTRYPOINT") == ['["tidegate"]']
    environment = " ".join(instructions("ENV"))
    assert "PYTHONUNBUFFERED=1" in environment
    assert "PYTHONFAULTHANDLER=1" in environment


def test_the_image_tells_what_it_is() -> None:
    labels = " ".join(instructions("LABEL"))

    assert set(re.findall(r"org\.opencontainers\.image\.(\w+)=", labels)) >= {"title", "description", "licenses"}


def test_nothing_is_fetched_but_through_the_lock() -> None:
    assert [line for line in LINES if line.startswith("ADD ") or "://" in line or "curl" in line] == []


def let_through(path: str) -> bool:
    """As .dockerignore decides: the last rule that matches."""
    wanted = True
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!").removeprefix("**/")
        if any(fnmatch.fnmatch(part, pattern) for part in (path, *path.split("/"))):
            wanted = line.startswith("!")
    return wanted


def test_the_build_is_given_what_it_copies_and_nothing_else() -> None:
    copied = [source for line in instructions("COPY") if "--from" not in line for source in line.split()[:-1]]

    assert sorted(copied) == ["LICENSE", "README.md", "pyproject.toml", "requirements.lock", "services", "shared"]
    assert [source for source in copied if not let_through(source)] == []
    for path in (".env", ".git", "tests", "tidegate.toml", "grafana", "shared/__pycache__", "docs"):
        assert not let_through(path), path
