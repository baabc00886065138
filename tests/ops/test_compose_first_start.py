"""Passwords of the containers: random, made once, told to nobody but whom they are for."""

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from shared.errors import SettingsError
from shared.settings import load
from tests.support.paths import ROOT

pytestmark = pytest.mark.ops

SCRIPT = ROOT / "rabbitmq/first_start.py"
ROLES = {"ingest", "normalizer", "ingest-account", "normalizer-account", "consumer", "account-consumer"}


def first_start(directory: Path) -> str:
    """Run it; what it said."""
    done = subprocess.run([sys.executable, SCRIPT, directory], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def contents(directory: Path) -> dict[str, str]:
    return {str(file.relative_to(directory)): file.read_text() for file in directory.rglob("*") if file.is_file()}


def matches(password: str, password_hash: str) -> bool:
    decoded = base64.b64decode(password_hash)
    return hashlib.sha256(decoded[:4] + password.encode()).digest() == decoded[4:]


def test_rabbitmq_is_told_hashes_of_the_passwords_that_the_roles_are_given(tmp_path: Path) -> None:
    first_start(tmp_path)

    made = contents(tmp_path)
    definitions = made["broker/definitions.json"]
    users = {user["name"]: user for user in json.loads(definitions)["users"]}
    assert users.keys() == ROLES | {"operator"}
    assert made.keys() == {f"{role}/amqp-url" for role in ROLES} | {
        "broker/operator-password",
        "broker/definitions.json",
    }
    for role in ROLES:
        url = urlsplit(made[f"{role}/amqp-url"].strip())
        password = url.password or ""
        assert (url.scheme, url.username, url.hostname, url.port, url.path) == (
            "amqp",
            role,
            "rabbitmq",
            5672,
            "/tidegate",
        )
        assert len(password) >= 40
        assert matches(password, users[role]["password_hash"])
        assert password not in definitions
    assert matches(made["broker/operator-password"].strip(), users["operator"]["password_hash"])
    assert len(set(made.values())) == len(made)


def test_nobody_administers_and_the_operator_only_looks_at_pages(tmp_path: Path) -> None:
    first_start(tmp_path)

    made = json.loads((tmp_path / "broker/definitions.json").read_text())
    operator = next(one for one in made["permissions"] if one["user"] == "operator")
    assert {user["name"]: user["tags"] for user in made["users"]} == {role: [] for role in ROLES} | {
        "operator": ["monitoring"]
    }
    assert (operator["configure"], operator["write"], operator["read"]) == ("^$", "^$", "^$")
    assert {one["vhost"] for one in made["permissions"]} == {"tidegate"}


def test_only_the_owner_reads_a_password(tmp_path: Path) -> None:
    first_start(tmp_path)

    modes = {name: (tmp_path / name).stat().st_mode & 0o777 for name in contents(tmp_path)}
    assert {name for name, mode in modes.items() if mode != 0o400} == {"broker/definitions.json"}
    assert modes["broker/definitions.json"] == 0o444


def test_a_second_start_changes_and_says_nothing(tmp_path: Path) -> None:
    first_start(tmp_path)
    before = contents(tmp_path)

    assert first_start(tmp_path) == ""
    assert contents(tmp_path) == before


def test_a_start_that_was_cut_off_is_made_good(tmp_path: Path) -> None:
    first_start(tmp_path)
    before = contents(tmp_path)
    (tmp_path / "broker/definitions.json").unlink()
    (tmp_path / "broker/operator-password.new").touch(mode=0o400)

    first_start(tmp_path)

    after = contents(tmp_path)
    assert after.keys() == before.keys()
    assert all(after[name] != before[name] for name in before)


def test_passwords_differ_from_installation_to_installation_and_are_not_said(tmp_path: Path) -> None:
    said = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        said.append(first_start(tmp_path / name))

    one, other = contents(tmp_path / "one"), contents(tmp_path / "other")
    assert [name for name in one if one[name] == other[name]] == []
    assert one["broker/operator-password"].strip() not in said[0]


def test_the_stages_read_the_address_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_start(tmp_path)
    monkeypatch.delenv("AMQP_URL", raising=False)
    monkeypatch.setenv("AMQP_URL_FILE", str(tmp_path / "normalizer/amqp-url"))

    assert load().broker.url.get_secret_value() == (tmp_path / "normalizer/amqp-url").read_text().strip()


def test_an_address_in_the_environment_comes_before_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first_start(tmp_path)
    monkeypatch.setenv("AMQP_URL", "amqp://own.example/")
    monkeypatch.setenv("AMQP_URL_FILE", str(tmp_path / "normalizer/amqp-url"))

    assert load().broker.url.get_secret_value() == "amqp://own.example/"


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AMQP_URL", raising=False)
    monkeypatch.setenv("AMQP_URL_FILE", str(tmp_path / "nothing"))

    with pytest.raises(SettingsError) as raised:
        load()

    ((path, problem),) = raised.value.mistakes
    assert path == "AMQP_URL_FILE"
    assert problem == f"{tmp_path / 'nothing'} cannot be read: No such file or directory"
