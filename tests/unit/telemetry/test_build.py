from importlib import metadata

import pytest

from shared.telemetry.build import version


def test_the_version_is_that_of_the_installed_distribution() -> None:
    assert version() == metadata.version("tidegate")


def test_code_that_runs_uninstalled_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    assert version() == "unknown"
