"""The locks: complete, hashed, without an address, and free of licences that would bind the project's users."""

import re
import tomllib
from importlib import metadata

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.ops

LOCKS = ("requirements.lock", "requirements-dev.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS = PROJECT["dependency-groups"]


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def entries(lock: str) -> dict[str, str]:
    """Name to version of everything locked."""
    text = (ROOT / lock).read_text()
    return dict(re.findall(r"^([a-z0-9.-]+)==([^\s;]+)", text, re.MULTILINE))


def required(group: str) -> set[str]:
    return {name_of(one) for one in GROUPS[group] if isinstance(one, str)}


RUNTIME = {name_of(one) for one in PROJECT["project"]["dependencies"]} | required("build")


@pytest.mark.parametrize(("lock", "names"), [(LOCKS[0], RUNTIME), (LOCKS[1], RUNTIME | required("dev"))])
def test_everything_required_is_locked(lock: str, names: set[str]) -> None:
    assert names <= entries(lock).keys()


def test_runtime_lock_holds_nothing_of_development() -> None:
    assert not entries(LOCKS[0]).keys() & (required("dev") - RUNTIME)


def test_both_locks_agree() -> None:
    development = entries(LOCKS[1])

    assert {name: development.get(name) for name in entries(LOCKS[0])} == entries(LOCKS[0])


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_is_names_versions_and_hashes_only(lock: str) -> None:
    requirement = r"[a-z0-9.-]+(\[[a-z,-]+\])?==[\w.+]+( ; [^\\]+)? \\"
    line = re.compile(rf"{requirement}|    --hash=sha256:[0-9a-f]{{64}}( \\)?|    # +.*")
    lines = (ROOT / lock).read_text().splitlines()

    assert [one for one in lines if not line.fullmatch(one)] == []
    assert [one for one in lines if "://" in one or "--index" in one] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_has_a_hash(lock: str) -> None:
    blocks = re.split(r"^(?=[a-z0-9])", (ROOT / lock).read_text(), flags=re.MULTILINE)[1:]

    assert len(blocks) == len(entries(lock))
    assert [block for block in blocks if "--hash=sha256:" not in block] == []


def test_what_is_installed_is_what_is_locked() -> None:
    installed = {name_of(one.name): one.version for one in metadata.distributions()}
    locked = entries(LOCKS[1])

    assert {name: version for name, version in installed.items() if locked.get(name, version) != version} == {}


def test_no_dependency_has_a_licence_that_spreads() -> None:
    licences = {one.name: licence_of(one) for one in metadata.distributions() if name_of(one.name) in entries(LOCKS[1])}

    assert all(licences.values())
    assert {name: text for name, text in licences.items() if re.search(r"(?<!L)A?GPL|Affero", text)} == {}


def licence_of(distribution: metadata.Distribution) -> str:
    """What the metadata says of the licence: expression, classifiers, first line of the old free text."""
    about = distribution.metadata
    classifiers = [one for one in about.get_all("Classifier") or [] if one.startswith("License ::")]
    free = [one.strip().partition("\n")[0] for one in about.get_all("License") or []]
    return "; ".join([*(about.get_all("License-Expression") or []), *classifiers, *free])
