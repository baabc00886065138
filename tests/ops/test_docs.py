"""The documents say what is there."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from shared.settings import Settings, load
from tests.support.paths import ROOT

pytestmark = pytest.mark.ops

PAGES = sorted(
    [
        ROOT / "README.md",
        *ROOT.glob("docs/*.md"),
        *ROOT.glob("shared/**/*.md"),
        *ROOT.glob("services/**/*.md"),
    ]
)


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_generated_documents_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_make_targets_that_the_readme_names_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z-]+)", readme()))
    assert named
    assert named - targets - {"says"} == set()


def test_commands_that_the_readme_names_exist() -> None:
    help_text = subprocess.run(
        [sys.executable, "-m", "services.cli", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    named = set(re.findall(r"^tidegate ([a-z]+)|`tidegate ([a-z]+)", readme(), re.MULTILINE))
    commands = {first or second for first, second in named}
    assert {"tap", "check", "record", "replay", "normalize"} <= commands
    assert [command for command in commands if f"\n    {command} " not in help_text] == []


def test_the_shipped_settings_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of tidegate.toml is a comment, and uncommented it is what holds anyway."""
    for name in ("AMQP_URL", "AMQP_URL_FILE", "TIDEGATE_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    text = (ROOT / "tidegate.toml").read_text(encoding="utf-8")
    assert {section for section, value in tomllib.loads(text).items() if value} == set()
    sections = text.split("# Without any")[0]
    values = tomllib.loads(re.sub(r"^# (?=\w+ = )", "", sections, flags=re.MULTILINE))
    assert values["ingest"]["permits"] == 20
    values["simulator"].pop("connect")
    assert Settings(**values) == load(ROOT / "tidegate.toml")
